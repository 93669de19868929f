/* nd_view.h: a box of elements of a strided view, and copying it from memory to its destination.
 * All strides and positions are in bytes. An element is a block of the dtype (base/dtype.h). */
#ifndef HEFT_ND_VIEW_H
#define HEFT_ND_VIEW_H

#include "base/base.h"

enum {
    HEFT_ND_VIEW_DIMS = 64
}; /* enough for any view: extents are 2 or more, elements fewer than 2^64 */

/* One dimension: its extent, and its strides in bytes. */
struct heft_dim {
    uint64_t n;
    uint64_t from; /* stride in the storage */
    uint64_t at;   /* stride in the scratch memory */
    uint64_t to;   /* stride in the destination */
};

struct heft_nd_view {
    struct heft_dim dims[HEFT_ND_VIEW_DIMS]; /* ascending by stride in the storage */
    uint64_t last
        [HEFT_ND_VIEW_DIMS +
         1]; /* last[i]: byte distance from the first to the last element of dims[0] … dims[i-1] */
    unsigned n;
    unsigned unit; /* number of leading dims that one read covers */
    uint64_t from; /* byte offset of the first element in the storage */
    uint64_t to;   /* byte offset of the first element in the destination */
    /* bytes of a contiguous run that is read straight into the destination, whose dimension is
     * not in dims; 0: none */
    uint64_t run;
};

/* Odometer over the indexes of dims[lo] … dims[hi-1]; the first one changes fastest. */
struct heft_walk {
    uint64_t index[HEFT_ND_VIEW_DIMS];
    uint64_t from, at, to; /* bytes: sums of index × stride */
};

static inline void heft_walk_begin(struct heft_walk *walk, unsigned lo, unsigned hi)
{
    walk->from = walk->at = walk->to = 0;
    for (unsigned i = lo; i < hi; i++)
        walk->index[i] = 0;
}

/* Advances to the next index. False after the last one. */
static inline bool heft_walk_next(struct heft_walk *walk, const struct heft_dim *dims, unsigned lo,
                                  unsigned hi)
{
    for (unsigned i = lo; i < hi; i++) {
        const struct heft_dim *const d = &dims[i];

        if (++walk->index[i] < d->n) {
            walk->from += d->from;
            walk->at += d->at;
            walk->to += d->to;
            return true;
        }
        walk->index[i] = 0;
        walk->from -= (d->n - 1) * d->from;
        walk->at -= (d->n - 1) * d->at;
        walk->to -= (d->n - 1) * d->to;
    }
    return false;
}

/* Copies the elements of n dims from the scratch to the destination. */
void heft_nd_view_scatter(uint8_t *dst, const uint8_t *scratch, const struct heft_dim *dims,
                          unsigned n, uint32_t each);

/* A range of the storage that is in memory. */
struct heft_window {
    const uint8_t *p;
    uint64_t begin, n;
};
/* Copies the elements of a box that lie in the window to the destination. Returns the storage
 * offset of the first element that ends after the window; UINT64_MAX if there is none. */
uint64_t heft_windowed_gather(uint8_t *dst, const struct heft_window *window,
                              struct heft_nd_view *box, uint32_t each);

#endif
