/* encode_plan.c: options and inputs of encode, validated; public API. */
#include "tokens/job/encode_front.h"

#include "base/require_arg.h"
#include "base/sized.h"

#define CHECKPOINT ((uint64_t)256 << 20)
#define PARTS      ((uint64_t)1 << 20) /* most parts of a run */
#define WINDOW     ((uint64_t)1 << 24) /* most ids of a window, which is in memory */

/* "." and ".." are directories without a trailing slash, too. */
static bool is_folder(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool choose_output(struct heft_encoding *e, struct heft_error *err)
{
    const char *path = e->options.output;

    if (!*path)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the output path is empty");
    if (!heft_token_check_device(path, err))
        return false;
    e->output = is_folder(path) ? heft_arena_printf(&e->mem, err, "%s/", path) : path;
    return e->output != NULL;
}

/* A callback gets one stream, which cannot be patched. */
static bool check_stream(const struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;

    if (!o->written)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "tokens are written to files");
    if (e->format != &heft_tokens_bin && e->format != &heft_tokens_ids)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "only option format bin or ids can be written as a stream");
    return (!o->resume && o->shard_tokens == 0 && o->val_fraction == 0) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "a stream cannot be combined with option resume, option shard_tokens or "
                     "option val_fraction");
}

/* A path without an extension gets that of the format; .npz is the default. */
static bool choose_format(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;
    const char *extension;
    size_t n;

    if (!choose_output(e, err))
        return false;
    extension = heft_token_extension_of(e->output);
    n = strlen(e->output);
    if (o->format || *extension)
        e->format = heft_token_format_of(o->format, e->output);
    else
        e->format = &heft_tokens_npz;
    if (!e->format)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "format %s: expected npz, npy, bin, llmc, megatron, ids or ds",
                         o->format ? o->format : extension);
    if (heft_encode_streams(e))
        return check_stream(e, err);
    if (n > INT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a path of 2 GiB");
    if (!*extension && e->output[n - 1] != '/')
        e->output =
            heft_arena_printf(&e->mem, err, "%s%s", e->output, heft_token_extension(e->format));
    else if (e->format == &heft_tokens_megatron && e->output[n - 1] != '/')
        e->output = heft_token_megatron_path(&e->mem, e->output, err);
    return e->output != NULL;
}

/* Refuses options that ask for ids which the format does not store. */
static bool check_places(const struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;

    if (o->eot != HEFT_EOT_ID && (o->eot_before || o->eot_each))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option eot_before and option eot_each require option eot id");
    return !o->eot_before || e->format != &heft_tokens_npz ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option eot_before: npz always has the id between documents");
}

/* Bytes of the directory of a path, without "./" at its beginning. */
static struct heft_str folder_of(const char *path)
{
    const char *slash, *begin = path;

    while (begin[0] == '.' && begin[1] == '/')
        begin += 2;
    slash = strrchr(begin, '/');
    return (struct heft_str){begin, slash ? (size_t)(slash + 1 - begin) : 0};
}

/* The journal names files in the directory of the output only. */
static bool check_lengths_path(const struct heft_encoding *e, struct heft_error *err)
{
    const char *path = e->options.lengths;
    const struct heft_str folder = folder_of(path);

    if (!folder.p[folder.n])
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option lengths: %s is not a file name",
                         path);
    if (heft_encode_streams(e))
        return heft_token_check_device(path, err);
    if (strcmp(path, e->output) == 0 || !heft_str_eq(folder, folder_of(e->output)))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option lengths: %s: expected another file in the directory of the output",
                         path);
    return true;
}

static bool check_lengths(const struct heft_encoding *e, struct heft_error *err)
{
    const char *name = e->format ? e->format->name : NULL;

    if (!e->options.lengths)
        return true;
    if (!name || (e->format != &heft_tokens_bin && e->format != &heft_tokens_npy &&
                  e->format != &heft_tokens_llmc))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option lengths requires option format bin, npy or llmc%s",
                         name && (e->format->index || e->format->is_described)
                             ? "; this format has its own index"
                             : "");
    if (e->accumulates)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option lengths requires option eot id or none: as text, " HEFT_END_OF_TEXT
                         " is encoded together with the documents");
    return check_lengths_path(e, err);
}

