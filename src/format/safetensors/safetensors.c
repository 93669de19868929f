/* safetensors.c: reads safetensors files (doc/format/safetensors.md).
 *     0      8                    8+N                                            end of file
 *     | N    | header             | byte buffer                                            |
 *     | u64  | JSON, N bytes      | the tensors, back to back: every byte belongs to one   |
 *     | LE   | spaces at its end  | data_offsets count from here                           |
 *
 *     header: {"__metadata__":{"key":"value"},
 *              "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, …}
 *
 * The reader makes the checks of the reference implementation, and reports errors in its order:
 * length, UTF-8, JSON, then each tensor in order of its offset. In addition duplicates are refused.
 * The header is read through a window and never held as a whole: each entry becomes a row and a
 * storage of the model. Tensors are checked as they are read, or, if they are not in order of their
 * offsets, at the end, when they have been sorted. */
#include "base/endian.h"
#include "base/sort.h"
#include "base/text.h"
#include "core/registry.h"
#include "core/tie_records.h"
#include "format/safetensors/safetensors_parts.h"
#include "wire/json.h"

#define WINDOW     ((size_t)64 << 10) /* bytes of the header in memory at a time: fits the L2 cache */
#define MIN_ENTRY  51                 /* "":{"dtype":"U8","shape":[],"data_offsets":[0,0]}, */
#define MANY_TEXTS ((uint64_t)8 << 20) /* bytes of a header, of which names may be half */

/* What the check of a tensor needs to know of those before it, in order of their data. */
struct progress {
    uint64_t next;         /* the next tensor must start here */
    uint64_t begun;        /* begin of the last one that is not empty */
    const uint64_t *shape; /* of the last one, whose copy an equal shape shares: see keep_shape … */
    uint64_t size;         /* … its bytes … */
    uint8_t dtype;         /* … and dtype */
};

struct reader {
    struct heft_model *model;
    struct heft_error *err;
    uint32_t source;
    uint64_t header_n, data_n; /* size of the header and of the byte buffer */
    struct heft_json json;
    struct heft_json_lead lead; /* of the last entry: through "shape", and through "data_offsets" */
    size_t first;               /* index of this file's first row in the model, … */
    size_t first_storage;       /* … its first storage: each tensor has its own, … */
    size_t first_metadata;      /* … and its first metadata entry */
    size_t n;                   /* tensors, in the order of the header until put_in_order */
    struct progress at;         /* of the tensors read so far, … */
    struct heft_error wrong;    /* … and what is wrong with the first wrong one */
    uint64_t begin;             /* of the last one's data */
    bool is_unordered;          /* a tensor's data begins before that of the tensor before it */
    struct heft_row row;        /* the tensor being read; before that, the last one, … */
    struct heft_str dtype_name; /* … which usually has the same dtype and shape */
    struct heft_storage storage; /* of a tensor without bytes, at the begin of the byte buffer */
    uint64_t where;              /* its name: file offset */
    uint64_t offsets[2];         /* its data_offsets: begin and end in the byte buffer */
    struct heft_buf key;         /* of the metadata entry whose value is being read */
    struct heft_strmap names;    /* → index of the tensor; filled only where it is needed */
    struct heft_strmap metadata; /* keys, to find duplicates */
    struct heft_arena scratch;
    bool has_metadata;
};

/* A tensor that is being checked. */
struct checked {
    const struct heft_row *row;
    size_t i;            /* in the order of the header */
    uint64_t begin, end; /* in the byte buffer */
};

/* ---- checks --------------------------------------------------------------------------------- */

/* First byte of tensor i in the byte buffer. */
HEFT_WRAPS static uint64_t begin_of(const struct reader *r, size_t i)
{
    return r->model->storages[r->first_storage + i].off - PREFIX - r->header_n;
}

