/* safetensors.c: reads safetensors files (doc/format/safetensors.md).
 *
 *     0      8                    8+N                                            end of file
 *     | N    | header             | byte buffer                                            |
 *     | u64  | JSON, N bytes      | the tensors, back to back: no byte is outside of one   |
 *     | LE   | spaces at its end  | data_offsets count from here                           |
 *
 *     header: {"__metadata__":{"key":"value"},
 *              "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, …}
 *
 * The reader makes the checks of the reference in its order: length, UTF-8, JSON, then tensor by
 * tensor in order of offset. It is stricter in one thing: nothing may be said twice. The header is
 * read through a window and never held whole: tensors become rows and storages of the model as they
 * come, and are checked, and put in order, when all of them are there. */
#include "base/digits.h"
#include "base/endian.h"
#include "base/text.h"
#include "core/registry.h"
#include "core/tie_records.h"
#include "format/safetensors/safetensors_parts.h"
#include "wire/json.h"

#define MIN_ENTRY     51                 /* "":{"dtype":"U8","shape":[],"data_offsets":[0,0]}, */
#define WINDOW        ((size_t)64 << 10) /* of the header: stays in the nearer caches */
#define LONGEST_FRONT 128 /* bytes of an entry up to its offsets that are remembered */
#define MANY_TEXTS    ((uint64_t)8 << 20) /* bytes of a header, half of which may be names */

/* Where the tensors before have come to: the next must begin at `next`. */
struct progress {
    uint64_t next, begun; /* end and begin of the last one that is not empty */
};

struct reader {
    struct heft_model *model;
    struct heft_error *err;
    uint32_t source;
    uint64_t header_n, data_n; /* bytes of the header and of the byte buffer */
    size_t first;              /* our first row of the model … */
    size_t first_storage;      /* … with our first storage; each has its own */
    size_t first_metadata;
    struct heft_json json;
    struct heft_buf key; /* of the metadata entry whose value is being read */
    size_t n;            /* tensors */
    uint64_t last_begin;
    struct heft_error ignored; /* of checks that are made once more */
    struct progress at;        /* of the checks */
    size_t checked; /* tensors, from the first, that were found right when they were read */
    struct heft_strmap names;    /* → number of the tensor; filled only where it is needed */
    struct heft_strmap metadata; /* keys */
    struct heft_arena scratch;
    bool in_order; /* tensors come by begin */
    bool has_metadata;

    /* Most files have few dtypes and shapes, in runs: those of the last tensor, and the text that
     * gave them. */
    struct heft_str dtype_name;
    uint8_t dtype, rank;
    const uint64_t *shape;
    uint8_t front[LONGEST_FRONT];
    size_t front_n; /* 0: none is known */

    /* The last shape and dtype that were multiplied: NULL if none. */
    const uint64_t *sized_shape;
    uint8_t sized_dtype;
    uint64_t size; /* bytes */

    /* What all tensors have in common. */
    struct heft_storage storage;
    struct heft_row row;
};

/* A tensor as the header has it. */
struct entry {
    uint64_t begin, end; /* in the byte buffer */
    uint32_t where;      /* of the name, in the header */
    uint8_t rank;
    bool is_last; /* dtype and shape are those of the tensor before, and not in here */
    uint64_t shape[UINT8_MAX];
};

/* ---- entries -------------------------------------------------------------------------------- */

/* The last number as it must be: whole and not negative. */
static bool take_u64(struct reader *r, const char *what, uint64_t *out)
{
    const struct heft_str text = r->json.text;

    return heft_json_u64(&r->json, out) ||
           heft_fail(r->err, HEFT_MALFORMED, r->json.where,
                     "%s is %.*s, must be a whole number below 2^64", what,
                     (int)(text.n < 40 ? text.n : 40), text.p);
}

