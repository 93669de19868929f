/* gather.c: gathers the elements of strided views: reads in file order, writes in row-major order.
 *
 *     row ─► view: drop dimensions of extent 1, join contiguous neighbours
 *     elements [first, first+count) ─► boxes: a range of one dimension and all of the dimensions inside
 *                                      it; at most two boxes a dimension
 *     box ─► unit: the dimensions of smallest stride that are read with one call, including the gaps,
 *            while that is cheaper than several calls; a call costs as much as READ bytes
 *
 *     direct     a long contiguous run is read straight into the destination
 *     packed     units that fit the scratch are read into it side by side, then scattered
 *     windowed   larger units: a window moves over the storage once for all such boxes of a call, and
 *                the elements inside it are copied to the destination
 *
 * A call therefore reads at most about the span of its elements, even if dimensions overlap. */
#include "core/gather.h"

enum {
    WINDOW = 1 << 20,  /* bytes of scratch memory: fits a second-level cache */
    READ = 8192,       /* cost of a read, in bytes copied; measured on cached pages */
    DIRECT = 16 << 10, /* bytes: runs from this length on are read straight into the destination */
};

struct gather {
    struct heft_reader *reader;
    uint32_t storage;
    uint32_t each; /* bytes of a block: of an element, if the dtype is plain */
    unsigned rank;
    struct heft_dim dims[HEFT_ND_VIEW_DIMS]; /* outermost first */
    uint64_t base;                           /* byte offset of the first element in the storage */
    uint8_t *dst;
    uint8_t *scratch;
    uint64_t room; /* bytes of scratch: the span of the whole view, at most WINDOW */
};

/* ---- cutting a view into boxes ----------------------------------------------------------- */

static void sort_by_stride(struct heft_dim *dims, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        const struct heft_dim d = dims[i];
        unsigned j = i;

        for (; j > 0 && dims[j - 1].from > d.from; j--)
            dims[j] = dims[j - 1];
        dims[j] = d;
    }
}

/* Cuts the largest box that starts at element `first` and has at most `count` elements: a range
 * of one dimension, and all of the dimensions inside it. Returns the number of its elements. */
static uint64_t cut_box(const struct gather *g, uint64_t first, uint64_t count,
                        struct heft_nd_view *box)
{
    uint64_t inner = 1, size = 1, index = first;
    unsigned k = g->rank;

    while (k > 0 && index % g->dims[k - 1].n == 0 && inner * g->dims[k - 1].n <= count) {
        inner *= g->dims[--k].n;
        index /= g->dims[k].n;
    }
    box->n = 0;
    box->from = g->base;
    if (k > 0) {
        const struct heft_dim *const d = &g->dims[k - 1];

        size = heft_min_u64(count / inner, d->n - index % d->n);
        if (size > 1)
            box->dims[box->n++] =
                (struct heft_dim){.n = size, .from = d->from, .to = inner * g->each};
    }
    size *= inner;
    for (unsigned i = k; i > 0; i--) {
        box->from += index % g->dims[i - 1].n * g->dims[i - 1].from;
        index /= g->dims[i - 1].n;
    }
    for (unsigned i = k; i < g->rank; i++) {
        const struct heft_dim *const d = &g->dims[i];

        inner /= d->n;
        box->dims[box->n++] = (struct heft_dim){.n = d->n, .from = d->from, .to = inner * g->each};
    }
    return size;
}

/* Removes the innermost dimension and makes it the run, if it is contiguous in storage and
 * destination, and either long or the only one. */
static void find_run(struct heft_nd_view *box, uint32_t each)
{
    const struct heft_dim *const d = box->n ? &box->dims[box->n - 1] : NULL;

    box->run = 0;
    if (!d) {
        box->run = each;
    } else if (d->from == each && d->to == each && (box->n == 1 || d->n * each >= DIRECT)) {
        box->run = d->n * each;
        box->n--;
    }
}

/* Chooses the unit: adds dimensions from the smallest stride up while one read over the gaps
 * costs less than a read for each index. */
static void find_unit(struct heft_nd_view *box, uint32_t each)
{
    uint64_t cost = READ + each;

    box->unit = 0;
    box->last[0] = 0;
    for (unsigned i = 0; i < box->n; i++) {
        const struct heft_dim *const d = &box->dims[i];
        const uint64_t apart = cost > UINT64_MAX / d->n ? UINT64_MAX : cost * d->n;

        box->last[i + 1] = box->last[i] + (d->n - 1) * d->from;
        cost = heft_min_u64(apart, READ + box->last[i + 1] + each);
        if (cost < apart)
            box->unit = i + 1;
    }
}

