/* tf_entry.c: the messages in the index of a tensor bundle (doc/format/tf-bundle.md).
 *
 *     BundleHeaderProto   1 num_shards, 2 endianness, 3 version {1 producer, 2 min_consumer,
 *                         3 bad_consumers}
 *     BundleEntryProto    1 dtype, 2 shape {2 dim {1 size}}, 3 shard_id, 4 offset, 5 size,
 *                         6 crc32c, 7 slices {1 extent {1 start, 2 length}}
 *
 * Fields may come in any order. Unknown fields are skipped, and so are fields with an unexpected wire
 * type. */
#include "format/tensorflow/bundle/tf_parts.h"

#include "wire/proto.h"

#define CONSUMER 1 /* the format version that this reader implements */

static bool is_number(const struct heft_proto_item *item, uint32_t number)
{
    return item->number == number && item->wire == HEFT_PROTO_VARINT;
}

static bool is_message(const struct heft_proto_item *item, uint32_t number)
{
    return item->number == number && item->wire == HEFT_PROTO_LEN;
}

/* ---- header of the bundle ---------------------------------------------------------------- */

static bool refuse_version(uint64_t where, struct heft_error *err)
{
    return heft_fail(err, HEFT_UNSUPPORTED, where,
                     "the bundle excludes readers of version 1 (bad_consumers)");
}

static bool read_consumers(struct heft_cur cur, struct heft_error *err)
{
    uint64_t consumer;

    while (heft_cur_left(&cur) > 0) {
        const uint64_t where = heft_cur_where(&cur);

        if (!heft_proto_varint(&cur, &consumer, err))
            return false;
        if (consumer == CONSUMER)
            return refuse_version(where, err);
    }
    return true;
}

static bool check_version(const struct heft_tf_header *header, uint64_t at, struct heft_error *err)
{
    if (header->producer < 0)
        return heft_fail(err, HEFT_MALFORMED, at, "unknown bundle version %" PRId32,
                         header->producer);
    return header->min_consumer <= CONSUMER ||
           heft_fail(err, HEFT_UNSUPPORTED, at,
                     "the bundle requires readers of version %" PRId32
                     ", heft implements version 1",
                     header->min_consumer);
}

bool heft_tf_version_read(struct heft_cur cur, struct heft_tf_header *out, struct heft_error *err)
{
    const uint64_t at = heft_cur_where(&cur);
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, err)) {
        if (is_number(&item, 1))
            out->producer = (int32_t)(uint32_t)item.u64;
        else if (is_number(&item, 2))
            out->min_consumer = (int32_t)(uint32_t)item.u64;
        else if (is_number(&item, 3) && item.u64 == CONSUMER)
            return refuse_version(item.where, err);
        else if (is_message(&item, 3) && !read_consumers(heft_proto_sub(&item), err))
            return false;
    }
    return !cur.bad && check_version(out, at, err);
}

bool heft_tf_header_read(struct heft_bytes value, uint64_t at, struct heft_tf_header *out,
                         struct heft_error *err)
{
    struct heft_cur cur = heft_cur_of(value, at);
    struct heft_proto_item item;
    uint64_t shards = 0, endianness = 0;

    *out = (struct heft_tf_header){0};
    while (heft_proto_take(&cur, &item, err)) {
        if (is_number(&item, 1))
            shards = item.u64;
        else if (is_number(&item, 2))
            endianness = item.u64;
        else if (is_message(&item, 3) && !heft_tf_version_read(heft_proto_sub(&item), out, err))
            return false;
    }
    if (cur.bad)
        return false;
    if (shards == 0 || shards > INT32_MAX)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%" PRId64 " data files, expected 1 to 2147483647", (int64_t)shards);
    if (endianness > 1)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "endianness %" PRIu64 ", expected 0 (little) or 1 (big)", endianness);
    out->num_shards = (uint32_t)shards;
    out->is_big_endian = endianness == 1;
    return true;
}

