/* parts.c: validation and slicing of tensors that are stored in parts: n-d boxes that tile them.
 *
 *     tensor 4 × 6     a a a b b b       part a: start 0,0  extent 2,3
 *                      a a a b b b            b: start 0,3  extent 2,3
 *                      c c c c c c            c: start 2,0  extent 2,6
 *                      c c c c c c
 *
 * Randomized tiling test, linear in the number of parts. Each index of each dimension gets a random
 * weight modulo 2^61 - 1. The measure of a box is the product over the dimensions of the summed
 * weights of its indexes. If the boxes tile the tensor, their measures add up to that of the
 * tensor. If they do not, the difference is a nonzero polynomial of the weights, which a file
 * cannot predict: by the Schwartz-Zippel lemma it is zero with a probability of at most 64 in 2^61.
 * A keyed hash gives the prefix sums of the weights, so a box costs one subtraction and one
 * multiplication a dimension.
 *
 * If the sums differ, binary search over leading ranges of each dimension finds the first element
 * that is missing or held twice, in as many steps as the number of elements has bits. */
#include "core/parts.h"

#include <stdlib.h>

/* ---- arithmetic modulo 2^61 - 1 ---------------------------------------------------------- */

#define PRIME ((UINT64_C(1) << 61) - 1)

static uint64_t reduce_modulo(uint64_t x)
{
    x = (x & PRIME) + (x >> 61);
    return x >= PRIME ? x - PRIME : x;
}

static uint64_t multiply_modulo(uint64_t a, uint64_t b)
{
    const uint64_t a1 = a >> 32, a0 = a & UINT32_MAX, b1 = b >> 32, b0 = b & UINT32_MAX;
    const uint64_t middle = a1 * b0 + a0 * b1; /* no overflow: below 2^62 */

    /* modulo 2^61 - 1, 2^61 is 1 and 2^64 is 8 */
    return reduce_modulo(reduce_modulo(a1 * b1 * 8) + reduce_modulo(middle >> 29) +
                         reduce_modulo((middle & ((1U << 29) - 1)) << 32) + reduce_modulo(a0 * b0));
}

/* ---- checking that parts tile the tensor ------------------------------------------------- */

/* Prefix sum of the random weights: that of the indexes [0, index) of a dimension. */
HEFT_WRAPS static uint64_t weight_below(uint64_t seed, unsigned dim, uint64_t index)
{
    const uint64_t of_dim = heft_mix(seed + (dim + 1) * UINT64_C(0x9e3779b97f4a7c15));

    return reduce_modulo(heft_mix(of_dim + index * UINT64_C(0xd6e8feb86659fd93)));
}

/* Region of the tensor under test: [begin, end) of each dimension. */
struct region {
    unsigned rank;
    uint64_t seed;
    const uint64_t *begin, *end;
};

/* Measure of the box [start, start + extent), clipped to the region: the product over the
 * dimensions of the summed weights. */
static uint64_t measure_box(const struct region *r, const uint64_t *start, const uint64_t *extent)
{
    uint64_t product = 1;

    for (unsigned d = 0; d < r->rank; d++) {
        const uint64_t lo = heft_max_u64(start[d], r->begin[d]);
        const uint64_t hi = heft_min_u64(start[d] + extent[d], r->end[d]);

        if (lo >= hi)
            return 0;
        product = multiply_modulo(product, reduce_modulo(weight_below(r->seed, d, hi) + PRIME -
                                                         weight_below(r->seed, d, lo)));
    }
    return product;
}

static bool is_tiled(const struct region *r, const struct heft_row *row)
{
    static const uint64_t zeros[HEFT_ROW_DIMS];
    const uint64_t whole = measure_box(r, zeros, heft_row_boxed_shape(row));
    uint64_t sum = 0;

    for (uint32_t k = 0; k < row->parts->n; k++) {
        const struct heft_part *const part = &row->parts->list[k];

        sum = reduce_modulo(sum + measure_box(r, part->start, part->extent));
    }
    return sum == whole;
}

