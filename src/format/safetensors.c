/* safetensors.c: reads and writes safetensors files (doc/format/safetensors.md).
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
 * copied into the model's arena and parsed there; names are lent from that copy. */
#include "base/endian.h"
#include "base/text.h"
#include "core/plan.h"
#include "core/registry.h"
#include "wire/json.h"

#define PREFIX      8         /* bytes of the header's length */
#define MAX_HEADER  100000000 /* what the reference reads and writes at most */
#define MIN_ENTRY   51        /* "":{"dtype":"U8","shape":[],"data_offsets":[0,0]}, */
#define METADATA    "__metadata__"
#define DTYPE_COUNT (HEFT_U64 + 1)

/* ---- sorting -------------------------------------------------------------------------------- */

typedef bool after_fn(const void *ctx, uint32_t a, uint32_t b);

/* Merges two neighbouring runs; runs that are in order already are only copied. */
static void merge(const uint32_t *from, uint32_t *to, size_t mid, size_t end, after_fn *after,
                  const void *ctx)
{
    size_t left = 0, right = mid;

    if (mid == end || !after(ctx, from[mid - 1], from[mid])) {
        memcpy(to, from, end * sizeof *to);
        return;
    }
    for (size_t i = 0; i < end; i++) {
        const bool take_right = left == mid || (right < end && after(ctx, from[left], from[right]));

        to[i] = take_right ? from[right++] : from[left++];
    }
}

/* The numbers 0 … n-1 in order, stable, in the arena. */
static const uint32_t *sorted(size_t n, after_fn *after, const void *ctx, struct heft_arena *mem,
                              struct heft_error *err)
{
    uint32_t *a = heft_arena_zero(mem, n, sizeof *a, err);
    uint32_t *b = a ? heft_arena_zero(mem, n, sizeof *b, err) : NULL;

    if (!b)
        return NULL;
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *const done = b;

        for (size_t at = 0; at < n; at += 2 * width) {
            const size_t left = n - at;

            merge(a + at, b + at, left < width ? left : width, left < 2 * width ? left : 2 * width,
                  after, ctx);
        }
        b = a;
        a = done;
    }
    return a;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct entry {
    struct heft_str name;
    const uint64_t *shape;
    uint64_t begin, end; /* in the byte buffer */
    uint32_t where;      /* of the name, in the header */
    uint8_t dtype, rank;
};

struct reader {
    struct heft_model *model;
    struct heft_error *err;
    uint32_t source;
    uint8_t *header; /* in the model's arena */
    size_t header_n;
    uint64_t data_n; /* bytes of the byte buffer */
    struct heft_json json;
    struct entry *entries;
    size_t n, cap;
    struct heft_strmap names;    /* → number of the entry; filled only where it is needed */
    struct heft_strmap metadata; /* keys */
    size_t first_metadata;       /* in the model */
    bool in_order;               /* entries come by begin */
    bool has_metadata;
    uint8_t last_dtype; /* most files have few, in runs */
};

static bool wrong_kind(struct reader *r, enum heft_json_token found, const char *what,
                       const char *allowed)
{
    if (found == HEFT_JSON_ERROR)
        return false;
    return heft_fail(r->err, HEFT_MALFORMED, r->json.where, "%s is %s, must be %s", what,
                     heft_json_token_name(found), allowed);
}

/* The last number as it must be: whole and not negative. */
static bool take_u64(struct reader *r, const char *what, uint64_t *out)
{
    const struct heft_str text = r->json.text;

    return heft_json_u64(&r->json, out) ||
           heft_fail(r->err, HEFT_MALFORMED, r->json.where,
                     "%s is %.*s, must be a whole number below 2^64", what,
                     (int)(text.n < 40 ? text.n : 40), text.p);
}

static bool read_dtype(struct reader *r, struct entry *entry)
{
    const enum heft_json_token token = heft_json_next(&r->json);
    const struct heft_str text = r->json.text;

    if (token != HEFT_JSON_STRING)
        return wrong_kind(r, token, "dtype", "a string");
    for (unsigned tried = 0; tried < DTYPE_COUNT; tried++) {
        const unsigned dtype = (r->last_dtype + tried) % DTYPE_COUNT;

        if (heft_str_is(text, heft_dtype_name((enum heft_dtype)dtype))) {
            entry->dtype = r->last_dtype = (uint8_t)dtype;
            return true;
        }
    }
    return heft_fail(r->err, HEFT_UNSUPPORTED, r->json.where,
                     "dtype \"%.*s\" is none that heft knows", (int)(text.n < 40 ? text.n : 40),
                     text.p);
}