/* The byte after tensor i in the byte buffer. */
HEFT_WRAPS static uint64_t end_of(const struct reader *r, size_t i)
{
    return begin_of(r, i) + r->model->storages[r->first_storage + i].len;
}

/* File offset of the name of tensor i. Only for errors: the header is read once more up to there. */
static uint64_t where_of(const struct reader *r, size_t i)
{
    const struct heft_source src = r->model->sources[r->source].source;
    struct heft_arena scratch = {0};
    struct heft_error ignored = {0};
    struct heft_json json;
    uint64_t where = PREFIX;
    bool ok = heft_json_open(&json, &src, PREFIX, r->header_n, WINDOW, &scratch, &ignored) &&
              heft_json_next(&json) == HEFT_JSON_OBJECT;

    for (size_t seen = 0; ok && seen <= i && heft_json_next(&json) == HEFT_JSON_KEY;) {
        seen += !heft_str_is(json.text, METADATA);
        where = json.where;
        ok = heft_json_skip(&json);
    }
    heft_json_close(&json);
    heft_arena_release(&scratch);
    return where;
}

/* Checks that dtype × shape is whole bytes, and computes their number. The reference counts bits in
 * 64 bits, and multiplies from left to right: a zero does not excuse an overflow before it. */
static bool find_size(const struct reader *r, const struct checked *c, uint64_t *size,
                      struct heft_error *err)
{
    const struct heft_row *const row = c->row;
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    bool fits = true;
    uint64_t n = 1;

    for (unsigned k = 0; k < row->rank; k++)
        fits = fits && heft_mul(n, row->shape[k], &n);
    if (fits && n % heft_dtype_block_elements(dtype) != 0)
        return heft_fail(err, HEFT_MALFORMED, where_of(r, c->i),
                         "element count %" PRIu64 " is not a multiple of %u, a block of %s", n,
                         heft_dtype_block_elements(dtype), heft_dtype_name(dtype));
    return (fits && heft_dtype_bytes(dtype, n, size) && *size <= UINT64_MAX / 8) ||
           heft_fail(err, HEFT_MALFORMED, where_of(r, c->i), "size in bits is more than 64 bits");
}

/* Checks that data_offsets have as many bytes as dtype and shape need. */
static bool check_size(const struct reader *r, const struct checked *c, struct progress *at,
                       struct heft_error *err)
{
    const uint64_t len = c->end - c->begin;

    if (c->row->shape != at->shape || c->row->dtype != at->dtype) {
        if (!find_size(r, c, &at->size, err))
            return false;
        at->shape = c->row->shape;
        at->dtype = c->row->dtype;
    }
    return at->size == len ||
           heft_fail(err, HEFT_MALFORMED, where_of(r, c->i),
                     "dtype and shape need %" PRIu64 " bytes, data_offsets have %" PRIu64, at->size,
                     len);
}

/* Tensors must follow one another from the first byte of the buffer to the last. An empty
 * tensor may also begin where the previous one begins: the reference sorts tensors by begin and end,
 * so that the empty one comes first. */
static bool check_tensor(const struct reader *r, const struct checked *c, struct progress *at,
                         struct heft_error *err)
{
    const uint64_t begin = c->begin, end = c->end;

    if (end < begin || (begin != at->next && (begin != end || begin != at->begun))) {
        heft_fail(err, HEFT_MALFORMED, where_of(r, c->i),
                  "data_offsets [%" PRIu64 ", %" PRIu64 "] do not continue at %" PRIu64
                  ", where the tensor before ends",
                  begin, end, at->next);
        return heft_error_about(err, "tensor", c->row->name);
    }
    if (!check_size(r, c, at, err))
        return heft_error_about(err, "tensor", c->row->name);
    if (end > begin)
        at->begun = begin;
    at->next = heft_max_u64(at->next, end);
    return true;
}

static bool begins_after(const void *ctx, uint32_t a, uint32_t b)
{
    return begin_of(ctx, a) > begin_of(ctx, b);
}