static bool holds_element(const struct heft_part *part, const uint64_t *at, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        if (at[d] < part->start[d] || at[d] - part->start[d] >= part->extent[d])
            return false;
    return true;
}

/* Path of the file of a part. */
static const char *file_of(const struct heft_model *model, const struct heft_part *part)
{
    return model->sources[model->storages[part->storage].source].path;
}

static void refuse_overlap(const struct heft_model *model, struct heft_str element, uint32_t found,
                           const struct heft_part *first, const struct heft_part *last,
                           struct heft_error *err)
{
    const struct heft_storage *a = &model->storages[first->storage];
    const struct heft_storage *b = &model->storages[last->storage];

    if (a->source == b->source)
        heft_fail(err, HEFT_MALFORMED, b->off, "element %.*s is in %" PRIu32 " of its parts",
                  (int)element.n, element.p, found);
    else
        heft_fail(err, HEFT_MALFORMED, b->off,
                  "element %.*s is in %" PRIu32 " of its parts, in %.200s and in %.200s",
                  (int)element.n, element.p, found, file_of(model, first), file_of(model, last));
}

static bool refuse_element(const struct heft_model *model, const struct heft_row *row,
                           const uint64_t *at, struct heft_error *err)
{
    const struct heft_part *last = &row->parts->list[0], *first = NULL;
    const unsigned rank = heft_row_boxed_rank(row);
    struct heft_buf name = {0};
    struct heft_str text = {"", 0};
    uint32_t found = 0;

    for (uint32_t k = 0; k < row->parts->n; k++)
        if (holds_element(&row->parts->list[k], at, rank)) {
            first = first ? first : &row->parts->list[k];
            last = &row->parts->list[k];
            found++;
        }
    heft_buf_indexes(&name, at, rank);
    if (heft_buf_ok(&name, err)) {
        text = (struct heft_str){name.p, name.n};
        if (found == 0)
            heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                      "element %.*s is in none of its %" PRIu32 " parts", (int)text.n, text.p,
                      row->parts->n);
        else
            refuse_overlap(model, text, found, first, last, err);
    }
    heft_buf_release(&name);
    return false;
}

/* Binary search, one dimension after the other, for the first element that is held by no part or
 * by several. */
static void find_wrong(const struct heft_row *row, const struct region *r, uint64_t *begin,
                       uint64_t *end)
{
    for (unsigned d = 0; d < r->rank; d++) {
        uint64_t good = 0, bad = end[d]; /* ends of a leading range that is tiled, that is not */

        while (bad - good > 1) {
            end[d] = good + (bad - good) / 2;
            if (is_tiled(r, row))
                good = end[d];
            else
                bad = end[d];
        }
        begin[d] = good;
        end[d] = bad;
    }
}

bool heft_parts_tile(const struct heft_model *model, const struct heft_row *row,
                     struct heft_error *err)
{
    uint64_t begin[HEFT_ROW_DIMS], end[HEFT_ROW_DIMS];
    const struct region r = {heft_row_boxed_rank(row), heft_map_seed(), begin, end};
    const uint64_t *const shape = heft_row_boxed_shape(row);

    for (unsigned d = 0; d < r.rank; d++) {
        begin[d] = 0;
        end[d] = shape[d];
    }
    if (is_tiled(&r, row))
        return true;
    find_wrong(row, &r, begin, end);
    return refuse_element(model, row, begin, err);
}

/* ---- order of the parts ------------------------------------------------------------------ */

