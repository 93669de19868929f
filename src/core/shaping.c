/* shaping.c: a tensor whose shape changes: begins with a row, and changes one tensor.
 *
 * Reshaping takes factors from the right for each wanted extent m, whose last factor is n: all of it if n
 * divides m; its inner m if m divides n; else it is joined with the factor outside it. Joining is free
 * where a box continues, and else cuts the box; it ends, at the latest, with a single factor. */
#include "core/shaping_parts.h"

#define WHY_BLOCKS "its elements are not whole bytes, or share a scale"

/* ---- beginning and ending ------------------------------------------------------------------------ */

static bool is_fixed(const struct heft_row *row)
{
    return heft_row_is_derived(row) || heft_dtype_varies((enum heft_dtype)row->dtype);
}

/* Whether the boxes of the row are given in its dimensions. */
static const uint64_t *boxed_shape(const struct heft_shaping *s, const struct heft_row *row,
                                   uint64_t *bytes)
{
    if (!s->is_bytes || heft_row_is_shaped(row))
        return heft_row_boxed_shape(row);
    *bytes = row->bytes;
    return bytes;
}

/* Adds a box of a row, or of one of its parts, without the dimensions of extent 1. */
static void add_box(struct heft_shaping *s, size_t k, const uint64_t *shape, unsigned rank,
                    const struct heft_part *part)
{
    uint64_t *const start = heft_shaping_start(s, k), *const extent = heft_shaping_extent(s, k);
    uint64_t *const stride = heft_shaping_stride(s, k), step = 1;
    unsigned f = s->n_factors;

    for (unsigned d = rank; d > 0; d--) {
        const uint64_t n = part->extent ? part->extent[d - 1] : shape[d - 1];

        if (shape[d - 1] > 1) {
            start[--f] = part->start ? part->start[d - 1] : 0;
            extent[f] = n;
            stride[f] = n == 1 ? 0 : part->stride ? part->stride[d - 1] : step;
        }
        step *= n;
    }
    s->boxes[k] = (struct heft_shaping_box){part->offset, part->storage,
                                            (uint8_t)(part->flags & ~HEFT_ROW_RAW)};
}

/* The only part of a row that is not in parts. */
static struct heft_part part_of(const struct heft_row *row)
{
    return (struct heft_part){
        .offset = row->offset, .stride = row->stride, .storage = row->storage, .flags = row->flags};
}

static bool load_boxes(struct heft_shaping *s, const struct heft_row *row, struct heft_error *err)
{
    uint64_t bytes;
    const uint64_t *const shape = boxed_shape(s, row, &bytes);
    const unsigned rank = s->is_bytes && !heft_row_is_shaped(row) ? 1 : heft_row_boxed_rank(row);
    const struct heft_part only = part_of(row);
    unsigned n = 0;

    for (unsigned d = 0; d < rank; d++)
        n += shape[d] > 1;
    if (!heft_shaping_room(s, row->parts ? row->parts->n : 1, n, err))
        return false;
    for (unsigned d = 0, f = 0; d < rank; d++)
        if (shape[d] > 1)
            s->factor[f++] = shape[d];
    for (size_t k = 0; k < s->n_boxes; k++)
        add_box(s, k, shape, rank, row->parts ? &row->parts->list[k] : &only);
    return true;
}

/* Joins all factors, of bytes, into one. */
static bool join_bytes(struct heft_shaping *s, struct heft_error *err)
{
    while (s->n_factors > 1)
        if (!heft_shaping_join_factors(s, s->n_factors - 2, err))
            return false;
    return true;
}

static bool regroup(struct heft_shaping *s, struct heft_error *err);

bool heft_shaping_open(struct heft_shaping *s, const struct heft_row *row, struct heft_error *err)
{
    *s = (struct heft_shaping){.dtype = (enum heft_dtype)row->dtype,
                               .rank = row->rank,
                               .most = HEFT_SHAPING_PARTS,
                               .storage = row->storage,
                               .flags = row->flags & HEFT_ROW_RAW,
                               .is_bytes = !heft_dtype_is_plain((enum heft_dtype)row->dtype),
                               .whole = row,
                               .origin = row};
    if (row->rank > HEFT_SHAPING_RANK)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the tensor has %u dimensions, at most %d are possible", row->rank,
                         HEFT_SHAPING_RANK);
    if (row->rank > 0)
        memcpy(s->shape, row->shape, row->rank * sizeof *s->shape);
    if (is_fixed(row) || row->bytes == 0)
        return true;
    if (!load_boxes(s, row, err))
        return false;
    return s->is_bytes ? join_bytes(s, err) : regroup(s, err);
}