/* Checks the tensor just read, while it is in the cache, as long as the tensors come in the order of
 * their data, as in nearly every file. An error is kept until the whole header has been read: what
 * is wrong with that is reported in preference. */
static void check_last(struct reader *r)
{
    const struct checked last = {&r->row, r->n - 1, r->offsets[0], r->offsets[1]};

    r->is_unordered = r->is_unordered || last.begin < r->begin;
    r->begin = last.begin;
    if (!r->is_unordered && r->wrong.code == HEFT_OK)
        (void)check_tensor(r, &last, &r->at, &r->wrong);
}

/* ---- entries -------------------------------------------------------------------------------- */

/* The number just read as an unsigned integer. */
static bool take_u64(struct reader *r, const char *what, uint64_t *out)
{
    const struct heft_str text = r->json.text;

    return heft_json_u64(&r->json, out) ||
           heft_fail(r->err, HEFT_MALFORMED, r->json.where,
                     "%s is %.*s, must be a whole number below 2^64", what,
                     (int)(text.n < 40 ? text.n : 40), text.p);
}

/* Finds the dtype of that name, and sets the tensor's. */
static bool find_dtype(struct reader *r, struct heft_str name)
{
    if (r->dtype_name.p && heft_str_eq(name, r->dtype_name))
        return true;
    for (unsigned i = 0; i < DTYPE_COUNT; i++)
        if (heft_str_is(name, heft_dtype_name((enum heft_dtype)i))) {
            r->row.dtype = (uint8_t)i;
            r->dtype_name = heft_str_of(heft_dtype_name((enum heft_dtype)i));
            return true;
        }
    return false;
}

static bool read_dtype(struct reader *r)
{
    const enum heft_json_token token = heft_json_next(&r->json);
    const struct heft_str text = r->json.text;

    if (token != HEFT_JSON_STRING)
        return heft_json_refuse(&r->json, token, "dtype", "a string");
    return find_dtype(r, text) || heft_fail(r->err, HEFT_MALFORMED, r->json.where,
                                            "dtype \"%.*s\" is not a dtype of safetensors",
                                            (int)(text.n < 40 ? text.n : 40), text.p);
}

static uint64_t most_dimensions(const struct reader *r)
{
    return heft_min_u64(r->model->limits.rank, UINT8_MAX);
}

static bool is_shape(const struct heft_row *row, const uint64_t *extents, size_t rank)
{
    bool same = row->shape && row->rank == rank;

    for (size_t i = 0; same && i < rank; i++)
        same = row->shape[i] == extents[i];
    return same;
}

/* Sets the tensor's shape. Consecutive tensors of equal shape share one copy. */
static bool keep_shape(struct reader *r, const uint64_t *extents, size_t rank)
{
    uint64_t *copy;

    if (is_shape(&r->row, extents, rank))
        return true;
    copy = heft_arena_copy_u64(&r->model->mem, extents, rank, r->err);
    if (!copy)
        return false;
    r->row.shape = copy;
    r->row.rank = (uint8_t)rank;
    return true;
}

static bool read_shape(struct reader *r)
{
    const size_t most = (size_t)most_dimensions(r);
    uint64_t extents[UINT8_MAX];
    size_t rank;
    enum heft_json_token token = heft_json_integers(&r->json, extents, 0, most, &rank);

    if (token != HEFT_JSON_ARRAY && token != HEFT_JSON_ARRAY_END)
        return heft_json_refuse(&r->json, token, "shape", "an array");
    while (token != HEFT_JSON_ARRAY_END && (token = heft_json_next(&r->json)) == HEFT_JSON_NUMBER) {
        if (rank == most)
            return heft_fail(r->err, HEFT_LIMIT, r->json.where,
                             "more than %zu dimensions, which is the limit", most);
        if (!take_u64(r, "dimension", &extents[rank++]))
            return false;
    }
    if (token != HEFT_JSON_ARRAY_END)
        return heft_json_refuse(&r->json, token, "dimension", "a number");
    return keep_shape(r, extents, rank);
}

