/* gather.c: strided views, read in the order of the file and written in the order of the view.
 *
 *     row ─► view: dimensions of extent 1 dropped, neighbours that continue each other joined
 *     elements [first, first+count) ─► boxes: one index range of one dimension, all of those after
 *                                      it; at most two a dimension
 *     box ─► unit: as many of its dimensions, by stride, as are cheaper read at once, with the gaps
 *            between, than apart; a further read costs as much as READ bytes
 *
 *     direct   long runs are read into their places
 *     packed   units that fit the scratch memory: several side by side, then to their places
 *     swept    larger ones: a window goes over the storage once for all such boxes of a call, and
 *              what falls into it goes to its places
 *
 * So a call reads about as much as the span of its elements, or less, however these overlap. */
#include "core/gather.h"

enum {
    WINDOW = 1 << 20,  /* bytes of scratch memory: what a second-level cache holds */
    READ = 8192,       /* measured: a read of a cached page takes as long as so many bytes more */
    DIRECT = 16 << 10, /* bytes in a row, from which on they are read into their place */
};

struct gather {
    struct heft_reader *reader;
    uint32_t storage;
    uint32_t each; /* bytes of an element; of a block, where elements come in blocks */
    unsigned rank;
    struct heft_dim dims[HEFT_ND_VIEW_DIMS]; /* in the view's order */
    uint64_t base;                           /* of the view's first element, in the storage */
    uint8_t *dst;
    uint8_t *scratch;
    uint64_t room; /* of the scratch: the whole view's span, or WINDOW */
};

/* ---- boxes ------------------------------------------------------------------------------- */

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

/* The largest box that begins at element `first` and has at most `count`: some indexes of one
 * dimension, all of the later ones, in the view's order. Gives the number of its elements. */
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

/* Takes out the innermost dimension where it lies in the storage as in the destination and is long,
 * or all there is. */
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

/* The cheapest way: each more dimension with what is inside of it, or a read for each index. */
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

/* The next box of a call that has `left` more elements from `first` on. */
static uint64_t next_box(const struct gather *g, uint64_t first, uint64_t left,
                         struct heft_nd_view *box)
{
    const uint64_t size = cut_box(g, first, left, box);

    prepare_box(box, g->each);
    return size;
}

static bool is_swept(const struct gather *g, const struct heft_nd_view *box)
{
    return box->run == 0 && box->last[box->unit] + g->each > WINDOW;
}

/* ---- direct and packed ------------------------------------------------------------------- */

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

/* One filling of the scratch, a unit for each index of the dims from there to n. */
static bool fill(const struct gather *g, const struct heft_nd_view *box, unsigned n, uint64_t from,
                 uint64_t to, struct heft_error *err)
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

/* Gives the dims their places in the scratch. Returns the first dimension that does not fit, and in
 * *chunk how many of its indexes do; or n. */
static unsigned pack(const struct gather *g, struct heft_nd_view *box, uint64_t *chunk)
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

/* Chunks of the split dimension, for each index of those after it. */
static bool read_packed(const struct gather *g, struct heft_nd_view *box, struct heft_error *err)
{
    uint64_t chunk = 1;
    const unsigned split = pack(g, box, &chunk);
    struct heft_dim *const d = &box->dims[split];
    const uint64_t all = split < box->n ? d->n : 0;
    bool ok = true;
    struct heft_walk walk;

    if (split == box->n)
        return fill(g, box, box->n, box->from, box->to, err);
    heft_walk_begin(&walk, split + 1, box->n);
    do
        for (uint64_t i = 0; ok && i < all; i += chunk) {
            d->n = heft_min_u64(chunk, all - i);
            ok = fill(g, box, split + 1, box->from + walk.from + i * d->from,
                      box->to + walk.to + i * d->to, err);
        }
    while (ok && heft_walk_next(&walk, box->dims, split + 1, box->n));
    d->n = all;
    return ok;
}

/* ---- swept ------------------------------------------------------------------------------- */

/* The bytes that the swept boxes of a call lie in; none where end is 0. */
struct span {
    uint64_t begin, end;
};

static void span_add(struct span *span, const struct heft_nd_view *box, uint32_t each)
{
    const uint64_t end = box->from + box->last[box->n] + each;

    span->begin = span->end ? heft_min_u64(span->begin, box->from) : box->from;
    span->end = heft_max_u64(span->end, end);
}

/* Serves all swept boxes from the window. Gives where the next one has to begin. */
static uint64_t serve_window(const struct gather *g, const struct heft_window *window,
                             uint64_t first, uint64_t count)
{
    uint64_t next = UINT64_MAX;
    struct heft_nd_view box;

    for (uint64_t at = 0; at < count;) {
        const uint64_t size = next_box(g, first + at, count - at, &box);

        box.to = at * g->each;
        if (is_swept(g, &box))
            next = heft_min_u64(next, heft_windowed_gather(g->dst, window, &box, g->each));
        at += size;
    }
    return next;
}

static bool sweep_span(const struct gather *g, struct span span, uint64_t first, uint64_t count,
                       struct heft_error *err)
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

static bool sweep_box(const struct gather *g, struct heft_nd_view *box, struct heft_error *err)
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
    ok = g.scratch && (is_swept(&g, box) ? sweep_box(&g, box, err) : read_packed(&g, box, err));
    heft_free(g.scratch);
    return ok;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* A dimension in blocks and bytes. Along the innermost one the elements of a block are neighbours;
 * strides of the others are whole blocks. */
static struct heft_dim dim_of(const struct heft_row *row, unsigned i)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    const unsigned block = heft_dtype_block_elements(dtype);

    if (block > 1 && i + 1 == row->rank)
        return (struct heft_dim){.n = row->shape[i] / block, .from = heft_dtype_block_bytes(dtype)};
    return (struct heft_dim){.n = row->shape[i], .from = heft_dtype_span(dtype, row->stride[i])};
}

/* The row's dimensions, joined where they can be; the room that the whole view needs. */
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
    struct span swept = {0};
    struct heft_nd_view box;
    bool ok = true;

    load_view(&g, row);
    for (uint64_t at = 0, size; ok && at < count; at += size) {
        size = next_box(&g, first + at, count - at, &box);
        box.to = at * g.each;
        if (box.run == 0 && !g.scratch && !(g.scratch = heft_alloc((size_t)g.room, err)))
            ok = false;
        else if (is_swept(&g, &box))
            span_add(&swept, &box, g.each);
        else
            ok = box.run ? read_direct(&g, &box, err) : read_packed(&g, &box, err);
    }
    ok = ok && sweep_span(&g, swept, first, count, err);
    heft_free(g.scratch);
    return ok;
}
