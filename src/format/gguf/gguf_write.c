/* gguf_write.c: plans GGUF files of version 3, little-endian. The bytes are a function of the key-value
 * pairs, the tensors in order, and the alignment:
 *
 *     GGUF  3 u32  tensors u64  pairs u64
 *     pairs: key, type u32, value                      copied from the source where not changed
 *     tensors: name, n_dims u32, dims u64 …, type u32, offset u64      dims: innermost first
 *     zeros to ALIGNMENT
 *     data of each tensor, zeros to ALIGNMENT
 *
 * A set of files has the pairs in the first one. Each file has split.no, split.tensors.count and
 * split.count after them, in the order of llama-gguf-split (gguf-py has split.count before
 * split.tensors.count), and general.alignment, because llama.cpp reads it in each file. */
#include "base/endian.h"
#include "format/gguf/gguf_write.h"

#define HEAD      24   /* bytes before the pairs */
#define ZEROS     4096 /* longest padding that is a literal */
#define EXTENSION ".gguf"
#define PATTERN   "-00001-of-00002.gguf"

struct out {
    struct heft_plan *plan;
    struct heft_export_list *exports;
    struct heft_gguf_out_pairs pairs;
    size_t *ends;     /* for each file: index of the item after its last one */
    uint32_t n_files; /* 1: not split */
    uint32_t zeros;   /* maker of long paddings; HEFT_NONE: none yet */
    uint32_t *makers; /* for each source: maker of its bytes; HEFT_NONE: none yet */
    const char *zeros_text;
};

static void put_le(struct heft_buf *buf, uint64_t v, size_t bytes)
{
    uint8_t le[8];

    heft_put_le64(le, v);
    heft_buf_put(buf, le, bytes);
}

static void put_string(struct heft_buf *buf, struct heft_str s)
{
    put_le(buf, s.n, 8);
    heft_buf_str(buf, s);
}

/* Adds the bytes of a buffer as an op, and empties it. */
static bool flush(struct out *o, uint32_t file, struct heft_buf *buf, struct heft_error *err)
{
    struct heft_str bytes;
    struct heft_budget *const budget = buf->budget;

    if (!heft_buf_take(buf, o->plan->mem, &bytes, err))
        return false;
    *buf = (struct heft_buf){.budget = budget};
    return heft_plan_put(o->plan, file, bytes, err);
}

/* ---- padding --------------------------------------------------------------------------------------- */

static bool make_zeros(const void *ctx, uint64_t from, uint8_t *out, size_t n,
                       struct heft_error *err)
{
    (void)ctx, (void)from, (void)err;
    memset(out, 0, n);
    return true;
}

static void keep_ctx(void *ctx)
{
    (void)ctx; /* in the plan's memory */
}

/* Pads a file to the alignment. */
static bool pad_file(struct out *o, uint32_t file, struct heft_error *err)
{
    const struct heft_maker maker = {make_zeros, keep_ctx, NULL};
    const uint64_t n = heft_plan_padding(o->plan->files[file].size, o->pairs.alignment);

    if (n <= ZEROS)
        return heft_plan_put(o->plan, file, (struct heft_str){o->zeros_text, (size_t)n}, err);
    return (o->zeros != HEFT_NONE || heft_plan_maker(o->plan, maker, &o->zeros, err)) &&
           heft_plan_made(o->plan, file, o->zeros, 0, n, err);
}

/* ---- pairs ------------------------------------------------------------------------------------------ */

/* Makes the bytes of a source. */
static bool read_source(const void *ctx, uint64_t from, uint8_t *out, size_t n,
                        struct heft_error *err)
{
    const struct heft_model_source *const source = ctx;

    return heft_source_read(&source->source, from, out, n, err) ||
           heft_error_file(err, source->path);
}

static bool maker_of(struct out *o, uint32_t source, uint32_t *number, struct heft_error *err)
{
    /* the model outlives the plan, and is not changed */
    const struct heft_maker maker = {read_source, keep_ctx, &o->exports->model->sources[source]};

    if (o->makers[source] == HEFT_NONE && !heft_plan_maker(o->plan, maker, &o->makers[source], err))
        return false;
    *number = o->makers[source];
    return true;
}

