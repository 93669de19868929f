/* shaping_row.c: the row that results from a change of shape, and rows of zeros.
 *
 *     the row itself                  nothing has been changed
 *     a plain row on its storage      all of the elements in their order, with another shape
 *     a shaped row                    boxes, after neighbouring factors that continue in all of them are
 *                                     joined; also if there is only one */
#include "core/parts.h"
#include "core/shaping_parts.h"

/* Joins neighbouring factors as far as no box is cut. */
static bool join_neighbours(struct heft_shaping *s, struct heft_error *err)
{
    for (unsigned f = s->n_factors; f > 1; f--)
        if (heft_shaping_count_joined(s, f - 2) == s->n_boxes &&
            !heft_shaping_join_factors(s, f - 2, err))
            return false;
    if (s->n_factors <= HEFT_SHAPING_WALKED)
        return true;
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no view of the stored tensor: it would be read along %u dimensions, at most "
                     "%d are possible",
                     s->n_factors, HEFT_SHAPING_WALKED);
}

/* Whether the elements of a box follow each other in its storage. */
static bool is_packed(const struct heft_shaping *s, size_t k)
{
    const uint64_t *const extent = heft_shaping_extent(s, k);
    const uint64_t *const stride = heft_shaping_stride(s, k);
    uint64_t step = 1;

    for (unsigned f = s->n_factors; f > 0; f--) {
        if (extent[f - 1] > 1 && stride[f - 1] != step)
            return false;
        step *= extent[f - 1];
    }
    return true;
}

/* Whether the result has all elements of the row that it was made from, in their order. */
static bool is_same_run(const struct heft_shaping *s, const struct heft_row *row)
{
    return s->origin && !s->origin->parts && s->n_boxes == 1 && is_packed(s, 0) &&
           s->boxes[0].offset == s->origin->offset && row->bytes == s->origin->bytes;
}

/* Copies n numbers; NULL if memory runs out. */
static const uint64_t *keep_numbers(struct heft_arena *arena, const uint64_t *from, unsigned n,
                                    struct heft_error *err)
{
    static const uint64_t none[1];

    return n ? heft_arena_copy_u64(arena, from, n, err) : none;
}

static bool make_part(const struct heft_shaping *s, size_t k, struct heft_arena *arena,
                      struct heft_part *part, struct heft_error *err)
{
    const struct heft_shaping_box *const box = &s->boxes[k];
    const bool packed = is_packed(s, k);

    part->offset = box->offset;
    part->storage = box->storage;
    part->flags = box->flags;
    part->start = keep_numbers(arena, heft_shaping_start(s, k), s->n_factors, err);
    part->extent = keep_numbers(arena, heft_shaping_extent(s, k), s->n_factors, err);
    part->stride =
        packed ? NULL : keep_numbers(arena, heft_shaping_stride(s, k), s->n_factors, err);
    return part->start && part->extent && (packed || part->stride);
}

static bool make_parts(const struct heft_shaping *s, struct heft_arena *arena, struct heft_row *row,
                       struct heft_error *err)
{
    struct heft_parts *const parts = heft_arena_zero(arena, 1, sizeof *parts, err);

    if (!parts)
        return false;
    parts->list = heft_arena_zero(arena, s->n_boxes, sizeof *parts->list, err);
    parts->shape = keep_numbers(arena, s->factor, s->n_factors, err);
    parts->rank = (uint8_t)s->n_factors;
    parts->n = (uint32_t)s->n_boxes;
    if (!parts->list || !parts->shape)
        return false;
    for (size_t k = 0; k < s->n_boxes; k++)
        if (!make_part(s, k, arena, &parts->list[k], err))
            return false;
    row->parts = parts;
    heft_parts_sort(row);
    return true;
}

bool heft_shaping_row(struct heft_shaping *s, struct heft_arena *arena, struct heft_row *out,
                      struct heft_error *err)
{
    struct heft_row row = {.storage = s->storage,
                           .dtype = (uint8_t)s->dtype,
                           .rank = (uint8_t)s->rank,
                           .flags = s->flags};

    if (s->whole) {
        *out = *s->whole;
        return true;
    }
    row.shape = keep_numbers(arena, s->shape, s->rank, err);
    if (!row.shape || !heft_shaping_check_size(s, err) ||
        !heft_row_size(s->dtype, s->rank, s->shape, &row.bytes) || !join_neighbours(s, err))
        return false;
    if (is_same_run(s, &row)) {
        row.offset = s->boxes[0].offset;
        row.storage = s->boxes[0].storage;
        row.flags |= s->boxes[0].flags;
    } else if (s->n_boxes > 0 && !make_parts(s, arena, &row, err)) {
        return false;
    }
    *out = row;
    return true;
}

/* ---- zeros ------------------------------------------------------------------------------------------------ */

static bool make_zeros(const struct heft_recipe *recipe, struct heft_reader *reader,
                       const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                       struct heft_error *err)
{
    (void)recipe, (void)reader, (void)first, (void)err;
    memset(out, 0, (size_t)count * heft_row_unit(row));
    return true;
}

bool heft_shaping_zeros(const struct heft_row *like, struct heft_arena *arena, struct heft_row *out,
                        struct heft_error *err)
{
    struct heft_recipe *recipe;
    struct heft_parts *parts;
    struct heft_part *part;

    if (heft_dtype_varies((enum heft_dtype)like->dtype))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s has no zeros",
                         heft_dtype_name((enum heft_dtype)like->dtype));
    recipe = heft_arena_zero(arena, 1, sizeof *recipe, err);
    parts = recipe ? heft_arena_zero(arena, 1, sizeof *parts, err) : NULL;
    part = parts ? heft_arena_zero(arena, 1, sizeof *part, err) : NULL;
    if (!part)
        return false;
    *recipe = (struct heft_recipe){.make = make_zeros,
                                   .identity = "zeros",
                                   .piece = INT64_MAX, /* any number */
                                   .rounds = like->dtype,
                                   .as = like->dtype};
    part->storage = heft_row_storage(like, 0); /* a valid one, which is not read */
    *parts = (struct heft_parts){.list = part, .n = 1, .recipe = recipe};
    *out = (struct heft_row){.shape = like->shape,
                             .bytes = like->bytes,
                             .parts = parts,
                             .storage = part->storage,
                             .dtype = like->dtype,
                             .rank = like->rank};
    return true;
}
