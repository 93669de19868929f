/* tf_v1_values.c: the values of a TensorProto in a V1 checkpoint.
 *
 *     5 float_val, 6 double_val, 9 scomplex_val, 12 dcomplex_val    raw bytes if packed
 *     7 int_val, 10 int64_val, 11 bool_val, 13 half_val, 16 uint32_val, 17 uint64_val    varints
 *     8 string_val                                                  repeated
 *
 * Packed raw bytes in an uncompressed block are used as a range of the file. Everything else is
 * decoded into memory, strings into the layout of a bundle's data file. */
#include "format/tensorflow/v1/tf_v1.h"
#include "wire/proto.h"

#define FREE_BYTES (UINT64_C(64) << 20) /* decoded bytes allowed for small inputs */

/* The field of each dtype and the bytes per value in it; 0: varints. */
static const struct {
    uint8_t dtype, field, width;
} places[] = {
    {HEFT_F32, 5, 4},  {HEFT_F64, 6, 8},   {HEFT_C64, 9, 4},  {HEFT_C128, 12, 8},
    {HEFT_I32, 7, 0},  {HEFT_I16, 7, 0},   {HEFT_I8, 7, 0},   {HEFT_U8, 7, 0},
    {HEFT_U16, 7, 0},  {HEFT_QI8, 7, 0},   {HEFT_QU8, 7, 0},  {HEFT_QI16, 7, 0},
    {HEFT_QU16, 7, 0}, {HEFT_QI32, 7, 0},  {HEFT_I64, 10, 0}, {HEFT_BOOL, 11, 0},
    {HEFT_F16, 13, 0}, {HEFT_BF16, 13, 0}, {HEFT_U32, 16, 0}, {HEFT_U64, 17, 0},
};

struct decoder {
    struct heft_tf_v1 *r;
    const struct heft_tf_entry *entry;
    unsigned field, width; /* from `places` */
    unsigned each;         /* bytes per decoded value */
    uint64_t values;       /* expected */
    uint64_t n;            /* decoded so far */
    uint8_t *out;
};

static bool refuse_count(const struct decoder *d, uint64_t found)
{
    return heft_fail(d->r->b.err, HEFT_MALFORMED, d->r->where,
                     "%" PRIu64 " values%s for a slice of %" PRIu64 " elements", found,
                     found > d->values ? " or more" : "", d->entry->elements);
}

static bool take_value(struct decoder *d, uint64_t v)
{
    if (d->n == d->values)
        return refuse_count(d, d->n + 1);
    for (unsigned i = 0; i < d->each; i++)
        d->out[d->n * d->each + i] = (uint8_t)(v >> 8 * i);
    d->n++;
    return true;
}

/* Decodes packed values: fixed width or varints. */
static bool take_packed(struct decoder *d, struct heft_cur cur)
{
    uint64_t v;

    while (heft_cur_left(&cur) > 0) {
        if (d->width == 0 && !heft_proto_varint(&cur, &v, d->r->b.err))
            return false;
        if (d->width != 0)
            v = d->width == 8 ? heft_cur_u64(&cur) : heft_cur_u32(&cur);
        if (!heft_cur_ok(&cur))
            return heft_fail(d->r->b.err, HEFT_MALFORMED, heft_cur_where(&cur),
                             "packed values end inside a value");
        if (!take_value(d, v))
            return false;
    }
    return true;
}

static bool decode_numbers(struct decoder *d, struct heft_cur proto)
{
    const unsigned wire = d->width == 0   ? HEFT_PROTO_VARINT
                          : d->width == 8 ? HEFT_PROTO_I64
                                          : HEFT_PROTO_I32;
    struct heft_proto_item item;

    while (heft_proto_take(&proto, &item, d->r->b.err)) {
        if (item.number != d->field)
            continue;
        if (item.wire == HEFT_PROTO_LEN && !take_packed(d, heft_proto_sub(&item)))
            return false;
        if (item.wire == wire && !take_value(d, item.u64))
            return false;
    }
    return !proto.bad && (d->n == d->values || refuse_count(d, d->n));
}

/* Offset and length of the values if one packed field holds all of them as raw bytes; else *len is
 * 0. */
static bool find_plain(const struct decoder *d, struct heft_cur proto, uint64_t *off, uint64_t *len)
{
    struct heft_proto_item item;
    unsigned fields = 0;
    uint64_t bytes;

    *len = 0;
    while (heft_proto_take(&proto, &item, d->r->b.err)) {
        if (item.number != d->field)
            continue;
        fields++;
        *off = item.offset;
        *len = item.wire == HEFT_PROTO_LEN && fields == 1 ? item.bytes.n : 0;
    }
    if (!heft_mul(d->values, d->width, &bytes) || *len != bytes)
        *len = 0;
    return !proto.bad;
}

/* ---- values decoded into memory ---------------------------------------------------------- */

static bool check_memory(struct heft_tf_v1 *r, uint64_t bytes)
{
    const uint64_t files = r->b.model->file_bytes;
    const uint64_t most =
        heft_min_u64(FREE_BYTES + (files > FREE_BYTES ? 4 * (files - FREE_BYTES) : 0), SIZE_MAX);

    if (!heft_add(r->decoded, bytes, &r->decoded) || r->decoded > most)
        return heft_fail(r->b.err, HEFT_LIMIT, r->where,
                         "the decoded values exceed %" PRIu64 " bytes", most);
    return true;
}

