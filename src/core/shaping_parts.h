/* shaping_parts.h: the boxes of a tensor whose shape changes, private to shaping*.c.
 *
 * Factors are at least 2, so that there are fewer than 64 of them: a dimension of extent 1 has none. A
 * tensor without elements has neither factors nor boxes. */
#ifndef HEFT_SHAPING_PARTS_H
#define HEFT_SHAPING_PARTS_H

#include "core/shaping.h"

/* A box, whose elements lie in one storage; its start, extents and strides are in `numbers`. */
struct heft_shaping_box {
    uint64_t offset; /* bytes */
    uint32_t storage;
    uint8_t flags; /* HEFT_ROW_… */
};

/* Numbers of box k, one for each factor. Strides are in units, and 0 if the extent is 1. */
static inline uint64_t *heft_shaping_start(const struct heft_shaping *s, size_t k)
{
    return s->numbers + k * 3 * s->n_factors;
}
static inline uint64_t *heft_shaping_extent(const struct heft_shaping *s, size_t k)
{
    return heft_shaping_start(s, k) + s->n_factors;
}
static inline uint64_t *heft_shaping_stride(const struct heft_shaping *s, size_t k)
{
    return heft_shaping_start(s, k) + 2 * (size_t)s->n_factors;
}
/* Bytes of a unit: of an element, or 1. */
static inline uint32_t heft_shaping_unit(const struct heft_shaping *s)
{
    return s->is_bytes ? 1 : heft_dtype_element_bytes(s->dtype);
}

/* ---- shaping_boxes.c ---- */

/* Makes room for boxes with that many factors, which replace the present ones. */
HEFT_CHECKED bool heft_shaping_room(struct heft_shaping *s, uint64_t boxes, unsigned factors,
                                    struct heft_error *err);
/* Replaces factor f by (factor / inner)(inner), which must divide it and be neither 1 nor the factor. The
 * dimension that has it is not told: the caller sets `first`. */
HEFT_CHECKED bool heft_shaping_cut_factor(struct heft_shaping *s, unsigned f, uint64_t inner,
                                          struct heft_error *err);
/* Number of boxes after factors f and f + 1 become one; UINT64_MAX if 2^64 or more. */
uint64_t heft_shaping_count_joined(const struct heft_shaping *s, unsigned f);
/* Makes one factor of f and f + 1. Likewise. */
HEFT_CHECKED bool heft_shaping_join_factors(struct heft_shaping *s, unsigned f,
                                            struct heft_error *err);
/* Keeps the indexes [begin, end) of a factor; drops it if one is left. Returns whether it was dropped. */
bool heft_shaping_slice_factor(struct heft_shaping *s, unsigned f, uint64_t begin, uint64_t end);
/* Inserts a factor of extent 1 before factor f, for concatenation. Likewise. */
HEFT_CHECKED bool heft_shaping_insert_factor(struct heft_shaping *s, unsigned f,
                                             struct heft_error *err);
/* Factor order[i] becomes factor i. */
void heft_shaping_order_factors(struct heft_shaping *s, const unsigned *order);

/* ---- shaping.c ---- */

/* HEFT_USAGE if nothing can be changed. Else the tensor is no longer the whole row. */
HEFT_CHECKED bool heft_shaping_change(struct heft_shaping *s, struct heft_error *err);
HEFT_CHECKED bool heft_shaping_check_dim(const struct heft_shaping *s, uint64_t dim,
                                         struct heft_error *err);
/* Number of elements; HEFT_USAGE if the shape has no size that a row can have. */
HEFT_CHECKED bool heft_shaping_check_size(const struct heft_shaping *s, struct heft_error *err);
/* Adds n factors to the dimension, or takes them from it (n is negative). */
void heft_shaping_move_firsts(struct heft_shaping *s, unsigned dim, int n);
/* Removes all boxes and factors. */
void heft_shaping_empty(struct heft_shaping *s);

#endif