static bool read_shape(struct reader *r, struct entry *entry)
{
    const uint64_t most = heft_min_u64(r->model->limits.rank, UINT8_MAX);
    enum heft_json_token token = heft_json_next(&r->json);
    uint64_t dims[UINT8_MAX];
    uint64_t *copy;

    if (token != HEFT_JSON_ARRAY)
        return wrong_kind(r, token, "shape", "an array");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_NUMBER) {
        if (entry->rank == most)
            return heft_fail(r->err, HEFT_LIMIT, r->json.where,
                             "more than %" PRIu64 " dimensions, which is the limit", most);
        if (!take_u64(r, "dimension", &dims[entry->rank]))
            return false;
        entry->rank++;
    }
    if (token != HEFT_JSON_ARRAY_END)
        return wrong_kind(r, token, "dimension", "a number");
    copy = heft_arena_alloc(&r->model->mem, entry->rank * sizeof *copy, r->err);
    if (!copy)
        return false;
    memcpy(copy, dims, entry->rank * sizeof *copy);
    entry->shape = copy;
    return true;
}

static bool read_offsets(struct reader *r, struct entry *entry)
{
    uint64_t *const offsets[] = {&entry->begin, &entry->end};
    enum heft_json_token token = heft_json_next(&r->json);

    if (token != HEFT_JSON_ARRAY)
        return wrong_kind(r, token, "data_offsets", "an array");
    for (size_t i = 0; i < HEFT_COUNT(offsets); i++) {
        token = heft_json_next(&r->json);
        if (token != HEFT_JSON_NUMBER)
            return wrong_kind(r, token, "data offset", "a number: there are two");
        if (!take_u64(r, "data offset", offsets[i]))
            return false;
    }
    token = heft_json_next(&r->json);
    return token == HEFT_JSON_ARRAY_END ||
           wrong_kind(r, token, "what follows two data offsets", "the end of the array");
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
        return wrong_kind(r, token, "entry", "an object");
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

/* The entry of the tensor whose name is the last key. */
static bool read_tensor(struct reader *r)
{
    struct entry entry = {.name = r->json.text, .where = (uint32_t)(r->json.where - PREFIX)};

    if (!read_fields(r, &entry))
        return heft_error_about(r->err, "tensor", entry.name);
    if (!heft_grow(&r->entries, &r->cap, r->n, 1, sizeof *r->entries, r->err))
        return false;
    r->in_order = r->in_order && (r->n == 0 || r->entries[r->n - 1].begin <= entry.begin);
    r->entries[r->n++] = entry;
    return true;
}

static bool read_metadata_pair(struct reader *r)
{
    const struct heft_model *model = r->model;
    const struct heft_str key = r->json.text;
    const uint64_t where = r->json.where;
    enum heft_json_token token;
    uint32_t other;

    if (r->metadata.count >= model->limits.expansion)
        return heft_fail(r->err, HEFT_LIMIT, where,
                         "more than %" PRIu64 " metadata entries, which is the limit",
                         model->limits.expansion);
    token = heft_json_next(&r->json);
    if (token != HEFT_JSON_STRING)
        return wrong_kind(r, token, "metadata value", "a string");
    if (!heft_model_add_metadata(r->model, key, r->json.text, r->err) ||
        !heft_strmap_add(&r->metadata, model->metadata[model->n_metadata - 1].key, 0, &other,
                         r->err))
        return false;
    return other == HEFT_MAP_NONE ||
           heft_fail(r->err, HEFT_MALFORMED, where, "metadata key \"%s\" is given twice",
                     model->metadata[model->n_metadata - 1].key.p);
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
        return wrong_kind(r, token, METADATA, "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!read_metadata_pair(r))
            return false;
    return token != HEFT_JSON_ERROR;
}

/* Room for as many entries as the header can hold: pages that stay untouched cost nothing, and
 * nothing is copied while the array grows. */
static bool read_header(struct reader *r)
{
    enum heft_json_token token;

    if (!heft_grow(&r->entries, &r->cap, 0, r->header_n / MIN_ENTRY + 1, sizeof *r->entries,
                   r->err))
        return false;
    heft_json_begin(&r->json, (struct heft_bytes){r->header, r->header_n}, PREFIX, &r->model->mem,
                    r->err);
    token = heft_json_next(&r->json);
    if (token != HEFT_JSON_OBJECT)
        return wrong_kind(r, token, "header", "an object");
    while ((token = heft_json_next(&r->json)) == HEFT_JSON_KEY)
        if (!(heft_str_is(r->json.text, METADATA) ? read_metadata : read_tensor)(r))
            return false;
    return token != HEFT_JSON_ERROR && heft_json_next(&r->json) == HEFT_JSON_END;
}

/* Names that were lent from the header end in a quote there, which becomes their NUL. */
static void end_names(struct reader *r)
{
    const uintptr_t header = (uintptr_t)r->header;

    for (size_t i = 0; i < r->n; i++) {
        const uintptr_t at = (uintptr_t)r->entries[i].name.p - header;

        if (at < r->header_n)
            r->header[at + r->entries[i].name.n] = '\0';
    }
}

/* dtype × shape must be whole bytes, and as many as the offsets have. Zeros do not excuse an
 * overflow before them: the reference multiplies from left to right. */
static bool check_size(struct reader *r, const struct entry *entry)
{
    const unsigned bits = heft_dtype_bits((enum heft_dtype)entry->dtype);
    const uint64_t where = PREFIX + (uint64_t)entry->where;
    bool fits = true;
    uint64_t n = 1;

    for (unsigned i = 0; i < entry->rank; i++)
        fits = fits && heft_mul(n, entry->shape[i], &n);
    if (!fits || !heft_mul(n, bits, &n))
        return heft_fail(r->err, HEFT_MALFORMED, where,
                         "shape times %u bits is more than 64 bits can count", bits);
    if (n % 8 != 0)
        return heft_fail(r->err, HEFT_MALFORMED, where, "%" PRIu64 " bits are no whole bytes", n);
    return n / 8 == entry->end - entry->begin ||
           heft_fail(r->err, HEFT_MALFORMED, where,
                     "dtype and shape need %" PRIu64 " bytes, data_offsets have %" PRIu64, n / 8,
                     entry->end - entry->begin);
}

/* The number of tensors is known: the model's arrays grow once. */
static bool make_room(struct reader *r)
{
    struct heft_model *m = r->model;

    return heft_grow(&m->rows, &m->cap_rows, m->n_rows, r->n, sizeof *m->rows, r->err) &&
           heft_grow(&m->storages, &m->cap_storages, m->n_storages, r->n, sizeof *m->storages,
                     r->err);
}

static bool add_tensor(struct reader *r, const struct entry *entry)
{
    const uint64_t len = entry->end - entry->begin;
    const struct heft_storage storage = {.off = PREFIX + r->header_n + entry->begin,
                                         .packed = len,
                                         .len = len,
                                         .source = r->source,
                                         .coding = HEFT_CODING_RAW};
    struct heft_row row = {
        .name = entry->name, .shape = entry->shape, .dtype = entry->dtype, .rank = entry->rank};

    return heft_model_add_storage(r->model, &storage, &row.storage, r->err) &&
           heft_model_add_row(r->model, &row, r->err);
}

static bool begins_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct entry *entries = ctx;

    return entries[a].begin > entries[b].begin;
}

/* Tensors must follow one another from the first byte of the buffer to the last. An empty one may
 * stand wherever one begins, also behind that one in the header: sorted by begin and end, as the
 * reference sorts, it comes first. */
static bool add_tensors(struct reader *r)
{
    const uint32_t *order = NULL;
    uint64_t next = 0, begun = 0;

    if (!make_room(r))
        return false;
    if (!r->in_order) {
        order = sorted(r->n, begins_after, r->entries, &r->model->mem, r->err);
        if (!order)
            return false;
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct entry *entry = &r->entries[order ? order[i] : i];
        const bool empty_at_begin = entry->begin == entry->end && entry->begin == begun;

        if (entry->end < entry->begin || (entry->begin != next && !empty_at_begin)) {
            heft_fail(r->err, HEFT_MALFORMED, PREFIX + (uint64_t)entry->where,
                      "data_offsets [%" PRIu64 ", %" PRIu64 "] do not continue at %" PRIu64
                      ", where the tensor before ends",
                      entry->begin, entry->end, next);
            return heft_error_about(r->err, "tensor", entry->name);
        }
        if (!check_size(r, entry))
            return heft_error_about(r->err, "tensor", entry->name);
        if (entry->end > entry->begin)
            begun = entry->begin;
        next = heft_max_u64(next, entry->end);
        if (!add_tensor(r, entry))
            return false;
    }
    if (next > r->data_n)
        return heft_fail(r->err, HEFT_MALFORMED, PREFIX + r->header_n + r->data_n,
                         "file ends %" PRIu64 " bytes before its last tensor", next - r->data_n);
    return next == r->data_n ||
           heft_fail(r->err, HEFT_MALFORMED, PREFIX + r->header_n + next,
                     "%" PRIu64 " bytes follow the last tensor; every byte must belong to one",
                     r->data_n - next);
}

/* Fills the table of names, and finds the name that comes twice. Settling finds it too, but can
 * only say where its data is. */
static bool index_names(struct reader *r)
{
    uint32_t other = HEFT_MAP_NONE;

    if (!heft_strmap_reserve(&r->names, r->n, r->err))
        return false;
    for (size_t i = 0; i < r->n; i++) {
        const struct entry *entry = &r->entries[i];

        if (!heft_strmap_add(&r->names, entry->name, (uint32_t)i, &other, r->err))
            return false;
        if (other == HEFT_MAP_NONE)
            continue;
        heft_fail(r->err, HEFT_MALFORMED, PREFIX + (uint64_t)entry->where,
                  "is named twice, first at offset 0x%" PRIx64,
                  PREFIX + (uint64_t)r->entries[other].where);
        return heft_error_about(r->err, "tensor", entry->name);
    }
    return true;
}

/* Metadata entries that record a tied name: dropped (no tensor here) → kept (a tensor here). Most
 * files have format=pt only, and need no table of names. */
static bool add_ties(struct reader *r)
{
    const struct heft_model *model = r->model;

    for (size_t i = r->first_metadata; i < model->n_metadata; i++) {
        const struct heft_pair pair = model->metadata[i];

        if (heft_str_is(pair.key, "format"))
            continue;
        if (r->names.count == 0 && !index_names(r))
            return false;
        if (heft_strmap_get(&r->names, pair.value) != HEFT_MAP_NONE &&
            heft_strmap_get(&r->names, pair.key) == HEFT_MAP_NONE &&
            !heft_model_add_tie(r->model, pair.key, pair.value, r->err))
            return false;
    }
    return true;
}

/* The header into the arena: its length against the limit, the file, and UTF-8. */
static bool load_header(struct reader *r)
{
    const struct heft_source src = r->model->sources[r->source].source;
    const uint64_t limit = heft_min_u64(r->model->limits.header, UINT32_MAX);
    uint8_t prefix[PREFIX];
    uint64_t n;
    size_t valid;

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
    r->header_n = (size_t)n; /* at most 2^32 - 1 */
    r->data_n = src.size - PREFIX - n;
    r->header = heft_arena_alloc(&r->model->mem, r->header_n, r->err);
    if (!r->header || !heft_source_read(&src, PREFIX, r->header, r->header_n, r->err))
        return false;
    valid = heft_utf8_check((struct heft_bytes){r->header, r->header_n});
    return valid == r->header_n || heft_fail(r->err, HEFT_MALFORMED, PREFIX + valid,
                                             "header is not UTF-8: byte 0x%02x", r->header[valid]);
}

static bool add_all(struct reader *r)
{
    end_names(r);
    if (!heft_model_claim(r->model, r->source, 0, PREFIX, "header length", r->err) ||
        !heft_model_claim(r->model, r->source, PREFIX, r->header_n, "header", r->err))
        return false;
    if (add_tensors(r))
        return add_ties(r);
    if (r->err->code == HEFT_MALFORMED)
        index_names(r); /* a name that comes twice explains more than its offsets do */
    return false;
}

static bool open_file(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct reader r = {.model = model,
                       .err = err,
                       .source = source,
                       .in_order = true,
                       .first_metadata = model->n_metadata};
    const bool ok = load_header(&r) && read_header(&r) && add_all(&r);

    if (ok && !model->format)
        model->format = "safetensors";
    heft_free(r.entries);
    heft_strmap_release(&r.names);
    heft_strmap_release(&r.metadata);
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

/* ---- writing -------------------------------------------------------------------------------- */

/* The reference's order: dtypes as declared, last first (so that every tensor of whole bytes is
 * aligned), then names by bytes. */
static bool item_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_item *items = ctx;

    if (items[a].as != items[b].as)
        return items[a].as < items[b].as;
    return heft_str_cmp(items[a].name, items[b].name) > 0;
}

static bool pair_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_pair *pairs = ctx;

    return heft_str_cmp(pairs[a].key, pairs[b].key) > 0;
}

