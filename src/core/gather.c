/* gather.c: strided views, read in the order of the file and written in the order of the view.
 *
 *     row ─► view: dimensions of extent 1 dropped, neighbours that continue each other joined
 *     elements [first, first+count) ─► boxes: one index range of one dimension, all of those after
 *                                      it; at most two a dimension
 *     box ─► fills of the scratch memory (up to 1 MiB), by dimensions sorted by stride:
 *
 *         dims[0] … dims[sparse-1]   dense: one read takes them with the gaps between
 *         dims[sparse] … dims[split] a read for each index, packed side by side
 *         dims[split]                as many indexes as fit at a time
 *         dims[split+1] …            a fill for each index
 *
 * A gap costs its bytes, a further read about as much as GAP bytes; so the work is linear in the
 * elements, whatever the strides. Expanded dimensions (stride 0) are read once a fill. */
#include "core/gather.h"

enum {
    MAX_DIMS = 64,     /* of extent 2 and more, and fewer than 2^64 elements */
    WINDOW = 1 << 20,  /* scratch bytes */
    GAP = 8192,        /* bytes that are rather read than skipped by another read */
    DIRECT = 16 << 10, /* bytes in a row, from which on they are read into their place */
    TILE = 64          /* elements: a tile of a transposition stays in the first-level cache */
};

/* Strides in bytes. */
struct dim {
    uint64_t n;
    uint64_t from; /* in the storage */
    uint64_t at;   /* in the scratch */
    uint64_t to;   /* in the destination */
};

struct gather {
    struct heft_reader *reader;
    uint32_t storage;
    uint32_t each; /* bytes of an element */
    unsigned rank;
    struct dim dims[MAX_DIMS]; /* in the view's order */
    uint64_t base;             /* of the view's first element, in the storage */
    uint8_t *scratch;
    size_t room; /* of the scratch */
};

/* ---- walking --------------------------------------------------------------------------------- */

/* Indexes of dims[lo] … dims[hi-1], the first one fastest. */
struct walk {
    uint64_t index[MAX_DIMS];
    uint64_t from, at, to; /* bytes: the sums of index × stride */
};

static void walk_begin(struct walk *walk, unsigned lo, unsigned hi)
{
    walk->from = walk->at = walk->to = 0;
    for (unsigned i = lo; i < hi; i++)
        walk->index[i] = 0;
}

/* False once all were visited. */
static bool walk_next(struct walk *walk, const struct dim *dims, unsigned lo, unsigned hi)
{
    for (unsigned i = lo; i < hi; i++) {
        const struct dim *const d = &dims[i];

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

/* ---- scratch to destination ------------------------------------------------------------------ */

/* A rectangle of elements: `a` is the inner loop. By value, so that no store can touch the bounds;
 * the size is a constant where this is inlined. */
static inline void copy_elements(uint8_t *dst, const uint8_t *src, const struct dim a,
                                 const struct dim b, size_t size)
{
    for (uint64_t i = 0; i < b.n; i++)
        for (uint64_t j = 0; j < a.n; j++)
            memcpy(dst + i * b.to + j * a.to, src + i * b.at + j * a.at, size);
}

static void copy_tile(uint8_t *dst, const uint8_t *src, struct dim a, struct dim b, uint32_t each)
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
    default:
        copy_elements(dst, src, a, b, 16); /* C128: no other element is longer than 8 bytes */
    }
}

static void copy_plane(uint8_t *dst, const uint8_t *src, struct dim a, struct dim b, uint32_t each)
{
    const uint64_t na = a.n, nb = b.n;

    if (a.at == each && a.to == each) {
        for (uint64_t i = 0; i < nb; i++)
            memcpy(dst + i * b.to, src + i * b.at, na * each);
        return;
    }
    for (uint64_t i = 0; i < nb; i += TILE)
        for (uint64_t j = 0; j < na; j += TILE) {
            a.n = heft_min_u64(TILE, na - j);
            b.n = heft_min_u64(TILE, nb - i);
            copy_tile(dst + i * b.to + j * a.to, src + i * b.at + j * a.at, a, b, each);
        }
}

/* Takes out of dims the one with the smallest stride: in the destination, or in the scratch (where
 * 0 is the largest: an expanded dimension has no neighbours). One of extent 1 where none is left.
 */
static struct dim take_smallest(struct dim *dims, unsigned *n, bool in_scratch)
{
    struct dim found = {.n = 1};
    unsigned best = 0;

