/* module_fold.c: figures of modules, bottom-up; equal siblings with consecutive numbers are folded.
 *
 *     contents of a tensor      dtype, shape, whether it is tied
 *     contents of a module      the texts and contents of its members, sorted
 *
 * Contents are interned (hash consing), so that equal ones are one number, however large the
 * modules are. */
#include "measure/module_parts.h"

#include <assert.h>

#include "base/sort.h"

enum { MOST_DIGITS = 18 }; /* of an index */

/* A child of the module at hand. */
struct child {
    uint32_t node, text, kind; /* interned text, contents */
    uint32_t pattern;          /* the text around its index, interned; HEFT_NONE: no index */
    uint32_t rank;             /* the first child of the same pattern */
    uint64_t index;            /* the last number of its first component … */
    uint32_t begin, end;       /* … which is [begin, end) of its text; none if it is empty */
};

struct folder {
    struct heft_module_tree *tree;
    const struct heft_model *model;
    struct heft_strmap texts;           /* texts of nodes, borrowed from the names */
    struct heft_strmap contents, views; /* with keys in `mem` */
    struct heft_strmap patterns;        /* of the module at hand, with keys in `pattern_mem` */
    struct heft_arena mem, pattern_mem;
    struct heft_buf key;
    uint32_t *uses; /* rows on each storage; NULL: none is shared */
    struct child *children;
    size_t n, cap;
    uint32_t *in_order; /* 0, 1, 2 … */
    size_t n_in_order, cap_in_order;
};

/* ---- interning --------------------------------------------------------------------------- */

/* Number of the bytes in f->key, which is emptied: that of equal bytes before, or a new one. */
static bool intern_key(struct folder *f, struct heft_strmap *map, uint32_t *number,
                       struct heft_error *err)
{
    struct heft_arena *mem = map == &f->patterns ? &f->pattern_mem : &f->mem;
    struct heft_str key = {f->key.p, f->key.n};
    const char *copy;

    if (!heft_buf_ok(&f->key, err))
        return false;
    f->key.n = 0;
    *number = heft_strmap_get(map, key);
    if (*number != HEFT_MAP_NONE)
        return true;
    copy = heft_arena_text(mem, key, err);
    if (!copy)
        return false;
    key.p = copy;
    *number = (uint32_t)map->count;
    return heft_strmap_add(map, key, *number, &(uint32_t){0}, err);
}

static void put_u32(struct folder *f, uint32_t number)
{
    heft_buf_put(&f->key, &number, sizeof number);
}

static bool intern_text(struct folder *f, struct heft_str text, uint32_t *number,
                        struct heft_error *err)
{
    *number = heft_strmap_get(&f->texts, text);
    if (*number != HEFT_MAP_NONE)
        return true;
    *number = (uint32_t)f->texts.count;
    return heft_strmap_add(&f->texts, text, *number, &(uint32_t){0}, err);
}

/* ---- tensors ----------------------------------------------------------------------------- */

static uint64_t count_elements(const struct heft_row *row)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < row->rank; i++)
        if (row->shape[i] == 0)
            return 0;
    for (unsigned i = 0; i < row->rank; i++)
        n = n > UINT64_MAX / row->shape[i] ? UINT64_MAX : n * row->shape[i];
    return n;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void put_shape(struct folder *f, const struct heft_row *row)
{
    put_u32(f, row->dtype);
    put_u32(f, row->rank);
    if (row->rank)
        heft_buf_put(&f->key, row->shape, row->rank * sizeof *row->shape);
}

/* Whether an earlier row is the same view of the same storage. */
static bool find_tie(struct folder *f, const struct heft_row *row, bool *is_tied,
                     struct heft_error *err)
{
    const struct heft_storage *storage = &f->model->storages[row->storage];
    const size_t before = f->views.count;
    uint32_t ignored;

    *is_tied = false;
    if (!f->uses || row->parts || f->uses[row->storage] < 2 || !storage->len || storage->is_pooled)
        return true;
    put_shape(f, row);
    put_u32(f, row->storage);
    put_u32(f, row->flags);
    heft_buf_put(&f->key, &row->offset, sizeof row->offset);
    for (unsigned i = 0; row->stride && i < row->rank; i++) {
        const uint64_t stride = row->shape[i] == 1 ? 0 : row->stride[i];

        heft_buf_put(&f->key, &stride, sizeof stride);
    }
    if (!intern_key(f, &f->views, &ignored, err))
        return false;
    *is_tied = f->views.count == before;
    return true;
}