static bool choose_separator(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_options *o = &e->options;
    const bool megatron = e->format == &heft_tokens_megatron, ds = e->format == &heft_tokens_ds;

    if (o->eot == HEFT_EOT_DEFAULT)
        o->eot = megatron ? HEFT_EOT_NONE : ds ? HEFT_EOT_ID : HEFT_EOT_TEXT;
    if ((megatron || ds) && o->eot == HEFT_EOT_TEXT)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s stores documents separately: use option eot id or none",
                         e->format->name);
    if (o->eot == HEFT_EOT_ID && heft_vocab_end(e->v) == HEFT_NO_TOKEN)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option eot id: the vocabulary has no " HEFT_END_OF_TEXT
                         ": option eot_token says which token or id ends a text");
    if (e->format && !check_places(e, err))
        return false;
    e->accumulates = e->format && (e->format == &heft_tokens_npz || o->eot == HEFT_EOT_TEXT);
    return true;
}

/* Chooses 2 bytes for an id unless one that is written needs 4; the id of <|endoftext|> counts only
 * if it is written. */
static bool choose_width(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;
    const uint32_t end = o->eot == HEFT_EOT_ID ? heft_vocab_end(e->v) + 1 : 0;
    const uint32_t of_text = heft_vocab_text_ids(e->v, o->special);
    const uint32_t ids = end > of_text ? end : of_text;

    e->width = o->width ? o->width : ids <= 65536 ? 2 : 4;
    if (o->width && o->width != 2 && o->width != 4)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "ids of %u bytes; expected 2 or 4",
                         o->width);
    if (o->width && (e->format == &heft_tokens_npz || e->format == &heft_tokens_ids))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option width: npz always has ids of 8 bytes, and ids are decimals");
    return e->width == 4 || ids <= 65536 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option width: ids up to %" PRIu32 " need 4 bytes", ids - 1);
}

static bool check_window(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_options *o = &e->options;

    if (o->window == 0)
        return o->stride == 0 ||
               heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option stride requires option window");
    if (e->format != &heft_tokens_bin && e->format != &heft_tokens_npy)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option window requires option format bin or npy");
    if (o->lengths)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option window and option lengths cannot be combined: documents end "
                         "within windows");
    if (o->stride == 0)
        o->stride = o->window;
    return (o->window <= WINDOW && o->stride <= o->window) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "a window of %" PRIu64 " tokens, stride %" PRIu64 ": expected at most %" PRIu64
                     ", and a stride of at most the window",
                     o->window, o->stride, WINDOW);
}

/* A part must not depend on the documents of others. */
static bool check_part(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;

    if (o->part_count == 0 && o->part_index == 0)
        return true;
    if (o->part_index < 1 || o->part_index > o->part_count || o->part_count > PARTS)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "part %" PRIu64 " of %" PRIu64 ": expected 1 to %" PRIu64, o->part_index,
                         o->part_count,
                         o->part_count && o->part_count < PARTS ? o->part_count : PARTS);
    if (e->format == &heft_tokens_npz)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option part: npz has arrays of option combine characters, which continue "
                         "in the next part; use another format");
    if (e->accumulates)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option part requires option eot id or none: as text, " HEFT_END_OF_TEXT
                         " is encoded together with the documents");
    if (o->shard_tokens > 0 || o->val_fraction > 0 || o->window > 0)
        return heft_fail(
            err, HEFT_USAGE, HEFT_NO_OFFSET,
            "option part cannot be combined with option shard_tokens, option "
            "val_fraction or option window: they count tokens or documents of all parts");
    e->part = (struct heft_input_part){.index = o->part_index,
                                       .count = o->part_count,
                                       .has_lines = o->jsonl_key &&
                                                    e->text.encoding.charset == HEFT_CHARSET_UTF8};
    return true;
}

static bool check_tokenizer(struct heft_encoding *e, struct heft_error *err)
{
    const char *name = e->options.tokenizer;

    if (e->format != &heft_tokens_ds)
        name = e->options.tokenizer = NULL; /* it does not distinguish runs */
    return !name || !strpbrk(name, "\r\n") ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the name of the tokenizer has several lines; the metadata of ds has one");
}

static bool check_rejects(const struct heft_encode_options *o, struct heft_error *err)
{
    if (!o->rejects)
        return true;
    if (!o->skip || !o->output)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option rejects requires option skip and an output");
    return !o->resume || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                                   "option rejects and option resume cannot be combined: the list "
                                   "is of one run");
}

static bool check_options(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;

    if ((unsigned)o->eot > HEFT_EOT_NONE)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "unknown kind of separator %u",
                         (unsigned)o->eot);
    if (!(o->val_fraction >= 0 && o->val_fraction < 1))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the share for validation must be at least 0 and below 1");
    if (o->skip && (!o->jsonl_key || o->replace))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option skip requires option jsonl_key and excludes replace");
    e->text = (struct heft_text_how){{HEFT_CHARSET_UTF8, {0}}, o->replace, o->jsonl_key != NULL};
    if (o->encoding && !heft_charset_of(o->encoding, &e->text.encoding, err))
        return false;
    return (!o->output || choose_format(e, err)) && choose_separator(e, err) &&
           check_rejects(o, err) && check_lengths(e, err) && check_window(e, err) &&
           check_part(e, err) && check_tokenizer(e, err) && choose_width(e, err);
}

