/* byte_range.h: the part of a storage that rows look into: from their first to their last byte. */
#ifndef HEFT_BYTE_RANGE_H
#define HEFT_BYTE_RANGE_H

#include "core/model.h"

/* Bytes [begin, end) of a storage; none where both are equal. Zeroed is empty. */
struct heft_byte_range {
    uint64_t begin, end;
};

/* Of a settled row, not one in parts: whole elements; empty for a row without elements. */
struct heft_byte_range heft_byte_range_of(const struct heft_row *row);
/* Grows to take in the other. */
void heft_byte_range_add(struct heft_byte_range *range, struct heft_byte_range other);

#endif