/* The dtype of that name becomes the last one. */
static bool find_dtype(struct reader *r, struct heft_str name)
{
    if (heft_str_eq(name, r->dtype_name))
        return true;
    for (unsigned dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        const struct heft_str known = heft_str_of(heft_dtype_name((enum heft_dtype)dtype));

        if (heft_str_eq(name, known)) {
            r->dtype = (uint8_t)dtype;
            r->dtype_name = known;
            return true;
        }
    }
    return false;
}

static bool read_dtype(struct reader *r, struct entry *entry)
{
    const enum heft_json_token token = heft_json_next(&r->json);
    const struct heft_str text = r->json.text;

    (void)entry; /* the reader knows the last one */
    if (token != HEFT_JSON_STRING)
        return heft_json_refuse(&r->json, token, "dtype", "a string");
    if (!find_dtype(r, text))
        return heft_fail(r->err, HEFT_MALFORMED, r->json.where,
                         "dtype \"%.*s\" is none of the format's", (int)(text.n < 40 ? text.n : 40),
                         text.p);
    return true;
}

static uint64_t most_dimensions(const struct reader *r)
{
    return heft_min_u64(r->model->limits.rank, UINT8_MAX);
}

static bool read_shape(struct reader *r, struct entry *entry)
{
    enum heft_json_token token = heft_json_next(&r->json);

    if (token != HEFT_JSON_ARRAY)
        return heft_json_refuse(&r->json, token, "shape", "an array");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_NUMBER) {
        if (entry->rank == most_dimensions(r))
            return heft_fail(r->err, HEFT_LIMIT, r->json.where,
                             "more than %" PRIu64 " dimensions, which is the limit",
                             most_dimensions(r));
        if (!take_u64(r, "dimension", &entry->shape[entry->rank]))
            return false;
        entry->rank++;
    }
    return token == HEFT_JSON_ARRAY_END ||
           heft_json_refuse(&r->json, token, "dimension", "a number");
}

static bool read_offsets(struct reader *r, struct entry *entry)
{
    uint64_t *const offsets[] = {&entry->begin, &entry->end};
    enum heft_json_token token = heft_json_next(&r->json);

    if (token != HEFT_JSON_ARRAY)
        return heft_json_refuse(&r->json, token, "data_offsets", "an array");
    for (size_t i = 0; i < HEFT_COUNT(offsets); i++) {
        token = heft_json_next(&r->json);
        if (token != HEFT_JSON_NUMBER)
            return heft_json_refuse(&r->json, token, "data offset", "a number: there are two");
        if (!take_u64(r, "data offset", offsets[i]))
            return false;
    }
    token = heft_json_next(&r->json);
    return token == HEFT_JSON_ARRAY_END ||
           heft_json_refuse(&r->json, token, "what follows two data offsets",
                            "the end of the array");
}

static const struct field {
    struct heft_str name;
    bool (*read)(struct reader *r, struct entry *entry);
} fields[] = {
    {{"dtype", 5}, read_dtype},
    {{"shape", 5}, read_shape},
    {{"data_offsets", 12}, read_offsets},
};

static bool read_fields(struct reader *r, struct entry *entry)
{
    enum heft_json_token token = heft_json_next(&r->json);
    unsigned seen = 0;

    if (token != HEFT_JSON_OBJECT)
        return heft_json_refuse(&r->json, token, "entry", "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY) {
        size_t i = 0;

        while (i < HEFT_COUNT(fields) && !heft_str_eq(r->json.text, fields[i].name))
            i++;
        if (seen >> i & 1)
            return heft_fail(r->err, HEFT_MALFORMED, r->json.where, "%s is given twice",
                             fields[i].name.p);
        if (i < HEFT_COUNT(fields))
            seen |= 1U << i;
        if (i < HEFT_COUNT(fields) ? !fields[i].read(r, entry) : !heft_json_skip(&r->json))
            return false;
    }
    for (size_t i = 0; token != HEFT_JSON_ERROR && i < HEFT_COUNT(fields); i++)
        if (!(seen >> i & 1))
            return heft_fail(r->err, HEFT_MALFORMED, PREFIX + (uint64_t)entry->where,
                             "entry has no %s", fields[i].name.p);
    return token != HEFT_JSON_ERROR;
}