/* ---- shapes ------------------------------------------------------------------------------ */

struct shape {
    uint64_t dims[HEFT_SLICE_RANK];
    unsigned rank;
    uint64_t elements; /* product of the dimensions so far */
    uint64_t nonzero;  /* product of the dimensions other than 0 */
};

static bool read_size(struct heft_cur cur, uint64_t *size, struct heft_error *err)
{
    struct heft_proto_item item;

    *size = 0;
    while (heft_proto_take(&cur, &item, err))
        if (is_number(&item, 1))
            *size = item.u64;
    return !cur.bad;
}

static bool add_dim(struct shape *shape, struct heft_cur cur, struct heft_error *err)
{
    const uint64_t at = heft_cur_where(&cur);
    uint64_t size;

    if (!read_size(cur, &size, err))
        return false;
    if (shape->rank == HEFT_SLICE_RANK)
        return heft_fail(err, HEFT_MALFORMED, at, "the shape has more than 254 dimensions");
    if (size > INT64_MAX)
        return heft_fail(err, HEFT_MALFORMED, at, "dimension %" PRId64 " is negative",
                         (int64_t)size);
    if (size > 0 &&
        (!heft_mul(shape->nonzero, size, &shape->nonzero) || shape->nonzero > INT64_MAX))
        return heft_fail(err, HEFT_MALFORMED, at, "the product of the dimensions reaches 2^63");
    shape->dims[shape->rank++] = size;
    shape->elements = size ? shape->elements : 0;
    return true;
}

static bool read_shape(struct shape *shape, struct heft_cur cur, struct heft_error *err)
{
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, err))
        if (is_message(&item, 2) && !add_dim(shape, heft_proto_sub(&item), err))
            return false;
    return !cur.bad;
}

/* ---- slices ------------------------------------------------------------------------------ */

static bool read_extent(struct heft_cur cur, struct heft_slice_dim *out, struct heft_error *err)
{
    struct heft_proto_item item;

    *out = (struct heft_slice_dim){0, HEFT_SLICE_WHOLE};
    while (heft_proto_take(&cur, &item, err))
        if (is_number(&item, 1))
            out->start = (int64_t)item.u64;
        else if (is_number(&item, 2))
            out->length = (int64_t)item.u64;
    return !cur.bad;
}

static bool read_slice(struct heft_cur cur, unsigned rank, struct heft_slice_dim *dims,
                       struct heft_error *err)
{
    const uint64_t at = heft_cur_where(&cur);
    struct heft_proto_item item;
    unsigned n = 0;

    while (heft_proto_take(&cur, &item, err)) {
        if (!is_message(&item, 1))
            continue;
        if (n < rank && !read_extent(heft_proto_sub(&item), &dims[n], err))
            return false;
        n++;
    }
    if (cur.bad)
        return false;
    return n == rank || heft_fail(err, HEFT_MALFORMED, at,
                                  "the slice has %u dimensions, the tensor has %u", n, rank);
}

/* Reads the slices in a second pass: the shape may follow them. */
static bool read_slices(struct heft_cur cur, uint32_t number, const struct heft_tf_room *room,
                        struct heft_tf_entry *out, struct heft_error *err)
{
    const uint64_t n =
        (uint64_t)out->n_slices * (out->rank + 1u); /* no overflow: the product is below 2^40 */
    struct heft_slice_dim *dims;
    struct heft_proto_item item;
    uint64_t at = 0;

    if (n > *room->dims)
        return heft_fail(err, HEFT_LIMIT, heft_cur_where(&cur),
                         "%" PRIu32 " slices of %u dimensions exceed limits.tensors", out->n_slices,
                         out->rank);
    *room->dims -= n;
    dims = heft_arena_zero(room->scratch, (size_t)n, sizeof *dims, err);
    if (!dims)
        return false;
    out->dims = dims;
    while (heft_proto_take(&cur, &item, err)) {
        if (!is_message(&item, number))
            continue;
        if (!read_slice(heft_proto_sub(&item), out->rank, dims + at, err))
            return false;
        at += out->rank;
    }
    return !cur.bad;
}

