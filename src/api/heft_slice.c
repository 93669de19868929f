/* heft_slice.c: the public API for the shapes of slices. */
#include "api/checkpoint.h"
#include "base/require_arg.h"
#include "core/cast.h"

/* Shape and bytes of a slice; `as`: NULL for the stored dtype. */
static bool measure_slice(const struct heft_checkpoint *c, size_t index,
                          const struct heft_range *ranges, size_t n_ranges,
                          const enum heft_dtype *as, uint64_t *shape, unsigned *rank,
                          uint64_t *bytes, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_row row;
    const bool ok = heft_checkpoint_slice(c, index, ranges, n_ranges, as, &mem, &row, err) &&
                    (!as || heft_row_size_as(&row, *as, &row.bytes, err));

    if (ok) {
        if (row.rank)
            memcpy(shape, row.shape, row.rank * sizeof *shape);
        *rank = row.rank;
        *bytes = row.bytes;
    }
    heft_arena_release(&mem);
    return ok;
}

bool heft_slice_shape(const struct heft_checkpoint *c, size_t index,
                      const struct heft_range *ranges, size_t n_ranges, uint64_t *shape,
                      unsigned *rank, uint64_t *bytes, struct heft_error *err)
{
    return heft_require_arg(c && (ranges || n_ranges == 0) && shape && rank && bytes, "an argument",
                            err) &&
           measure_slice(c, index, ranges, n_ranges, NULL, shape, rank, bytes, err);
}

bool heft_slice_shape_as(const struct heft_checkpoint *c, size_t index,
                         const struct heft_range *ranges, size_t n_ranges, enum heft_dtype as,
                         uint64_t *shape, unsigned *rank, uint64_t *bytes, struct heft_error *err)
{
    const struct heft_row *row;

    if (!heft_require_arg(c && (ranges || n_ranges == 0) && shape && rank && bytes, "an argument",
                          err))
        return false;
    row = heft_checkpoint_row(c, index, err);
    return row &&
           (row->dtype == as || heft_cast_check((enum heft_dtype)row->dtype, as, err) ||
            heft_error_about(err, "tensor", row->name)) &&
           measure_slice(c, index, ranges, n_ranges, row->dtype == as ? NULL : &as, shape, rank,
                         bytes, err);
}
