/* hull.h: the part of a storage that rows look into: from their first to their last byte. */
#ifndef HEFT_HULL_H
#define HEFT_HULL_H

#include "core/model.h"

/* Bytes [begin, end) of a storage; none where both are equal. Zeroed is empty. */
struct heft_hull {
    uint64_t begin, end;
};

/* Of a settled row, not one in parts: whole elements; empty for a row without elements. */
struct heft_hull heft_hull_of(const struct heft_row *row);
/* Grows to take in the other. */
void heft_hull_add(struct heft_hull *hull, struct heft_hull other);

#endif