static bool read_offsets(struct reader *r)
{
    size_t n;
    enum heft_json_token token = heft_json_integers(&r->json, r->offsets, 2, 2, &n);

    if (token != HEFT_JSON_ARRAY && token != HEFT_JSON_ARRAY_END)
        return heft_json_refuse(&r->json, token, "data_offsets", "an array");
    for (; n < 2; n++) {
        token = heft_json_next(&r->json);
        if (token != HEFT_JSON_NUMBER)
            return heft_json_refuse(&r->json, token, "data offset", "a number: two are expected");
        if (!take_u64(r, "data offset", &r->offsets[n]))
            return false;
    }
    if (token != HEFT_JSON_ARRAY_END)
        token = heft_json_next(&r->json);
    return token == HEFT_JSON_ARRAY_END ||
           heft_json_refuse(&r->json, token, "what follows two data offsets",
                            "the end of the array");
}

enum field { DTYPE, SHAPE, OFFSETS, UNKNOWN };
static const char *const field_names[UNKNOWN] = {"dtype", "shape", "data_offsets"};

static enum field find_field(struct heft_str key)
{
    if (heft_str_is(key, "dtype"))
        return DTYPE;
    if (heft_str_is(key, "shape"))
        return SHAPE;
    return heft_str_is(key, "data_offsets") ? OFFSETS : UNKNOWN;
}

/* Reads the next key, and finds the field. Nearly all files have the fields in the same order. */
static enum heft_json_token next_field(struct reader *r, unsigned seen, enum field *field)
{
    enum heft_json_token token = HEFT_JSON_KEY;

    if (seen == 0 && heft_json_take_key(&r->json, HEFT_STR("\"dtype\":"))) {
        *field = DTYPE;
    } else if (seen == 1U << DTYPE && heft_json_take_key(&r->json, HEFT_STR("\"shape\":"))) {
        *field = SHAPE;
    } else if (seen == (1U << DTYPE | 1U << SHAPE) &&
               heft_json_take_key(&r->json, HEFT_STR("\"data_offsets\":"))) {
        *field = OFFSETS;
    } else {
        token = heft_json_next(&r->json);
        *field = token == HEFT_JSON_KEY ? find_field(r->json.text) : UNKNOWN;
    }
    return token;
}

/* The fields of most entries are in this order: a key that comes in it ends a lead, "shape" the first
 * and "data_offsets" the second. If the shape came before the dtype there is no first one. */
static void keep_lead(struct reader *r, enum field field, unsigned seen)
{
    if (field != UNKNOWN && field != DTYPE && seen == (1U << field) - 1 &&
        r->lead.n == (unsigned)field - SHAPE)
        heft_json_lead_key(&r->json, &r->lead);
}

static bool read_field(struct reader *r, enum field field)
{
    switch (field) {
    case DTYPE:
        return read_dtype(r);
    case SHAPE:
        return read_shape(r);
    case OFFSETS:
        return read_offsets(r);
    default:
        return heft_json_skip(&r->json);
    }
}

/* Reads the fields that are left, through the end of the object. */
static bool read_other_fields(struct reader *r, unsigned *seen)
{
    enum heft_json_token token;
    enum field field;

    while (!heft_json_take_end(&r->json)) {
        token = next_field(r, *seen, &field);
        if (token != HEFT_JSON_KEY)
            return token != HEFT_JSON_ERROR;
        if (field != UNKNOWN && (*seen >> field & 1))
            return heft_fail(r->err, HEFT_MALFORMED, r->json.where, "%s occurs twice",
                             field_names[field]);
        keep_lead(r, field, *seen);
        *seen |= 1U << field;
        if (!read_field(r, field))
            return false;
    }
    return true;
}

