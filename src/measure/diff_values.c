/* diff_values.c: compares the values of two checkpoints, which are trees, in step:
 *
 *     a   {"epoch": 3, "best": 0.75, "args": {"lr": 0.1}}
 *     b   {"epoch": 4, "args": {"lr": 0.1}, "by": "me"}
 *     →   ~ epoch, - best, + by; args.lr is equal
 *
 * Children are matched by key, in most checkpoints in one order: the next child is tried first, then a
 * map of all, so that the time is linear. A subtree on one side only, or of another type, is reported as
 * one value. Shared references can multiply: the number of visited values is limited. */
#include "core/long_list.h"
#include "core/registry.h"
#include "measure/diff_tensors.h"

/* Children of a pair of containers. */
struct level {
    const struct heft_value *a, *b; /* the first children */
    const struct heft_value *next;  /* child of a to visit; after those, of b */
    const struct heft_value *guess; /* child of the other side that may belong to it */
    struct heft_strmap of_a, of_b;  /* key → index in `children`, if it is needed */
    const struct heft_value **children_a, **children_b;
    size_t path_n; /* length of the parent's path */
    bool is_second;
};

struct walk {
    const struct heft_model *a, *b;
    const struct heft_diff_visitor *visitor;
    struct heft_diff_counts *counts;
    const char *bookkeeping; /* key of values that are not compared; NULL: none */
    uint64_t left;           /* values that may still be visited */
    struct heft_buf path;
    struct level *levels;
    size_t n, cap;
    struct heft_error *err;
};

/* ---- single values ----------------------------------------------------------------------- */

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether two values are equal, apart from their children. */
static bool is_same_value(const struct heft_value *a, const struct heft_value *b)
{
    if (a->kind != b->kind || !is_same_text(a->type_name, b->type_name))
        return false;
    switch (a->kind) {
    case HEFT_VALUE_BOOL:
        return a->as.boolean == b->as.boolean;
    case HEFT_VALUE_INT:
        return a->as.integer == b->as.integer;
    case HEFT_VALUE_FLOAT:
        return bits_of(a->as.number) == bits_of(b->as.number);
    case HEFT_VALUE_BIGINT:
    case HEFT_VALUE_STRING:
    case HEFT_VALUE_BYTES:
        return heft_str_eq((struct heft_str){a->text, a->text_len},
                           (struct heft_str){b->text, b->text_len});
    case HEFT_VALUE_NULL:
    case HEFT_VALUE_LIST:
    case HEFT_VALUE_TUPLE:
    case HEFT_VALUE_SET:
    case HEFT_VALUE_DICT:
    case HEFT_VALUE_TENSOR:
    case HEFT_VALUE_GLOBAL:
    case HEFT_VALUE_OPAQUE:
        break;
    }
    return true;
}

/* Whether a value is bookkeeping of every state dict, or a dict of nothing else. */
static bool is_bookkeeping(const struct walk *w, const struct heft_value *v)
{
    const struct heft_value *const child = v->first_child;

    return w->bookkeeping && (is_same_text(v->key, w->bookkeeping) ||
                              (v->kind == HEFT_VALUE_DICT && child && !child->next_sibling &&
                               is_same_text(child->key, w->bookkeeping)));
}

/* Whether a value is compared: tensors are compared elsewhere. */
static bool is_compared(const struct walk *w, const struct heft_value *v)
{
    return v->kind != HEFT_VALUE_TENSOR && !is_bookkeeping(w, v);
}

/* First value from v on that is compared, or NULL. */
static const struct heft_value *skip_others(const struct walk *w, const struct heft_value *v)
{
    while (v && !is_compared(w, v))
        v = v->next_sibling;
    return v;
}

