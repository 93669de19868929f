/* cmd_verify.c: prints one line per finding or note; exit status 1 if there is a finding. With
 * --against it also compares with a list of digests. */
#include "output/danger.h"
#include "main/options.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct verdict {
    const struct options *options;
    struct out *out;
    uint64_t findings, notes;
    struct heft_verified verified;
    struct heft_digest_list *list; /* --against; NULL: none */
    struct heft_compared compared;
    double seconds; /* of all work */
};

static bool is_finding(const struct verdict *v, const struct heft_finding *finding)
{
    return finding->severity == HEFT_FINDING || v->options->strict;
}

static void put_text(struct out *out, const struct heft_finding *finding, bool bad)
{
    out_style(out, bad ? OUT_BAD : OUT_DOUBTFUL);
    out_text(out, bad ? "finding" : "note");
    out_plain(out);
    out_text(out, bad ? "  " : "     ");
    if (finding->file && *finding->file) {
        (void)out_name(out, finding->file, strlen(finding->file));
        out_text(out, ": ");
    }
    if (finding->offset != HEFT_NO_OFFSET) {
        out_text(out, "offset ");
        out_hex(out, finding->offset, 1);
        out_text(out, ": ");
    }
    (void)out_name(out, finding->text, strlen(finding->text));
    out_char(out, '\n');
}

static void put_json(struct out *out, const struct heft_finding *finding, bool bad)
{
    json_line(out);
    json_open(out, '{');
    json_member_text(out, "severity", bad ? "finding" : "note");
    if (finding->file)
        json_member_text(out, "file", finding->file);
    if (finding->offset != HEFT_NO_OFFSET)
        json_member_u64(out, "offset", finding->offset);
    json_member_text(out, "text", finding->text);
    json_close(out, '}');
}

static void each_finding(void *ctx, const struct heft_finding *finding)
{
    struct verdict *const v = ctx;
    const bool bad = is_finding(v, finding);
    *(bad ? &v->findings : &v->notes) += 1;
    if (v->options->json)
        put_json(v->out, finding, bad);
    else if (bad || !v->options->quiet)
        put_text(v->out, finding, bad);
}

/* Whether files of a format may store checksums of tensor data. In formats that are not listed and
 * have none, no file does. */
static bool may_store_sums(const char *format)
{
    static const char *const names[] = {"torch", "torchscript", "torch-export", "npz",     "keras",
                                        "h5",    "tf-bundle",   "saved-model",  "hf-index"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], format))
            return true;
    return false;
}

static void append_text(char *text, size_t room, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, room - used, format, args);
    va_end(args);
}

/* Prints what was checked: "12 digests, 27.3 GiB, 12 checksums, 27.3 GiB in 3.20 s, 8.5 GiB/s". */
static void describe_checks(char *text, size_t room, const struct verdict *v, const char *format)
{
    const struct heft_verified *const by = &v->verified;
    const uint64_t bytes = by->bytes + v->compared.bytes;
    char size[32];

    text[0] = '\0';
    if (v->compared.digests)
        append_text(text, room, ": %" PRIu64 " digest%s, %s", v->compared.digests,
                    v->compared.digests == 1 ? "" : "s",
                    format_size(size, sizeof size, v->compared.bytes));
    if (by->checksums)
        append_text(text, room, "%s %" PRIu64 " checksum%s, %s", *text ? "," : ":", by->checksums,
                    by->checksums == 1 ? "" : "s", format_size(size, sizeof size, by->bytes));
    else if (by->tables)
        append_text(text, room, "%s the checksums of all blocks, %s", *text ? "," : ":",
                    format_size(size, sizeof size, by->bytes));
    if (*text && v->seconds >= 0.1)
        append_text(text, room, " in %.2f s, %s/s", v->seconds,
                    format_size(size, sizeof size, (uint64_t)((double)bytes / v->seconds)));
    if (by->unpacked)
        append_text(text, room, "%s %" PRIu64 " record%s without a checksum unpacked",
                    *text ? "," : ":", by->unpacked, by->unpacked == 1 ? "" : "s");
    if (v->compared.digests) /* they vouch for the records without a checksum, too */
        return;
    if (*text && by->unchecked)
        append_text(text, room, "; structure only of %" PRIu64 " record%s without a checksum",
                    by->unchecked, by->unchecked == 1 ? "" : "s");
    else if (by->unchecked)
        append_text(text, room, ": structure only: %s stores no checksum",
                    may_store_sums(format) ? "the file" : format);
    else if (!*text)
        append_text(text, room, ": structure only: there is no tensor data");
}