/* Reads the begin of the object, up to a field that differs from that of the last tensor. */
static bool read_first_fields(struct reader *r, unsigned *seen)
{
    const unsigned keys = heft_json_take_lead(&r->json, &r->lead);
    enum heft_json_token token;

    if (keys > 0) {
        *seen = keys == 1 ? 1U << DTYPE | 1U << SHAPE : (1U << UNKNOWN) - 1;
        return keys == 1 ? read_shape(r) : read_offsets(r);
    }
    token = heft_json_next(&r->json);
    return token == HEFT_JSON_OBJECT || heft_json_refuse(&r->json, token, "entry", "an object");
}

/* Reads the object that describes a tensor: each field once, unknown fields are skipped. */
static bool read_fields(struct reader *r)
{
    unsigned seen = 0;

    if (!read_first_fields(r, &seen) || !read_other_fields(r, &seen))
        return false;
    for (unsigned i = 0; i < UNKNOWN; i++)
        if (!(seen >> i & 1))
            return heft_fail(r->err, HEFT_MALFORMED, r->where, "entry has no %s", field_names[i]);
    return true;
}

/* Sets the range of the tensor's storage. Until its offsets are checked, `off` and `len` may have wrapped
 * around 2^64, where begin + len is still the end. */
HEFT_WRAPS static void place_storage(const struct reader *r, struct heft_storage *storage)
{
    const uint64_t len = r->offsets[1] - r->offsets[0];

    storage->off += r->offsets[0];
    storage->packed = len;
    storage->len = len;
}

/* Adds the tensor as a row with a storage of its own. What differs from the last tensor is set after the
 * structs are copied: copying what was just stored in smaller pieces stalls the processor. */
static bool add_tensor(struct reader *r)
{
    struct heft_model *const model = r->model;
    uint32_t index;

    if (!heft_model_add_storage(model, &r->storage, &index, r->err))
        return false;
    place_storage(r, &model->storages[index]);
    if (!heft_model_add_row(model, &r->row, r->err))
        return false;
    model->rows[model->n_rows - 1].storage = index;
    r->n++;
    check_last(r);
    return true;
}

/* Reads the entry of the tensor whose name is the last key. */
static bool read_tensor(struct reader *r)
{
    const struct heft_str name = r->json.text;

    r->where = r->json.where;
    r->row.name.n = name.n;
    r->row.name.p = heft_arena_text(&r->model->mem, name, r->err);
    if (!r->row.name.p)
        return false;
    if (!read_fields(r))
        return heft_error_about(r->err, "tensor", r->row.name);
    return add_tensor(r);
}

/* ---- metadata ------------------------------------------------------------------------------- */

static bool read_metadata_pair(struct reader *r)
{
    const struct heft_model *model = r->model;
    const uint64_t where = r->json.where;
    enum heft_json_token token;
    struct heft_str key;
    uint32_t other;

    if (r->metadata.count >= model->limits.expansion)
        return heft_fail(r->err, HEFT_LIMIT, where,
                         "more than %" PRIu64 " metadata entries, which is the limit",
                         model->limits.expansion);
    r->key.n = 0;
    heft_buf_str(&r->key, r->json.text);
    if (!heft_buf_ok(&r->key, r->err))
        return false;
    token = heft_json_next(&r->json);
    if (token != HEFT_JSON_STRING)
        return heft_json_refuse(&r->json, token, "metadata value", "a string");
    if (!heft_model_add_metadata(r->model,
                                 &(struct heft_pair){.key = {r->key.p, r->key.n},
                                                     .value = r->json.text,
                                                     .source = r->source},
                                 r->err))
        return false;
    key = model->metadata[model->n_metadata - 1].key;
    if (!heft_strmap_add(&r->metadata, key, 0, &other, r->err))
        return false;
    return other == HEFT_MAP_NONE ||
           heft_fail(r->err, HEFT_MALFORMED, where, "metadata key \"%s\" occurs twice", key.p);
}