static int by_first(const void *a, const void *b)
{
    const struct heft_part *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

void heft_parts_sort(struct heft_row *row)
{
    struct heft_part *const list = row->parts->list;
    const uint64_t *const shape = heft_row_boxed_shape(row);
    const unsigned rank = heft_row_boxed_rank(row);
    uint64_t reach = 0;

    for (uint32_t k = 0; k < row->parts->n; k++) {
        list[k].first = list[k].reach = 0;
        for (unsigned d = 0; d < rank;
             d++) { /* no overflow: the products are below the tensor's number of elements */
            list[k].first = list[k].first * shape[d] + list[k].start[d];
            list[k].reach = list[k].reach * shape[d] + list[k].start[d] + list[k].extent[d] - 1;
        }
        list[k].reach++;
    }
    qsort(list, row->parts->n, sizeof *list, by_first);
    for (uint32_t k = 0; k < row->parts->n; k++)
        list[k].reach = reach = heft_max_u64(reach, list[k].reach);
    row->storage = list[0].storage;
    row->offset = list[0].offset;
}

/* Sorts the non-empty parts of a tiled row by their first element. A single part becomes the row
 * itself. */
static void put_in_order(struct heft_row *row)
{
    const struct heft_part *const list = row->parts->list;

    heft_parts_sort(row);
    if (row->parts->n > 1)
        return;
    row->stride = list[0].stride;
    row->flags = list[0].flags;
    row->parts = NULL;
}

/* ---- validation -------------------------------------------------------------------------- */

static bool check_box(const struct heft_model *model, const struct heft_row *row,
                      const struct heft_part *part, struct heft_error *err)
{
    for (unsigned d = 0; d < row->rank; d++)
        if (!heft_within(part->start[d], part->extent[d], row->shape[d]))
            return heft_fail(err, HEFT_MALFORMED, model->storages[part->storage].off,
                             "a part has %" PRIu64 " indexes from %" PRIu64
                             " of dimension %u, whose extent is %" PRIu64,
                             part->extent[d], part->start[d], d, row->shape[d]);
    return true;
}

/* Validates a part as if it were a row. Empty parts are removed from the list. */
static bool check_part(const struct heft_model *model, struct heft_row *row, struct heft_part *part,
                       struct heft_error *err)
{
    struct heft_row box = *row;

    if (part->storage >= model->n_storages)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "part without storage");
    box.shape = part->extent;
    box.stride = part->stride;
    box.offset = part->offset;
    box.storage = row->storage = part->storage;
    if (!check_box(model, row, part, err) || !heft_model_check_geometry(model, &box, err))
        return false;
    part->stride = box.stride;
    if (box.bytes > 0)
        row->parts->list[row->parts->n++] = *part; /* never after the slot it is copied from */
    return true;
}

bool heft_parts_validate(struct heft_model *model, struct heft_row *row, struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    const uint32_t n = row->parts->n;

    row->stride = NULL;
    row->flags = 0;
    if (!heft_row_check_size(row, &row->bytes, HEFT_NO_OFFSET, err))
        return false;
    if (!heft_dtype_is_plain(dtype) && n > 1)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "%s in %" PRIu32 " parts: its elements are not whole bytes",
                         heft_dtype_name(dtype), n);
    row->parts->n = 0;
    for (uint32_t k = 0; k < n; k++)
        if (!check_part(model, row, &row->parts->list[k], err))
            return false;
    if (row->bytes == 0) {
        row->parts = NULL;
        row->offset = 0;
        return true;
    }
    if (row->parts->n == 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "no part holds any of its elements");
    if (!heft_parts_tile(model, row, err))
        return false;
    put_in_order(row);
    return true;
}

/* ---- slices of partitioned rows ---------------------------------------------------------- */

struct slicer {
    const struct heft_row *row;
    const struct heft_range *ranges;
    size_t n_ranges;
};

static struct heft_range range_of(const struct slicer *s, unsigned d)
{
    return d < s->n_ranges ? s->ranges[d] : (struct heft_range){0, s->row->shape[d], false};
}

static bool reaches_into(const struct slicer *s, const struct heft_part *part)
{
    for (unsigned d = 0; d < s->row->rank; d++) {
        const struct heft_range range = range_of(s, d);

        if (range.start >= part->start[d] + part->extent[d] || range.stop <= part->start[d])
            return false;
    }
    return true;
}