static bool add_memory(struct heft_tf_v1 *r, struct heft_bytes bytes, struct heft_cur proto,
                       struct heft_storage *storage, uint32_t *out)
{
    storage->off = 0;
    storage->packed = storage->len = bytes.n;
    return heft_model_add_memory(r->b.model, bytes, r->b.model->sources[r->file].path, r->file,
                                 r->where, heft_cur_left(&proto), &storage->source, r->b.err) &&
           heft_model_add_storage(r->b.model, storage, out, r->b.err);
}

static bool add_decoded(struct decoder *d, struct heft_cur proto, uint32_t *out)
{
    struct heft_storage storage = {0};
    uint64_t bytes;

    /* Each value takes at least one byte. */
    if (d->values > heft_cur_left(&proto))
        return heft_fail(d->r->b.err, HEFT_MALFORMED, d->r->where,
                         "%zu bytes of values for a slice of %" PRIu64 " elements",
                         heft_cur_left(&proto), d->entry->elements);
    bytes = d->values * d->each; /* no overflow: bounded by the bytes present */
    if (!check_memory(d->r, bytes))
        return false;
    d->out = heft_arena_alloc(&d->r->b.model->mem, (size_t)bytes, d->r->b.err);
    return d->out && decode_numbers(d, proto) &&
           add_memory(d->r, (struct heft_bytes){d->out, (size_t)bytes}, proto, &storage, out);
}

static bool add_plain(struct decoder *d, struct heft_cur proto, bool is_packed, uint32_t *out)
{
    struct heft_storage storage = {.source = d->r->file};

    if (!find_plain(d, proto, &storage.off, &storage.len))
        return false;
    if (storage.len == 0 || is_packed)
        return add_decoded(d, proto, out);
    storage.packed = storage.len;
    return heft_model_add_storage(d->r->b.model, &storage, out, d->r->b.err);
}

/* ---- strings ----------------------------------------------------------------------------- */

/* Writes all lengths, their checksum, then the strings, in two passes. */
static bool put_strings(struct decoder *d, struct heft_cur proto, struct heft_buf *out,
                        uint32_t *crc)
{
    struct heft_cur again = proto;
    struct heft_proto_item item;

    while (heft_proto_take(&proto, &item, d->r->b.err)) {
        if (item.number != 8 || item.wire != HEFT_PROTO_LEN)
            continue;
        d->n++;
        heft_tf_put_length(out, item.bytes.n, crc);
    }
    if (proto.bad)
        return false;
    if (d->n != d->values)
        return refuse_count(d, d->n);
    heft_tf_put_sum(out, crc);
    while (heft_proto_take(&again, &item, d->r->b.err)) {
        if (item.number != 8 || item.wire != HEFT_PROTO_LEN)
            continue;
        heft_tf_put_text(out, (struct heft_str){(const char *)item.bytes.p, item.bytes.n}, crc);
    }
    return heft_buf_ok(out, d->r->b.err);
}

static bool add_strings(struct decoder *d, struct heft_cur proto, uint32_t *out)
{
    const struct heft_storage_more more = {
        .check = heft_tf_check_strings, .strings = heft_tf_strings, .count = d->entry->elements};
    struct heft_storage storage = {.sum = HEFT_SUM_OWN};
    struct heft_buf text = {0};
    struct heft_str bytes;

    if (!put_strings(d, proto, &text, &storage.crc) || !check_memory(d->r, text.n)) {
        heft_buf_release(&text);
        return false;
    }
    return heft_buf_take(&text, &d->r->b.model->mem, &bytes, d->r->b.err) &&
           heft_model_add_more(d->r->b.model, &storage, &more, d->r->b.err) &&
           add_memory(d->r, (struct heft_bytes){(const uint8_t *)bytes.p, bytes.n}, proto, &storage,
                      out);
}

bool heft_tf_v1_values(struct heft_tf_v1 *r, const struct heft_tf_entry *entry,
                       struct heft_cur proto, bool is_packed, uint32_t *storage)
{
    const enum heft_dtype dtype = (enum heft_dtype)entry->dtype->dtype;
    struct decoder d = {.r = r, .entry = entry, .values = entry->elements};

    if (dtype == HEFT_STRING)
        return add_strings(&d, proto, storage);
    for (size_t i = 0; i < HEFT_COUNT(places) && !d.field; i++)
        if (places[i].dtype == dtype) {
            d.field = places[i].field;
            d.width = places[i].width;
        }
    if (!d.field)
        return heft_fail(r->b.err, HEFT_UNSUPPORTED, r->where, "%s in a V1 checkpoint",
                         entry->dtype->name);
    d.each = d.width ? d.width : heft_dtype_block_bytes(dtype);
    if (heft_dtype_info(dtype)->kind == HEFT_KIND_COMPLEX && !heft_mul(d.values, 2, &d.values))
        return refuse_count(&d, 0);
    return d.width ? add_plain(&d, proto, is_packed, storage) : add_decoded(&d, proto, storage);
}