/* Pairs of a source that follow one another, and can be copied. */
struct run {
    uint32_t source;
    uint64_t from, end; /* equal: empty */
};

static bool flush_run(struct out *o, uint32_t file, struct run *run, struct heft_error *err)
{
    uint32_t maker;
    const uint64_t n = run->end - run->from;

    if (n == 0)
        return true;
    run->end = run->from;
    return maker_of(o, run->source, &maker, err) &&
           heft_plan_made(o->plan, file, maker, run->from, n, err);
}

static bool is_copyable(const struct heft_gguf_out_pair *pair)
{
    return pair->file && pair->file->version > 1 && !pair->file->is_big_endian;
}

static bool extend_run(struct out *o, uint32_t file, struct run *run,
                       const struct heft_gguf_out_pair *pair, struct heft_error *err)
{
    const struct heft_gguf_pair *const p = pair->pair;

    if ((run->source != pair->file->source || run->end != p->at) && !flush_run(o, file, run, err))
        return false;
    if (run->from == run->end)
        *run = (struct run){pair->file->source, p->at, p->at};
    run->end = p->value + p->bytes;
    return true;
}

static bool put_pair(struct out *o, uint32_t file, struct run *run, struct heft_buf *buf,
                     const struct heft_gguf_out_pair *pair, struct heft_error *err)
{
    if (is_copyable(pair))
        return (buf->n == 0 || flush(o, file, buf, err)) && extend_run(o, file, run, pair, err);
    if (!flush_run(o, file, run, err))
        return false;
    if (pair->file)
        return heft_gguf_put_pair(buf, o->exports->model, pair->file, pair->pair, err);
    heft_buf_str(buf, pair->bytes);
    return true;
}

static void put_split(struct heft_buf *buf, const char *key, uint32_t type, uint64_t value)
{
    put_string(buf, heft_str_of(key));
    put_le(buf, type, 4);
    put_le(buf, value, heft_gguf_types[type].bytes);
}

static bool has_pair(const struct out *o, uint32_t number, size_t index)
{
    return number == 0 || index == o->pairs.alignment_at;
}

/* The pairs of file `number`, from 0. */
static bool plan_pairs(struct out *o, uint32_t file, uint32_t number, struct heft_buf *buf,
                       struct heft_error *err)
{
    struct run run = {0};

    for (size_t k = 0; k < o->pairs.n; k++) {
        const size_t i = heft_gguf_out_pair_at(&o->pairs, k);

        if (has_pair(o, number, i) && !put_pair(o, file, &run, buf, &o->pairs.list[i], err))
            return false;
    }
    if (!flush_run(o, file, &run, err))
        return false;
    if (o->n_files > 1) {
        put_split(buf, "split.no", HEFT_GGUF_U16, number);
        put_split(buf, "split.tensors.count", HEFT_GGUF_I32, o->exports->n_items);
        put_split(buf, "split.count", HEFT_GGUF_U16, o->n_files);
    }
    return true;
}

