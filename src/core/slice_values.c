/* slice_values.c: slices of the values of block types, which may begin and end within a block.
 *
 *     blocks of a row   |----------------|----------------|----------------|
 *     slice                        |------------------------|                      of F32
 *
 * Such a slice is a derived row: its recipe decodes the blocks of each run, and takes the elements. */
#include "core/cast.h"
#include "core/parts.h"
#include "core/reader.h"

enum { PIECE = 2048 }; /* elements decoded at once; whole blocks of every type */

struct slice {
    struct heft_row row;       /* as stored */
    uint64_t begin;            /* element of the row that is the first of the slice */
    unsigned n;                /* dimensions below, the outermost first */
    uint64_t *extent, *stride; /* of the slice; strides in elements of the row */
    uint64_t run;              /* elements that are adjacent in the row */
};

/* Whether a range of the innermost dimension begins or ends within a block. */
static bool cuts_block(const struct heft_row *row, const struct heft_range *ranges, size_t n_ranges)
{
    const uint64_t block = heft_dtype_block_elements((enum heft_dtype)row->dtype);

    return heft_dtype_is_scaled((enum heft_dtype)row->dtype) && n_ranges > 0 &&
           n_ranges == row->rank &&
           (ranges[n_ranges - 1].start % block != 0 || ranges[n_ranges - 1].stop % block != 0);
}

/* ---- the recipe -------------------------------------------------------------------------------- */

/* Decodes elements [first, first+count) of the stored row. */
static bool decode_run(const struct heft_row *row, struct heft_reader *reader, uint64_t first,
                       uint64_t count, uint8_t *out, struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    const uint64_t block = heft_dtype_block_elements(dtype);
    uint8_t stored[PIECE * sizeof(float)], values[PIECE * sizeof(float)];
    uint64_t ignored = 0;

    while (count > 0) {
        const uint64_t before = first % block, begin = first - before;
        const uint64_t some = heft_min_u64(count, PIECE - before);
        const uint64_t whole = (before + some + block - 1) / block * block;

        if (!heft_reader_row(reader, row, heft_dtype_span(dtype, begin), stored,
                             (size_t)heft_dtype_span(dtype, whole), err))
            return false;
        heft_cast_elements(dtype, HEFT_F32, stored, values, (size_t)whole, &ignored);
        memcpy(out, values + before * sizeof(float), (size_t)(some * sizeof(float)));
        out += some * sizeof(float);
        first += some;
        count -= some;
    }
    return true;
}

/* Element of the stored row that is number `at` of the slice. */
static uint64_t element_of(const struct slice *s, uint64_t at)
{
    uint64_t element = s->begin;

    for (unsigned d = s->n; d > 0; d--) {
        element += at % s->extent[d - 1] * s->stride[d - 1];
        at /= s->extent[d - 1];
    }
    return element;
}

static bool make_slice(const struct heft_recipe *recipe, struct heft_reader *reader,
                       const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                       struct heft_error *err)
{
    const struct slice *const s = recipe->ctx;

    (void)row;
    for (uint64_t n; count > 0; count -= n, first += n, out += n * sizeof(float)) {
        n = heft_min_u64(count, s->run - first % s->run);
        if (!decode_run(&s->row, reader, element_of(s, first), n, out, err))
            return false;
    }
    return true;
}

/* ---- the row ----------------------------------------------------------------------------------- */

/* The products are at most the number of elements of the row. */
static void list_dims(struct slice *s, const struct heft_range *ranges)
{
    uint64_t step = 1;

    s->run = ranges[s->n - 1].stop - ranges[s->n - 1].start;
    for (unsigned d = s->n; d > 0; d--) {
        s->extent[d - 1] = ranges[d - 1].stop - ranges[d - 1].start;
        s->stride[d - 1] = step;
        s->begin += ranges[d - 1].start * step;
        step *= s->row.shape[d - 1];
    }
}

static const char *identity_of(const struct slice *s, struct heft_arena *mem,
                               struct heft_error *err)
{
    struct heft_buf text = {0};
    struct heft_str out;

    heft_buf_printf(&text, "slice of %s from %" PRIu64,
                    heft_dtype_name((enum heft_dtype)s->row.dtype), s->begin);
    for (unsigned d = 0; d < s->n; d++)
        heft_buf_printf(&text, ", %" PRIu64 " of %" PRIu64, s->extent[d], s->stride[d]);
    return heft_buf_take(&text, mem, &out, err) ? out.p : NULL;
}

static unsigned keep_dims(const struct slice *s, const struct heft_range *ranges, uint64_t *shape)
{
    unsigned rank = 0;

    for (unsigned d = 0; d < s->n; d++)
        if (!ranges[d].drop)
            shape[rank++] = s->extent[d];
    return rank;
}

/* Makes the derived row of a slice whose ranges were checked, one for each dimension. */
static bool derive_slice(const struct heft_row *row, const struct heft_range *ranges,
                         struct heft_arena *mem, struct heft_row *out, struct heft_error *err)
{
    struct slice *const s = heft_arena_zero(mem, 1, sizeof *s, err);
    uint64_t *const numbers = heft_arena_alloc(mem, 3 * (size_t)row->rank * sizeof *numbers, err);
    struct heft_recipe *const recipe = heft_arena_zero(mem, 1, sizeof *recipe, err);
    struct heft_parts *const parts = heft_arena_zero(mem, 1, sizeof *parts, err);
    struct heft_part *const part = heft_arena_zero(mem, 1, sizeof *part, err);

    if (!s || !numbers || !recipe || !parts || !part)
        return false;
    *s = (struct slice){
        .row = *row, .n = row->rank, .extent = numbers, .stride = numbers + row->rank};
    list_dims(s, ranges);
    *part = (struct heft_part){.storage = row->storage, .offset = row->offset};
    *parts = (struct heft_parts){.list = part, .n = 1, .recipe = recipe};
    *recipe = (struct heft_recipe){.make = make_slice, .ctx = s, .as = HEFT_F32};
    recipe->identity = identity_of(s, mem, err);
    *out = (struct heft_row){.name = row->name,
                             .shape = numbers + 2 * row->rank,
                             .parts = parts,
                             .storage = row->storage,
                             .dtype = HEFT_F32};
    out->rank = (uint8_t)keep_dims(s, ranges, numbers + 2 * row->rank);
    return recipe->identity &&
           (heft_row_size(HEFT_F32, out->rank, out->shape, &out->bytes) ||
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the slice has 2^64 bytes or more"));
}

bool heft_row_slice_as(const struct heft_row *row, const struct heft_range *ranges, size_t n_ranges,
                       enum heft_dtype as, struct heft_arena *arena, struct heft_row *out,
                       struct heft_error *err)
{
    if (as == (enum heft_dtype)row->dtype || row->stride || row->parts ||
        !cuts_block(row, ranges, n_ranges))
        return heft_row_slice(row, ranges, n_ranges, arena, out, err);
    return heft_row_check_ranges(row, ranges, n_ranges, err) && heft_row_check_decodes(row, err) &&
           heft_cast_check((enum heft_dtype)row->dtype, HEFT_F32, err) &&
           derive_slice(row, ranges, arena, out, err);
}
