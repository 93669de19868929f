/* shaping_boxes.c: what becomes of boxes when factors of the index space are cut, joined, sliced.
 *
 *     cut 6 into 2·3      [1,5) ─► [0,1)×[1,3), [1,2)×[0,2)       a head, whole blocks, a tail
 *     join 2·3            rows that are contiguous: one box; else one box a row
 *
 * The number of boxes is found first, and compared with the limit. */
#include "core/shaping_parts.h"

#define MOST_NUMBERS ((uint64_t)4 << 20) /* 32 MiB: boxes times factors, times 3 */

/* New boxes, made from the old ones. */
struct making {
    struct heft_shaping *s;
    unsigned factors;
    uint64_t *numbers;
    struct heft_shaping_box *boxes;
    size_t n;
};

static bool refuse_boxes(const struct heft_shaping *s, uint64_t boxes, struct heft_error *err)
{
    if (boxes == UINT64_MAX)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no view of the stored tensor: needs 2^64 parts, at most %" PRIu64
                         " are possible",
                         s->most);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no view of the stored tensor: needs %" PRIu64 " parts, at most %" PRIu64
                     " are possible",
                     boxes, s->most);
}

static bool begin_making(struct making *m, struct heft_shaping *s, uint64_t boxes, unsigned factors,
                         struct heft_error *err)
{
    *m = (struct making){.s = s, .factors = factors};
    if (boxes > s->most || boxes > MOST_NUMBERS / 3 / (factors + 1))
        return refuse_boxes(s, boxes, err);
    m->numbers = heft_calloc((size_t)boxes * 3 * factors + 1, sizeof *m->numbers, err);
    m->boxes = m->numbers ? heft_calloc((size_t)boxes + 1, sizeof *m->boxes, err) : NULL;
    if (!m->boxes)
        heft_free(m->numbers);
    return m->boxes != NULL;
}

static void end_making(struct making *m)
{
    heft_free(m->s->numbers);
    heft_free(m->s->boxes);
    m->s->numbers = m->numbers;
    m->s->boxes = m->boxes;
    m->s->n_boxes = m->n;
    m->s->n_factors = m->factors;
}

bool heft_shaping_room(struct heft_shaping *s, uint64_t boxes, unsigned factors,
                       struct heft_error *err)
{
    struct making m;

    if (!begin_making(&m, s, boxes, factors, err))
        return false;
    m.n = (size_t)boxes;
    end_making(&m);
    return true;
}

/* Adds a copy of box k in which factors [f, f + old) of the old list become [f, f + young), which are
 * zero. Returns their numbers: start, extents and strides are m->factors apart. */
static uint64_t *add_box(struct making *m, size_t k, unsigned f, unsigned old, unsigned young)
{
    const struct heft_shaping *const s = m->s;
    const uint64_t *from = heft_shaping_start(s, k);
    uint64_t *const to = m->numbers + m->n * 3 * m->factors;

    for (unsigned i = 0; i < 3; i++, from += s->n_factors) {
        uint64_t *const row = to + (size_t)i * m->factors;

        for (unsigned j = 0; j < f; j++)
            row[j] = from[j];
        for (unsigned j = f + old; j < s->n_factors; j++)
            row[j - old + young] = from[j];
    }
    m->boxes[m->n++] = s->boxes[k];
    return to + f;
}

/* ---- cutting a factor ------------------------------------------------------------------------ */

/* Numbers of a box along one factor. */
struct side {
    uint64_t start, extent, stride;
};

static struct side side_of(const struct heft_shaping *s, size_t k, unsigned f)
{
    return (struct side){heft_shaping_start(s, k)[f], heft_shaping_extent(s, k)[f],
                         heft_shaping_stride(s, k)[f]};
}

static void put_side(struct making *m, uint64_t *at, struct side side)
{
    at[0] = side.start;
    at[m->factors] = side.extent;
    at[2 * (size_t)m->factors] = side.extent > 1 ? side.stride : 0;
}