static bool measure_tensor(struct folder *f, struct heft_module_node *node, struct heft_error *err)
{
    const struct heft_row *row = &f->model->rows[node->row];
    const uint64_t elements = count_elements(row);

    if (!find_tie(f, row, &node->is_tied, err))
        return false;
    node->tensors = 1;
    static_assert(HEFT_DTYPE_COUNT <= 64 * HEFT_COUNT(node->dtypes), "a bit for each dtype");
    node->dtypes[row->dtype / 64] = UINT64_C(1) << row->dtype % 64;
    if (node->is_tied) {
        f->tree->tied++;
        f->tree->tied_parameters = add_saturated(f->tree->tied_parameters, elements);
        f->tree->tied_bytes = add_saturated(f->tree->tied_bytes, row->bytes);
    } else {
        node->parameters = elements;
        node->bytes = row->bytes;
    }
    heft_buf_char(&f->key, node->is_tied ? 'T' : 't');
    put_shape(f, row);
    return intern_key(f, &f->contents, &node->kind, err);
}

/* ---- contents of modules ----------------------------------------------------------------- */

static bool is_text_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct child *x = (const struct child *)ctx + a, *y = (const struct child *)ctx + b;

    return x->text != y->text ? x->text > y->text : x->kind > y->kind;
}

static bool is_pattern_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct child *x = (const struct child *)ctx + a, *y = (const struct child *)ctx + b;

    return x->pattern > y->pattern;
}

static bool is_index_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct child *x = (const struct child *)ctx + a, *y = (const struct child *)ctx + b;

    return x->rank != y->rank ? x->rank > y->rank : x->index > y->index;
}

/* Indexes of the children in sorted order. Most are sorted already, and need no memory. */
static const uint32_t *sort_children(struct folder *f, heft_after_fn *after, struct heft_arena *mem,
                                     struct heft_error *err)
{
    for (size_t i = 1; i < f->n; i++)
        if (after(f->children, (uint32_t)i - 1, (uint32_t)i))
            return heft_sort_indices(f->n, after, f->children, mem, err);
    if (!heft_grow(&f->in_order, &f->cap_in_order, f->n_in_order, f->n + 1, sizeof *f->in_order,
                   err))
        return NULL;
    for (; f->n_in_order < f->n; f->n_in_order++)
        f->in_order[f->n_in_order] = (uint32_t)f->n_in_order;
    return f->in_order;
}

/* Interns the members, sorted: their order in the file does not matter. */
static bool intern_members(struct folder *f, const uint32_t *order, uint32_t *kind,
                           struct heft_error *err)
{
    heft_buf_char(&f->key, 'm');
    for (size_t i = 0; i < f->n; i++) {
        put_u32(f, f->children[order[i]].text);
        put_u32(f, f->children[order[i]].kind);
    }
    return intern_key(f, &f->contents, kind, err);
}

/* ---- order and folding ------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

uint64_t heft_module_index(struct heft_str text, char separator, uint32_t *begin, uint32_t *end)
{
    const char *found = text.n ? memchr(text.p, separator, text.n) : NULL;
    uint64_t index = 0;

    *end = (uint32_t)(found ? (size_t)(found - text.p) : text.n);
    while (*end && !is_digit(text.p[*end - 1]))
        --*end;
    for (*begin = *end; *begin && is_digit(text.p[*begin - 1]);)
        --*begin;
    if (*end - *begin > MOST_DIGITS)
        *begin = *end;
    for (uint32_t i = *begin; i < *end; i++)
        index = index * 10 + (uint64_t)(text.p[i] - '0');
    return index;
}

/* Interns the text around an index, and the number of its digits if it is `width` wide. */
static bool intern_pattern(struct folder *f, struct child *child, uint32_t width,
                           struct heft_error *err)
{
    const char separator = f->tree->nodes[child->node].separator;
    const struct heft_str text = heft_module_text(f->tree, f->model, child->node);
    const char *after = text.n ? memchr(text.p, separator, text.n) : NULL;
    const size_t n = after ? (size_t)(after - text.p) : text.n;

    put_u32(f, child->begin);
    put_u32(f, width);
    heft_buf_put(&f->key, text.p, child->begin);
    heft_buf_put(&f->key, text.p + child->end, n - child->end);
    return intern_key(f, &f->patterns, &child->pattern, err);
}

