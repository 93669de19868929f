/* tf_entry_quick.c: index entries as every writer writes them, without the general reader of
 * messages: an index may have a hundred thousand.
 *
 *     08 dtype   12 n { 12 n { 08 size } … }   [18 shard]  [20 offset]  [28 size]  [35 crc32c]
 *
 * Fields in order, lengths of one byte, numbers below 2^63, few dimensions. What is anything else, or
 * wrong, is left to tf_entry.c: nothing is refused here. */
#include "base/endian.h"
#include "format/tensorflow/bundle/tf_parts.h"

struct view {
    const uint8_t *p, *end;
};

/* A number of up to nine bytes. */
static inline bool take_number(struct view *v, uint64_t *out)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 63 && v->p < v->end; shift += 7) {
        const uint8_t byte = *v->p++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = number;
            return true;
        }
    }
    return false;
}

/* A message of that tag, where it comes next. */
static inline bool take_message(struct view *v, uint8_t tag, struct view *out)
{
    if (v->end - v->p < 2 || v->p[0] != tag || v->p[1] >= 0x80 || v->end - v->p - 2 < v->p[1])
        return false;
    *out = (struct view){v->p + 2, v->p + 2 + v->p[1]};
    v->p = out->end;
    return true;
}

/* A number of that tag, or nothing: then it is left as it is. */
static inline bool take_optional(struct view *v, uint8_t tag, uint64_t *out)
{
    if (v->p == v->end || *v->p != tag)
        return true;
    v->p++;
    return take_number(v, out);
}

static bool take_shape(struct view shape, uint64_t *dims, struct heft_tf_entry *out)
{
    uint64_t nonzero = 1;
    bool empty = false;
    struct view dim;

    for (out->rank = 0; shape.p < shape.end; out->rank++) {
        uint64_t size = 0;

        if (out->rank == HEFT_TF_QUICK_RANK || !take_message(&shape, 0x12, &dim) ||
            !take_optional(&dim, 0x08, &size) || dim.p != dim.end)
            return false;
        empty = empty || size == 0;
        if (size > 0 && (!heft_mul(nonzero, size, &nonzero) || nonzero > INT64_MAX))
            return false;
        dims[out->rank] = size;
    }
    out->elements = empty ? 0 : nonzero;
    return true;
}

bool heft_tf_entry_quick(struct heft_bytes value, uint64_t *dims, struct heft_tf_entry *out)
{
    struct view v = {value.p, value.p + value.n}, shape = {v.p, v.p};
    uint64_t shard = 0;

    *out = (struct heft_tf_entry){0};
    if (!take_optional(&v, 0x08, &out->number) ||
        (v.p < v.end && *v.p == 0x12 && !take_message(&v, 0x12, &shape)) ||
        !take_shape(shape, dims, out) || !take_optional(&v, 0x18, &shard) || shard > INT32_MAX ||
        !take_optional(&v, 0x20, &out->offset) || !take_optional(&v, 0x28, &out->size))
        return false;
    out->shard = (uint32_t)shard;
    if (v.end - v.p == 5 && *v.p == 0x35) {
        out->crc = heft_le32(v.p + 1);
        v.p = v.end;
    }
    return v.p == v.end;
}