/* Pieces of [start, start + extent) at multiples of `inner`: a head, whole blocks, a tail. */
static unsigned cut_side(const struct side *side, uint64_t inner, struct side out[3])
{
    uint64_t at = side->start, left = side->extent;
    unsigned n = 0;

    while (left > 0) {
        const uint64_t room = inner - at % inner;
        const uint64_t some =
            room == inner && left >= inner ? left - left % inner : heft_min_u64(room, left);

        out[n++] = (struct side){at, some, side->stride};
        at += some;
        left -= some;
    }
    return n;
}

static void add_cut(struct making *m, size_t k, unsigned f, uint64_t inner, uint64_t from,
                    const struct side *piece)
{
    const uint64_t whole = piece->extent / inner;
    uint64_t *const at = add_box(m, k, f, 1, 2);
    struct side outer = {piece->start / inner, 1, 0}, rest = {0, inner, piece->stride};

    m->boxes[m->n - 1].offset += (piece->start - from) * piece->stride * heft_shaping_unit(m->s);
    if (piece->start % inner == 0 && whole > 0) {
        outer.extent = whole;
        outer.stride = whole > 1 ? piece->stride * inner : 0;
    } else {
        rest.start = piece->start % inner;
        rest.extent = piece->extent;
    }
    put_side(m, at, outer);
    put_side(m, at + 1, rest);
}

bool heft_shaping_cut_factor(struct heft_shaping *s, unsigned f, uint64_t inner,
                             struct heft_error *err)
{
    struct side pieces[3];
    uint64_t boxes = 0;
    struct making m;

    for (size_t k = 0; k < s->n_boxes; k++) {
        const struct side side = side_of(s, k, f);

        boxes += cut_side(&side, inner, pieces);
    }
    if (!begin_making(&m, s, boxes, s->n_factors + 1, err))
        return false;
    for (size_t k = 0; k < s->n_boxes; k++) {
        const struct side side = side_of(s, k, f);
        const unsigned n = cut_side(&side, inner, pieces);

        for (unsigned i = 0; i < n; i++)
            add_cut(&m, k, f, inner, side.start, &pieces[i]);
    }
    memmove(s->factor + f + 2, s->factor + f + 1, (s->n_factors - f - 1) * sizeof *s->factor);
    s->factor[f + 1] = inner;
    s->factor[f] /= inner;
    end_making(&m);
    return true;
}

/* ---- joining factors --------------------------------------------------------------------------- */

/* Whether a box remains one box: it has one index of the outer factor, or all indexes of the inner one
 * with strides that continue. */
static bool joins(const struct heft_shaping *s, size_t k, unsigned f)
{
    const struct side a = side_of(s, k, f), b = side_of(s, k, f + 1);

    return a.extent == 1 || (b.extent == s->factor[f + 1] && a.stride / b.extent == b.stride &&
                             a.stride % b.extent == 0);
}

uint64_t heft_shaping_count_joined(const struct heft_shaping *s, unsigned f)
{
    uint64_t boxes = 0;

    for (size_t k = 0; k < s->n_boxes; k++)
        if (!heft_add(boxes, joins(s, k, f) ? 1 : heft_shaping_extent(s, k)[f], &boxes))
            return UINT64_MAX;
    return boxes;
}

/* Adds box k, or its indexes [i, i + n) of the outer factor. */
static void add_joined(struct making *m, size_t k, unsigned f, uint64_t i, uint64_t n)
{
    const struct side a = side_of(m->s, k, f), b = side_of(m->s, k, f + 1);
    uint64_t *const at = add_box(m, k, f, 2, 1);

    m->boxes[m->n - 1].offset += i * a.stride * heft_shaping_unit(m->s);
    put_side(m, at,
             (struct side){(a.start + i) * m->s->factor[f + 1] + b.start, n * b.extent, b.stride});
}

