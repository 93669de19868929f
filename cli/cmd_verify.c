/* cmd_verify.c: a line a finding or note; 1 if there is a finding. */
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

struct verdict {
    const struct options *options;
    struct out *out;
    uint64_t findings, notes;
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

static void each(void *ctx, const struct heft_finding *finding)
{
    struct verdict *const v = ctx;
    const bool bad = is_finding(v, finding);
    *(bad ? &v->findings : &v->notes) += 1;
    if (v->options->json)
        put_json(v->out, finding, bad);
    else if (bad || !v->options->quiet)
        put_text(v->out, finding, bad);
}

static void tell(const struct verdict *v, const struct progress *progress)
{
    char size[32], rate[32];
    const double seconds = progress_seconds(progress);
    const char *const verdict = v->findings ? "not sound" : "sound";
    if (v->options->quiet)
        return;
    if (!progress->done) {
        fprintf(stderr, "heft: %s\n", verdict);
        return;
    }
    format_size(size, sizeof size, progress->done);
    format_size(rate, sizeof rate,
                (uint64_t)((double)progress->done / (seconds > 0 ? seconds : 1)));
    fprintf(stderr, "heft: %s: %s checked in %.2f s, %s/s\n", v->findings ? "not sound" : "sound",
            size, seconds, rate);
}

static void close_json(const struct verdict *v, const struct progress *progress, bool complete)
{
    struct out *const out = v->out;
    json_close(out, ']');
    json_member_bool(out, "sound", complete && !v->findings);
    json_member_u64(out, "bytes", progress->done);
    json_key(out, "seconds");
    json_seconds(out, progress_seconds(progress));
    json_close(out, '}');
    out_char(out, '\n');
}

int cmd_verify(const struct options *options, struct out *out)
{
    struct verdict verdict = {.options = options, .out = out};
    struct heft_error err = {0};
    struct progress progress;
    const struct heft_verify_options how = {options_threads(options), progress_step, &progress};
    struct heft_checkpoint *const c = open_inputs(options, 0, &err);
    bool fine;

    if (!c)
        return report_error(&err);
    if (options->json) {
        json_open(out, '{');
        json_member_u64(out, "heft", 1);
        json_member_text(out, "format", heft_format(c));
        json_key(out, "findings");
        json_open(out, '[');
    }
    progress_begin(&progress, options, "verify");
    fine = heft_verify(c, &how, each, &verdict, &err);
    progress_end(&progress);
    if (options->json)
        close_json(&verdict, &progress, fine);
    heft_close(c);
    if (!fine)
        return report_error(&err);
    tell(&verdict, &progress);
    return verdict.findings ? EXIT_NO : EXIT_SOUND;
}