/* ---- entries ----------------------------------------------------------------------------- */

/* Field numbers differ in version 1 of the format, whose entries have no offset. */
struct numbers {
    uint32_t dtype, slices;
    bool is_v1;
};
static const struct numbers v1 = {3, 4, true}, v2 = {1, 7, false};

static void take_place(const struct heft_proto_item *item, struct heft_tf_entry *out)
{
    if (is_number(item, 3))
        out->shard = item->u64 > INT32_MAX ? UINT32_MAX : (uint32_t)item->u64;
    else if (is_number(item, 4))
        out->offset = item->u64;
    else if (is_number(item, 5))
        out->size = item->u64;
    else if (item->number == 6 && item->wire == HEFT_PROTO_I32)
        out->crc = (uint32_t)item->u64;
}

static bool take_field(const struct heft_proto_item *item, const struct numbers *numbers,
                       struct shape *shape, struct heft_tf_entry *out, struct heft_error *err)
{
    if (is_number(item, numbers->dtype))
        out->number = item->u64;
    else if (is_message(item, 2))
        return read_shape(shape, heft_proto_sub(item), err);
    else if (is_message(item, numbers->slices))
        out->n_slices++; /* cannot overflow: fewer than the bytes of a block */
    else if (!numbers->is_v1)
        take_place(item, out);
    else if (is_message(item, 1))
        out->name = (struct heft_str){(const char *)item->bytes.p, item->bytes.n};
    return true;
}

/* Validates what can be judged without the data files. */
static bool check_numbers(struct heft_tf_entry *out, uint64_t at, struct heft_error *err)
{
    out->dtype = heft_tf_dtype(out->number);
    if ((out->dtype && out->dtype->dtype == HEFT_DTYPE_COUNT) ||
        (out->number >= HEFT_TF_REF && heft_tf_dtype(out->number - HEFT_TF_REF)))
        return heft_fail(err, HEFT_MALFORMED, at, "dtype %" PRIu64 "%s%s cannot be stored",
                         out->number, out->dtype ? ", " : "",
                         out->dtype ? out->dtype->label : ", a reference");
    if (out->offset > INT64_MAX || out->size > INT64_MAX)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%" PRId64 " bytes at offset %" PRId64 ": negative", (int64_t)out->size,
                         (int64_t)out->offset);
    return true;
}

static bool read_entry(struct heft_cur cur, const struct numbers *numbers,
                       const struct heft_tf_room *room, struct heft_tf_entry *out,
                       struct heft_error *err)
{
    const struct heft_cur begin = cur;
    const uint64_t at = heft_cur_where(&cur);
    struct heft_proto_item item;
    struct shape shape;

    shape.rank = 0;
    shape.elements = shape.nonzero = 1;
    *out = (struct heft_tf_entry){0};
    while (heft_proto_take(&cur, &item, err))
        if (!take_field(&item, numbers, &shape, out, err))
            return false;
    out->rank = (uint8_t)shape.rank;
    out->elements = shape.elements ? shape.nonzero : 0;
    if (cur.bad || !check_numbers(out, at, err))
        return false;
    out->shape = heft_arena_copy_u64(room->mem, shape.dims, shape.rank, err);
    return out->shape &&
           (out->n_slices == 0 || read_slices(begin, numbers->slices, room, out, err));
}

bool heft_tf_entry_read(struct heft_bytes value, uint64_t at, const struct heft_tf_room *room,
                        struct heft_tf_entry *out, struct heft_error *err)
{
    return read_entry(heft_cur_of(value, at), &v2, room, out, err);
}

bool heft_tf_v1_entry_read(struct heft_cur cur, const struct heft_tf_room *room,
                           struct heft_tf_entry *out, struct heft_error *err)
{
    return read_entry(cur, &v1, room, out, err);
}
