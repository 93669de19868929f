/* cmd_encode.c: encodes text to files of tokens, or only counts the tokens (count). */
#include "main/options.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/reject_list.h"
#include "output/report.h"
#include "main/vocabulary.h"

#include <heft/tokens.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- shared by encode and count ------------------------------------------------------------- */

static enum heft_eot eot_of(const struct options *options)
{
    if (!options->eot)
        return HEFT_EOT_DEFAULT;
    return !strcmp(options->eot, "text") ? HEFT_EOT_TEXT
           : !strcmp(options->eot, "id") ? HEFT_EOT_ID
                                         : HEFT_EOT_NONE;
}

static bool fraction_of(const struct options *options, double *fraction, struct heft_error *err)
{
    char *end;

    *fraction = options->val_fraction ? strtod(options->val_fraction, &end) : 0;
    if (!options->val_fraction ||
        (end != options->val_fraction && !*end && *fraction >= 0 && *fraction < 1))
        return true;
    return usage_error(err, "--val-fraction %s: expected a number from 0 to below 1",
                       options->val_fraction);
}

/* Whether tokens go to standard output; then nothing else may be printed there. */
static bool is_stream(const struct options *options)
{
    return options->output && strcmp(options->output, "-") == 0;
}

/* Writes at once: the list of rejected lines appears only after all tokens are written. */
static bool put_tokens(void *ctx, const void *bytes, size_t n)
{
    struct out *const out = ctx;

    out_bytes(out, bytes, n);
    out_flush(out);
    return out->error == 0;
}

/* Name of the vocabulary in the metadata of ds. */
static const char *tokenizer_of(const struct options *options)
{
    return options->vocab ? options->vocab : options->model ? options->model : "gpt2";
}

static struct heft_encoding *make_plan(const struct options *options, struct out *out,
                                       const struct heft_vocab *v, struct progress *progress,
                                       struct heft_error *err)
{
    struct heft_encode_options how = {
        .size = sizeof how,
        .output = options->output,
        .format = options->format,
        .encoding = options->encoding,
        .jsonl_key = options->jsonl_key,
        .unicode = options->unicode,
        .combine = options->has_combine ? options->combine : 50000,
        .eot = eot_of(options),
        .eot_each = options->eot_each,
        .eot_before = options->eot_before,
        .replace = options->errors && !strcmp(options->errors, "replace"),
        .skip = options->errors && !strcmp(options->errors, "skip"),
        .sort = options->sort_inputs,
        .allow_empty = options->allow_empty,
        .overwrite = options->overwrite,
        .no_sync = options->no_sync,
        .shard_tokens = options->shard_tokens,
        .resume = options->resume,
        .checkpoint = options->checkpoint,
        .threads = options_threads(options),
        .width = !options->id_dtype                  ? 0
                 : !strcmp(options->id_dtype, "u16") ? 2
                                                     : 4,
        .progress = progress_step_on,
        .progress_ctx = progress,
        .written = is_stream(options) ? put_tokens : NULL,
        .written_ctx = out,
        .lengths = options->lengths,
        .special = options->special,
        .tokenizer = tokenizer_of(options),
        .window = options->window,
        .stride = options->stride,
        .rejects = options->rejects,
    };

    if (!fraction_of(options, &how.val_fraction, err) ||
        !options_part(options, &how.part_index, &how.part_count, err))
        return NULL;
    return heft_encode_plan(v, options->inputs.items, options->inputs.n, &how, err);
}

/* Whether a component of the path is **. */
static bool has_below(const char *path)
{
    for (const char *p = path; (p = strstr(p, "**")) != NULL; p += 2)
        if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == '\0'))
            return true;
    return false;
}

/* Notes a ** in a pattern: glob.glob without recursive=True, as encode.py calls it, treats it as
 * *. */
static void note_inputs(const struct options *options)
{
    struct stat status;

    for (size_t i = 0; i < options->inputs.n; i++)
        if (has_below(options->inputs.items[i]) && stat(options->inputs.items[i], &status) != 0) {
            report_note(options,
                        "%s: ** matches any number of directories here; encode.py treats it as *",
                        options->inputs.items[i]);
            return;
        }
}

