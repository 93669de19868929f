/* gather_parts.c: gathers the elements of rows in parts.
 *
 *     elements [first, first+count) ─► blocks: a range of one dimension, one index of each dimension
 *                                              outside it, all of those inside; at most two a dimension
 *     block ∩ part ─► a box of the part's storage ─► the destination (gather.c)
 *
 * Elements are those of the shape that the parts tile: of a shaped row it is another one than the row's,
 * and it counts bytes if the dtype is not plain. Parts are sorted by their first element, and `reach` is the maximum end of all parts up to one.
 * So the parts that intersect a block lie in one range of the list, which binary search finds. */
#include "core/gather.h"

struct block {
    uint64_t lo[HEFT_ROW_DIMS], hi[HEFT_ROW_DIMS];
    uint64_t first, count; /* elements of the tensor */
};

struct parted {
    struct heft_reader *reader;
    const struct heft_row *row;
    unsigned rank; /* that of the parts, as all below */
    const uint64_t *shape;
    uint64_t step[HEFT_ROW_DIMS]; /* row-major strides, in elements */
    uint64_t first;               /* first element of the call; stored at dst[0] */
    uint8_t *dst;
    uint32_t each;
};

/* Cuts the largest block that starts at block->first and has at most `most` elements. */
static void cut_block(const struct parted *g, uint64_t most, struct block *block)
{
    const uint64_t *const shape = g->shape;
    uint64_t inner = 1, index = block->first;
    unsigned k = g->rank;

    while (k > 0 && index % shape[k - 1] == 0 && inner * shape[k - 1] <= most) {
        inner *= shape[--k];
        index /= shape[k];
        block->lo[k] = 0;
        block->hi[k] = shape[k];
    }
    block->count = inner;
    for (unsigned left = k; left > 0; left--) {
        const unsigned d = left - 1;

        block->lo[d] = index % shape[d];
        block->hi[d] = block->lo[d] + 1;
        if (d + 1 == k) {
            block->hi[d] = block->lo[d] + heft_min_u64(most / inner, shape[d] - block->lo[d]);
            block->count = inner * (block->hi[d] - block->lo[d]);
        }
        index /= shape[d];
    }
}