static void prepare_box(struct heft_nd_view *box, uint32_t each)
{
    find_run(box, each);
    sort_by_stride(box->dims, box->n);
    find_unit(box, each);
}

/* Cuts and prepares the next box of the elements [first, first + left). Returns the number of
 * its elements. */
static uint64_t next_box(const struct gather *g, uint64_t first, uint64_t left,
                         struct heft_nd_view *box)
{
    const uint64_t size = cut_box(g, first, left, box);

    prepare_box(box, g->each);
    return size;
}

static bool is_windowed(const struct gather *g, const struct heft_nd_view *box)
{
    return box->run == 0 && box->last[box->unit] + g->each > WINDOW;
}

/* ---- direct and packed reading ----------------------------------------------------------- */

static bool read_bytes(const struct gather *g, uint64_t from, uint8_t *dst, uint64_t n,
                       struct heft_error *err)
{
    return heft_reader_storage(g->reader, g->storage, from, dst, (size_t)n, err);
}

static bool read_direct(const struct gather *g, const struct heft_nd_view *box,
                        struct heft_error *err)
{
    uint8_t *const dst = g->dst + box->to;
    struct heft_walk walk;

    heft_walk_begin(&walk, 0, box->n);
    do {
        if (!read_bytes(g, box->from + walk.from, dst + walk.to, box->run, err))
            return false;
    } while (heft_walk_next(&walk, box->dims, 0, box->n));
    return true;
}

/* Fills the scratch once: reads a unit for each index of the dims [unit, n), then scatters them
 * to the destination. */
static bool fill_scratch(const struct gather *g, const struct heft_nd_view *box, unsigned n,
                         uint64_t from, uint64_t to, struct heft_error *err)
{
    const uint64_t bytes = box->last[box->unit] + g->each;
    struct heft_walk walk;

    heft_walk_begin(&walk, box->unit, n);
    do {
        if (!read_bytes(g, from + walk.from, g->scratch + walk.at, bytes, err))
            return false;
    } while (heft_walk_next(&walk, box->dims, box->unit, n));
    heft_nd_view_scatter(g->dst + to, g->scratch, box->dims, n, g->each);
    return true;
}

/* Lays out the dims in the scratch. Returns the first dimension that does not fit, with the
 * number of its indexes that do in *chunk; box->n if all fit. */
static unsigned lay_out_scratch(const struct gather *g, struct heft_nd_view *box, uint64_t *chunk)
{
    uint64_t used = box->last[box->unit] + g->each;

    for (unsigned i = 0; i < box->unit; i++)
        box->dims[i].at = box->dims[i].from;
    for (unsigned i = box->unit; i < box->n; i++) {
        struct heft_dim *const d = &box->dims[i];

        d->at = used;
        if (g->room / used < d->n) {
            *chunk = g->room / used;
            return i;
        }
        used *= d->n;
    }
    return box->n;
}

/* Fills the scratch repeatedly: in chunks of the dimension that does not fit, for each index of
 * the dimensions after it. */
static bool read_packed(const struct gather *g, struct heft_nd_view *box, struct heft_error *err)
{
    uint64_t chunk = 1;
    const unsigned split = lay_out_scratch(g, box, &chunk);
    struct heft_dim *const d = &box->dims[split];
    const uint64_t all = split < box->n ? d->n : 0;
    bool ok = true;
    struct heft_walk walk;

    if (split == box->n)
        return fill_scratch(g, box, box->n, box->from, box->to, err);
    heft_walk_begin(&walk, split + 1, box->n);
    do
        for (uint64_t i = 0; ok && i < all; i += chunk) {
            d->n = heft_min_u64(chunk, all - i);
            ok = fill_scratch(g, box, split + 1, box->from + walk.from + i * d->from,
                              box->to + walk.to + i * d->to, err);
        }
    while (ok && heft_walk_next(&walk, box->dims, split + 1, box->n));
    d->n = all;
    return ok;
}

/* ---- windowed reading ----------------------------------------------------------------------- */

/* Byte range of the storage that covers all windowed boxes of a call; empty if end is 0. */
struct span {
    uint64_t begin, end;
};

static void span_add(struct span *span, const struct heft_nd_view *box, uint32_t each)
{
    const uint64_t end = box->from + box->last[box->n] + each;

    span->begin = span->end ? heft_min_u64(span->begin, box->from) : box->from;
    span->end = heft_max_u64(span->end, end);
}

/* Copies the elements of all windowed boxes that lie in the window. Returns where the next
 * window must start. */
