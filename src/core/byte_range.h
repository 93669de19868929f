/* byte_range.h: byte ranges of storages: from the first to the last byte that rows use. */
#ifndef HEFT_BYTE_RANGE_H
#define HEFT_BYTE_RANGE_H

#include "core/model.h"

/* Bytes [begin, end) of a storage. Empty if both are equal, as in a zeroed struct. */
struct heft_byte_range {
    uint64_t begin, end;
};

/* Range of a validated row that is not in parts, gaps between strided elements included. Empty
 * for a row without elements. */
struct heft_byte_range heft_byte_range_of(const struct heft_row *row);
/* Extends *range to cover `other`, too. */
void heft_byte_range_add(struct heft_byte_range *range, struct heft_byte_range other);

#endif