static bool read_metadata(struct reader *r)
{
    enum heft_json_token token;

    if (r->has_metadata)
        return heft_fail(r->err, HEFT_MALFORMED, r->json.where, METADATA " occurs twice");
    r->has_metadata = true;
    token = heft_json_next(&r->json);
    if (token == HEFT_JSON_NULL)
        return true;
    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&r->json, token, METADATA, "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!read_metadata_pair(r))
            return false;
    return token != HEFT_JSON_ERROR;
}

/* ---- the header ----------------------------------------------------------------------------- */

/* Reserves memory for as many tensors as the header can describe, so that nothing is copied while
 * the arrays grow. Untouched pages cost nothing. */
static bool make_room(struct reader *r)
{
    const size_t most = (size_t)(r->header_n / MIN_ENTRY + 1);

    return heft_model_reserve(r->model, most, most, r->err) &&
           (r->header_n < MANY_TEXTS ||
            heft_model_reserve_texts(r->model, (size_t)r->header_n / 2, r->err));
}

/* Reads the header's length and compares it with the limit and the file. */
static bool read_length(struct reader *r)
{
    const struct heft_source src = r->model->sources[r->source].source;
    const uint64_t limit = heft_min_u64(r->model->limits.header, UINT32_MAX);
    uint8_t prefix[PREFIX];
    uint64_t n;

    if (src.size < PREFIX)
        return heft_fail(r->err, HEFT_MALFORMED, 0,
                         "file has %" PRIu64 " bytes, a safetensors file begins with 8", src.size);
    if (!heft_source_read(&src, 0, prefix, PREFIX, r->err))
        return false;
    n = heft_le64(prefix);
    if (n > limit)
        return heft_fail(r->err, HEFT_LIMIT, 0,
                         "header length is %" PRIu64 " bytes, the limit is %" PRIu64, n, limit);
    if (!heft_within(PREFIX, n, src.size))
        return heft_fail(r->err, HEFT_MALFORMED, 0,
                         "header length is %" PRIu64 " bytes, the file has %" PRIu64
                         " after its length",
                         n, src.size - PREFIX);
    r->header_n = n;
    r->data_n = src.size - PREFIX - n;
    r->storage.off = PREFIX + n;
    return true;
}

static bool read_members(struct reader *r)
{
    enum heft_json_token token = heft_json_next(&r->json);

    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&r->json, token, "header", "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!(heft_str_is(r->json.text, METADATA) ? read_metadata : read_tensor)(r))
            return false;
    return token != HEFT_JSON_ERROR && heft_json_next(&r->json) == HEFT_JSON_END;
}

/* If the header is not valid UTF-8, this replaces any other error that was found first. */
static void blame_utf8(struct reader *r)
{
    const struct heft_source src = r->model->sources[r->source].source;
    struct heft_error ignored = {0};
    struct heft_bytes header;
    size_t valid;

    if (r->err->code == HEFT_NOMEM || r->err->code == HEFT_IO ||
        !heft_source_fetch(&src, PREFIX, r->header_n, &r->scratch, &header, &ignored))
        return;
    valid = heft_utf8_check(header);
    if (valid < header.n)
        heft_fail(r->err, HEFT_MALFORMED, PREFIX + valid, "header is not UTF-8: byte 0x%02x",
                  header.p[valid]);
}

static bool read_header(struct reader *r)
{
    const struct heft_source src = r->model->sources[r->source].source;
    bool ok = read_length(r);

    if (!ok)
        return false;
    ok = make_room(r) &&
         heft_json_open(&r->json, &src, PREFIX, r->header_n, WINDOW, &r->scratch, r->err) &&
         read_members(r);
    heft_json_close(&r->json);
    if (!ok)
        blame_utf8(r);
    return ok;
}