static void put_pair(struct heft_buf *buf, struct heft_str key, struct heft_str value)
{
    heft_buf_json(buf, key, false);
    heft_buf_char(buf, ':');
    heft_buf_json(buf, value, false);
}

/* What the hub puts into a file: format=pt, and the rest where there is but one file (else the
 * index has it). The reference writes keys in random order, we sort them. */
static bool put_metadata(struct heft_buf *buf, const struct heft_cargo *cargo,
                         struct heft_error *err)
{
    const struct heft_str format = HEFT_STR("format"), pt = HEFT_STR("pt");
    const size_t n = cargo->n_shards > 1 ? 0 : cargo->n_metadata;
    const uint32_t *order = sorted(n, pair_after, cargo->metadata, cargo->mem, err);
    bool done = false;

    if (!order)
        return false;
    heft_buf_text(buf, "\"" METADATA "\":{");
    for (size_t i = 0; i < n; i++) {
        const struct heft_pair *pair = &cargo->metadata[order[i]];
        const int where = heft_str_cmp(pair->key, format);

        if (!done && where > 0) {
            put_pair(buf, format, pt);
            heft_buf_char(buf, ',');
        }
        done |= where >= 0;
        put_pair(buf, pair->key, pair->value);
        heft_buf_text(buf, i + 1 < n || !done ? "," : "");
    }
    if (!done)
        put_pair(buf, format, pt);
    heft_buf_char(buf, '}');
    return true;
}

