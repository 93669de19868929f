/* convert_progress.c: converts a checkpoint to safetensors and prints the progress.
 *
 *     convert_progress model.pth model.safetensors
 *
 * A conversion is planned, then run. The plan is complete before a byte is written: a program can
 * print or reject it. Files get their final names when all of them are complete. */
#include <heft/heft.h>

#include <inttypes.h>
#include <stdio.h>

static int fail(const struct heft_error *err)
{
    char line[1024];

    fprintf(stderr, "%s\n", heft_error_format(err, line, sizeof line));
    return 2;
}

/* Called from any thread, but never from two at the same time. Returning false stops the
 * conversion. */
static bool show_progress(void *ctx, uint64_t done, uint64_t total)
{
    unsigned *shown = ctx;
    const unsigned percent = total ? (unsigned)((double)done / (double)total * 100) : 100;

    if (percent != *shown) {
        fprintf(stderr, "\r%3u %%", percent);
        *shown = percent;
    }
    return true;
}

static bool run(struct heft_conversion *conversion, struct heft_error *err)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    uint64_t overflowed = 0;

    heft_convert_summary(conversion, &planned);
    printf("%zu tensors, %" PRIu64 " bytes, %zu files\n", planned.tensors, planned.bytes,
           planned.files);
    for (size_t i = 0; i < heft_convert_note_count(conversion); i++)
        printf("note: %s\n", heft_convert_note(conversion, i));
    if (!heft_convert_run(conversion, &overflowed, err))
        return false;
    fputc('\n', stderr);
    return heft_convert_check(conversion, err);
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct heft_convert_options options = HEFT_INIT(struct heft_convert_options);
    struct heft_conversion *conversion;
    struct heft_checkpoint *c;
    unsigned shown = UINT32_MAX;
    bool ok;

    if (argc != 3) {
        fputs("usage: convert_progress FILE OUTPUT.safetensors\n", stderr);
        return 2;
    }
    options.output = argv[2];
    options.progress = show_progress;
    options.progress_ctx = &shown;

    c = heft_open(argv[1], NULL, &err);
    conversion = c ? heft_convert_plan(c, &options, &err) : NULL;
    ok = conversion && run(conversion, &err);
    heft_convert_free(conversion);
    heft_close(c);
    return ok ? 0 : fail(&err);
}