    for (unsigned i = 1; i < *n; i++)
        if (in_scratch ? dims[i].at - 1 < dims[best].at - 1 : dims[i].to < dims[best].to)
            best = i;
    if (*n == 0)
        return found;
    found = dims[best];
    dims[best] = dims[--*n];
    return found;
}

/* Elements from the scratch to their places. The inner loop runs along the destination, the next
 * along the scratch, and in tiles where these are different dimensions. */
static void scatter(uint8_t *dst, const uint8_t *scratch, const struct dim *dims, unsigned n,
                    uint32_t each)
{
    struct dim rest[MAX_DIMS];
    struct dim a, b;
    struct walk walk;

    if (n > 0)
        memcpy(rest, dims, n * sizeof *dims);
    a = take_smallest(rest, &n, false);
    b = take_smallest(rest, &n, a.at != each);
    walk_begin(&walk, 0, n);
    do
        copy_plane(dst + walk.to, scratch + walk.at, a, b, each);
    while (walk_next(&walk, rest, 0, n));
}

/* ---- storage to scratch ---------------------------------------------------------------------- */

/* How a box goes through the scratch. */
struct fill {
    struct dim *dims; /* by stride in the storage, smallest first */
    unsigned n;
    unsigned sparse; /* the first dimension that takes a read for each index */
    unsigned split;  /* the dimension of which `chunk` indexes fit; n where all fit */
    uint64_t chunk;
    uint64_t window; /* bytes of a read: the dense dimensions before split */
};

static void plan_fill(struct fill *fill, uint32_t each, uint64_t room)
{
    uint64_t used = each; /* bytes of the scratch */

    fill->sparse = fill->split = fill->n;
    fill->window = each;
    for (unsigned j = 0; j < fill->n; j++) {
        struct dim *const d = &fill->dims[j];

        if (fill->sparse == fill->n && d->from > used + GAP)
            fill->sparse = j;
        d->at = fill->sparse <= j ? used : d->from;
        if (d->at > 0 && (room - used) / d->at < d->n - 1) {
            fill->split = j;
            fill->chunk = (room - used) / d->at + 1;
            return;
        }
        used += (d->n - 1) * d->at;
        if (fill->sparse > j)
            fill->window = used;
    }
}

/* One filling: the dims before `n` at `from`, and on to their places from dst on. */
static bool fill_once(struct gather *g, const struct fill *fill, const struct dim *dims, unsigned n,
                      uint64_t from, uint8_t *dst, struct heft_error *err)
{
    const unsigned lo = fill->sparse < n ? fill->sparse : n;
    uint64_t window = fill->window;
    struct walk walk;

    if (fill->split < lo) /* the dense dimensions end in some indexes of the split one */
        window += (dims[fill->split].n - 1) * dims[fill->split].at;
    walk_begin(&walk, lo, n);
    do {
        if (!heft_reader_storage(g->reader, g->storage, from + walk.from, g->scratch + walk.at,
                                 (size_t)window, err))
            return false;
    } while (walk_next(&walk, dims, lo, n));
    scatter(dst, g->scratch, dims, n, g->each);
    return true;
}

/* The indexes of the split dimension, chunk by chunk. */
static bool fill_split(struct gather *g, const struct fill *fill, uint64_t from, uint8_t *dst,
                       struct heft_error *err)
{
    struct dim *const d = &fill->dims[fill->split];
    const uint64_t all = d->n;
    bool ok = true;

    if (fill->split == fill->n)
        return fill_once(g, fill, fill->dims, fill->n, from, dst, err);
    for (uint64_t i = 0; ok && i < all; i += fill->chunk) {
        d->n = heft_min_u64(fill->chunk, all - i);
        ok = fill_once(g, fill, fill->dims, fill->split + 1, from + i * d->from, dst + i * d->to,
                       err);
    }
    d->n = all;
    return ok;
}

static bool read_filled(struct gather *g, struct dim *dims, unsigned n, uint64_t from, uint8_t *dst,
                        struct heft_error *err)
{
    struct fill fill = {.dims = dims, .n = n};
    struct walk walk;
    unsigned lo;