/* ---- entries as they are written ------------------------------------------------------------ */

static inline bool passes(const uint8_t **p, const char *text, size_t n)
{
    if (memcmp(*p, text, n) != 0)
        return false;
    *p += n;
    return true;
}

/* Digits that are surely a number of JSON, and below 2^64: no more than 19. */
static inline bool passes_u64(const uint8_t **p, uint64_t *out)
{
    const uint8_t *const begin = *p;
    const uint8_t *at = begin;
    uint64_t n = 0;
    unsigned digit;

    for (; (digit = *at - (unsigned)'0') < 10; at++)
        n = n * 10 + digit;
    *p = at;
    *out = n;
    return at != begin && at - begin < 20 && (*begin != '0' || at - begin == 1);
}

/* The same of what is likely to be long. */
static inline bool passes_offset(const uint8_t **p, uint64_t *out)
{
    const unsigned n = heft_few_digits(*p, out);

    *p += n;
    return n > 0 || passes_u64(p, out);
}

/* What stands in front of the offsets. */
static bool read_front(struct reader *r, struct entry *entry, const uint8_t **p)
{
    struct heft_str dtype;
    unsigned rank = 0;

    if (!passes(p, "{\"dtype\":\"", 10))
        return false;
    dtype = (struct heft_str){(const char *)*p, 0};
    while (dtype.n < 16 && (*p)[dtype.n] >= '0')
        dtype.n++;
    *p += dtype.n;
    if (!passes(p, "\",\"shape\":[", 11) || !find_dtype(r, dtype))
        return false;
    while (**p != ']') {
        if (rank == most_dimensions(r) || (rank > 0 && !passes(p, ",", 1)) ||
            !passes_u64(p, &entry->shape[rank++]))
            return false;
    }
    entry->rank = (uint8_t)rank;
    return passes(p, "],\"data_offsets\":[", 18);
}

/* The front that the tensor before had, too: its dtype and shape are the last ones. */
static bool is_last_front(const struct reader *r, const uint8_t *p)
{
    return r->front_n > 0 && r->json.data.n - r->json.at >= r->front_n &&
           memcmp(p, r->front, r->front_n) == 0;
}

/* The value as every known writer puts it, with nothing else in it:
 *
 *     {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}
 *     |------------------ front ----------------|
 *
 * It is a third of the work of going token by token. False where it is anything else, and nothing
 * has been read: read_fields judges it then. There is no end to look out for: the zeros behind the
 * window fit nowhere. */
static bool read_compact(struct reader *r, struct entry *entry)
{
    const uint8_t *const begin = r->json.data.p + r->json.at, *p = begin;
    size_t front_n;

    entry->is_last = is_last_front(r, p);
    if (entry->is_last)
        p += r->front_n;
    else if (!read_front(r, entry, &p))
        return false;
    front_n = (size_t)(p - begin);
    if (!passes_offset(&p, &entry->begin) || !passes(&p, ",", 1) ||
        !passes_offset(&p, &entry->end) || !passes(&p, "]}", 2))
        return false;
    if (!entry->is_last && front_n <= LONGEST_FRONT) {
        memcpy(r->front, begin, front_n);
        r->front_n = front_n;
    } else if (!entry->is_last) {
        r->front_n = 0;
    }
    heft_json_passed(&r->json, (size_t)(p - begin));
    return true;
}

/* ---- a tensor's check ------------------------------------------------------------------------- */

/* Where a tensor's name is: in the header, as an array of its own would take 4 KiB pages. */
static uint64_t where_of(const struct reader *r, size_t i)
{
    return PREFIX + (uint64_t)r->model->storages[r->first_storage + i].crc;
}

