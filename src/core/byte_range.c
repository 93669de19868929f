/* byte_range.c: byte ranges of storages that rows use. */
#include "core/byte_range.h"

struct heft_byte_range heft_byte_range_of(const struct heft_row *row)
{
    struct heft_byte_range range = {row->offset, row->offset + row->bytes};
    uint64_t last = 0; /* index of the last element; validated to lie inside the storage */

    if (row->bytes == 0)
        return (struct heft_byte_range){0};
    if (!row->stride)
        return range;
    for (unsigned i = 0; i < row->rank; i++)
        last += (row->shape[i] - 1) * row->stride[i];
    range.end = row->offset + heft_dtype_span((enum heft_dtype)row->dtype, last + 1);
    return range;
}

void heft_byte_range_add(struct heft_byte_range *range, struct heft_byte_range other)
{
    if (other.begin == other.end)
        return;
    if (range->begin == range->end) {
        *range = other;
        return;
    }
    range->begin = heft_min_u64(range->begin, other.begin);
    range->end = heft_max_u64(range->end, other.end);
}