static void report_verdict(const struct verdict *v, const char *format)
{
    char text[400];

    if (v->options->quiet)
        return;
    describe_checks(text, sizeof text, v, format);
    fprintf(stderr, "heft: %s%s\n", v->findings ? "not sound" : "sound", text);
}

static void close_json(const struct verdict *v, bool complete)
{
    struct out *const out = v->out;
    json_close(out, ']');
    json_member_bool(out, "sound", complete && !v->findings);
    json_member_u64(out, "bytes", v->verified.bytes);
    json_member_u64(out, "checksums", v->verified.checksums);
    json_member_u64(out, "tables", v->verified.tables);
    json_member_u64(out, "unpacked", v->verified.unpacked);
    json_member_u64(out, "unchecked", v->verified.unchecked);
    if (v->list)
        json_member_u64(out, "digests", v->compared.digests);
    json_key(out, "seconds");
    json_seconds(out, v->seconds);
    json_close(out, '}');
    out_char(out, '\n');
}

/* Whether a file name is that of a shard of an index: "model-00001-of-00003.safetensors". Shards of a
 * distributed save, "shard-00001-model-…", have none. */
static bool looks_like_shard(const char *path)
{
    static const char form[] = "-00000-of-00000.";
    const char *slash = strrchr(path, '/');

    if (strncmp(slash ? slash + 1 : path, "shard-", 6) == 0)
        return false;

    for (const char *p = strstr(path, "-of-"); p; p = strstr(p + 1, "-of-")) {
        const char *at = p - strlen("-00000"), *f = form;

        if (at < path)
            continue;
        while (*f && (*f == '0' ? *at >= '0' && *at <= '9' : *at == *f)) {
            at++;
            f++;
        }
        if (!*f)
            return true;
    }
    return false;
}

/* Whether an input is malformed, which is a finding (exit 1). A malformed shard of an index is an
 * error (exit 2), as in other verbs, unless the shard itself is the input. */
static bool is_broken(const struct options *options, const struct heft_error *err)
{
    if (err->code != HEFT_MALFORMED && err->code != HEFT_UNSAFE && err->code != HEFT_MISMATCH)
        return false;
    for (size_t i = 0; i < options->inputs.n; i++)
        if (!strcmp(options->inputs.items[i], err->file))
            return true;
    return !looks_like_shard(err->file);
}

static void open_json(const struct verdict *v, const char *format)
{
    if (!v->options->json)
        return;
    json_open(v->out, '{');
    json_member_u64(v->out, "heft", 1);
    json_member_text(v->out, "format", format);
    json_key(v->out, "findings");
    json_open(v->out, '[');
}

/* Prints the only finding on a file that cannot be opened. */
static int report_broken(struct verdict *v, const struct heft_error *err)
{
    const struct heft_finding finding = {sizeof finding, HEFT_FINDING, err->file, err->offset,
                                         err->text};

    open_json(v, "");
    each_finding(v, &finding);
    if (v->options->json)
        close_json(v, false);
    if (!v->options->quiet)
        fprintf(stderr, "heft: not sound: the input cannot be opened\n");
    return EXIT_NO;
}

/* ---- digests ------------------------------------------------------------------------------- */

