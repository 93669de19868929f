/* nd_view.h: elements of a strided view as a box of indexes: where they are, where they go, and the
 * ways there from memory. All strides and positions are in bytes. */
#ifndef HEFT_ND_VIEW_H
#define HEFT_ND_VIEW_H

#include "base/base.h"

enum { HEFT_ND_VIEW_DIMS = 64 }; /* of extent 2 and more, and fewer than 2^64 elements */

/* Strides. */
struct heft_dim {
    uint64_t n;
    uint64_t from; /* in the storage */
    uint64_t at;   /* in the scratch */
    uint64_t to;   /* in the destination */
};

struct heft_nd_view {
    struct heft_dim dims[HEFT_ND_VIEW_DIMS]; /* by stride in the storage, smallest first */
    uint64_t
        last[HEFT_ND_VIEW_DIMS + 1]; /* from the first to the last element of the dims before */
    unsigned n;
    unsigned unit; /* of the dims, to be read at once */
    uint64_t from; /* the first element, in the storage */
    uint64_t to;   /* and in the destination */
    uint64_t run;  /* bytes in a row, where they are read directly; their dimension is left out */
};

/* Indexes of dims[lo] … dims[hi-1], the first one fastest. */
struct heft_walk {
    uint64_t index[HEFT_ND_VIEW_DIMS];
    uint64_t from, at, to; /* bytes: the sums of index × stride */
};

static inline void heft_walk_begin(struct heft_walk *walk, unsigned lo, unsigned hi)
{
    walk->from = walk->at = walk->to = 0;
    for (unsigned i = lo; i < hi; i++)
        walk->index[i] = 0;
}

/* False once all were visited. */
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

/* Elements of n dimensions from where they are in the scratch to their places. */
void heft_nd_view_scatter(uint8_t *dst, const uint8_t *scratch, const struct heft_dim *dims,
                          unsigned n, uint32_t each);

/* Bytes of the storage, in memory. */
struct heft_window {
    const uint8_t *p;
    uint64_t begin, n;
};
/* The elements of a box that lie in the window, to their places. Gives the place in the storage of
 * the first that ends behind it; UINT64_MAX where none does. */
uint64_t heft_windowed_gather(uint8_t *dst, const struct heft_window *window,
                              struct heft_nd_view *box, uint32_t each);

#endif