bool heft_shaping_join_factors(struct heft_shaping *s, unsigned f, struct heft_error *err)
{
    struct making m;

    if (!begin_making(&m, s, heft_shaping_count_joined(s, f), s->n_factors - 1, err))
        return false;
    for (size_t k = 0; k < s->n_boxes; k++) {
        const uint64_t all = heft_shaping_extent(s, k)[f], n = joins(s, k, f) ? all : 1;

        for (uint64_t i = 0; i < all; i += n)
            add_joined(&m, k, f, i, n);
    }
    s->factor[f] *= s->factor[f + 1];
    memmove(s->factor + f + 1, s->factor + f + 2, (s->n_factors - f - 2) * sizeof *s->factor);
    end_making(&m);
    return true;
}

/* ---- slicing, inserting, ordering ---------------------------------------------------------------- */

/* Copies the numbers of a box to box `to`, without factor f if it is dropped. Never overtakes. */
static void move_box(struct heft_shaping *s, size_t to, size_t from, unsigned f, bool drops)
{
    const unsigned young = s->n_factors - drops;
    const uint64_t *const old = heft_shaping_start(s, from);
    uint64_t *out = s->numbers + to * 3 * young;

    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < s->n_factors; j++)
            if (!drops || j != f)
                *out++ = old[i * s->n_factors + j];
    s->boxes[to] = s->boxes[from];
}

/* Cuts box k to the range. False if nothing is left of it. */
static bool cut_box(struct heft_shaping *s, size_t k, unsigned f, uint64_t begin, uint64_t end)
{
    const struct side side = side_of(s, k, f);
    const uint64_t lo = heft_max_u64(begin, side.start);
    const uint64_t hi = heft_min_u64(end, side.start + side.extent);

    if (lo >= hi)
        return false;
    s->boxes[k].offset += (lo - side.start) * side.stride * heft_shaping_unit(s);
    heft_shaping_start(s, k)[f] = lo - begin;
    heft_shaping_extent(s, k)[f] = hi - lo;
    if (hi - lo == 1)
        heft_shaping_stride(s, k)[f] = 0;
    return true;
}

bool heft_shaping_slice_factor(struct heft_shaping *s, unsigned f, uint64_t begin, uint64_t end)
{
    const bool drops = end - begin == 1;
    size_t n = 0;

    for (size_t k = 0; k < s->n_boxes; k++)
        if (cut_box(s, k, f, begin, end))
            move_box(s, n++, k, f, drops);
    s->n_boxes = n;
    s->factor[f] = end - begin;
    if (!drops)
        return false;
    memmove(s->factor + f, s->factor + f + 1, (s->n_factors - f - 1) * sizeof *s->factor);
    s->n_factors--;
    return true;
}

bool heft_shaping_insert_factor(struct heft_shaping *s, unsigned f, struct heft_error *err)
{
    struct making m;

    if (!begin_making(&m, s, s->n_boxes, s->n_factors + 1, err))
        return false;
    for (size_t k = 0; k < s->n_boxes; k++)
        put_side(&m, add_box(&m, k, f, 0, 1), (struct side){0, 1, 0});
    memmove(s->factor + f + 1, s->factor + f, (s->n_factors - f) * sizeof *s->factor);
    s->factor[f] = 1;
    end_making(&m);
    return true;
}

static void order_list(uint64_t *list, const unsigned *order, unsigned n)
{
    uint64_t old[HEFT_SHAPING_FACTORS];

    for (unsigned i = 0; i < n; i++)
        old[i] = list[i];
    for (unsigned i = 0; i < n; i++)
        list[i] = old[order[i]];
}

void heft_shaping_order_factors(struct heft_shaping *s, const unsigned *order)
{
    order_list(s->factor, order, s->n_factors);
    for (size_t k = 0; k < 3 * s->n_boxes; k++)
        order_list(s->numbers + k * s->n_factors, order, s->n_factors);
}