/* dtype × shape, which must be whole bytes. The reference counts bits in 64 bits, and multiplies
 * from left to right: a zero does not excuse an overflow before it. */
static bool find_size(struct reader *r, const struct heft_row *row, uint64_t where)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    bool fits = true;
    uint64_t n = 1;

    r->sized_shape = NULL;
    for (unsigned i = 0; i < row->rank; i++)
        fits = fits && heft_mul(n, row->shape[i], &n);
    if (fits && n % heft_dtype_block_elements(dtype) != 0)
        return heft_fail(r->err, HEFT_MALFORMED, where,
                         "element count %" PRIu64 " is not a multiple of %u, a block of %s", n,
                         heft_dtype_block_elements(dtype), heft_dtype_name(dtype));
    if (!fits || !heft_dtype_bytes(dtype, n, &r->size) || r->size > UINT64_MAX / 8)
        return heft_fail(r->err, HEFT_MALFORMED, where, "size in bits is more than 64 bits");
    r->sized_shape = row->shape;
    r->sized_dtype = row->dtype;
    return true;
}

/* … and as many as the offsets have. */
static inline bool check_size(struct reader *r, const struct heft_row *row, uint64_t len,
                              uint64_t where)
{
    if ((row->shape != r->sized_shape || row->dtype != r->sized_dtype) && !find_size(r, row, where))
        return false;
    return r->size == len ||
           heft_fail(r->err, HEFT_MALFORMED, where,
                     "dtype and shape need %" PRIu64 " bytes, data_offsets have %" PRIu64, r->size,
                     len);
}

/* Tensors must follow one another from the first byte of the buffer to the last. An empty one may
 * stand wherever one begins, also behind that one in the header: sorted by begin and end, as the
 * reference sorts, it comes first. */
static bool check_tensor(struct reader *r, size_t i, struct progress *at)
{
    const struct heft_row *row = &r->model->rows[r->first + i];
    struct heft_storage *storage = &r->model->storages[r->first_storage + i];
    const uint64_t begin = storage->off, end = storage->len;
    const uint64_t where = where_of(r, i);

    if (end < begin || (begin != at->next && (begin != end || begin != at->begun))) {
        heft_fail(r->err, HEFT_MALFORMED, where,
                  "data_offsets [%" PRIu64 ", %" PRIu64 "] do not continue at %" PRIu64
                  ", where the tensor before ends",
                  begin, end, at->next);
        return heft_error_about(r->err, "tensor", row->name);
    }
    if (!check_size(r, row, end - begin, where))
        return heft_error_about(r->err, "tensor", row->name);
    if (end > begin)
        at->begun = begin;
    at->next = heft_max_u64(at->next, end);
    storage->packed = storage->len = end - begin;
    storage->off += PREFIX + r->header_n; /* wraps only where check_tensors will say no */
    return true;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* The shape where it will stay: the last one if it is the same. */
static bool keep_shape(struct reader *r, const struct entry *entry)
{
    const size_t n = entry->rank * sizeof *entry->shape;
    uint64_t *copy;

    if (r->shape && r->rank == entry->rank && memcmp(r->shape, entry->shape, n) == 0)
        return true;
    copy = heft_arena_u64(&r->model->mem, entry->rank, r->err);
    if (!copy)
        return false;
    memcpy(copy, entry->shape, n);
    r->rank = entry->rank;
    r->shape = copy;
    return true;
}

/* Tensors are judged when all of the header was read, and in order of offset. Mostly they come in
 * that order and are right, and then it is enough to look at each when it is read; of what is found
 * here nothing is said. */
static void check_early(struct reader *r)
{
    struct heft_error *const err = r->err;

    if (!r->in_order || r->checked + 1 != r->n)
        return;
    r->err = &r->ignored;
    r->checked += check_tensor(r, r->checked, &r->at);
    r->err = err;
}

/* Until check_tensor has seen it, the storage holds the offsets as the header has them: `off` is
 * the begin, `len` the end. There is no checksum: in its place, see where_of. */
static bool add_tensor(struct reader *r, struct heft_str name, const struct entry *entry)
{
    if (!entry->is_last && !keep_shape(r, entry))
        return false;
    r->storage.crc = entry->where;
    r->storage.off = entry->begin;
    r->storage.len = entry->end;
    r->row.name = name;
    r->row.shape = r->shape;
    r->row.rank = r->rank;
    r->row.dtype = r->dtype;
    r->in_order = r->in_order && r->last_begin <= entry->begin;
    r->last_begin = entry->begin;
    r->n++;
    if (!heft_model_add_storage(r->model, &r->storage, &r->row.storage, r->err) ||
        !heft_model_add_row(r->model, &r->row, r->err))
        return false;
    check_early(r);
    return true;
}

/* The entry of the tensor whose name is the last key. */
static bool read_tensor(struct reader *r)
{
    struct heft_str name = r->json.text;
    struct entry entry;

    entry.where = (uint32_t)(r->json.where - PREFIX);
    name.p = heft_arena_text(&r->model->mem, name, r->err);
    if (!name.p)
        return false;
    if (!read_compact(r, &entry)) {
        entry.rank = 0;
        entry.is_last = false;
        r->front_n = 0;
        if (!read_fields(r, &entry))
            return heft_error_about(r->err, "tensor", name);
    }
    return add_tensor(r, name, &entry);
}

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
           heft_fail(r->err, HEFT_MALFORMED, where, "metadata key \"%s\" is given twice", key.p);
}

