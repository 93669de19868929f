/* slice.c: slices of rows. A slice is a row of its own, with another shape, offset and strides. */
#include "core/parts.h"
#include "core/reader.h"
#include "core/shaping.h"

/* Row-major strides in elements. The products cannot overflow: they are at most the row's
 * element count. */
static void packed_strides(const struct heft_row *row, uint64_t *stride)
{
    uint64_t step = 1;

    for (unsigned i = row->rank; i > 0; i--) {
        stride[i - 1] = step;
        step *= row->shape[i - 1];
    }
}

/* Whether strides are those of a packed array. Validation stores these as NULL. */
static bool is_packed(const uint64_t *shape, const uint64_t *stride, unsigned rank)
{
    uint64_t want = 1;

    for (unsigned i = rank; i > 0; i--) {
        if (shape[i - 1] == 0)
            return true;
        if (shape[i - 1] > 1 && stride[i - 1] != want)
            return false;
        want *= shape[i - 1];
    }
    return true;
}

static bool check_range(const struct heft_range *range, unsigned dim, uint64_t extent,
                        struct heft_error *err)
{
    if (range->start > range->stop || range->stop > extent)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "slice %" PRIu64 ":%" PRIu64 " of dimension %u, whose extent is %" PRIu64,
                         range->start, range->stop, dim, extent);
    if (range->drop && range->stop - range->start != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "dimension %u cannot be dropped: the slice takes %" PRIu64
                         " of its indexes, not 1",
                         dim, range->stop - range->start);
    return true;
}

/* Checks that a range of the innermost dimension starts and ends at block borders. A single
 * index, as `drop` takes, never does if a block has several elements. */
static bool check_blocks(enum heft_dtype dtype, const struct heft_range *range, unsigned dim,
                         struct heft_error *err)
{
    const uint64_t block = heft_dtype_block_elements(dtype), last = range->stop % block;

    if (range->start % block == 0 && last == 0)
        return true;
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "slice %" PRIu64 ":%" PRIu64 " of dimension %u cuts blocks of %s, which have "
                     "%" PRIu64 " elements; take %" PRIu64 ":%" PRIu64,
                     range->start, range->stop, dim, heft_dtype_name(dtype), block,
                     range->start - range->start % block, range->stop + (last ? block - last : 0));
}

bool heft_row_check_ranges(const struct heft_row *row, const struct heft_range *ranges,
                           size_t n_ranges, struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;

    if (n_ranges > row->rank)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "slice of %zu dimensions, the tensor has %u", n_ranges, row->rank);
    if (!heft_dtype_is_plain(dtype) && !heft_dtype_is_scaled(dtype))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s cannot be sliced: its elements %s",
                         heft_dtype_name(dtype),
                         heft_dtype_varies(dtype) ? "do not take a fixed number of bytes"
                                                  : "are not whole bytes");
    for (unsigned i = 0; i < n_ranges; i++)
        if (!check_range(&ranges[i], i, row->shape[i], err))
            return false;
    return true;
}

/* Whether a row is empty, or one of the ranges. The strides of an empty row may be any numbers. */
static bool is_empty_slice(const struct heft_row *row, const struct heft_range *ranges,
                           size_t n_ranges)
{
    for (unsigned i = 0; i < row->rank; i++)
        if (i < n_ranges ? ranges[i].start == ranges[i].stop : row->shape[i] == 0)
            return true;
    return false;
}

/* Fills shape and stride with the kept dimensions and returns their number. *moved: elements
 * from the first element of the row to that of the slice; 0 if the slice is empty. */
static unsigned cut_dims(const struct heft_row *row, const struct heft_range *ranges,
                         size_t n_ranges, uint64_t *shape, uint64_t *stride, uint64_t *moved)
{
    const bool is_empty = is_empty_slice(row, ranges, n_ranges);
    unsigned rank = 0;

    *moved = 0;
    if (row->stride)
        memcpy(stride, row->stride, row->rank * sizeof *stride);
    else
        packed_strides(row, stride);
    for (unsigned i = 0; i < row->rank; i++) {
        const struct heft_range whole = {0, row->shape[i], false};
        const struct heft_range range = i < n_ranges ? ranges[i] : whole;

        if (!is_empty)
            *moved += range.start * stride[i];
        if (range.drop)
            continue;
        shape[rank] = range.stop - range.start;
        stride[rank++] = stride[i]; /* in place: rank is at most i */
    }
    return rank;
}

/* A slice of a row whose boxes tile another shape. */
static bool slice_shaped(const struct heft_row *row, const struct heft_range *ranges,
                         size_t n_ranges, struct heft_arena *arena, struct heft_row *out,
                         struct heft_error *err)
{
    struct heft_shaping s = {0};
    struct heft_row slice;
    bool ok = heft_shaping_open(&s, row, err);

    for (size_t d = n_ranges; ok && d > 0; d--)
        ok = heft_shaping_slice(&s, d - 1, ranges[d - 1].start, ranges[d - 1].stop, err) &&
             (!ranges[d - 1].drop || heft_shaping_squeeze(&s, d - 1, err));
    ok = ok && heft_shaping_row(&s, arena, &slice, err);
    heft_shaping_release(&s);
    if (ok) {
        slice.name = row->name;
        *out = slice;
    }
    return ok;
}

bool heft_row_slice(const struct heft_row *row, const struct heft_range *ranges, size_t n_ranges,
                    struct heft_arena *arena, struct heft_row *out, struct heft_error *err)
{
    struct heft_row slice = *row;
    uint64_t *shape, *stride, moved;

    if (n_ranges == 0) {
        *out = slice;
        return true;
    }
    if (!heft_row_check_ranges(row, ranges, n_ranges, err)) /* so the rank is at least 1 */
        return false;
    if (n_ranges == row->rank &&
        !check_blocks((enum heft_dtype)row->dtype, &ranges[row->rank - 1], row->rank - 1, err))
        return false;
    if (heft_row_is_derived(row))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a slice of a tensor that is dequantized; convert the whole tensor, and "
                         "slice the output");
    if (heft_row_is_shaped(row))
        return slice_shaped(row, ranges, n_ranges, arena, out, err);
    if (row->parts)
        return heft_parts_slice(row, ranges, n_ranges, arena, out, err);
    shape = heft_arena_alloc(arena, 2 * (size_t)row->rank * sizeof *shape, err);
    if (!shape)
        return false;
    stride = shape + row->rank;
    slice.rank = (uint8_t)cut_dims(row, ranges, n_ranges, shape, stride, &moved);
    slice.shape = shape;
    slice.original_strides = NULL;
    slice.dim_order = NULL;
    slice.stride = is_packed(shape, stride, slice.rank) ? NULL : stride;
    slice.offset += heft_dtype_span((enum heft_dtype)row->dtype, moved);
    if (!heft_row_size((enum heft_dtype)row->dtype, slice.rank, shape, &slice.bytes))
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "slice without a size");
    *out = slice;
    return true;
}
