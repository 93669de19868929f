/* shaping_join.c: one tensor from many, and many from one.
 *
 *     cat 0       [4,6] as (2·2)(6)  and  [2,6] as (2)(6)
 *     align       (2)(2) | (6)            (1)(2) | (6)         all factors but the outermost of dimension 0
 *     result      (3)(2) | (6)            boxes [0,2)…, [2,3)…
 *
 * Factors are aligned from the right: the greatest common divisor of all innermost factors is cut off each
 * of them; if it is 1, factors are joined. So equal structures stay, and others cut as few boxes as they
 * must. */
#include "core/shaping_parts.h"

/* ---- shares ------------------------------------------------------------------------------------------- */

static bool sum_shares(const uint64_t *shares, size_t n, uint64_t *sum, struct heft_error *err)
{
    *sum = 0;
    for (size_t i = 0; i < n; i++)
        if (!heft_add(*sum, shares ? shares[i] : 1, sum))
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the shares add up to 2^64 or more");
    return *sum > 0 || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the shares add up to 0");
}

bool heft_shaping_shares(uint64_t extent, const uint64_t *shares, size_t n, uint64_t *extents,
                         struct heft_error *err)
{
    uint64_t sum;

    if (!sum_shares(shares, n, &sum, err))
        return false;
    if (extent % sum != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         shares ? "an extent of %" PRIu64 " does not divide by %" PRIu64
                                  ", the sum of the shares"
                                : "an extent of %" PRIu64 " does not divide into %" PRIu64
                                  " equal parts",
                         extent, sum);
    for (size_t i = 0; i < n; i++)
        extents[i] = extent / sum * (shares ? shares[i] : 1); /* at most the extent */
    return true;
}

/* Makes the slices of a dimension that follow each other. */
static bool cut_extents(const struct heft_shaping *s, uint64_t dim, const uint64_t *extents,
                        size_t n, struct heft_shaping *out, struct heft_error *err)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (!heft_shaping_copy(&out[i], s, err) ||
            !heft_shaping_slice(&out[i], dim, at, at + extents[i], err))
            return false;
        at += extents[i];
    }
    return true;
}

bool heft_shaping_split(const struct heft_shaping *s, uint64_t dim, const uint64_t *shares,
                        size_t n, struct heft_shaping *out, struct heft_error *err)
{
    uint64_t *extents;
    bool ok;

    if (!heft_shaping_check_dim(s, dim, err))
        return false;
    extents = heft_calloc(n + 1, sizeof *extents, err);
    ok = extents && heft_shaping_shares(s->shape[dim], shares, n, extents, err) &&
         cut_extents(s, dim, extents, n, out, err);
    heft_free(extents);
    return ok;
}

bool heft_shaping_unstack(const struct heft_shaping *s, uint64_t dim, size_t n,
                          struct heft_shaping *out, struct heft_error *err)
{
    if (!heft_shaping_check_dim(s, dim, err))
        return false;
    if (s->shape[dim] != n)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "dimension %" PRIu64 " has extent %" PRIu64 ", and %zu tensors are named",
                         dim, s->shape[dim], n);
    if (!heft_shaping_split(s, dim, NULL, n, out, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!heft_shaping_squeeze(&out[i], dim, err))
            return false;
    return true;
}

/* ---- aligning factors --------------------------------------------------------------------------------- */

/* Tensors that have elements, and a dimension of theirs that is aligned. */
struct aligning {
    struct heft_shaping *const *list;
    size_t n;
    unsigned dim;
    unsigned done; /* factors that are aligned, innermost; the same number in all */
};

/* Number of factors that are not aligned yet. */
static unsigned left_of(const struct aligning *a, size_t i)
{
    const struct heft_shaping *const s = a->list[i];

    return s->first[a->dim + 1] - s->first[a->dim] - a->done;
}

