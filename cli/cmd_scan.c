/* cmd_scan.c: what executing the pickles of a file would import and call. */
#include "options.h"
#include "output.h"
#include "report.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

struct findings {
    const struct options *options;
    struct out *out;
    uint64_t items, unknown, dangers;
    bool broken; /* a pickle breaks off: what stands behind that place is not known */
};

static const char *const classes[] = {"allowed", "unknown", "danger"};

static enum heft_danger judge(const struct options *options, const struct heft_scan_item *item)
{
    for (size_t i = 0; i < options->allow.n; i++) {
        const char *const glob = options->allow.items[i];
        if (!strcmp(glob, item->name) ||
            (item->danger == HEFT_UNKNOWN && fnmatch(glob, item->name, 0) == 0))
            return HEFT_ALLOWED;
    }
    return item->danger;
}

static void put_text(struct out *out, const struct heft_scan_item *item, enum heft_danger danger)
{
    if (danger != HEFT_ALLOWED)
        out_style(out, danger == HEFT_DANGER ? OUT_BAD : OUT_DOUBTFUL);
    out_text(out, classes[danger]);
    if (danger != HEFT_ALLOWED)
        out_plain(out);
    out_fill(out, ' ', 9 - strlen(classes[danger]));
    (void)out_name(out, item->what, strlen(item->what));
    out_char(out, ' ');
    (void)out_name(out, item->name, strlen(item->name));
    out_text(out, "  ");
    (void)out_name(out, item->file, strlen(item->file));
    if (item->record && *item->record) {
        out_char(out, ':');
        (void)out_name(out, item->record, strlen(item->record));
    }
    out_text(out, "  position ");
    out_u64(out, item->position);
    if (item->offset != HEFT_NO_OFFSET) {
        out_text(out, "  offset ");
        out_hex(out, item->offset, 1);
    }
    out_char(out, '\n');
}

static void put_json(struct out *out, const struct heft_scan_item *item, enum heft_danger danger)
{
    json_line(out);
    json_open(out, '{');
    json_member_text(out, "danger", classes[danger]);
    json_member_text(out, "what", item->what);
    json_member_text(out, "name", item->name);
    json_member_text(out, "file", item->file);
    if (item->record && *item->record)
        json_member_text(out, "record", item->record);
    json_member_u64(out, "position", item->position);
    if (item->offset != HEFT_NO_OFFSET)
        json_member_u64(out, "offset", item->offset);
    json_close(out, '}');
}

static void each(void *ctx, const struct heft_scan_item *item)
{
    struct findings *const f = ctx;
    const enum heft_danger danger = judge(f->options, item);
    f->items++;
    f->unknown += danger == HEFT_UNKNOWN;
    f->dangers += danger == HEFT_DANGER;
    (f->options->json ? put_json : put_text)(f->out, item, danger);
}

/* One file: 1 for what it holds, 2 only where nothing could be judged. */
static int scan_file(struct findings *f, const char *path)
{
    const bool relaxed = f->options->fail_on && !strcmp(f->options->fail_on, "danger");
    const uint64_t items = f->items, bad = f->dangers + (relaxed ? 0 : f->unknown);
    struct heft_error err = {0};
    bool complete = true;

    if (!heft_scan(path, NULL, each, f, &complete, &err)) {
        f->broken = true;
        report_error(&err);
        return EXIT_TROUBLE;
    }
    if (!complete) {
        f->broken = true;
        report_error(&err);
    }
    if (f->dangers + (relaxed ? 0 : f->unknown) > bad)
        return EXIT_NO;
    if (complete)
        return EXIT_SOUND;
    return f->items > items ? EXIT_NO : EXIT_TROUBLE;
}

/* A folder or an index stands for the files it leads to. */
static bool is_list(const char *path)
{
    const size_t n = strlen(path);
    struct stat status;
    return (n > 5 && !strcmp(path + n - 5, ".json")) ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

static void add_status(int status, bool *trouble, bool *no)
{
    *trouble |= status == EXIT_TROUBLE;
    *no |= status == EXIT_NO;
}

static void scan_list(struct findings *f, const char *path, bool *trouble, bool *no)
{
    const struct heft_open_options how = {.format = f->options->from};
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(path, &how, &err);
    struct heft_file file;

    if (!c) {
        f->broken = true;
        add_status(report_error(&err), trouble, no);
        return;
    }
    for (size_t i = 0; heft_file_at(c, i, &file); i++)
        add_status(scan_file(f, file.path), trouble, no);
    heft_close(c);
}

int cmd_scan(const struct options *options, struct out *out)
{
    struct findings findings = {.options = options, .out = out};
    bool trouble = false, no = false;

    if (options->json) {
        json_open(out, '{');
        json_member_u64(out, "heft", 1);
        json_key(out, "items");
        json_open(out, '[');
    }
    for (size_t i = 0; i < options->inputs.n; i++) {
        const char *const path = options->inputs.items[i];
        if (is_list(path))
            scan_list(&findings, path, &trouble, &no);
        else
            add_status(scan_file(&findings, path), &trouble, &no);
    }
    if (options->json) {
        json_close(out, ']');
        json_member_u64(out, "unknown", findings.unknown);
        json_member_u64(out, "danger", findings.dangers);
        json_member_bool(out, "complete", !findings.broken);
        json_close(out, '}');
        out_char(out, '\n');
    }
    if (!findings.items && !findings.broken)
        report_note(options, "no pickle, nothing that could be executed");
    return no ? EXIT_NO : trouble ? EXIT_TROUBLE : EXIT_SOUND;
}