/* Notes options for texts if all inputs are arrays of ids, which are copied. */
static void note_textless(const struct options *options)
{
    const struct {
        const char *option, *given;
    } of_texts[] = {{"--encoding", options->encoding},
                    {"--errors", options->errors},
                    {"--jsonl", options->jsonl_key},
                    {"--unicode", options->unicode}};

    for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; i++)
        if (of_texts[i].given)
            report_note(options, "%s has no effect: no text was read", of_texts[i].option);
}

/* Whether the format stores documents separately. */
static bool has_own_documents(const struct heft_encoding *e)
{
    const char *const format = heft_encode_format(e);

    return strcmp(format, "megatron") == 0 || strcmp(format, "ds") == 0;
}

/* Notes on texts that may not be what the user meant to encode. */
static void note_run(const struct options *options, const struct heft_encoding *e)
{
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);

    heft_encode_summarize(e, &sum);
    if (sum.inputs > 0 && sum.documents == 0 && sum.rejected == 0)
        note_textless(options);
    if (sum.rejected > 0)
        report_note(options, "%llu lines were skipped%s", (unsigned long long)sum.rejected,
                    options->output && !options->rejects ? " (--rejects FILE lists them)" : "");
    if (sum.dropped > 0)
        report_note(options, "%llu tokens after the last window were dropped",
                    (unsigned long long)sum.dropped);
    if (sum.looks_like)
        report_note(options, "texts look like %s, and are encoded as plain text%s", sum.looks_like,
                    strstr(sum.looks_like, "JSON") ? " (--jsonl KEY encodes the text of a key)"
                                                   : "");
    if (options->output && !options->eot && sum.documents > 1 && heft_encode_width(e) != 8 &&
        !has_own_documents(e))
        report_note(options,
                    "%llu documents are separated by <|endoftext|> as text, several "
                    "tokens (--eot id puts its id)",
                    (unsigned long long)sum.documents);
}

static void put_each(const struct options *options, struct out *out, const struct heft_encoding *e)
{
    json_key(out, "each");
    json_open(out, '[');
    for (size_t i = 0; i < options->inputs.n; i++) {
        json_open(out, '{');
        json_member_text(out, "input", options->inputs.items[i]);
        json_member_u64(out, "tokens", heft_encode_tokens(e, i));
        json_close(out, '}');
    }
    json_close(out, ']');
}

/* ---- encode --------------------------------------------------------------------------------- */

/* Notes options that have no effect on this output. */
static void note_idle(const struct options *options, const struct heft_encoding *e)
{
    const bool is_ds = strcmp(heft_encode_format(e), "ds") == 0;
    const bool is_id = options->eot ? strcmp(options->eot, "id") == 0 : is_ds;
    const bool is_npz = strcmp(heft_encode_format(e), "npz") == 0;
    const bool is_apart = has_own_documents(e);
    const bool is_text = !is_apart && (!options->eot || strcmp(options->eot, "text") == 0);

    if (options->checkpoint > 0 && is_stream(options))
        report_note(options, "--checkpoint has no effect: a stream cannot be resumed");
    if (options->eot_token && !is_id)
        report_note(options, "--eot-token has no effect without --eot id");
    if (options->eot_each && !is_npz)
        report_note(options, "--eot-each has no effect: in %s the id ends each document anyway",
                    heft_encode_format(e));
    if (options->has_combine && !is_npz && !is_text)
        report_note(options, "--combine has no effect: %s has no arrays of several documents",
                    heft_encode_format(e));
}

/* Notes an existing X.idx: readers of Megatron's format would use it as the index of X.bin. */
static void note_index(const struct options *options, const struct heft_encoding *e)
{
    const char *const path = heft_encode_output(e, 0);
    const size_t n = path ? strlen(path) : 0;
    struct stat status;
    char *index;

    if (options->shard_tokens > 0 || options->val_fraction || n < 4 ||
        strcmp(path + n - 4, ".bin") != 0 || !strcmp(heft_encode_format(e), "megatron"))
        return;
    index = strdup(path);
    if (!index)
        return;
    memcpy(index + n - 4, ".idx", 4);
    if (stat(index, &status) == 0)
        report_note(options, "%s: exists, but is not the index of %s", index, path);
    free(index);
}