/* Number of the innermost of them. */
static unsigned last_of(const struct aligning *a, size_t i)
{
    return a->list[i]->first[a->dim + 1] - a->done - 1;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Greatest common divisor of the innermost factors; 1 where none is left. */
static uint64_t divisor_of(const struct aligning *a)
{
    uint64_t g = 0;

    for (size_t i = 0; i < a->n && g != 1; i++)
        g = common_divisor(g, left_of(a, i) ? a->list[i]->factor[last_of(a, i)] : 1);
    return g;
}

/* Cuts the divisor off all innermost factors. */
static bool cut_all(struct aligning *a, uint64_t divisor, struct heft_error *err)
{
    for (size_t i = 0; i < a->n; i++) {
        struct heft_shaping *const s = a->list[i];
        const unsigned f = last_of(a, i);

        if (s->factor[f] == divisor)
            continue;
        if (!heft_shaping_cut_factor(s, f, divisor, err))
            return false;
        heft_shaping_move_firsts(s, a->dim, 1);
    }
    a->done++;
    return true;
}

/* Joins the two innermost factors where there are two. */
static bool join_all(const struct aligning *a, struct heft_error *err)
{
    for (size_t i = 0; i < a->n; i++)
        if (left_of(a, i) > 1) {
            if (!heft_shaping_join_factors(a->list[i], last_of(a, i) - 1, err))
                return false;
            heft_shaping_move_firsts(a->list[i], a->dim, -1);
        }
    return true;
}

/* Whether each tensor has at most `most` factors that are not aligned. */
static bool has_at_most(const struct aligning *a, unsigned most)
{
    for (size_t i = 0; i < a->n; i++)
        if (left_of(a, i) > most)
            return false;
    return true;
}

/* Gives a dimension the same factors in all tensors; along the dimension of the concatenation (is_open) all
 * but the outermost one, which has another extent in each. */
static bool align(struct aligning *a, bool is_open, struct heft_error *err)
{
    while (!has_at_most(a, is_open ? 1 : 0)) {
        const uint64_t divisor = divisor_of(a);

        if (!(divisor > 1 ? cut_all(a, divisor, err) : join_all(a, err)))
            return false;
    }
    for (size_t i = 0; is_open && i < a->n; i++)
        if (left_of(a, i) == 0) {
            if (!heft_shaping_insert_factor(a->list[i], a->list[i]->first[a->dim], err))
                return false;
            heft_shaping_move_firsts(a->list[i], a->dim, 1);
        }
    return true;
}

/* ---- concatenating ------------------------------------------------------------------------------------ */

static bool check_alike(const struct heft_shaping *a, const struct heft_shaping *b, size_t number,
                        uint64_t dim, struct heft_error *err)
{
    if (a->dtype != b->dtype)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "tensor %zu is %s, the first one is %s; they must have one dtype", number,
                         heft_dtype_name(b->dtype), heft_dtype_name(a->dtype));
    if (a->rank != b->rank)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "tensor %zu has %u dimensions, the first one has %u", number, b->rank,
                         a->rank);
    for (unsigned d = 0; d < a->rank; d++)
        if (d != dim && a->shape[d] != b->shape[d])
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "tensor %zu has extent %" PRIu64
                             " in dimension %u, the first one has %" PRIu64,
                             number, b->shape[d], d, a->shape[d]);
    return true;
}

static bool check_list(struct heft_shaping *list, size_t n, uint64_t dim, uint64_t *extent,
                       struct heft_error *err)
{
    if (n == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no tensors to put together");
    *extent = 0;
    for (size_t i = 0; i < n; i++) {
        if (!heft_shaping_change(&list[i], err) || !heft_shaping_check_dim(&list[i], dim, err) ||
            !check_alike(&list[0], &list[i], i + 1, dim, err))
            return false;
        if (!heft_add(*extent, list[i].shape[dim], extent))
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the extents add up to 2^64 or more");
    }
    return true;
}

/* Sequences of bytes are put together along the outermost dimension that has more than one index. */
static bool check_bytes(const struct heft_shaping *s, uint64_t dim, struct heft_error *err)
{
    for (unsigned d = 0; s->is_bytes && d < dim; d++)
        if (s->shape[d] != 1)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "%s can be put together along dimension 0 only: its elements are not "
                             "whole bytes, or share a scale",
                             heft_dtype_name(s->dtype));
    return true;
}

/* Copies the boxes of a tensor behind those of *out, `before` indexes further along factor f. */
static void take_boxes(struct heft_shaping *out, size_t *n, const struct heft_shaping *s,
                       unsigned f, uint64_t before)
{
    const size_t width = 3 * (size_t)out->n_factors;

    memcpy(out->boxes + *n, s->boxes, s->n_boxes * sizeof *s->boxes);
    memcpy(out->numbers + *n * width, s->numbers, s->n_boxes * width * sizeof *s->numbers);
    for (size_t k = 0; k < s->n_boxes; k++)
        heft_shaping_start(out, *n + k)[f] += before;
    *n += s->n_boxes;
}

/* Puts aligned tensors together along their factor f. */
static bool join_boxes(struct heft_shaping *const *list, size_t n, unsigned f,
                       struct heft_shaping *out, struct heft_error *err)
{
    uint64_t boxes = 0, extent = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        boxes += list[i]->n_boxes; /* no overflow: in memory */
    memcpy(out->factor, list[0]->factor, list[0]->n_factors * sizeof *out->factor);
    memcpy(out->first, list[0]->first, sizeof out->first);
    if (!heft_shaping_room(out, boxes, list[0]->n_factors, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        take_boxes(out, &at, list[i], f, extent);
        extent += list[i]->factor[f];
    }
    out->factor[f] = extent;
    return true;
}

/* The byte sequences have one factor, or none for a single byte. */
static bool cat_bytes(struct heft_shaping *const *list, size_t n, struct heft_shaping *out,
                      struct heft_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->n_factors == 0 && !heft_shaping_insert_factor(list[i], 0, err))
            return false;
    return join_boxes(list, n, 0, out, err);
}