static bool tell(struct walk *w, const struct heft_value *a, const struct heft_value *b)
{
    const struct heft_diff_value value = {.kind = !b   ? HEFT_DIFF_ONLY_A
                                                  : !a ? HEFT_DIFF_ONLY_B
                                                       : HEFT_DIFF_BOTH,
                                          .path = w->path.p,
                                          .path_len = w->path.n,
                                          .a = a,
                                          .b = b};

    *(!b ? &w->counts->only_a : !a ? &w->counts->only_b : &w->counts->differ) += 1;
    return !w->visitor->value || w->visitor->value(w->visitor->ctx, &value) ||
           heft_fail(w->err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

/* ---- matching ---------------------------------------------------------------------------- */

static struct heft_str key_of(const struct heft_value *v)
{
    return (struct heft_str){v->key, v->key_len};
}

/* Lists the children and maps their keys. */
static bool map_children(const struct walk *w, const struct heft_value *first,
                         struct heft_strmap *map, const struct heft_value ***children)
{
    uint32_t n = 0, found;

    for (const struct heft_value *v = first; v; v = v->next_sibling)
        n++;
    *children = heft_calloc((size_t)n + 1, sizeof **children, w->err);
    if (!*children)
        return false;
    n = 0;
    for (const struct heft_value *v = skip_others(w, first); v;
         v = skip_others(w, v->next_sibling)) {
        (*children)[n] = v;
        if (!heft_strmap_add(map, key_of(v), n++, &found, w->err))
            return false;
    }
    return true;
}

/* Finds the child of the other side with the key of `v`; NULL if there is none. */
static bool find_child(struct walk *w, struct level *level, const struct heft_value *v,
                       const struct heft_value **out)
{
    struct heft_strmap *const map = level->is_second ? &level->of_a : &level->of_b;
    const struct heft_value ***children =
        level->is_second ? &level->children_a : &level->children_b;
    uint32_t at;

    *out = level->guess;
    if (!*out || !heft_str_eq(key_of(*out), key_of(v))) {
        if (!*children && !map_children(w, level->is_second ? level->a : level->b, map, children))
            return false;
        at = heft_strmap_get(map, key_of(v));
        *out = at == HEFT_MAP_NONE ? NULL : (*children)[at];
    }
    if (*out)
        level->guess = skip_others(w, (*out)->next_sibling);
    return true;
}

static bool push(struct walk *w, const struct heft_value *a, const struct heft_value *b)
{
    if (!heft_grow(&w->levels, &w->cap, w->n, 1, sizeof *w->levels, w->err))
        return false;
    w->levels[w->n++] = (struct level){.a = a->first_child,
                                       .b = b->first_child,
                                       .next = skip_others(w, a->first_child),
                                       .guess = skip_others(w, b->first_child),
                                       .path_n = w->path.n};
    return true;
}

static void pop(struct walk *w)
{
    struct level *const level = &w->levels[--w->n];

    heft_strmap_release(&level->of_a);
    heft_strmap_release(&level->of_b);
    heft_free(level->children_a);
    heft_free(level->children_b);
}

/* ---- the walk ---------------------------------------------------------------------------- */

/* Compares lists of which a tree has only a part; each counts as one value. */
static bool compare_lists(struct walk *w, const struct heft_value *a, const struct heft_value *b)
{
    bool is_equal;

    if (!heft_long_list_equal(w->a, a, w->b, b, &is_equal, w->err))
        return false;
    w->counts->equal += is_equal;
    return is_equal || tell(w, a, b);
}

static bool compare_pair(struct walk *w, const struct heft_value *a, const struct heft_value *b)
{
    if (!is_same_value(a, b))
        return tell(w, a, b);
    if (a->more || b->more)
        return compare_lists(w, a, b);
    if (a->first_child || b->first_child)
        return push(w, a, b);
    w->counts->equal++;
    return true;
}

/* Sets the path to that of a child. */
static bool set_path(struct walk *w, const struct level *level, const struct heft_value *v)
{
    w->path.n = level->path_n;
    if (level->path_n)
        heft_buf_char(&w->path, '.');
    heft_buf_put(&w->path, v->key, v->key_len);
    heft_buf_char(&w->path, '\0');
    w->path.n -= !w->path.failed;
    return heft_buf_ok(&w->path, w->err);
}

/* Visits the next child of the innermost level: those of a, then those that only b has. */
static bool visit_next(struct walk *w)
{
    struct level *const level = &w->levels[w->n - 1];
    const struct heft_value *const v = level->next, *other;

    if (!v && level->is_second) {
        pop(w);
        return true;
    }
    if (!v) {
        level->is_second = true;
        level->next = skip_others(w, level->b);
        level->guess = skip_others(w, level->a);
        return true;
    }
    if (w->left == 0)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "too many values to compare; leave out option metadata");
    w->left--;
    level->next = skip_others(w, v->next_sibling);
    if (!find_child(w, level, v, &other) || !set_path(w, level, v))
        return false;
    if (level->is_second)
        return other || tell(w, NULL, v);
    return other ? compare_pair(w, v, other) : tell(w, v, NULL);
}

/* Values below the root, if it is applied; NULL if there are none. */
static const struct heft_value *values_of(const struct heft_model *model, const char *root)
{
    return model->values && root ? heft_value_below(model->values, root) : model->values;
}

bool heft_diff_values(const struct heft_model *a, const char *root_a, const struct heft_model *b,
                      const char *root_b, const struct heft_diff_visitor *visitor,
                      struct heft_diff_counts *counts, struct heft_error *err)
{
    static const struct heft_value none = {.kind = HEFT_VALUE_DICT, .key = ""};
    const struct heft_value *const x = values_of(a, root_a), *const y = values_of(b, root_b);
    const struct heft_conventions *const known = a->formats ? a->formats->conventions : NULL;
    struct walk w = {.a = a,
                     .b = b,
                     .visitor = visitor,
                     .counts = counts,
                     .bookkeeping = known ? known->bookkeeping_value : NULL,
                     .left = heft_max_u64(a->limits.expansion, b->limits.expansion),
                     .err = err};
    bool ok = push(&w, x ? x : &none, y ? y : &none);

    while (ok && w.n > 0)
        ok = visit_next(&w);
    while (w.n > 0)
        pop(&w);
    heft_free(w.levels);
    heft_buf_release(&w.path);
    return ok;
}