static bool is_padded(const struct folder *f, const struct child *child)
{
    const struct heft_str text = heft_module_text(f->tree, f->model, child->node);

    return child->end - child->begin > 1 && text.p[child->begin] == '0';
}

/* Marks the patterns of indexes with leading zeros: 09 and 10 are of one pattern, 9 and 10 are of
 * another. */
static bool mark_padded(struct folder *f, struct heft_u32map *padded, struct heft_error *err)
{
    for (size_t i = 0; i < f->n; i++) {
        struct child *child = &f->children[i];

        if (is_padded(f, child) && !(intern_pattern(f, child, child->end - child->begin, err) &&
                                     heft_u32map_set(padded, child->pattern, 1, err)))
            return false;
    }
    return true;
}

static bool find_pattern(struct folder *f, struct child *child, const struct heft_u32map *padded,
                         struct heft_error *err)
{
    const uint32_t width = child->end - child->begin;

    child->pattern = HEFT_NONE;
    if (width == 0)
        return true;
    if (padded->count && !intern_pattern(f, child, width, err))
        return false;
    return (padded->count && heft_u32map_get(padded, child->pattern) != HEFT_MAP_NONE) ||
           intern_pattern(f, child, 0, err);
}

/* Number of children that have an index. */
static size_t find_indexes(struct folder *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        struct child *child = &f->children[i];

        child->index =
            heft_module_index(heft_module_text(f->tree, f->model, child->node),
                              f->tree->nodes[child->node].separator, &child->begin, &child->end);
        n += child->begin != child->end;
    }
    return n;
}

static bool find_patterns(struct folder *f, struct heft_error *err)
{
    struct heft_u32map padded = {0};
    bool ok = mark_padded(f, &padded, err);

    for (size_t i = 0; ok && i < f->n; i++)
        ok = find_pattern(f, &f->children[i], &padded, err);
    heft_u32map_release(&padded);
    heft_strmap_release(&f->patterns);
    heft_arena_release(&f->pattern_mem);
    return ok;
}

static void set_ranks(struct folder *f, const uint32_t *by_pattern)
{
    uint32_t first = 0;

    for (size_t i = 0; i < f->n; i++) {
        struct child *child = &f->children[by_pattern[i]];

        if (i == 0 || child->pattern == HEFT_NONE ||
            child->pattern != f->children[by_pattern[i - 1]].pattern)
            first = by_pattern[i];
        child->rank = first;
    }
}

/* Whether two children differ only in their indexes. */
static bool are_alike(const struct folder *f, const struct child *a, const struct child *b)
{
    const struct heft_module_node *x = &f->tree->nodes[a->node], *y = &f->tree->nodes[b->node];
    const struct heft_str left = heft_module_text(f->tree, f->model, a->node);
    const struct heft_str right = heft_module_text(f->tree, f->model, b->node);
    const char *p = left.n ? memchr(left.p, x->separator, left.n) : NULL;
    const char *q = right.n ? memchr(right.p, y->separator, right.n) : NULL;

    if (a->pattern == HEFT_NONE || a->pattern != b->pattern || a->kind != b->kind || !p != !q)
        return false;
    return !p || heft_str_eq((struct heft_str){p, (size_t)(left.p + left.n - p)},
                             (struct heft_str){q, (size_t)(right.p + right.n - q)});
}

/* Number of children from `at` on that are folded into one: their indexes grow by one, or, of at
 * least three, by the same step. */
static size_t run_length(const struct folder *f, const uint32_t *order, size_t at)
{
    uint64_t step = 0;
    size_t n = 1;

    for (; at + n < f->n; n++) {
        const struct child *a = &f->children[order[at + n - 1]], *b = &f->children[order[at + n]];

        if (!are_alike(f, a, b) || b->index == a->index || (n > 1 && b->index - a->index != step))
            break;
        step = b->index - a->index;
    }
    return n == 2 && step > 1 ? 1 : n;
}

static void link_runs(struct folder *f, uint32_t parent, const uint32_t *order)
{
    struct heft_module_node *nodes = f->tree->nodes;
    uint32_t *link = &nodes[parent].first_child;

    for (size_t i = 0, n; i < f->n; i += n) {
        struct heft_module_node *first = &nodes[f->children[order[i]].node];

        n = run_length(f, order, i);
        first->count = (uint32_t)n;
        first->last = f->children[order[i + n - 1]].node;
        *link = f->children[order[i]].node;
        link = &first->next;
    }
    *link = HEFT_NONE;
}

