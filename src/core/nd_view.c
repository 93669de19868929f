/* nd_view.c: scatters elements from scratch memory to the destination, as a tiled n-d
 * transposition. */
#include "core/nd_view.h"

enum { TILE = 64 }; /* elements a side: a tile stays in the first-level cache */

/* Copies a rectangle of elements, `a` being the inner loop. Dims are passed by value, so that
 * the compiler knows that stores do not change them; `size` is a constant after inlining. */
static inline void copy_elements(uint8_t *dst, const uint8_t *src, const struct heft_dim a,
                                 const struct heft_dim b, size_t size)
{
    for (uint64_t i = 0; i < b.n; i++)
        for (uint64_t j = 0; j < a.n; j++)
            memcpy(dst + i * b.to + j * a.to, src + i * b.at + j * a.at, size);
}

static void copy_tile(uint8_t *dst, const uint8_t *src, struct heft_dim a, struct heft_dim b,
                      uint32_t each)
{
    switch (each) {
    case 1:
        copy_elements(dst, src, a, b, 1);
        break;
    case 2:
        copy_elements(dst, src, a, b, 2);
        break;
    case 4:
        copy_elements(dst, src, a, b, 4);
        break;
    case 8:
        copy_elements(dst, src, a, b, 8);
        break;
    case 16: /* C128 */
        copy_elements(dst, src, a, b, 16);
        break;
    default: /* a block of several elements */
        copy_elements(dst, src, a, b, each);
    }
}

static void copy_plane(uint8_t *dst, const uint8_t *src, struct heft_dim a, struct heft_dim b,
                       uint32_t each)
{
    const uint64_t na = a.n, nb = b.n;

    if (a.at == each && a.to == each) {
        for (uint64_t i = 0; i < nb; i++)
            memcpy(dst + i * b.to, src + i * b.at,
                   (size_t)na * each); /* the plane lies in dst, so its size fits size_t */
        return;
    }
    for (uint64_t i = 0; i < nb; i += TILE)
        for (uint64_t j = 0; j < na; j += TILE) {
            a.n = heft_min_u64(TILE, na - j);
            b.n = heft_min_u64(TILE, nb - i);
            copy_tile(dst + i * b.to + j * a.to, src + i * b.at + j * a.at, a, b, each);
        }
}

/* Stride by which dimensions are ordered. In the scratch a stride of 0 (an expanded dimension) counts as the
 * largest. */
static uint64_t stride_of(const struct heft_dim *dim, bool in_scratch)
{
    if (!in_scratch)
        return dim->to;
    return dim->at ? dim->at : UINT64_MAX;
}

/* Removes and returns the dimension with the smallest stride, in the destination or in the
 * scratch. Returns a dimension of extent 1 if none is left. */
static struct heft_dim take_smallest(struct heft_dim *dims, unsigned *n, bool in_scratch)
{
    struct heft_dim found = {.n = 1};
    unsigned best = 0;

    for (unsigned i = 1; i < *n; i++)
        if (stride_of(&dims[i], in_scratch) < stride_of(&dims[best], in_scratch))
            best = i;
    if (*n == 0)
        return found;
    found = dims[best];
    dims[best] = dims[--*n];
    return found;
}

/* The inner loop follows the smallest stride of the destination, the next loop that of the
 * scratch; if these are different dimensions, both run in tiles. */
void heft_nd_view_scatter(uint8_t *dst, const uint8_t *scratch, const struct heft_dim *dims,
                          unsigned n, uint32_t each)
{
    struct heft_dim rest[HEFT_ND_VIEW_DIMS];
    struct heft_dim a, b;
    struct heft_walk walk;

    if (n > 0)
        memcpy(rest, dims, n * sizeof *dims);
    a = take_smallest(rest, &n, false);
    b = take_smallest(rest, &n, a.at != each);
    heft_walk_begin(&walk, 0, n);
    do
        copy_plane(dst + walk.to, scratch + walk.at, a, b, each);
    while (heft_walk_next(&walk, rest, 0, n));
}