static uint64_t count_pairs(const struct out *o, uint32_t number)
{
    const uint64_t own = number == 0 ? o->pairs.n : o->pairs.alignment_at != HEFT_NONE;

    return own + (o->n_files > 1 ? 3 : 0);
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

static bool refuse_tensor(const struct heft_export_item *item, struct heft_error *err)
{
    return heft_error_about(err, "tensor", item->name);
}

/* Blocks of a big-endian file hold their scales in either order, by the program that wrote it. */
static bool is_ambiguous(const struct out *o, const struct heft_export_item *item)
{
    const struct heft_model *const model = o->exports->model;
    const enum heft_dtype dtype = (enum heft_dtype)item->as;
    const struct heft_gguf_file *file;

    if (!heft_dtype_is_scaled(dtype) || item->as != item->row->dtype || dtype == HEFT_MXFP4 ||
        dtype == HEFT_NVFP4)
        return false;
    file = heft_gguf_file_at(model, model->storages[item->row->storage].source);
    return file && file->is_big_endian;
}

static bool check_item(const struct out *o, const struct heft_export_item *item,
                       struct heft_error *err)
{
    const struct heft_row *const row = item->row;

    if (row->rank > HEFT_GGUF_RANK) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "it has %u dimensions, tensors of a GGUF have up to %d", row->rank,
                  HEFT_GGUF_RANK);
        return refuse_tensor(item, err);
    }
    if (memchr(item->name.p, '\0', item->name.n)) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "its name contains a NUL, where llama.cpp ends it; rename it");
        return refuse_tensor(item, err);
    }
    if (row->rank < 2 && item->as != row->dtype &&
        heft_dtype_is_scaled((enum heft_dtype)item->as)) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "cast to %s: it has fewer than 2 dimensions, and llama.cpp reads such tensors as "
                  "floats",
                  heft_dtype_name((enum heft_dtype)item->as));
        return refuse_tensor(item, err);
    }
    if (is_ambiguous(o, item)) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "%s of a big-endian file: programs differ in the byte order of the scales in it, "
                  "and heft writes little-endian files only; leave it out with the rule '!NAME'",
                  heft_dtype_name((enum heft_dtype)item->as));
        return refuse_tensor(item, err);
    }
    return true;
}

static bool put_info(struct heft_buf *buf, const struct heft_export_item *item, uint64_t offset,
                     struct heft_error *err)
{
    const struct heft_row *const row = item->row;
    uint32_t id;

    if (!heft_gguf_type_id((enum heft_dtype)item->as, &id)) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "GGUF has no %s",
                  heft_dtype_name((enum heft_dtype)item->as));
        return refuse_tensor(item, err);
    }
    put_string(buf, item->name);
    put_le(buf, row->rank, 4);
    for (unsigned d = row->rank; d > 0; d--)
        put_le(buf, row->shape[d - 1], 8);
    put_le(buf, id, 4);
    put_le(buf, offset, 8);
    return true;
}

static bool refuse_size(struct heft_error *err)
{
    return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the output has 2^64 bytes or more");
}

static bool padded_bytes(const struct out *o, const struct heft_export_item *item, uint64_t *bytes,
                         struct heft_error *err)
{
    return heft_add(item->bytes, heft_plan_padding(item->bytes, o->pairs.alignment), bytes) ||
           refuse_size(err);
}

static bool plan_infos(struct out *o, size_t begin, size_t end, struct heft_buf *buf,
                       struct heft_error *err)
{
    uint64_t offset = 0, bytes = 0;

    for (size_t i = begin; i < end && !buf->failed; i++) {
        const struct heft_export_item *const item = &o->exports->items[i];

        if (!check_item(o, item, err) || !put_info(buf, item, offset, err) ||
            !padded_bytes(o, item, &bytes, err))
            return false;
        if (!heft_add(offset, bytes, &offset))
            return refuse_size(err);
    }
    return true;
}

static bool plan_data(struct out *o, uint32_t file, uint32_t number, size_t begin, size_t end,
                      struct heft_error *err)
{
    for (size_t i = begin; i < end; i++) {
        struct heft_export_item *const item = &o->exports->items[i];

        item->shard = number;
        if (!heft_plan_item(o->plan, file, item, err) || !pad_file(o, file, err))
            return false;
    }
    return true;
}

/* ---- files ------------------------------------------------------------------------------------------- */

static bool plan_head(struct out *o, uint32_t file, uint32_t number, size_t begin, size_t end,
                      struct heft_error *err)
{
    struct heft_buf buf = {.budget = o->plan->mem->budget};
    bool ok;

    heft_buf_text(&buf, "GGUF");
    put_le(&buf, 3, 4);
    put_le(&buf, end - begin, 8);
    put_le(&buf, count_pairs(o, number), 8);
    ok = plan_pairs(o, file, number, &buf, err) && plan_infos(o, begin, end, &buf, err) &&
         flush(o, file, &buf, err);
    heft_buf_release(&buf);
    return ok && pad_file(o, file, err);
}

