/* losses.c: reports what a conversion with --salvage loses. */
#include "output/losses.h"
#include "output/output.h"
#include "output/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 1024 };

static void print_lost(const struct heft_unread *lost)
{
    char name[SHOWN], reason[SHOWN];
    fprintf(stderr, "heft: lost: %s: %s\n",
            report_escape(name, sizeof name, lost->name, strlen(lost->name)),
            report_escape(reason, sizeof reason, lost->reason, strlen(lost->reason)));
}

static void print_damage(const struct heft_finding *damage)
{
    struct heft_error err = {.code = HEFT_MALFORMED, .offset = damage->offset};
    char line[SHOWN];
    snprintf(err.file, sizeof err.file, "%s", damage->file ? damage->file : "");
    snprintf(err.text, sizeof err.text, "%s", damage->text);
    fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
}

static void print_missing(const struct heft_file *file, uint64_t expected, bool at_least)
{
    char name[SHOWN];
    report_escape(name, sizeof name, file->path, strlen(file->path));
    fprintf(stderr,
            at_least ? "heft: %s: at least %" PRIu64 " of %" PRIu64 " bytes are missing\n"
                     : "heft: %s: %" PRIu64 " of %" PRIu64 " bytes are missing\n",
            name, expected - file->bytes, expected);
}

bool salvage_report(const struct heft_checkpoint *c, const struct heft_conversion *conversion)
{
    struct heft_finding damage = HEFT_INIT(struct heft_finding);
    struct heft_unread lost = HEFT_INIT(struct heft_unread);
    struct heft_file file = HEFT_INIT(struct heft_file);
    uint64_t expected;
    size_t n_lost = 0, n_damages = 0;
    bool at_least;

    for (; heft_convert_lost_at(conversion, n_lost, &lost); n_lost++)
        print_lost(&lost);
    for (; heft_damage_at(c, n_damages, &damage); n_damages++)
        print_damage(&damage);
    for (size_t i = 0; heft_file_at(c, i, &file); i++)
        if (heft_missing_at(c, i, &expected, &at_least))
            print_missing(&file, expected, at_least);
    return n_lost > 0 || n_damages > 0;
}

void salvage_json(struct out *out, const struct heft_checkpoint *c,
                  const struct heft_conversion *conversion)
{
    uint64_t expected, missing = 0;
    struct heft_unread lost = HEFT_INIT(struct heft_unread);
    struct heft_file file = HEFT_INIT(struct heft_file);
    bool at_least;

    json_key(out, "lost");
    json_open(out, '[');
    for (size_t i = 0; heft_convert_lost_at(conversion, i, &lost); i++) {
        json_open(out, '{');
        json_member_text(out, "name", lost.name);
        json_member_text(out, "reason", lost.reason);
        json_close(out, '}');
    }
    json_close(out, ']');
    for (size_t i = 0; heft_file_at(c, i, &file); i++)
        if (heft_missing_at(c, i, &expected, &at_least))
            missing += expected - file.bytes;
    json_member_u64(out, "missing_bytes", missing);
}