bool heft_shaping_copy(struct heft_shaping *out, const struct heft_shaping *from,
                       struct heft_error *err)
{
    *out = *from;
    out->numbers = NULL;
    out->boxes = NULL;
    out->n_boxes = 0;
    if (from->n_boxes == 0)
        return true;
    if (!heft_shaping_room(out, from->n_boxes, from->n_factors, err))
        return false;
    memcpy(out->boxes, from->boxes, from->n_boxes * sizeof *out->boxes);
    memcpy(out->numbers, from->numbers, from->n_boxes * 3 * from->n_factors * sizeof *out->numbers);
    return true;
}

void heft_shaping_release(struct heft_shaping *s)
{
    heft_free(s->numbers);
    heft_free(s->boxes);
    *s = (struct heft_shaping){0};
}

void heft_shaping_empty(struct heft_shaping *s)
{
    s->n_boxes = 0;
    s->n_factors = 0;
    memset(s->first, 0, sizeof s->first);
}

/* ---- checks ---------------------------------------------------------------------------------------- */

bool heft_shaping_change(struct heft_shaping *s, struct heft_error *err)
{
    if (s->whole && heft_row_is_derived(s->whole))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the tensor is dequantized, and only its name can change; change the "
                         "shape in a conversion of its own");
    if (heft_dtype_varies(s->dtype))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the tensor is %s, of which only the name can change",
                         heft_dtype_name(s->dtype));
    s->whole = NULL;
    return true;
}

bool heft_shaping_check_dim(const struct heft_shaping *s, uint64_t dim, struct heft_error *err)
{
    return dim < s->rank ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "there is no dimension %" PRIu64 ", the tensor has %u", dim, s->rank);
}

bool heft_shaping_check_size(const struct heft_shaping *s, struct heft_error *err)
{
    const uint64_t block = heft_dtype_block_elements(s->dtype);
    const uint64_t last = s->rank ? s->shape[s->rank - 1] : 1;
    uint64_t bytes;

    if (heft_row_size(s->dtype, s->rank, s->shape, &bytes))
        return true;
    if (heft_dtype_is_scaled(s->dtype) && last % block != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "an innermost extent of %" PRIu64 " is not a multiple of %" PRIu64
                         ", the elements in a block of %s",
                         last, block, heft_dtype_name(s->dtype));
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the result is not a whole number of bytes below 2^64");
}

void heft_shaping_move_firsts(struct heft_shaping *s, unsigned dim, int n)
{
    for (unsigned d = dim + 1; d <= s->rank; d++)
        s->first[d] = (unsigned)((int)s->first[d] + n);
}

/* ---- squeeze, unsqueeze, permute --------------------------------------------------------------------- */

bool heft_shaping_squeeze(struct heft_shaping *s, uint64_t dim, struct heft_error *err)
{
    if (!heft_shaping_change(s, err) || !heft_shaping_check_dim(s, dim, err))
        return false;
    if (s->shape[dim] != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "dimension %" PRIu64 " has extent %" PRIu64 ", expected 1", dim,
                         s->shape[dim]);
    s->rank--;
    memmove(s->shape + dim, s->shape + dim + 1, (s->rank - (size_t)dim) * sizeof *s->shape);
    memmove(s->first + dim, s->first + dim + 1, (s->rank + 1 - (size_t)dim) * sizeof *s->first);
    return heft_shaping_check_size(s, err);
}

bool heft_shaping_unsqueeze(struct heft_shaping *s, uint64_t dim, struct heft_error *err)
{
    if (!heft_shaping_change(s, err))
        return false;
    if (dim > s->rank)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a dimension cannot be inserted before dimension %" PRIu64
                         ", the tensor has %u",
                         dim, s->rank);
    if (s->rank == HEFT_SHAPING_RANK)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "more than %d dimensions",
                         HEFT_SHAPING_RANK);
    memmove(s->shape + dim + 1, s->shape + dim, (s->rank - (size_t)dim) * sizeof *s->shape);
    memmove(s->first + dim + 1, s->first + dim, (s->rank + 1 - (size_t)dim) * sizeof *s->first);
    s->shape[dim] = 1;
    s->rank++;
    return heft_shaping_check_size(s, err);
}

static bool check_order(const struct heft_shaping *s, const uint64_t *order, size_t n,
                        struct heft_error *err)
{
    bool seen[HEFT_SHAPING_RANK] = {false};

