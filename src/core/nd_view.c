/* nd_view.c: scatters elements from scratch memory to the destination, as a tiled n-d
 * transposition. */
#include "core/nd_view.h"

#include "core/transpose_kernels.h"

enum {
    TILE = 64,      /* elements a side: a tile stays in the first-level cache */
    COLUMNS = 1024, /* of a transposition at a time */
};

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

/* ---- transposition --------------------------------------------------------------------------------- */

/* A view in which one dimension is contiguous in the scratch, and others are in the destination:
 *
 *     scratch        column j is a run of elements at column[j]
 *     destination    row i, `pitch` apart, is a run of one element of each column */
struct turn {
    heft_transpose_fn *run;
    struct heft_dim rows;
    struct heft_dim columns[HEFT_ND_VIEW_DIMS]; /* the first one is contiguous in the destination */
    unsigned n;
    uint64_t n_columns;
    uint32_t each;
};

/* Removes and returns a dimension. */
static struct heft_dim take_dim(struct heft_dim *dims, unsigned *n, unsigned i)
{
    const struct heft_dim dim = dims[i];

    dims[i] = dims[--*n];
    return dim;
}

/* Index of the dimension with that stride, in the scratch or in the destination; *n if there is none. */
static unsigned find_stride(const struct heft_dim *dims, unsigned n, uint64_t stride,
                            bool in_scratch)
{
    unsigned i = 0;

    while (i < n && (in_scratch ? dims[i].at : dims[i].to) != stride)
        i++;
    return i;
}

/* Finds rows and columns, which are removed from the dims, if there are enough of both. */
static bool find_turn(struct turn *t, struct heft_dim *dims, unsigned *n, uint32_t each)
{
    struct heft_dim rest[HEFT_ND_VIEW_DIMS];
    const uint64_t side = each ? HEFT_TRANSPOSE_SIDE(each) : 0;
    unsigned left = *n, i = find_stride(dims, *n, each, true);

    t->run = heft_transpose_for(each);
    if (!t->run || i == *n || dims[i].to == each || dims[i].n < side)
        return false;
    memcpy(rest, dims, *n * sizeof *dims);
    t->rows = take_dim(rest, &left, i);
    t->n = 0;
    t->n_columns = 1;
    t->each = each;
    while ((i = find_stride(rest, left, t->n_columns * each, false)) < left) {
        t->columns[t->n] = take_dim(rest, &left, i);
        t->n_columns *= t->columns[t->n++].n;
    }
    if (t->n_columns < side)
        return false;
    memcpy(dims, rest, left * sizeof *dims);
    *n = left;
    return true;
}

/* Elements of rows [first, rows) of the columns, one by one. */
static void turn_rest(const struct turn *t, uint8_t *dst, const uint8_t *src,
                      const uint64_t *column, uint64_t n, uint64_t first)
{
    for (uint64_t i = first; i < t->rows.n; i++)
        for (uint64_t j = 0; j < n; j++)
            memcpy(dst + i * t->rows.to + j * t->each, src + column[j] + i * t->each, t->each);
}

static void turn_columns(const struct turn *t, uint8_t *dst, const uint8_t *src,
                         const uint64_t *column, uint64_t n)
{
    const uint64_t side = HEFT_TRANSPOSE_SIDE(t->each);
    const uint64_t whole = n - n % side, rows = t->rows.n - t->rows.n % side;

    if (whole > 0)
        t->run(dst, t->rows.to, src, column, (size_t)whole, (size_t)rows);
    turn_rest(t, dst, src, column, whole, rows);
    turn_rest(t, dst + whole * t->each, src, column + whole, n - whole, 0);
}

/* Moves all columns, some at a time. */
static void turn_all(const struct turn *t, uint8_t *dst, const uint8_t *src)
{
    uint64_t column[COLUMNS];
    struct heft_walk walk;
    bool more = true;

    heft_walk_begin(&walk, 0, t->n);
    for (uint64_t at = 0; more;) {
        uint64_t n = 0;

        while (more && n < COLUMNS) {
            column[n++] = walk.at;
            more = heft_walk_next(&walk, t->columns, 0, t->n);
        }
        turn_columns(t, dst + at * t->each, src, column, n);
        at += n;
    }
}

static void scatter_planes(uint8_t *dst, const uint8_t *scratch, struct heft_dim *rest, unsigned n,
                           uint32_t each)
{
    struct heft_dim a = take_smallest(rest, &n, false);
    struct heft_dim b = take_smallest(rest, &n, a.at != each);
    struct heft_walk walk;

    heft_walk_begin(&walk, 0, n);
    do
        copy_plane(dst + walk.to, scratch + walk.at, a, b, each);
    while (heft_walk_next(&walk, rest, 0, n));
}

/* Rows and columns of a transposition are moved in blocks. Otherwise the inner loop follows the smallest
 * stride of the destination, the next loop that of the scratch; if these are different dimensions,
 * both run in tiles. */
void heft_nd_view_scatter(uint8_t *dst, const uint8_t *scratch, const struct heft_dim *dims,
                          unsigned n, uint32_t each)
{
    struct heft_dim rest[HEFT_ND_VIEW_DIMS];
    struct heft_walk walk;
    struct turn turn;

    if (n > 0)
        memcpy(rest, dims, n * sizeof *dims);
    if (!find_turn(&turn, rest, &n, each)) {
        scatter_planes(dst, scratch, rest, n, each);
        return;
    }
    heft_walk_begin(&walk, 0, n);
    do
        turn_all(&turn, dst + walk.to, scratch + walk.at);
    while (heft_walk_next(&walk, rest, 0, n));
}
