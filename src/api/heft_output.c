/* heft_output.c: the public API for files of a program, over a sink with one file. */
#include "base/mem.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "heft/heft.h"
#include "io/sink.h"

struct heft_output {
    struct heft_sink *sink;
    uint32_t file;
};

static bool add_file(struct heft_output *output, const char *path,
                     const struct heft_output_options *options, struct heft_error *err)
{
    const struct heft_sink_options how = {.overwrite = options->overwrite,
                                          .no_sync = options->no_sync};

    output->sink = heft_sink_new(&how, err);
    return output->sink && heft_sink_add_growing(output->sink, path, &output->file, err);
}

struct heft_output *heft_output_new(const char *path, const struct heft_output_options *options,
                                    struct heft_error *err)
{
    struct heft_output_options o;

    if (!heft_require_arg(path, "a path", err) || !HEFT_TAKE(heft_output_options, &o, options, err))
        return NULL;
    struct heft_output *const output = heft_calloc(1, sizeof *output, err);

    if (output && add_file(output, path, &o, err))
        return output;
    heft_output_free(output);
    return NULL;
}

int heft_output_descriptor(const struct heft_output *output)
{
    return output ? heft_sink_descriptor(output->sink, output->file) : -1;
}

bool heft_output_commit(struct heft_output *output, struct heft_error *err)
{
    return heft_require_arg(output, "an output", err) && heft_sink_commit(output->sink, err);
}

void heft_output_free(struct heft_output *output)
{
    if (!output)
        return;
    heft_sink_free(output->sink);
    heft_free(output);
}