    if (n != s->rank)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a permutation of %zu dimensions, the tensor has %u", n, s->rank);
    for (size_t i = 0; i < n; i++) {
        if (order[i] >= n || seen[order[i]])
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "no permutation of the dimensions: %" PRIu64 " at position %zu",
                             order[i], i);
        seen[order[i]] = true;
    }
    return true;
}

/* Whether dimensions of extent 2 and more keep their order. */
static bool keeps_order(const struct heft_shaping *s, const uint64_t *order)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < s->rank; i++) {
        if (s->shape[order[i]] == 1)
            continue;
        if (order[i] < last)
            return false;
        last = order[i];
    }
    return true;
}

static void permute_firsts(struct heft_shaping *s, const uint64_t *order)
{
    unsigned factors[HEFT_SHAPING_FACTORS], first[HEFT_SHAPING_RANK + 1], n = 0;
    uint64_t shape[HEFT_SHAPING_RANK];

    for (unsigned i = 0; i < s->rank; i++) {
        const uint64_t d = order[i];

        first[i] = n;
        shape[i] = s->shape[d];
        for (unsigned f = s->first[d]; f < s->first[d + 1]; f++)
            factors[n++] = f;
    }
    first[s->rank] = n;
    memcpy(s->shape, shape, s->rank * sizeof *shape);
    memcpy(s->first, first, (s->rank + 1) * sizeof *first);
    heft_shaping_order_factors(s, factors);
}

bool heft_shaping_permute(struct heft_shaping *s, const uint64_t *order, size_t n,
                          struct heft_error *err)
{
    uint64_t shape[HEFT_SHAPING_RANK];

    if (!heft_shaping_change(s, err) || !check_order(s, order, n, err))
        return false;
    if (!s->is_bytes) {
        permute_firsts(s, order);
        return true;
    }
    if (s->n_boxes > 0 && !keeps_order(s, order))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "dimensions of %s cannot be permuted: " WHY_BLOCKS,
                         heft_dtype_name(s->dtype));
    for (size_t i = 0; i < n; i++)
        shape[i] = s->shape[order[i]];
    memcpy(s->shape, shape, n * sizeof *shape);
    return heft_shaping_check_size(s, err);
}

bool heft_shaping_transpose(struct heft_shaping *s, uint64_t a, uint64_t b, struct heft_error *err)
{
    uint64_t order[HEFT_SHAPING_RANK];

    if (!heft_shaping_change(s, err) || !heft_shaping_check_dim(s, a, err) ||
        !heft_shaping_check_dim(s, b, err))
        return false;
    for (unsigned i = 0; i < s->rank; i++)
        order[i] = i;
    order[a] = b;
    order[b] = a;
    return heft_shaping_permute(s, order, s->rank, err);
}

/* ---- reshape ------------------------------------------------------------------------------------------- */

/* Takes factors for an extent from those before *end, which becomes the first one of them. Returns in
 * *taken how many they are. */
static bool take_factors(struct heft_shaping *s, uint64_t extent, unsigned *end, unsigned *taken,
                         struct heft_error *err)
{
    unsigned n = 0;

    while (extent > 1) {
        const unsigned last = *end - 1;
        const uint64_t factor = s->factor[last];

        if (extent % factor == 0) {
            extent /= factor;
            n++;
            --*end;
        } else if (factor % extent == 0) {
            if (!heft_shaping_cut_factor(s, last, extent, err))
                return false;
            extent = 1;
            n++;
        } else {
            if (!heft_shaping_join_factors(s, last - 1, err))
                return false;
            --*end;
        }
    }
    *taken = n;
    return true;
}

/* Divides all factors among the dimensions of the shape, which has as many elements. */
static bool regroup(struct heft_shaping *s, struct heft_error *err)
{
    unsigned end = s->n_factors, taken[HEFT_SHAPING_RANK];

    for (unsigned d = s->rank; d > 0; d--)
        if (!take_factors(s, s->shape[d - 1], &end, &taken[d - 1], err))
            return false;
    s->first[0] = 0;
    for (unsigned d = 0; d < s->rank; d++)
        s->first[d + 1] = s->first[d] + taken[d];
    return true;
}

/* Number of elements, which may be 0. False if it is 2^64 or more. */
static bool count_elements(const uint64_t *shape, size_t n, uint64_t *count)
{
    bool fits = true;

    *count = 1;
    for (size_t d = 0; d < n; d++) {
        if (shape[d] == 0) {
            *count = 0;
            return true;
        }
        fits = fits && heft_mul(*count, shape[d], count);
    }
    return fits;
}

