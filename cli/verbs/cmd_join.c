/* cmd_join.c: joins files of tokens to one. */
#include "main/options.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"

#include <heft/tokens.h>

#include <string.h>

struct joined {
    const struct options *options;
    struct out *out;
    bool has_begun; /* the document of --json */
};

static void begin_document(struct joined *j)
{
    j->has_begun = true;
    json_open(j->out, '{');
    json_member_u64(j->out, "heft", 1);
    json_key(j->out, "files");
    json_open(j->out, '[');
}

/* Called once all files are written. */
static void list_file(void *ctx, const char *path)
{
    struct joined *const j = ctx;

    if (j->options->json) {
        if (!j->has_begun)
            begin_document(j);
        json_text(j->out, path, strlen(path));
        return;
    }
    (void)out_name(j->out, path, strlen(path));
    out_char(j->out, '\n');
}

static void print_sums(struct out *out, const struct heft_join_summary *sum)
{
    json_close(out, ']');
    json_member_text(out, "format", sum->format);
    json_member_u64(out, "parts", sum->parts);
    if (strcmp(sum->format, "megatron") == 0 || strcmp(sum->format, "ds") == 0)
        json_member_u64(out, "documents", sum->documents);
    if (sum->tokens > 0)
        json_member_u64(out, "tokens", sum->tokens);
    json_member_u64(out, "bytes", sum->bytes);
    json_close(out, '}');
    out_char(out, '\n');
}

static bool join_inputs(const struct options *options, struct out *out, struct progress *progress,
                        struct heft_error *err)
{
    struct joined joined = {options, out, false};
    struct heft_join_summary sum = HEFT_INIT(struct heft_join_summary);
    const struct heft_join_options how = {
        .size = sizeof how,
        .format = options->format,
        .width = !options->id_dtype                  ? 0
                 : !strcmp(options->id_dtype, "u16") ? 2
                                                     : 4,
        .overwrite = options->overwrite,
        .no_sync = options->no_sync,
        .progress = progress_step_on,
        .progress_ctx = progress,
        .written = list_file,
        .written_ctx = &joined,
    };
    bool fine;

    progress_catch();
    fine = heft_join(options->inputs.items, options->inputs.n, options->output, &how, &sum, err);
    progress_end(progress);
    if (fine && options->json)
        print_sums(out, &sum);
    if (fine && options->id_dtype && strcmp(sum.format, "bin") != 0)
        report_note(options, "--dtype has no effect: %s states the size of its ids", sum.format);
    return fine;
}

int cmd_join(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct progress progress;
    bool fine;

    progress_begin(&progress, options, "join");
    fine = (options->output || usage_error(&err, "join: no output; give -o PATH")) &&
           join_inputs(options, out, &progress, &err);
    return fine ? EXIT_SOUND : report_error(&err);
}
