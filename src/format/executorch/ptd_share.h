/* ptd_share.h: finds entries with equal bytes, which share a segment of a .ptd to be written. */
#ifndef HEFT_PTD_SHARE_H
#define HEFT_PTD_SHARE_H

#include "core/model.h"

/* The stored bytes of an entry: the elements of a row in its order, cast. */
struct heft_ptd_content {
    const struct heft_row *row;
    uint64_t bytes; /* bytes as written */
    uint8_t as;
};

/* first[i]: index of the first content with the same bytes as the i-th (i itself if there is none
 * before). Reads a few samples of contents of equal size, and the whole of those with equal
 * samples. */
HEFT_CHECKED bool heft_ptd_share(const struct heft_model *model,
                                 const struct heft_ptd_content *contents, size_t n, uint32_t *first,
                                 struct heft_budget *budget, struct heft_error *err);

#endif