    if (!g->scratch && !(g->scratch = heft_alloc(g->room, err)))
        return false;
    plan_fill(&fill, g->each, g->room);
    lo = fill.split < n ? fill.split + 1 : n;
    walk_begin(&walk, lo, n);
    do {
        if (!fill_split(g, &fill, from + walk.from, dst + walk.to, err))
            return false;
    } while (walk_next(&walk, dims, lo, n));
    return true;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static void sort_by_stride(struct dim *dims, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        const struct dim d = dims[i];
        unsigned j = i;

        for (; j > 0 && dims[j - 1].from > d.from; j--)
            dims[j] = dims[j - 1];
        dims[j] = d;
    }
}

/* Long runs that lie in the storage as in the destination need no scratch. */
static bool read_direct(struct gather *g, const struct dim *dims, unsigned n, uint64_t run,
                        uint64_t from, uint8_t *dst, struct heft_error *err)
{
    struct walk walk;

    walk_begin(&walk, 0, n);
    do {
        if (!heft_reader_storage(g->reader, g->storage, from + walk.from, dst + walk.to,
                                 (size_t)run, err))
            return false;
    } while (walk_next(&walk, dims, 0, n));
    return true;
}

/* A box in the view's order, with dims of extent 1. */
static bool read_box(struct gather *g, struct dim *dims, unsigned n, uint64_t from, uint8_t *dst,
                     struct heft_error *err)
{
    uint64_t run = g->each;

    if (n > 0 && dims[n - 1].from == g->each)
        run *= dims[n - 1].n;
    if (n == 0 || (run > g->each && (n == 1 || run >= DIRECT))) {
        n -= run > g->each;
        sort_by_stride(dims, n);
        return read_direct(g, dims, n, run, from, dst, err);
    }
    sort_by_stride(dims, n);
    return read_filled(g, dims, n, from, dst, err);
}

/* The largest box that begins at element `first` and has at most `count`: some indexes of one
 * dimension, all of the later ones. Gives the box, and the number of its elements. */
static uint64_t next_box(const struct gather *g, uint64_t first, uint64_t count, struct dim *dims,
                         unsigned *n, uint64_t *from)
{
    uint64_t inner = 1, size = 1, index = first;
    unsigned k = g->rank, used = 0;

    while (k > 0 && index % g->dims[k - 1].n == 0 && inner * g->dims[k - 1].n <= count) {
        inner *= g->dims[--k].n;
        index /= g->dims[k].n;
    }
    *from = g->base;
    if (k > 0) {
        const struct dim *const d = &g->dims[k - 1];

        size = heft_min_u64(count / inner, d->n - index % d->n);
        if (size > 1)
            dims[used++] = (struct dim){.n = size, .from = d->from, .to = inner * g->each};
    }
    size *= inner;
    for (unsigned i = k; i > 0; i--) {
        *from += index % g->dims[i - 1].n * g->dims[i - 1].from;
        index /= g->dims[i - 1].n;
    }
    for (unsigned i = k; i < g->rank; i++) {
        inner /= g->dims[i].n;
        dims[used++] =
            (struct dim){.n = g->dims[i].n, .from = g->dims[i].from, .to = inner * g->each};
    }
    *n = used;
    return size;
}

/* The row's dimensions, joined where they can be; the room that the whole view needs. */
static void load_view(struct gather *g, const struct heft_row *row)
{
    uint64_t extent = g->each;

    for (unsigned i = 0; i < row->rank; i++) {
        struct dim *const last = g->rank ? &g->dims[g->rank - 1] : NULL;
        const struct dim d = {.n = row->shape[i], .from = row->stride[i] * g->each};

        if (d.n == 1)
            continue;
        extent += (d.n - 1) * d.from;
        if (last && last->from == d.n * d.from) {
            last->n *= d.n;
            last->from = d.from;
        } else {
            g->dims[g->rank++] = d;
        }
    }
    g->base = row->offset;
    g->room = (size_t)heft_min_u64(extent, WINDOW);
}

bool heft_gather_row(struct heft_reader *reader, const struct heft_row *row, uint64_t first,
                     uint64_t count, uint8_t *dst, struct heft_error *err)
{
    struct gather g = {.reader = reader,
                       .storage = row->storage,
                       .each = heft_dtype_bytes((enum heft_dtype)row->dtype)};
    struct dim dims[MAX_DIMS];
    bool ok = true;

    load_view(&g, row);
    while (ok && count > 0) {
        unsigned n;
        uint64_t from;
        const uint64_t size = next_box(&g, first, count, dims, &n, &from);

        ok = read_box(&g, dims, n, from, dst, err);
        dst += size * g.each;
        first += size;
        count -= size;
    }
    heft_free(g.scratch);
    return ok;
}