static bool read_metadata(struct reader *r)
{
    enum heft_json_token token;

    if (r->has_metadata)
        return heft_fail(r->err, HEFT_MALFORMED, r->json.where, METADATA " is given twice");
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

/* Room for as many tensors as the header can hold: pages that stay untouched cost nothing, and
 * nothing is copied while the arrays grow. */
static bool make_room(struct reader *r)
{
    const size_t most = (size_t)(r->header_n / MIN_ENTRY + 1);

    return heft_model_reserve(r->model, most, most, r->err) &&
           (r->header_n < MANY_TEXTS ||
            heft_model_reserve_texts(r->model, (size_t)r->header_n / 2, r->err));
}

/* The header's length, against the limit and the file. */
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
                         "header claims %" PRIu64 " bytes, the limit is %" PRIu64, n, limit);
    if (!heft_within(PREFIX, n, src.size))
        return heft_fail(r->err, HEFT_MALFORMED, 0,
                         "header claims %" PRIu64 " bytes, the file has %" PRIu64
                         " after its length",
                         n, src.size - PREFIX);
    r->header_n = n;
    r->data_n = src.size - PREFIX - n;
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

/* A header that is not UTF-8 is that first of all, whatever was found before it came to light. */
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

/* ---- checks --------------------------------------------------------------------------------- */

static bool begins_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_storage *storages = ctx;

    return storages[a].off > storages[b].off;
}

/* A file that ends before its last tensor, and is to be salvaged: settling finds what is whole. */
static bool is_cut(struct reader *r, uint64_t end)
{
    uint64_t bytes;

    if (!r->model->salvage || !heft_add(PREFIX + r->header_n, end, &bytes))
        return false;
    heft_model_expect(r->model, r->source, bytes, false);
    return true;
}

/* What was found right early becomes again what the header has. */
static void uncheck(struct reader *r)
{
    for (size_t i = 0; i < r->checked; i++) {
        struct heft_storage *const storage = &r->model->storages[r->first_storage + i];

        storage->off -= PREFIX + r->header_n;
        storage->len += storage->off;
    }
    r->checked = 0;
    r->at = (struct progress){0, 0};
}