/* Whether INPUT stands for several files. */
static bool is_several(const char *input)
{
    struct stat status;

    return stat(input, &status) != 0 || S_ISDIR(status.st_mode);
}

/* Notes a part of files in the order of the system, which may differ between machines. */
static void note_order(const struct options *options)
{
    for (size_t i = 0; options->part && !options->sort_inputs && i < options->inputs.n; i++)
        if (is_several(options->inputs.items[i])) {
            report_note(options,
                        "%s: the order of its files may differ between machines, and so may the "
                        "parts (--sort)",
                        options->inputs.items[i]);
            return;
        }
}

/* Notes on what a reader of the output may not expect. */
static void note_plan(const struct options *options, const struct heft_encoding *e)
{
    note_idle(options, e);
    note_index(options, e);
    note_order(options);
    if (heft_encode_width(e) == 4 && !options->id_dtype)
        report_note(options, "ids are written as 4 bytes each: some may be above 65535");
}

static void list_files(struct out *out, const struct heft_encoding *e, bool json,
                       const char *(*file)(const struct heft_encoding *e, size_t i))
{
    const char *path;

    for (size_t i = 0; (path = file(e, i)) != NULL; i++) {
        if (json) {
            json_text(out, path, strlen(path));
            continue;
        }
        (void)out_name(out, path, strlen(path));
        out_char(out, '\n');
    }
}

static void print_plan(struct out *out, const struct heft_encoding *e, bool json)
{
    if (!json) {
        list_files(out, e, false, heft_encode_input);
        out_text(out, "to ");
        list_files(out, e, false, heft_encode_output);
        return;
    }
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_key(out, "inputs");
    json_open(out, '[');
    list_files(out, e, true, heft_encode_input);
    json_close(out, ']');
    json_key(out, "files");
    json_open(out, '[');
    list_files(out, e, true, heft_encode_output);
    json_close(out, ']');
    json_close(out, '}');
    out_char(out, '\n');
}

static void print_written(const struct options *options, struct out *out,
                          const struct heft_encoding *e, const struct progress *progress)
{
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);

    heft_encode_summarize(e, &sum);
    if (options->val_fraction && strtod(options->val_fraction, NULL) > 0 && sum.val_tokens == 0)
        report_note(options,
                    "the validation file is empty: documents (with --eot text and in npz, arrays "
                    "of --combine characters) are not split, and there are too few of them");
    if (is_stream(options))
        return;
    if (!options->json) {
        list_files(out, e, false, heft_encode_output);
        return;
    }
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_key(out, "files");
    json_open(out, '[');
    list_files(out, e, true, heft_encode_output);
    json_close(out, ']');
    json_member_u64(out, "inputs", sum.inputs);
    json_member_u64(out, "documents", sum.documents);
    if (options->errors && !strcmp(options->errors, "skip"))
        json_member_u64(out, "rejected", sum.rejected);
    json_member_u64(out, "tokens", sum.tokens);
    if (options->val_fraction)
        json_member_u64(out, "val_tokens", sum.val_tokens);
    if (options->window > 0)
        json_member_u64(out, "dropped", sum.dropped);
    json_member_u64(out, "bytes", sum.bytes);
    json_member_u64(out, "resumed", sum.resumed);
    if (has_own_documents(e) || (options->eot && strcmp(options->eot, "text") != 0))
        put_each(options, out, e);
    json_key(out, "seconds");
    json_seconds(out, progress_seconds(progress));
    json_member_u64(out, "peak_rss", peak_memory());
    json_close(out, '}');
    out_char(out, '\n');
}

static bool encode_to(const struct options *options, struct out *out, const struct heft_vocab *v,
                      struct progress *progress, struct heft_error *err)
{
    struct heft_encoding *const e = make_plan(options, out, v, progress, err);
    bool fine = e != NULL;

