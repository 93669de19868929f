/* cmd_verify.c: prints one line per finding or note; exit status 1 if there is a finding. */
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

/* Prints what was checked: "12 checksums, 27.3 GiB in 3.20 s, 8.5 GiB/s". */
static void describe_checks(char *text, size_t room, const struct verdict *v, const char *format,
                            const struct progress *progress)
{
    const struct heft_verified *const by = &v->verified;
    const double seconds = progress_seconds(progress);
    char size[32];

    text[0] = '\0';
    if (by->checksums)
        append_text(text, room, ": %" PRIu64 " checksum%s, %s", by->checksums,
                    by->checksums == 1 ? "" : "s", format_size(size, sizeof size, by->bytes));
    else if (by->tables)
        append_text(text, room, ": the checksums of all blocks, %s",
                    format_size(size, sizeof size, by->bytes));
    if (*text && seconds >= 0.1)
        append_text(text, room, " in %.2f s, %s/s", seconds,
                    format_size(size, sizeof size, (uint64_t)((double)by->bytes / seconds)));
    if (by->unpacked)
        append_text(text, room, "%s %" PRIu64 " record%s without a checksum unpacked",
                    *text ? "," : ":", by->unpacked, by->unpacked == 1 ? "" : "s");
    if (*text && by->unchecked)
        append_text(text, room, "; structure only of %" PRIu64 " record%s without a checksum",
                    by->unchecked, by->unchecked == 1 ? "" : "s");
    else if (by->unchecked)
        append_text(text, room, ": structure only: %s stores no checksum",
                    may_store_sums(format) ? "the file" : format);
    else if (!*text)
        append_text(text, room, ": structure only: there is no tensor data");
}

static void report_verdict(const struct verdict *v, const char *format,
                           const struct progress *progress)
{
    char text[400];

    if (v->options->quiet)
        return;
    describe_checks(text, sizeof text, v, format, progress);
    fprintf(stderr, "heft: %s%s\n", v->findings ? "not sound" : "sound", text);
}

static void close_json(const struct verdict *v, const struct progress *progress, bool complete)
{
    struct out *const out = v->out;
    json_close(out, ']');
    json_member_bool(out, "sound", complete && !v->findings);
    json_member_u64(out, "bytes", v->verified.bytes);
    json_member_u64(out, "checksums", v->verified.checksums);
    json_member_u64(out, "tables", v->verified.tables);
    json_member_u64(out, "unpacked", v->verified.unpacked);
    json_member_u64(out, "unchecked", v->verified.unchecked);
    json_key(out, "seconds");
    json_seconds(out, progress_seconds(progress));
    json_close(out, '}');
    out_char(out, '\n');
}

/* Whether a file name is that of a shard: "model-00001-of-00003.safetensors". */
static bool looks_like_shard(const char *path)
{
    static const char form[] = "-00000-of-00000.";

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
    const struct heft_finding finding = {HEFT_FINDING, err->file, err->offset, err->text};
    const struct progress none = {.began = clock_seconds()};

    open_json(v, "");
    each_finding(v, &finding);
    if (v->options->json)
        close_json(v, &none, false);
    if (!v->options->quiet)
        fprintf(stderr, "heft: not sound: the input cannot be opened\n");
    return EXIT_NO;
}

int cmd_verify(const struct options *options, struct out *out)
{
    struct verdict verdict = {.options = options, .out = out};
    struct heft_error err = {0};
    struct progress progress;
    const struct heft_verify_options how = {.threads = options_threads(options),
                                            .progress = progress_step,
                                            .progress_ctx = &progress,
                                            .verified = &verdict.verified};
    struct heft_checkpoint *const c = open_inputs(options, 0, &err);
    bool fine;

    if (!c)
        return is_broken(options, &err) ? report_broken(&verdict, &err) : report_error(&err);
    open_json(&verdict, heft_format(c));
    progress_begin(&progress, options, "verify");
    fine = heft_verify(c, &how, each_finding, &verdict, &err);
    if (fine)
        each_danger(c, each_finding, &verdict);
    progress_end(&progress);
    if (options->json)
        close_json(&verdict, &progress, fine);
    if (fine)
        report_verdict(&verdict, heft_format(c), &progress);
    heft_close(c);
    if (!fine)
        return report_error(&err);
    return verdict.findings ? EXIT_NO : EXIT_SOUND;
}