/* Binary search for the first part whose `reach` exceeds the element. */
static uint32_t first_part(const struct heft_parts *parts, uint64_t element)
{
    uint32_t lo = 0, hi = parts->n;

    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;

        if (parts->list[mid].reach <= element)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void add_dim(struct heft_nd_view *box, const struct heft_dim *d)
{
    struct heft_dim *const last = box->n ? &box->dims[box->n - 1] : NULL;

    if (d->n == 1)
        return;
    if (last && last->from == d->n * d->from && last->to == d->n * d->to) {
        last->n *= d->n;
        last->from = d->from;
        last->to = d->to;
    } else {
        box->dims[box->n++] = *d;
    }
}

/* Intersection of a block and a part as a box of the part's storage. False if it is empty. */
static bool cut_box(const struct parted *g, const struct block *block, const struct heft_part *part,
                    struct heft_nd_view *box)
{
    uint64_t from[HEFT_ROW_DIMS], element = 0, step = 1;

    for (unsigned d = g->rank; d > 0; d--) {
        from[d - 1] = g->each * (part->stride ? part->stride[d - 1] : step);
        step *= part->extent[d - 1];
    }
    box->n = 0;
    box->from = part->offset;
    for (unsigned d = 0; d < g->rank; d++) {
        const uint64_t lo = heft_max_u64(block->lo[d], part->start[d]);
        const uint64_t hi = heft_min_u64(block->hi[d], part->start[d] + part->extent[d]);
        struct heft_dim dim = {.from = from[d], .to = g->step[d] * g->each};

        if (lo >= hi)
            return false;
        dim.n = hi - lo;
        box->from += (lo - part->start[d]) * from[d];
        element += lo * g->step[d];
        add_dim(box, &dim);
    }
    box->to = (element - g->first) * g->each;
    return true;
}

/* Applies the flags of a part to the elements that its box has put into the destination. */
static void resolve_box(const struct parted *g, const struct heft_nd_view *box, unsigned flags)
{
    const enum heft_dtype dtype = (enum heft_dtype)g->row->dtype;
    const struct heft_dim *const last = box->n ? &box->dims[box->n - 1] : NULL;
    const bool in_a_row = last && last->to == g->each;
    const unsigned outer = box->n - in_a_row;
    struct heft_walk walk;

    heft_walk_begin(&walk, 0, outer);
    do
        heft_reader_resolve(dtype, flags, g->dst + box->to + walk.to,
                            (size_t)(in_a_row ? last->n : 1) * g->each);
    while (heft_walk_next(&walk, box->dims, 0, outer));
}

static bool gather_part(const struct parted *g, const struct block *block,
                        const struct heft_part *part, struct heft_error *err)
{
    struct heft_nd_view box;

    if (!cut_box(g, block, part, &box))
        return true;
    if (!heft_gather_box(g->reader, part->storage, g->each, &box, g->dst, err))
        return false;
    if (part->flags &&
        cut_box(g, block, part, &box)) /* cut again, because gathering has reordered the dims */
        resolve_box(g, &box, part->flags);
    return true;
}

static bool gather_block(const struct parted *g, const struct block *block, struct heft_error *err)
{
    const struct heft_parts *const parts = g->row->parts;
    const uint64_t end = block->first + block->count;

    for (uint32_t k = first_part(parts, block->first); k < parts->n && parts->list[k].first < end;
         k++)
        if (!gather_part(g, block, &parts->list[k], err))
            return false;
    return true;
}

/* A single part, which has all elements. */
static bool gather_whole(struct heft_reader *reader, const struct heft_row *row, uint64_t first,
                         uint64_t count, uint8_t *dst, struct heft_error *err)
{
    const struct heft_part *const part = &row->parts->list[0];
    const uint32_t each = heft_row_unit(row);
    const struct heft_row view = {.shape = row->parts->shape,
                                  .rank = row->parts->rank,
                                  .stride = part->stride,
                                  .offset = part->offset,
                                  .storage = part->storage,
                                  .dtype = row->dtype};

    if (!(part->stride ? heft_gather_row(reader, &view, first, count, dst, err)
                       : heft_reader_storage(reader, part->storage, part->offset + first * each,
                                             dst, (size_t)count * each, err)))
        return false;
    heft_reader_resolve((enum heft_dtype)row->dtype, part->flags, dst, (size_t)count * each);
    return true;
}

bool heft_gather_parts(struct heft_reader *reader, const struct heft_row *row, uint64_t first,
                       uint64_t count, uint8_t *dst, struct heft_error *err)
{
    struct parted g = {.reader = reader,
                       .row = row,
                       .rank = heft_row_boxed_rank(row),
                       .shape = heft_row_boxed_shape(row),
                       .first = first,
                       .dst = dst,
                       .each = heft_row_unit(row)};
    struct block block = {.first = first};
    uint64_t step = 1;

    if (heft_row_is_shaped(row) && row->parts->n == 1)
        return gather_whole(reader, row, first, count, dst, err);
    for (unsigned d = g.rank; d > 0; d--) {
        g.step[d - 1] = step;
        step *= g.shape[d - 1];
    }
    for (uint64_t at = 0; at < count; at += block.count) {
        block.first = first + at;
        cut_block(&g, count - at, &block);
        if (!gather_block(&g, &block, err))
            return false;
    }
    return true;
}

/* Units of a box that are adjacent in its storage, and in the tensor of that shape. */
static uint64_t run_of(unsigned rank, const uint64_t *shape, const uint64_t *extent,
                       const uint64_t *stride)
{
    uint64_t run = 1;

    for (unsigned d = rank; d > 0; d--) {
        if (extent[d - 1] > 1 && stride && stride[d - 1] != run)
            return run;
        run *= extent[d - 1];
        if (extent[d - 1] != shape[d - 1])
            return run;
    }
    return run;
}

uint64_t heft_gather_run(const struct heft_row *row)
{
    const unsigned rank = heft_row_boxed_rank(row);
    const uint64_t *const shape = heft_row_boxed_shape(row);
    uint64_t run = UINT64_MAX;

    if (!row->parts)
        return run_of(rank, shape, shape, row->stride) * heft_row_unit(row);
    if (row->parts->recipe)
        return 0;
    for (uint32_t k = 0; k < row->parts->n; k++) {
        const struct heft_part *const part = &row->parts->list[k];

        run = heft_min_u64(run, run_of(rank, shape, part->extent, part->stride));
    }
    return run * heft_row_unit(row);
}