static bool plan_file(struct out *o, const char *path, uint32_t number, struct heft_error *err)
{
    const size_t begin = number ? o->ends[number - 1] : 0, end = o->ends[number];
    uint32_t file;

    return path && heft_plan_file_begin(o->plan, path, &file, err) &&
           heft_plan_reserve(o->plan, 2 * (end - begin) + 8, err) &&
           plan_head(o, file, number, begin, end, err) &&
           plan_data(o, file, number, begin, end, err);
}

/* ---- division among files ------------------------------------------------------------------------------ */

enum { MAX_TENSORS, NO_TENSOR_FIRST, N_OPTIONS };
const struct heft_format_option heft_gguf_options[N_OPTIONS + 1] = {
    [MAX_TENSORS] = {.name = "max-shard-tensors",
                     .kind = HEFT_OPTION_NUMBER,
                     .value = "N",
                     .least = 1,
                     .most = INT32_MAX,
                     .help = "split into files of at most N tensors"},
    [NO_TENSOR_FIRST] = {.name = "no-tensor-first-shard",
                         .help = "write the first of several files without tensors"},
};

struct division {
    uint64_t max_bytes, max_tensors; /* UINT64_MAX: no limit */
    uint64_t bytes, tensors;         /* of the file so far */
};

static bool is_full(const struct division *d, uint64_t bytes)
{
    return d->tensors > 0 && (d->tensors >= d->max_tensors || bytes > d->max_bytes ||
                              d->bytes > d->max_bytes - bytes);
}

/* As gguf-py: in order, each file as full as it may be, and a tensor that is larger than a file may be has
 * its own. Sizes count with their padding. */
static bool divide_items(struct out *o, struct division d, struct heft_error *err)
{
    const struct heft_export_list *const exports = o->exports;
    uint64_t bytes = 0;

    o->ends = heft_arena_zero(o->plan->mem, exports->n_items + 2, sizeof *o->ends, err);
    if (!o->ends)
        return false;
    o->n_files = heft_plan_option(o->plan, NO_TENSOR_FIRST).is_given ? 2 : 1;
    for (size_t i = 0; i < exports->n_items; i++) {
        if (!padded_bytes(o, &exports->items[i], &bytes, err))
            return false;
        if (is_full(&d, bytes)) {
            o->n_files++;
            d.bytes = d.tensors = 0;
        }
        if (!heft_add(d.bytes, bytes, &d.bytes))
            return refuse_size(err);
        d.tensors++;
        o->ends[o->n_files - 1] = i + 1;
    }
    return true;
}

static bool check_numbers(const struct out *o, struct heft_error *err)
{
    if (o->n_files > HEFT_GGUF_SPLIT_MOST)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the output would have %" PRIu32 " files, a GGUF may have %d", o->n_files,
                         HEFT_GGUF_SPLIT_MOST);
    return o->n_files == 1 || o->exports->n_items <= INT32_MAX ||
           heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "a GGUF of several files has fewer than 2^31 tensors");
}

static bool divide(struct out *o, struct heft_error *err)
{
    const struct heft_plan_request *const request = &o->plan->request;
    const struct heft_option_value tensors = heft_plan_option(o->plan, MAX_TENSORS);
    const struct division d = {
        .max_bytes = request->is_sharded ? request->max_shard_size : UINT64_MAX,
        .max_tensors = tensors.is_given ? tensors.number : UINT64_MAX,
    };

    return divide_items(o, d, err) && check_numbers(o, err);
}

/* ---- names --------------------------------------------------------------------------------------------- */

static bool in_no_set(struct heft_str rest)
{
    (void)rest;
    return false;
}