/* For salvage: records the file's expected length, by which validation of the model finds out which
 * tensors are complete. */
static bool is_cut(struct reader *r, uint64_t end)
{
    uint64_t bytes;

    if (!r->model->salvage || !heft_add(PREFIX + r->header_n, end, &bytes))
        return false;
    heft_model_expect(r->model, r->source, bytes, false);
    return true;
}

/* Reports what is wrong with a tensor; else compares the end of the last one with the file's. */
static bool check_end(struct reader *r)
{
    const uint64_t end = r->at.next;

    if (r->wrong.code != HEFT_OK) {
        *r->err = r->wrong;
        return false;
    }
    if (end > r->data_n && !is_cut(r, end))
        return heft_fail(r->err, HEFT_MALFORMED, PREFIX + r->header_n + r->data_n,
                         "file ends %" PRIu64 " bytes before its last tensor", end - r->data_n);
    return end >= r->data_n ||
           heft_fail(r->err, HEFT_MALFORMED, PREFIX + r->header_n + end,
                     "%" PRIu64 " bytes follow the last tensor; every byte must belong to one",
                     r->data_n - end);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Fills the table of names, and reports a duplicate. Validation of the model also finds duplicates,
 * but only knows the offset of the data. */
static bool index_names(struct reader *r)
{
    const struct heft_row *rows = r->model->rows + r->first;
    size_t twice;
    uint32_t other;

    if (r->n == 0)
        return true;
    if (!heft_strmap_add_column(&r->names, &rows->name, sizeof *rows, r->n, 0, &twice, &other,
                                r->err))
        return false;
    if (twice == r->n)
        return true;
    heft_fail(r->err, HEFT_MALFORMED, where_of(r, twice),
              "is named twice, first at offset 0x%" PRIx64, where_of(r, other));
    return heft_error_about(r->err, "tensor", rows[twice].name);
}

static bool is_tensor(const void *ctx, struct heft_str name)
{
    const struct reader *r = ctx;

    return heft_strmap_get(&r->names, name) != HEFT_MAP_NONE;
}

/* Turns metadata entries "dropped name" → "kept name" into ties. Most files only have the entry
 * format=pt, and need no table of names. */
static bool add_ties(struct reader *r)
{
    const struct heft_tie_names names = {is_tensor, r};
    struct heft_model *model = r->model;
    bool may_record = false;

    for (size_t i = r->first_metadata; i < model->n_metadata; i++)
        may_record = may_record || !heft_tie_is_reserved(model->metadata[i].key);
    if (!may_record)
        return true;
    return index_names(r) &&
           heft_ties_read(model, r->first_metadata, model->n_metadata, &names, r->err);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Sorts the tensors' indices by the begin of their data, and checks the tensors in that order. *order
 * is NULL if they are in order already, and checked. */
static bool sort_tensors(struct reader *r, uint32_t **order)
{
    *order = NULL;
    if (!r->is_unordered)
        return true;
    *order = heft_sort_indices(r->n, begins_after, r, &r->scratch, r->err);
    r->at = (struct progress){0};
    r->wrong = (struct heft_error){0};
    for (size_t k = 0; *order && k < r->n && r->wrong.code == HEFT_OK; k++) {
        const uint32_t i = (*order)[k];
        const struct checked c = {&r->model->rows[r->first + i], i, begin_of(r, i), end_of(r, i)};

        (void)check_tensor(r, &c, &r->at, &r->wrong);
    }
    return *order != NULL;
}

/* Permutes rows and storages in place, cycle by cycle; `order` is overwritten. */
static void put_in_order(struct reader *r, uint32_t *order)
{
    struct heft_row *const rows = r->model->rows + r->first;
    struct heft_storage *const storages = r->model->storages + r->first_storage;

    for (uint32_t i = 0; i < r->n; i++) {
        const struct heft_row row = rows[i];
        const struct heft_storage storage = storages[i];
        uint32_t at = i;

        while (order[at] != i) {
            const uint32_t from = order[at];

            rows[at] = rows[from];
            storages[at] = storages[from];
            order[at] = at;
            at = from;
        }
        rows[at] = row;
        storages[at] = storage;
        order[at] = at;
    }
    for (uint32_t i = 0; i < r->n; i++)
        rows[i].storage = (uint32_t)r->first_storage + i;
}

static bool check_all(struct reader *r)
{
    uint32_t *order;

    if (!sort_tensors(r, &order))
        return false;
    if (!check_end(r)) {
        if (r->err->code == HEFT_MALFORMED)
            index_names(r); /* a duplicate name is the better explanation */
        return false;
    }
    if (!add_ties(r))
        return false;
    if (order)
        put_in_order(r, order);
    return heft_safetensors_read_boxes(r->model, r->source, r->first, r->first_metadata, r->err) &&
           heft_model_claim(r->model, r->source, 0, PREFIX, "header length", r->err) &&
           heft_model_claim(r->model, r->source, PREFIX, r->header_n, "header", r->err);
}

static bool open_file(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct reader r = {.model = model,
                       .err = err,
                       .source = source,
                       .first = model->n_rows,
                       .first_storage = model->n_storages,
                       .first_metadata = model->n_metadata,
                       .storage = {.source = source, .coding = HEFT_CODING_RAW}};
    const bool ok =
        heft_safetensors_check_start(model, source, err) && read_header(&r) && check_all(&r);

    if (ok && !model->format)
        model->format = "safetensors";
    heft_buf_release(&r.key);
    heft_strmap_release(&r.names);
    heft_strmap_release(&r.metadata);
    heft_arena_release(&r.scratch);
    return ok;
}

/* Recognises a JSON object after eight bytes. Eight bytes that are its length raise the score, but
 * are not required, so that the reader can report what is wrong with a damaged file. */
static int probe(const struct heft_probe *probe)
{
    const struct heft_bytes head = probe->head;
    size_t at = PREFIX;
    uint64_t n;

    if (head.n < PREFIX)
        return 0;
    if (heft_safetensors_follows_pickle(head, probe->size))
        return 96; /* to be refused with the reason */
    n = heft_le64(head.p);
    while (at < head.n &&
           (head.p[at] == ' ' || head.p[at] == '\n' || head.p[at] == '\r' || head.p[at] == '\t'))
        at++;
    if (at < head.n && head.p[at] != '{')
        return 0;
    if (n < 2 || n > MAX_HEADER || !heft_within(PREFIX, n, probe->size))
        return at < head.n && at == PREFIX ? 20 : 0;
    return at < head.n ? 90 : 30; /* 4 KiB of white space: padding before the object */
}

static const char *const extensions[] = {"safetensors", NULL};
static const char *const synonyms[] = {"st", "safetensor", NULL};

/* The format's own dtypes are the first of enum heft_dtype, in its order. */
bool heft_safetensors_supports_dtype(enum heft_dtype dtype)
{
    return dtype <= HEFT_U64;
}

static const struct heft_file_name names[] = {
    {".safetensors", .rank = HEFT_FILE_WEIGHTS, .is_form = true}, {0}};

extern const struct heft_format heft_format_safetensors;
const struct heft_format heft_format_safetensors = {
    .name = "safetensors",
    .summary = "Hugging Face safetensors: a JSON header and plain bytes",
    .synonyms = synonyms,
    .names = names,
    .locator = &heft_safetensors_locator,
    .probe = probe,
    .open = open_file,
    .join = heft_safetensors_join,
    .plan = heft_safetensors_plan,
    .extensions = extensions,
    .pattern = "model{suffix}.safetensors",
    .is_for_folders = true,
    .options = heft_safetensors_options,
    .no_ties = true,
    .wide_extents = true,
    .supports_dtype = heft_safetensors_supports_dtype,
};
