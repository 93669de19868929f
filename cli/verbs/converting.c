/* converting.c: what convert and plan have in common. */
#include "verbs/converting.h"
#include "output/report.h"

#include <string.h>
#include <unistd.h>

/* ---- options -------------------------------------------------------------------------------- */

static bool format_writes_option(const char *format, const char *name)
{
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    for (size_t i = 0; heft_format_option_at(format, i, &o); i++)
        if (o.use == HEFT_OPTION_WRITES && strcmp(o.name, name) == 0)
            return true;
    return false;
}

void convert_share_options(struct options *options)
{
    const size_t n = options->n_read_options;
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    options->n_read_options = 0;
    for (size_t i = 0; i < n; i++) {
        const struct heft_option given = options->read_options[i];

        if (format_option_find(given.name, strlen(given.name), HEFT_OPTION_WRITES, &o))
            options->format_options[options->n_format_options++] = given;
        if (!options->to || !format_writes_option(options->to, given.name))
            options->read_options[options->n_read_options++] = given;
    }
}

struct heft_convert_options convert_options(const struct options *options,
                                            struct progress *progress)
{
    return (struct heft_convert_options){
        .size = sizeof(struct heft_convert_options),
        .output = options->output,
        .to = options->to,
        .format_options = options->format_options,
        .n_format_options = options->n_format_options,
        .allow_empty = options->allow_empty,
        .root = options->root,
        .rules = options->rules,
        .n_rules = options->n_rules,
        .max_shard_size = options->max_shard_size,
        .sharded = options->sharded,
        .filename_pattern = options->pattern,
        .threads = options_threads(options),
        .overwrite = options->overwrite,
        .no_sync = options->no_sync,
        .no_verify = options->no_verify,
        .strict = options->strict,
        .salvage = options->salvage,
        .dequantize = options->dequantize,
        .ignore_scales = options->ignore_scales,
        .gptq_zero = options->gptq_zero,
        .progress = progress_step,
        .progress_ctx = progress,
    };
}

bool convert_check_output(const struct options *options, const char *verb, struct heft_error *err)
{
    if (!options->output)
        return usage_error(err, "%s: no output; give -o PATH", verb);
    if (strcmp(options->output, "-") == 0)
        return usage_error(
            err, "%s: cannot write to standard output; use -o ./- for a file named '-'", verb);
    return true;
}

/* ---- reports -------------------------------------------------------------------------------- */

void convert_report_notes(const struct options *options, const struct heft_conversion *conversion,
                          size_t first)
{
    const size_t n = heft_convert_note_count(conversion);
    for (size_t i = first; i < n; i++)
        report_note(options, "%s", heft_convert_note(conversion, i));
}

void convert_print_files(struct out *out, const struct heft_conversion *conversion)
{
    struct heft_file file = HEFT_INIT(struct heft_file);
    for (size_t i = 0; heft_convert_file(conversion, i, &file); i++) {
        (void)out_name(out, file.path, strlen(file.path));
        out_char(out, '\n');
    }
}

/* Deletes an output that differs from its source. */
static void remove_files(const struct heft_conversion *conversion)
{
    struct heft_file file = HEFT_INIT(struct heft_file);
    for (size_t i = 0; heft_convert_file(conversion, i, &file); i++)
        (void)unlink(file.path);
}

bool convert_verify(const struct options *options, struct heft_conversion *conversion,
                    struct heft_error *err)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    if (!options->verify)
        return true;
    if (heft_convert_check(conversion, err)) {
        heft_convert_summary(conversion, &planned);
        report_note(options,
                    "verified: the output, reopened, has the names, dtypes, shapes and elements of "
                    "%zu tensor%s",
                    (size_t)planned.tensors, planned.tensors == 1 ? "" : "s");
        return true;
    }
    if (err->code == HEFT_MISMATCH)
        remove_files(conversion);
    else
        report_note(options, "the output is written, but could not be verified");
    return false;
}