static bool put_entry(struct heft_buf *buf, const struct heft_item *item, uint64_t *at,
                      struct heft_error *err)
{
    const struct heft_row *row = item->row;

    if (heft_str_is(item->name, METADATA))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no tensor may be called " METADATA " in a safetensors file");
    if (item->as >= DTYPE_COUNT)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "safetensors has no %s",
                         heft_dtype_name((enum heft_dtype)item->as)) ||
               heft_error_about(err, "tensor", item->name);
    heft_buf_char(buf, ',');
    heft_buf_json(buf, item->name, false);
    heft_buf_text(buf, ":{\"dtype\":\"");
    heft_buf_text(buf, heft_dtype_name((enum heft_dtype)item->as));
    heft_buf_text(buf, "\",\"shape\":[");
    for (unsigned i = 0; i < row->rank; i++) {
        heft_buf_text(buf, i ? "," : "");
        heft_buf_u64(buf, row->shape[i]);
    }
    heft_buf_text(buf, "],\"data_offsets\":[");
    heft_buf_u64(buf, *at);
    heft_buf_char(buf, ',');
    *at += item->bytes;
    heft_buf_u64(buf, *at);
    heft_buf_text(buf, "]}");
    return true;
}

/* Length, header, spaces up to a multiple of 8. */
static bool put_header(struct heft_buf *buf, const struct heft_cargo *cargo, const uint32_t *order,
                       struct heft_error *err)
{
    uint64_t at = 0;