/* Intersection of the slice with a part. `room`: three numbers for each dimension of the row. */
static struct heft_part cut_part(const struct slicer *s, const struct heft_part *part,
                                 uint64_t *room)
{
    const unsigned rank = s->row->rank;
    const uint64_t each = heft_dtype_element_bytes((enum heft_dtype)s->row->dtype);
    uint64_t *start = room, *extent = room + rank, *stride = room + 2 * (size_t)rank;
    uint64_t packed[HEFT_ROW_DIMS], step = 1;
    struct heft_part out = *part;

    for (unsigned d = rank; d > 0; d--) {
        packed[d - 1] = part->stride ? part->stride[d - 1] : step;
        step *= part->extent[d - 1];
    }
    out.start = start;
    out.extent = extent;
    out.stride = stride;
    for (unsigned d = 0; d < rank; d++) {
        const struct heft_range range = range_of(s, d);
        const uint64_t lo = heft_max_u64(range.start, part->start[d]);
        const uint64_t hi = heft_min_u64(range.stop, part->start[d] + part->extent[d]);

        out.offset += (lo - part->start[d]) * packed[d] * each;
        if (range.drop)
            continue;
        *start++ = lo - range.start;
        *extent++ = hi - lo;
        *stride++ = packed[d];
    }
    return out;
}

/* Shape of the slice, without dropped dimensions. */
static bool cut_shape(const struct slicer *s, struct heft_arena *arena, struct heft_row *out,
                      struct heft_error *err)
{
    uint64_t *shape = heft_arena_u64(arena, s->row->rank, err);

    if (!shape)
        return false;
    out->shape = shape;
    out->rank = 0;
    for (unsigned d = 0; d < s->row->rank; d++) {
        const struct heft_range range = range_of(s, d);

        if (!range.drop)
            shape[out->rank++] = range.stop - range.start;
    }
    return heft_row_size((enum heft_dtype)out->dtype, out->rank, shape, &out->bytes) ||
           heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "slice without a size");
}

static struct heft_parts *cut_parts(const struct slicer *s, struct heft_arena *arena,
                                    struct heft_error *err)
{
    const struct heft_parts *const all = s->row->parts;
    struct heft_parts *parts = heft_arena_zero(arena, 1, sizeof *parts, err);
    uint32_t n = 0;

    for (uint32_t k = 0; k < all->n; k++)
        n += reaches_into(s, &all->list[k]);
    if (parts)
        parts->list = heft_arena_zero(arena, n, sizeof *parts->list, err);
    if (!parts || !parts->list)
        return NULL;
    for (uint32_t k = 0; k < all->n; k++) {
        uint64_t *room;

        if (!reaches_into(s, &all->list[k]))
            continue;
        room = heft_arena_u64(arena, 3 * (size_t)s->row->rank, err);
        if (!room)
            return NULL;
        parts->list[parts->n++] = cut_part(s, &all->list[k], room);
    }
    return parts;
}

/* Sets row-major strides to NULL, as validation does. */
static void drop_packed(struct heft_row *row)
{
    uint64_t want = 1;

    for (unsigned d = row->rank; row->stride && d > 0; d--) {
        if (row->shape[d - 1] > 1 && row->stride[d - 1] != want)
            return;
        want *= row->shape[d - 1];
    }
    row->stride = NULL;
}

bool heft_parts_slice(const struct heft_row *row, const struct heft_range *ranges, size_t n_ranges,
                      struct heft_arena *arena, struct heft_row *out, struct heft_error *err)
{
    const struct slicer s = {row, ranges, n_ranges};
    struct heft_row slice = *row;

    if (!cut_shape(&s, arena, &slice, err))
        return false;
    slice.parts = NULL;
    if (slice.bytes > 0) {
        slice.parts = cut_parts(&s, arena, err);
        if (!slice.parts)
            return false;
        put_in_order(&slice);
    }
    if (!slice.parts)
        drop_packed(&slice);
    *out = slice;
    return true;
}
