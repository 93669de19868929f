/* cmd_decode.c: decodes files of ids to text. */
#include "main/options.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"
#include "main/target.h"
#include "main/vocabulary.h"

#include <heft/tokens.h>

#include <string.h>

static bool each_text(void *ctx, const char *text, size_t n)
{
    struct out *const out = ctx;

    out_bytes(out, text, n);
    return out->error == 0 && !progress_interrupted();
}

/* Stops when the output fails or a signal arrives; the error is reported when the output is
 * closed. */
static bool decode_all(const struct options *options, const struct heft_vocab *v, struct out *out,
                       struct heft_error *err)
{
    const struct heft_decode_options how = {.size = sizeof how,
                                            .width = !options->id_dtype                  ? 0
                                                     : !strcmp(options->id_dtype, "u16") ? 2
                                                                                         : 4};

    return heft_decode_files_with(v, (const char *const *)options->inputs.items, options->inputs.n,
                                  &how, each_text, out, err) ||
           out->error != 0;
}

static bool decode_inputs(const struct options *options, const struct heft_vocab *v,
                          struct out *out, struct heft_error *err)
{
    struct target target;

    if (!options->output || strcmp(options->output, "-") == 0)
        return decode_all(options, v, out, err);
    return target_open(&target, options, err) &&
           target_close(&target, decode_all(options, v, &target.out, err), err);
}

int cmd_decode(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_vocab *const v = vocabulary_open(options, true, &err);
    const bool fine = v && decode_inputs(options, v, out, &err);

    heft_vocab_close(v);
    return fine ? EXIT_SOUND : report_error(&err);
}