    heft_buf_put(buf, "\0\0\0\0\0\0\0\0{", PREFIX + 1);
    if (!put_metadata(buf, cargo, err))
        return false;
    for (size_t i = 0; i < cargo->n_items && buf->n <= PREFIX + MAX_HEADER; i++)
        if (!put_entry(buf, &cargo->items[order[i]], &at, err))
            return false;
    heft_buf_char(buf, '}');
    while (!buf->failed && buf->n % 8 != 0)
        heft_buf_char(buf, ' ');
    if (!heft_buf_ok(buf, err))
        return false;
    if (buf->n - PREFIX > MAX_HEADER)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the header would have more than %d bytes, and no reader takes it; write "
                         "more, smaller shards",
                         MAX_HEADER);
    heft_put_le64((uint8_t *)buf->p, buf->n - PREFIX);
    return true;
}

static bool plan_file(struct heft_plan *plan, uint32_t file, const struct heft_cargo *cargo,
                      struct heft_error *err)
{
    const uint32_t *order = sorted(cargo->n_items, item_after, cargo->items, cargo->mem, err);
    struct heft_buf buf = {0};
    struct heft_str header;
    bool ok = order && put_header(&buf, cargo, order, err) &&
              heft_buf_take(&buf, plan->mem, &header, err) &&
              heft_plan_put(plan, file, header, err);

    heft_buf_release(&buf);
    for (size_t i = 0; ok && i < cargo->n_items; i++)
        ok = heft_plan_item(plan, file, &cargo->items[order[i]], err);
    return ok;
}

static const char *const extensions[] = {"safetensors", NULL};
static const enum heft_dtype lacks[] = {HEFT_C32, HEFT_C128, HEFT_DTYPE_COUNT};

extern const struct heft_format heft_format_safetensors;
const struct heft_format heft_format_safetensors = {
    .name = "safetensors",
    .summary = "Hugging Face safetensors: a JSON header and plain bytes",
    .probe = probe,
    .open = open_file,
    .plan = plan_file,
    .extensions = extensions,
    .pattern = "model{suffix}.safetensors",
    .no_ties = true,
    .lacks = lacks,
};