static bool fold_children(struct folder *f, uint32_t parent, struct heft_arena *mem,
                          struct heft_error *err)
{
    const uint32_t *order;

    if (find_indexes(f) < 2)
        return true;
    if (!find_patterns(f, err))
        return false;
    order = sort_children(f, is_pattern_after, mem, err);
    if (!order)
        return false;
    set_ranks(f, order);
    order = sort_children(f, is_index_after, mem, err);
    if (order)
        link_runs(f, parent, order);
    return order != NULL;
}

/* ---- all nodes --------------------------------------------------------------------------- */

static bool gather_children(struct folder *f, uint32_t parent, struct heft_error *err)
{
    const struct heft_module_node *nodes = f->tree->nodes;

    f->n = 0;
    for (uint32_t at = nodes[parent].first_child; at != HEFT_NONE; at = nodes[at].next) {
        struct child child = {.node = at, .kind = nodes[at].kind};

        if (!heft_grow(&f->children, &f->cap, f->n, 1, sizeof child, err) ||
            (parent != 0 &&
             !intern_text(f, heft_module_text(f->tree, f->model, at), &child.text, err)))
            return false;
        f->children[f->n++] = child;
    }
    return true;
}

static void sum_children(struct heft_module_tree *tree, uint32_t parent)
{
    struct heft_module_node *sum = &tree->nodes[parent];

    for (uint32_t at = sum->first_child; at != HEFT_NONE; at = tree->nodes[at].next) {
        const struct heft_module_node *child = &tree->nodes[at];

        sum->parameters = add_saturated(sum->parameters, child->parameters);
        sum->bytes = add_saturated(sum->bytes, child->bytes);
        for (size_t i = 0; i < HEFT_COUNT(sum->dtypes); i++)
            sum->dtypes[i] |= child->dtypes[i];
        sum->tensors += child->tensors;
    }
}

/* Sets the contents of a module. */
static bool find_kind(struct folder *f, uint32_t at, struct heft_arena *mem, struct heft_error *err)
{
    const uint32_t *order = sort_children(f, is_text_after, mem, err);

    return order && intern_members(f, order, &f->tree->nodes[at].kind, err);
}

/* The contents of the root are not compared with others. */
static bool measure_module(struct folder *f, uint32_t at, struct heft_error *err)
{
    struct heft_arena scratch = {0};
    bool ok;

    sum_children(f->tree, at);
    ok = gather_children(f, at, err) && (at == 0 || find_kind(f, at, &scratch, err)) &&
         fold_children(f, at, &scratch, err);
    heft_arena_release(&scratch);
    return ok;
}

static uint32_t first_leaf(const struct heft_module_tree *tree, uint32_t at)
{
    while (tree->nodes[at].first_child != HEFT_NONE)
        at = tree->nodes[at].first_child;
    return at;
}

/* Visits children before their parents. */
static bool measure_nodes(struct folder *f, struct heft_error *err)
{
    struct heft_module_node *nodes = f->tree->nodes;
    uint32_t at = first_leaf(f->tree, 0);

    for (;;) {
        struct heft_module_node *node = &nodes[at];

        node->count = 1;
        node->last = at;
        if (!(node->is_tensor ? measure_tensor(f, node, err) : measure_module(f, at, err)))
            return false;
        if (at == 0)
            return true;
        at = node->next != HEFT_NONE ? first_leaf(f->tree, node->next) : node->parent;
    }
}

static bool count_uses(struct folder *f, struct heft_error *err)
{
    if (f->model->no_shared_storage)
        return true;
    f->uses = heft_calloc(f->model->n_storages + 1, sizeof *f->uses, err);
    for (size_t i = 0; f->uses && i < f->model->n_rows; i++)
        f->uses[f->model->rows[i].storage]++;
    return f->uses != NULL;
}

bool heft_module_fold(struct heft_module_tree *tree, const struct heft_model *model,
                      struct heft_error *err)
{
    struct folder f = {.tree = tree, .model = model};
    const bool ok = count_uses(&f, err) && measure_nodes(&f, err);

    heft_strmap_release(&f.texts);
    heft_strmap_release(&f.contents);
    heft_strmap_release(&f.views);
    heft_arena_release(&f.mem);
    heft_buf_release(&f.key);
    heft_free(f.children);
    heft_free(f.in_order);
    heft_free(f.uses);
    return ok;
}