static bool find_arrays(struct heft_encoding *e, struct heft_error *err)
{
    const size_t n = heft_input_list_count(e->list);
    struct heft_input_item item;
    struct heft_buf path = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        ok = heft_input_list_get(e->list, i, &path, &item, err);
        e->has_arrays |= ok && heft_encode_is_npz(item.path);
    }
    heft_buf_release(&path);
    return ok;
}

static bool cut_inputs(struct heft_encoding *e, struct heft_error *err)
{
    if (heft_input_list_streams(e->list))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option part: an input that can only be read once cannot be cut; use "
                         "regular files");
    return heft_input_list_cut(&e->list, &e->part, err);
}

static bool find_inputs(struct heft_encoding *e, const char *const *inputs, size_t n,
                        struct heft_error *err)
{
    const struct heft_input_how how = {e->options.sort, e->options.allow_empty};

    e->n_words = n;
    e->list = heft_input_list_new(err);
    e->word_tokens = heft_calloc(n, sizeof *e->word_tokens, err);
    if (!e->list || !e->word_tokens || n > UINT32_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!heft_input_list_add(e->list, inputs[i], (uint32_t)i, &how, err))
            return false;
    if (e->part.count > 0 && (!heft_encode_note_inputs(e, err) || !cut_inputs(e, err)))
        return false;
    e->sum.inputs = heft_input_list_count(e->list);
    return find_arrays(e, err);
}

struct heft_encoding *heft_encode_plan(const struct heft_vocab *v, const char *const *inputs,
                                       size_t n, const struct heft_encode_options *options,
                                       struct heft_error *err)
{
    struct heft_encoding *e = heft_require_arg(v != NULL, "a vocabulary", err) &&
                                      heft_require_paths(inputs, n, err) &&
                                      heft_vocab_can_encode(v, err)
                                  ? heft_calloc(1, sizeof *e, err)
                                  : NULL;

    if (!e)
        return NULL;
    e->v = v;
    e->part.end = UINT64_MAX;
    if (!HEFT_TAKE(heft_encode_options, &e->options, options, err)) {
        heft_encode_free(e);
        return NULL;
    }
    if (!e->options.unicode)
        e->options.unicode = v->unicode;
    if (e->options.checkpoint == 0)
        e->options.checkpoint = CHECKPOINT;
    if (check_options(e, err) && find_inputs(e, inputs, n, err))
        return e;
    heft_encode_free(e);
    return NULL;
}

bool heft_encode_run(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_pipeline line;
    bool ok;

    if (!heft_require_arg(e != NULL, "an encoding", err))
        return false;
    ok = heft_encode_pipeline_init(&line, e, err) && (!e->format || heft_encode_begin(e, err)) &&
         (e->resume.is_over || heft_encode_inputs(e, &line, err));

    heft_encode_pipeline_release(&line); /* before the output, which workers may use */
    return ok && (!e->out || heft_encode_commit(e, err));
}

unsigned heft_encode_width(const struct heft_encoding *e)
{
    if (!e || !e->format || e->format == &heft_tokens_ids)
        return 0;
    return e->format == &heft_tokens_npz ? 8 : e->width;
}

const char *heft_encode_format(const struct heft_encoding *e)
{
    return e && e->format ? e->format->name : NULL;
}

void heft_encode_summarize(const struct heft_encoding *e, struct heft_encode_summary *out)
{
    if (e && out)
        HEFT_FILL(heft_encode_summary, out, &e->sum);
}

const char *heft_encode_input(const struct heft_encoding *e, size_t i)
{
    return e ? heft_input_list_path(e->list, i) : NULL;
}

const char *heft_encode_output(const struct heft_encoding *e, size_t i)
{
    if (!e)
        return NULL;
    if (e->out)
        return heft_token_out_path(e->out, i);
    return i == 0 ? e->output : NULL;
}

uint64_t heft_encode_tokens(const struct heft_encoding *e, size_t i)
{
    if (!e)
        return 0;
    return i < e->n_words ? e->word_tokens[i] : 0;
}

void heft_encode_free(struct heft_encoding *e)
{
    if (!e)
        return;
    heft_token_out_free(e->out);
    heft_encode_resume_release(&e->resume, e->options.resume);
    heft_input_list_free(e->list);
    heft_free(e->word_tokens);
    heft_arena_release(&e->mem);
    heft_free(e);
}
