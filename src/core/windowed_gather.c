/* windowed_gather.c: the elements of a box that lie in a window of the storage.
 *
 *     dims by stride    [n-1]  indexes ──────────────────────────────────────────►
 *                              before │ some inside │ all inside │ some │ after
 *                                           │             │          │
 *                       [n-2]            recursion     scattered  recursion
 *                         …
 *                       the innermost dims, up to 256 elements (leaves) in all: a list sorted by
 *                       storage offset, of which a range lies in the window
 *
 * If dimensions overlap, one index can have elements on both sides of the window. The list of leaves
 * bounds the work to a few steps an element even if all extents are 2. */
#include "core/nd_view.h"

enum { LEAVES = 256 };

struct leaf {
    uint64_t from, to;
};

struct window_walk {
    uint8_t *dst;
    const uint8_t *p; /* bytes of the window */
    /* storage offsets at which elements inside the window start: [begin, end) */
    uint64_t begin, end;
    uint64_t next; /* smallest start of an element after the window */
    struct heft_nd_view *box;
    uint32_t each;
    unsigned listed; /* number of leading dims whose elements are in the list */
    size_t n_leaves;
    struct leaf leaves[LEAVES];
};

/* ---- dimensions that one window covers --------------------------------------------------- */

static void list_leaves(struct window_walk *s)
{
    const struct heft_dim *const dims = s->box->dims;
    uint64_t size = 1;
    struct heft_walk walk;

    s->listed = 0;
    s->n_leaves = 0;
    while (s->listed < s->box->n && dims[s->listed].n <= LEAVES / size)
        size *= dims[s->listed++].n;
    heft_walk_begin(&walk, 0, s->listed);
    do {
        size_t i = s->n_leaves++;

        for (; i > 0 && s->leaves[i - 1].from > walk.from; i--)
            s->leaves[i] = s->leaves[i - 1];
        s->leaves[i] = (struct leaf){walk.from, walk.to};
    } while (heft_walk_next(&walk, dims, 0, s->listed));
}

/* `before`: offset of the window minus offset of the first leaf, modulo 2^64; the subtraction
 * below undoes the wrap-around. */
HEFT_WRAPS static inline void copy_each(uint8_t *dst, const uint8_t *src, const struct leaf *leaves,
                                        size_t n, uint64_t before, size_t size)
{
    for (size_t i = 0; i < n; i++)
        memcpy(dst + leaves[i].to, src + (leaves[i].from - before), size);
}

HEFT_WRAPS static void copy_leaves(const struct window_walk *s, uint64_t from, uint64_t to,
                                   size_t first, size_t end)
{
    const struct leaf *const leaves = s->leaves + first;
    const size_t n = end - first;
    const uint64_t before = s->begin - from;

    switch (s->each) {
    case 1:
        copy_each(s->dst + to, s->p, leaves, n, before, 1);
        break;
    case 2:
        copy_each(s->dst + to, s->p, leaves, n, before, 2);
        break;
    case 4:
        copy_each(s->dst + to, s->p, leaves, n, before, 4);
        break;
    case 8:
        copy_each(s->dst + to, s->p, leaves, n, before, 8);
        break;
    case 16:
        copy_each(s->dst + to, s->p, leaves, n, before, 16);
        break;
    default: /* a block of several elements */
        copy_each(s->dst + to, s->p, leaves, n, before, s->each);
    }
}

/* Binary search: number of leaves that start before `bound`, an offset relative to the first
 * leaf. */
static size_t leaves_before(const struct window_walk *s, uint64_t bound)
{
    size_t lo = 0, hi = s->n_leaves;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (s->leaves[mid].from < bound)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Copies the leaves inside the window at one index of the outer dims. */
static void copy_leaves_inside(struct window_walk *s, uint64_t from, uint64_t to)
{
    const size_t first = from < s->begin ? leaves_before(s, s->begin - from) : 0;
    const size_t end = from < s->end ? leaves_before(s, s->end - from) : 0;

    copy_leaves(s, from, to, first, end);
    if (end < s->n_leaves)
        s->next = heft_min_u64(s->next, from + s->leaves[end].from);
}

/* ---- the outer dimensions ---------------------------------------------------------------- */

/* Node of the walk: a dimension and all dims inside it, at one index of those outside. Indexes
 * [i, end) have elements in the window; all elements of [in, out) are inside. */
struct node {
    uint64_t from, to;
    uint64_t i, in, out, end;
};

/* Number of indexes of a dimension that starts at `from` whose offsets are below the bound. */
static uint64_t indexes_below(const struct heft_dim *d, uint64_t from, uint64_t bound)
{
    if (bound <= from)
        return 0;
    return d->from == 0 ? d->n : heft_min_u64(d->n, (bound - from - 1) / d->from + 1);
}

static void open_node(struct window_walk *s, struct node *node, unsigned level, uint64_t from,
                      uint64_t to)
{
    const struct heft_dim *const d = &s->box->dims[level];
    const uint64_t last = s->box->last[level];

    node->from = from;
    node->to = to;
    node->i = s->begin > last ? indexes_below(d, from, s->begin - last) : 0;
    node->in = indexes_below(d, from, s->begin);
    node->out = s->end > last ? indexes_below(d, from, s->end - last) : 0;
    node->end = indexes_below(d, from, s->end);
    if (node->out <= node->in)
        node->in = node->out = node->end;
    if (node->end < d->n)
        s->next = heft_min_u64(s->next, from + node->end * d->from);
}

/* Scatters the indexes [in, out), all of whose elements are inside the window. */
static void copy_inside(const struct window_walk *s, const struct node *node, unsigned level)
{
    struct heft_dim *const d = &s->box->dims[level];
    const uint64_t all = d->n, from = node->from + node->in * d->from;

    d->n = node->out - node->in;
    heft_nd_view_scatter(s->dst + node->to + node->in * d->to, s->p + (from - s->begin),
                         s->box->dims, level + 1, s->each);
    d->n = all;
}

static void walk_nodes(struct window_walk *s)
{
    struct node path[HEFT_ND_VIEW_DIMS];
    unsigned level = s->box->n - 1;

    open_node(s, &path[level], level, s->box->from, s->box->to);
    while (level < s->box->n) {
        struct node *const node = &path[level];
        const struct heft_dim *const d = &s->box->dims[level];
        const uint64_t from = node->from + node->i * d->from, to = node->to + node->i * d->to;

        if (node->i == node->in && node->in < node->out) {
            copy_inside(s, node, level);
            node->i = node->out;
        } else if (node->i == node->end) {
            level++;
        } else {
            node->i++;
            if (level == s->listed)
                copy_leaves_inside(s, from, to);
            else {
                level--;
                open_node(s, &path[level], level, from, to);
            }
        }
    }
}

uint64_t heft_windowed_gather(uint8_t *dst, const struct heft_window *window,
                              struct heft_nd_view *box, uint32_t each)
{
    struct window_walk s = {.dst = dst,
                            .p = window->p,
                            .begin = window->begin,
                            .end = window->begin + window->n - each + 1,
                            .next = UINT64_MAX,
                            .box = box,
                            .each = each};

    for (unsigned i = 0; i < box->n; i++)
        box->dims[i].at = box->dims[i].from;
    list_leaves(&s);
    if (s.listed == box->n)
        copy_leaves_inside(&s, box->from, box->to);
    else
        walk_nodes(&s);
    return s.next;
}