static bool check_count(const struct heft_shaping *s, const uint64_t *shape, size_t n,
                        struct heft_error *err)
{
    uint64_t have, want;

    if (!count_elements(s->shape, s->rank, &have) || !count_elements(shape, n, &want))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the new shape has 2^64 elements or more");
    return have == want ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the tensor has %" PRIu64 " elements, the new shape has %" PRIu64, have, want);
}

bool heft_shaping_reshape(struct heft_shaping *s, const uint64_t *shape, size_t n,
                          struct heft_error *err)
{
    if (!heft_shaping_change(s, err))
        return false;
    if (n > HEFT_SHAPING_RANK)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%zu dimensions, at most %d are possible",
                         n, HEFT_SHAPING_RANK);
    if (!check_count(s, shape, n, err))
        return false;
    s->rank = (unsigned)n;
    if (n > 0)
        memcpy(s->shape, shape, n * sizeof *shape);
    if (!heft_shaping_check_size(s, err))
        return false;
    return s->is_bytes || s->n_boxes == 0 || regroup(s, err);
}

/* ---- slice ------------------------------------------------------------------------------------------------ */

static uint64_t product_of(const uint64_t *list, unsigned n)
{
    uint64_t product = 1;

    for (unsigned i = 0; i < n; i++)
        product *= list[i]; /* no overflow: at most the tensor's elements */
    return product;
}

/* Keeps the indexes of a factor of the dimension. */
static void slice_factor(struct heft_shaping *s, unsigned dim, unsigned f, uint64_t begin,
                         uint64_t end)
{
    if (heft_shaping_slice_factor(s, f, begin, end))
        heft_shaping_move_firsts(s, dim, -1);
}

/* Slices a dimension of several factors. Each round drops a factor, or joins two. */
static bool slice_factors(struct heft_shaping *s, unsigned dim, uint64_t begin, uint64_t end,
                          struct heft_error *err)
{
    const unsigned f = s->first[dim];

    while (s->first[dim + 1] - f > 1) {
        const uint64_t inner = product_of(s->factor + f + 1, s->first[dim + 1] - f - 1);
        const uint64_t lo = begin / inner, hi = (end - 1) / inner + 1;

        slice_factor(s, dim, f, lo, hi);
        if (begin % inner == 0 && end % inner == 0)
            return true;
        begin -= lo * inner;
        end -= lo * inner;
        if (hi - lo == 1)
            continue;
        if (!heft_shaping_join_factors(s, f, err))
            return false;
        heft_shaping_move_firsts(s, dim, -1);
    }
    slice_factor(s, dim, f, begin, end);
    return true;
}

/* Slices a tensor that is a sequence of bytes. */
static bool slice_bytes(struct heft_shaping *s, unsigned dim, uint64_t begin, uint64_t end,
                        struct heft_error *err)
{
    const uint64_t inner = product_of(s->shape + dim + 1, s->rank - dim - 1);
    uint64_t from, to;

    if (product_of(s->shape, dim) != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s can be cut along dimension 0 only: " WHY_BLOCKS,
                         heft_dtype_name(s->dtype));
    if (!heft_dtype_bytes(s->dtype, begin * inner, &from) ||
        !heft_dtype_bytes(s->dtype, end * inner, &to))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "indexes %" PRIu64 ":%" PRIu64 " cut blocks of %s, which have %u elements",
                         begin, end, heft_dtype_name(s->dtype),
                         heft_dtype_block_elements(s->dtype));
    if (s->n_factors > 0)
        (void)heft_shaping_slice_factor(s, 0, from, to);
    return true;
}

bool heft_shaping_slice(struct heft_shaping *s, uint64_t dim, uint64_t begin, uint64_t end,
                        struct heft_error *err)
{
    bool ok = true;

    if (!heft_shaping_change(s, err) || !heft_shaping_check_dim(s, dim, err))
        return false;
    if (begin > end || end > s->shape[dim])
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "slice %" PRIu64 ":%" PRIu64 " of dimension %" PRIu64
                         ", whose extent is %" PRIu64,
                         begin, end, dim, s->shape[dim]);
    if (end - begin == s->shape[dim])
        return true;
    if (begin == end)
        heft_shaping_empty(s);
    else if (s->is_bytes && s->n_boxes > 0)
        ok = slice_bytes(s, (unsigned)dim, begin, end, err);
    else if (s->n_boxes > 0)
        ok = slice_factors(s, (unsigned)dim, begin, end, err);
    if (!ok)
        return false;
    s->shape[dim] = end - begin;
    return heft_shaping_check_size(s, err);
}
