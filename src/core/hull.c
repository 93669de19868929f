/* hull.c: the part of a storage that rows look into. */
#include "core/hull.h"

struct heft_hull heft_hull_of(const struct heft_row *row)
{
    struct heft_hull hull = {row->offset, row->offset + row->bytes};
    uint64_t last = 0; /* element; settle has checked that it lies in the storage */

    if (row->bytes == 0)
        return (struct heft_hull){0};
    if (!row->stride)
        return hull;
    for (unsigned i = 0; i < row->rank; i++)
        last += (row->shape[i] - 1) * row->stride[i];
    hull.end = row->offset + (last + 1) * heft_dtype_bytes((enum heft_dtype)row->dtype);
    return hull;
}

void heft_hull_add(struct heft_hull *hull, struct heft_hull other)
{
    if (other.begin == other.end)
        return;
    if (hull->begin == hull->end) {
        *hull = other;
        return;
    }
    hull->begin = heft_min_u64(hull->begin, other.begin);
    hull->end = heft_max_u64(hull->end, other.end);
}