static bool check_tensors(struct reader *r, const uint32_t *order)
{
    struct progress at;

    for (size_t i = r->checked; i < r->n; i++)
        if (!check_tensor(r, order ? order[i] : i, &r->at))
            return false;
    at = r->at;
    if (at.next > r->data_n && !is_cut(r, at.next))
        return heft_fail(r->err, HEFT_MALFORMED, PREFIX + r->header_n + r->data_n,
                         "file ends %" PRIu64 " bytes before its last tensor", at.next - r->data_n);
    return at.next >= r->data_n ||
           heft_fail(r->err, HEFT_MALFORMED, PREFIX + r->header_n + at.next,
                     "%" PRIu64 " bytes follow the last tensor; every byte must belong to one",
                     r->data_n - at.next);
}

/* Fills the table of names, and finds the name that comes twice. Settling finds it too, but can
 * only say where its data is. */
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

/* Metadata entries that record a tied name: dropped (no tensor here) → kept (a tensor here). Most
 * files have format=pt only, and need no table of names. */
static bool add_ties(struct reader *r)
{
    const struct heft_tie_names names = {is_tensor, r};
    struct heft_model *model = r->model;
    bool may_record = false;

    for (size_t i = r->first_metadata; i < model->n_metadata; i++)
        may_record = may_record || !heft_tie_is_reserved(model->metadata[i].key);
    if (!may_record)
        return true;
    return (r->names.count > 0 || index_names(r)) &&
           heft_ties_read(model, r->first_metadata, model->n_metadata, &names, r->err);
}

/* Rows and storages into that order, in place, a cycle of moves at a time; `order` is used up. */
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
    uint32_t *order = NULL;

    if (!r->in_order || r->checked < r->n)
        uncheck(r);
    if (!r->in_order) {
        order = heft_safetensors_sort(r->n, begins_after, r->model->storages + r->first_storage,
                                      &r->scratch, r->err);
        if (!order)
            return false;
    }
    if (!check_tensors(r, order)) {
        if (r->err->code == HEFT_MALFORMED)
            index_names(r); /* a name that comes twice explains more than its offsets do */
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
                       .in_order = true,
                       .dtype_name = HEFT_STR("BOOL"),
                       .dtype = HEFT_BOOL,
                       .storage = {.source = source, .coding = HEFT_CODING_RAW}};
    const bool ok = read_header(&r) && check_all(&r);

    if (ok && !model->format)
        model->format = "safetensors";
    heft_buf_release(&r.key);
    heft_strmap_release(&r.names);
    heft_strmap_release(&r.metadata);
    heft_arena_release(&r.scratch);
    return ok;
}

/* A file is ours if a JSON object begins behind eight bytes. Whether those count it rightly makes
 * us surer, but is not asked: a damaged file shall hear what is wrong with it. */
static int probe(const struct heft_probe *probe)
{
    const struct heft_bytes head = probe->head;
    size_t at = PREFIX;
    uint64_t n;

    if (head.n < PREFIX)
        return 0;
    n = heft_le64(head.p);
    while (at < head.n &&
           (head.p[at] == ' ' || head.p[at] == '\n' || head.p[at] == '\r' || head.p[at] == '\t'))
        at++;
    if (at < head.n && head.p[at] != '{')
        return 0;
    if (n < 2 || n > MAX_HEADER || !heft_within(PREFIX, n, probe->size))
        return at < head.n && at == PREFIX ? 20 : 0;
    return at < head.n ? 90 : 30; /* 4 KiB of white space: padding in front */
}

static const char *const extensions[] = {"safetensors", NULL};
static const char *const synonyms[] = {"st", "safetensor", NULL};

/* Its own come first, in its order. */
static bool holds(enum heft_dtype dtype)
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
    .probe = probe,
    .open = open_file,
    .join = heft_safetensors_join,
    .plan = heft_safetensors_plan,
    .extensions = extensions,
    .pattern = "model{suffix}.safetensors",
    .no_ties = true,
    .wide_extents = true,
    .supports_dtype = holds,
};
