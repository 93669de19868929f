/* sort.h: a stable sort of indices, for arrays of any kind. */
#ifndef HEFT_SORT_H
#define HEFT_SORT_H

#include "base/mem.h"

/* True if item a must come after item b. */
typedef bool heft_after_fn(const void *ctx, uint32_t a, uint32_t b);

/* The indices 0 … n-1 in sorted order, in `mem`; NULL on failure. Items that compare equal keep
 * their order. Bottom-up merge sort: O(n log n) comparisons, n for input that is sorted already. */
uint32_t *heft_sort_indices(size_t n, heft_after_fn *after, const void *ctx, struct heft_arena *mem,
                            struct heft_error *err);

#endif