static bool cat_elements(struct heft_shaping *const *list, size_t n, unsigned dim,
                         struct heft_shaping *out, struct heft_error *err)
{
    for (unsigned d = 0; d < out->rank; d++) {
        struct aligning a = {.list = list, .n = n, .dim = d};

        if (!align(&a, d == dim, err))
            return false;
    }
    return join_boxes(list, n, list[0]->first[dim], out, err);
}

/* Puts the tensors that have elements together; a single one becomes the result. */
static bool cat_filled(struct heft_shaping *const *list, size_t n, unsigned dim,
                       struct heft_shaping *out, struct heft_error *err)
{
    if (n == 0)
        return true;
    if (n > 1)
        return out->is_bytes ? cat_bytes(list, n, out, err) : cat_elements(list, n, dim, out, err);
    if (!heft_shaping_room(out, list[0]->n_boxes, list[0]->n_factors, err))
        return false;
    return join_boxes(list, 1, 0, out, err);
}

static bool cat_list(struct heft_shaping *list, size_t n, unsigned dim, uint64_t extent,
                     struct heft_shaping *out, struct heft_error *err)
{
    struct heft_shaping **filled = heft_calloc(n, sizeof *filled, err);
    size_t n_filled = 0;
    bool ok;

    if (!filled)
        return false;
    *out = list[0];
    out->numbers = NULL;
    out->boxes = NULL;
    out->n_boxes = 0;
    out->n_factors = 0;
    out->origin = NULL;
    out->shape[dim] = extent;
    for (size_t i = 0; i < n; i++) {
        out->flags |= list[i].flags;
        if (list[i].n_boxes > 0)
            filled[n_filled++] = &list[i];
    }
    ok = heft_shaping_check_size(out, err) && cat_filled(filled, n_filled, dim, out, err);
    heft_free(filled);
    return ok;
}

bool heft_shaping_cat(struct heft_shaping *list, size_t n, uint64_t dim, struct heft_shaping *out,
                      struct heft_error *err)
{
    uint64_t extent = 0;
    bool ok = check_list(list, n, dim, &extent, err) && check_bytes(&list[0], dim, err) &&
              cat_list(list, n, (unsigned)dim, extent, out, err);

    for (size_t i = 0; i < n; i++)
        heft_shaping_release(&list[i]);
    return ok;
}

bool heft_shaping_stack(struct heft_shaping *list, size_t n, uint64_t dim, struct heft_shaping *out,
                        struct heft_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!heft_shaping_unsqueeze(&list[i], dim, err))
            return false;
    return heft_shaping_cat(list, n, dim, out, err);
}

/* ---- reorder --------------------------------------------------------------------------------------------- */

static bool check_blocks(const struct heft_shaping *s, uint64_t dim, const uint64_t *order,
                         size_t n, struct heft_error *err)
{
    bool *seen, ok = true;

    if (n == 0 || s->shape[dim] % n != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "dimension %" PRIu64 " has extent %" PRIu64
                         ", which does not divide into %zu blocks",
                         dim, s->shape[dim], n);
    seen = heft_calloc(n, sizeof *seen, err);
    for (size_t i = 0; seen && ok && i < n; i++) {
        ok = order[i] < n && !seen[order[i]];
        if (ok)
            seen[order[i]] = true;
        else
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                      "no permutation of the blocks: %" PRIu64 " at position %zu", order[i], i);
    }
    ok = ok && seen;
    heft_free(seen);
    return ok;
}

bool heft_shaping_reorder(struct heft_shaping *s, uint64_t dim, const uint64_t *order, size_t n,
                          struct heft_error *err)
{
    struct heft_shaping *blocks, out = {0};
    const struct heft_row *const origin = s->origin;
    bool ok = true;

    if (!heft_shaping_change(s, err) || !heft_shaping_check_dim(s, dim, err) ||
        !check_blocks(s, dim, order, n, err))
        return false;
    blocks = heft_calloc(n, sizeof *blocks, err);
    for (size_t i = 0; blocks && ok && i < n; i++) {
        const uint64_t each = s->shape[dim] / n;

        ok = heft_shaping_copy(&blocks[i], s, err) &&
             heft_shaping_slice(&blocks[i], dim, order[i] * each, (order[i] + 1) * each, err);
    }
    ok = blocks && ok && heft_shaping_cat(blocks, n, dim, &out, err);
    for (size_t i = 0; blocks && i < n; i++)
        heft_shaping_release(&blocks[i]);
    heft_free(blocks);
    if (!ok) {
        heft_shaping_release(&out);
        return false;
    }
    heft_shaping_release(s);
    *s = out;
    s->origin = origin;
    return true;
}
