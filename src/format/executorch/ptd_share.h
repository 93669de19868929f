/* ptd_share.h: which entries of a .ptd that is to be written have the same bytes, so that they
 * share a segment. */
#ifndef HEFT_PTD_SHARE_H
#define HEFT_PTD_SHARE_H

#include "core/model.h"

/* What an entry stores: the elements of a row in its order, cast. */
struct heft_ptd_content {
    const struct heft_row *row;
    uint64_t bytes; /* as written */
    uint8_t as;
};

/* first[i]: the first of the contents with the bytes of i-th one (i itself, where it is that).
 * Reads a few samples of contents of one size, and whole only those whose samples agree. */
HEFT_CHECKED bool heft_ptd_share(const struct heft_model *model,
                                 const struct heft_ptd_content *contents, size_t n, uint32_t *first,
                                 struct heft_error *err);

#endif