/* Compares with the list of --against, if there is one. c is NULL if the input cannot be opened. */
static bool compare_digests(struct verdict *v, struct heft_checkpoint *c, struct heft_error *err)
{
    const struct options *const options = v->options;
    struct progress progress;
    const struct heft_compare_options how = {.size = sizeof how,
                                             .threads = options_threads(options),
                                             .progress = progress_step,
                                             .progress_ctx = &progress,
                                             .compared = &v->compared};
    bool fine;

    if (!v->list)
        return true;
    progress_begin(&progress, options, "digest");
    fine = heft_compare_digests(c, options->inputs.items, options->inputs.n, v->list, &how,
                                each_finding, v, err);
    progress_end(&progress);
    v->seconds += progress_seconds(&progress);
    return fine;
}

/* Whether files can be compared with the list although they cannot be opened as a checkpoint. */
static bool is_comparable(const struct verdict *v, const struct heft_error *why)
{
    return v->list && heft_digest_list_kind(v->list) != HEFT_LIST_TENSORS && why->code != HEFT_IO &&
           why->code != HEFT_NOMEM && why->code != HEFT_CANCELLED;
}

/* Compares only digests. What makes a file unreadable for heft is a finding if it is a violation of
 * the format, else a note. */
static int verify_unopened(struct verdict *v, const struct heft_error *why)
{
    const bool bad =
        why->code == HEFT_MALFORMED || why->code == HEFT_UNSAFE || why->code == HEFT_MISMATCH;
    char text[sizeof why->text + 64];
    const struct heft_finding finding = {sizeof finding, bad ? HEFT_FINDING : HEFT_NOTE, why->file,
                                         why->offset, text};
    struct heft_error err = {0};
    bool fine;

    snprintf(text, sizeof text, "%s%s", why->text,
             bad ? "" : " (no checkpoint was opened: only digests are compared)");
    open_json(v, "");
    each_finding(v, &finding);
    fine = compare_digests(v, NULL, &err);
    if (v->options->json)
        close_json(v, fine);
    if (!fine)
        return report_error(&err);
    report_verdict(v, "");
    return v->findings ? EXIT_NO : EXIT_SOUND;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int verify_opened(struct verdict *v, struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    struct progress progress;
    const struct heft_verify_options how = {.size = sizeof how,
                                            .threads = options_threads(v->options),
                                            .progress = progress_step,
                                            .progress_ctx = &progress,
                                            .verified = &v->verified};
    bool fine;

    open_json(v, heft_format(c));
    progress_begin(&progress, v->options, "verify");
    fine = heft_verify(c, &how, each_finding, v, &err) && each_danger(c, each_finding, v, &err);
    progress_end(&progress);
    v->seconds += progress_seconds(&progress);
    fine = fine && compare_digests(v, c, &err);
    if (v->options->json)
        close_json(v, fine);
    if (!fine)
        return report_error(&err);
    report_verdict(v, heft_format(c));
    return v->findings ? EXIT_NO : EXIT_SOUND;
}

static int verify(struct verdict *v)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_inputs(v->options, 0, &err);
    int status;

    if (c)
        status = verify_opened(v, c);
    else if (is_comparable(v, &err))
        status = verify_unopened(v, &err);
    else
        status = is_broken(v->options, &err) ? report_broken(v, &err) : report_error(&err);
    heft_close(c);
    return status;
}

int cmd_verify(const struct options *options, struct out *out)
{
    struct verdict verdict = {.options = options,
                              .out = out,
                              .verified = HEFT_INIT(struct heft_verified),
                              .compared = HEFT_INIT(struct heft_compared)};
    struct heft_error err = {0};
    int status;

    if (options->against && !(verdict.list = heft_digest_list_open(options->against, NULL, &err)))
        return report_error(&err);
    status = verify(&verdict);
    heft_digest_list_close(verdict.list);
    return status;
}