    note_inputs(options);
    if (fine)
        note_plan(options, e);
    fine = fine && reject_list_check(options, e, err);
    if (fine && options->dry_run) {
        print_plan(out, e, options->json);
    } else if (fine) {
        progress_catch();
        fine = heft_encode_run(e, err) || (is_stream(options) && out->error != 0); /* main reports
                                                                                    * it */
        progress_end(progress);
        if (fine)
            note_run(options, e);
        if (fine)
            print_written(options, out, e, progress);
    }
    heft_encode_free(e);
    return fine;
}

static bool check_rejects(const struct options *options, struct heft_error *err)
{
    if (!options->rejects)
        return true;
    if (strcmp(options->rejects, "-") == 0)
        return usage_error(
            err,
            "--rejects: cannot write to standard output; use --rejects ./- for a file named '-'");
    if (!options->errors || strcmp(options->errors, "skip") != 0)
        return usage_error(err,
                           "--rejects lists the lines that --errors skip skips; add --errors skip");
    return !options->resume ||
           usage_error(err, "--rejects and --resume cannot be combined: the list is of one run");
}

int cmd_encode(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_vocab *v = NULL;
    struct progress progress;
    bool fine;

    progress_begin(&progress, options, "encode");
    fine = options->output ? true : usage_error(&err, "encode: no output; give -o PATH");
    if (fine && is_stream(options) && options->json && !options->dry_run)
        fine =
            usage_error(&err, "--json cannot be combined with -o -: both write to standard output");
    fine = fine && check_rejects(options, &err);
    v = fine ? vocabulary_open(options, false, &err) : NULL;
    fine = v && encode_to(options, out, v, &progress, &err);
    progress_end(&progress);
    heft_vocab_close(v);
    return fine ? EXIT_SOUND : report_error(&err);
}

/* ---- count ---------------------------------------------------------------------------------- */

static void note_each(const struct options *options, struct out *out, const struct heft_encoding *e)
{
    size_t width = 1;

    for (size_t i = 0; i < options->inputs.n; i++) {
        const size_t n = u64_digits(heft_encode_tokens(e, i));

        width = n > width ? n : width;
    }
    for (size_t i = 0; i < options->inputs.n; i++) {
        const char *const name = options->inputs.items[i];

        out_u64_in(out, heft_encode_tokens(e, i), width);
        out_text(out, "  ");
        (void)out_name(out, name, strlen(name));
        out_char(out, '\n');
    }
}

static void print_count_json(const struct options *options, struct out *out,
                             const struct heft_encoding *e)
{
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);

    heft_encode_summarize(e, &sum);
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_u64(out, "tokens", sum.tokens);
    json_member_u64(out, "documents", sum.documents);
    if (options->errors && !strcmp(options->errors, "skip"))
        json_member_u64(out, "rejected", sum.rejected);
    json_member_u64(out, "bytes", sum.bytes);
    if (options->each)
        put_each(options, out, e);
    json_close(out, '}');
    out_char(out, '\n');
}

static bool count_inputs(const struct options *options, struct out *out, const struct heft_vocab *v,
                         struct progress *progress, struct heft_error *err)
{
    struct heft_encoding *const e = make_plan(options, out, v, progress, err);
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);
    bool fine;

    progress_catch();
    fine = e && heft_encode_run(e, err);

    progress_end(progress);
    if (fine) {
        note_inputs(options);
        note_run(options, e);
        heft_encode_summarize(e, &sum);
        if (options->json) {
            print_count_json(options, out, e);
        } else if (options->each) {
            note_each(options, out, e);
        } else {
            out_u64(out, sum.tokens);
            out_char(out, '\n');
        }
    }
    heft_encode_free(e);
    return fine;
}

int cmd_count(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct progress progress;
    struct heft_vocab *v;
    bool fine;

    progress_begin(&progress, options, "count");
    v = vocabulary_open(options, false, &err);
    fine = v && count_inputs(options, out, v, &progress, &err);
    heft_vocab_close(v);
    return fine ? EXIT_SOUND : report_error(&err);
}