static uint64_t serve_window(const struct gather *g, const struct heft_window *window,
                             uint64_t first, uint64_t count)
{
    uint64_t next = UINT64_MAX;
    struct heft_nd_view box;

    for (uint64_t at = 0; at < count;) {
        const uint64_t size = next_box(g, first + at, count - at, &box);

        box.to = at * g->each;
        if (is_windowed(g, &box))
            next = heft_min_u64(next, heft_windowed_gather(g->dst, window, &box, g->each));
        at += size;
    }
    return next;
}

static bool gather_windowed_span(const struct gather *g, struct span span, uint64_t first,
                                 uint64_t count, struct heft_error *err)
{
    while (span.begin < span.end) {
        const struct heft_window window = {g->scratch, span.begin,
                                           heft_min_u64(WINDOW, span.end - span.begin)};

        if (!read_bytes(g, window.begin, g->scratch, window.n, err))
            return false;
        span.begin = serve_window(g, &window, first, count);
    }
    return true;
}

/* ---- one box ----------------------------------------------------------------------------- */

static bool gather_windowed_box(const struct gather *g, struct heft_nd_view *box,
                                struct heft_error *err)
{
    const uint64_t end = box->from + box->last[box->n] + g->each;
    uint64_t begin = box->from;

    while (begin < end) {
        const struct heft_window window = {g->scratch, begin, heft_min_u64(WINDOW, end - begin)};

        if (!read_bytes(g, begin, g->scratch, window.n, err))
            return false;
        begin = heft_windowed_gather(g->dst, &window, box, g->each);
    }
    return true;
}

bool heft_gather_box(struct heft_reader *reader, uint32_t storage, uint32_t each,
                     struct heft_nd_view *box, uint8_t *dst, struct heft_error *err)
{
    struct gather g = {.reader = reader, .storage = storage, .each = each, .dst = dst};
    bool ok;

    prepare_box(box, each);
    if (box->run > 0)
        return read_direct(&g, box, err);
    g.room = heft_min_u64(box->last[box->n] + each, WINDOW);
    g.scratch = heft_alloc((size_t)g.room, err);
    ok = g.scratch &&
         (is_windowed(&g, box) ? gather_windowed_box(&g, box, err) : read_packed(&g, box, err));
    heft_free(g.scratch);
    return ok;
}

/* ---- gathering a row --------------------------------------------------------------------- */

/* Dimension i of a row in units of blocks, with its stride in bytes. If a block has several
 * elements, the innermost dimension is contiguous and all other strides are whole blocks. */
static struct heft_dim dim_of(const struct heft_row *row, unsigned i)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    const unsigned block = heft_dtype_block_elements(dtype);

    if (block > 1 && i + 1 == row->rank)
        return (struct heft_dim){.n = row->shape[i] / block, .from = heft_dtype_block_bytes(dtype)};
    if (row->shape[i] == 1) /* its stride may be any number */
        return (struct heft_dim){.n = 1};
    return (struct heft_dim){.n = row->shape[i], .from = heft_dtype_span(dtype, row->stride[i])};
}

/* Loads the dimensions of a row: drops those of extent 1, joins neighbours that are contiguous,
 * and sets the scratch size. */
static void load_view(struct gather *g, const struct heft_row *row)
{
    uint64_t extent = g->each;

    for (unsigned i = 0; i < row->rank; i++) {
        struct heft_dim *const last = g->rank ? &g->dims[g->rank - 1] : NULL;
        const struct heft_dim d = dim_of(row, i);

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
    g->room = heft_min_u64(extent, WINDOW);
}

bool heft_gather_row(struct heft_reader *reader, const struct heft_row *row, uint64_t first,
                     uint64_t count, uint8_t *dst, struct heft_error *err)
{
    struct gather g = {.reader = reader,
                       .storage = row->storage,
                       .each = heft_dtype_block_bytes((enum heft_dtype)row->dtype),
                       .dst = dst};
    struct span windowed = {0};
    struct heft_nd_view box;
    bool ok = true;

    load_view(&g, row);
    for (uint64_t at = 0, size; ok && at < count; at += size) {
        size = next_box(&g, first + at, count - at, &box);
        box.to = at * g.each;
        if (box.run == 0 && !g.scratch && !(g.scratch = heft_alloc((size_t)g.room, err)))
            ok = false;
        else if (is_windowed(&g, &box))
            span_add(&windowed, &box, g.each);
        else
            ok = box.run ? read_direct(&g, &box, err) : read_packed(&g, &box, err);
    }
    ok = ok && gather_windowed_span(&g, windowed, first, count, err);
    heft_free(g.scratch);
    return ok;
}