/* Output directories get "model.gguf", and are made. */
static const char *output_path(struct out *o, const char *output, struct heft_error *err)
{
    const bool has_slash = heft_str_ends(heft_str_of(output), "/");
    const char *path;
    bool is_folder;

    if (!heft_path_is_folder(output, &is_folder, err))
        return NULL;
    if (!has_slash && !is_folder)
        return output;
    path =
        heft_arena_printf(o->plan->mem, err, "%s%smodel" EXTENSION, output, has_slash ? "" : "/");
    o->plan->prefix = path;
    o->plan->in_set = in_no_set;
    return path;
}

/* What follows the prefix of a set's files. */
static bool in_set(struct heft_str rest)
{
    struct heft_str prefix;
    uint32_t number, count;

    return rest.n == sizeof PATTERN - 1 && heft_gguf_split_parse(rest, &prefix, &number, &count);
}

/* The prefix of a set: the path without its extension. */
static const char *prefix_of(const struct out *o, const char *path, struct heft_error *err)
{
    struct heft_str prefix = heft_str_of(path), inner;
    uint32_t number, count;

    if (heft_gguf_split_parse(prefix, &inner, &number, &count)) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "%s is the name of a part; name the set, %.*s" EXTENSION, path, (int)inner.n,
                  inner.p);
        return NULL;
    }
    prefix.n -= heft_str_ends(prefix, EXTENSION) ? sizeof EXTENSION - 1 : 0;
    return heft_arena_text(o->plan->mem, prefix, err);
}

static bool plan_files(struct out *o, const char *path, struct heft_error *err)
{
    if (o->n_files == 1)
        return plan_file(o, path, 0, err);
    o->plan->prefix = prefix_of(o, path, err);
    o->plan->in_set = in_set;
    for (uint32_t i = 0; o->plan->prefix && i < o->n_files; i++)
        if (!plan_file(o,
                       heft_gguf_split_name(o->plan->mem, heft_str_of(o->plan->prefix), i + 1,
                                            o->n_files, err),
                       i, err))
            return false;
    return o->plan->prefix != NULL;
}

/* ---- the format ---------------------------------------------------------------------------------------- */

static bool check_names(const struct out *o, struct heft_error *err)
{
    const struct heft_export_item *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < o->exports->n_items; i++)
        if (o->exports->items[i].name.n > HEFT_GGUF_NAME) {
            first = first ? first : &o->exports->items[i];
            n++;
        }
    if (!first)
        return true;
    if (o->plan->request.is_strict) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "its name has %zu bytes, llama.cpp reads up to %d; rename it", first->name.n,
                  HEFT_GGUF_NAME);
        return refuse_tensor(first, err);
    }
    return heft_plan_note(
        o->plan,
        heft_arena_printf(o->plan->mem, err,
                          "%zu name%s longer than %d bytes, which llama.cpp does not read: %s%s", n,
                          n == 1 ? " is" : "s are", HEFT_GGUF_NAME, first->name.p,
                          n == 1 ? "" : " and so on"),
        err);
}

static bool begin_out(struct out *o, struct heft_error *err)
{
    const size_t n = o->exports->model->n_sources;

    o->zeros = HEFT_NONE;
    o->zeros_text = heft_arena_zero(o->plan->mem, ZEROS, 1, err);
    o->makers = heft_arena_zero(o->plan->mem, n + 1, sizeof *o->makers, err);
    for (size_t i = 0; o->makers && i < n; i++)
        o->makers[i] = HEFT_NONE;
    return o->zeros_text && o->makers;
}

bool heft_gguf_plan_set(struct heft_plan *plan, const char *output,
                        struct heft_export_list *exports, struct heft_error *err)
{
    struct out o = {.plan = plan, .exports = exports};
    const char *const path = output_path(&o, output, err);
    const bool ok = path && begin_out(&o, err) && check_names(&o, err) &&
                    heft_gguf_out_pairs_take(&o.pairs, plan, exports, err) && divide(&o, err) &&
                    plan_files(&o, path, err);

    heft_gguf_out_pairs_release(&o.pairs);
    exports->n_shards = o.n_files ? o.n_files : 1;
    return ok;
}

bool heft_gguf_supports_dtype(enum heft_dtype dtype)
{
    uint32_t id;

    return heft_gguf_type_id(dtype, &id);
}
