/* torch_keep_choose.c: decides which parts of a tree are kept, and under which keys, while the walk
 * of torch_tree.c visits it.
 *
 *     {"state_dict": {"w": T}, "optimizer_states": [{…}], "epoch": 3}      -g '!optimizer*'
 *          kept: T             excluded as a whole             kept
 *
 * A container is excluded if all its contents are. Pairs of a dictionary can be excluded and
 * renamed one by one. A list, tuple, set or object is kept or excluded as a whole: without some
 * parts it would mean something else (indexes would shift, an object would lack an attribute). */
#include "format/torch/write/torch_keep.h"

#define NAMES_SHOWN 8

enum { TAKEN = 1, LEFT = 2, HAS_TENSOR = 4 }; /* bits of an entry's fate */

static struct heft_keep *keep_of(const struct heft_torch_walk *w)
{
    return (struct heft_keep *)w->t->taker; /* the taker is the first member */
}

static struct heft_torch_frame *newest_frame(const struct heft_torch_walk *w)
{
    return &w->frames[w->n_frames - 1];
}

/* Entry of the newest frame that is being visited. */
static size_t current_entry(const struct heft_torch_walk *w)
{
    return newest_frame(w)->next - 1;
}

static bool is_below(const struct heft_torch_walk *w)
{
    return w->n_frames && keep_of(w)->frames[w->n_frames - 1].is_below;
}

/* The first n bytes of the path, without the part that --root removes. */
static struct heft_str path_below(const struct heft_torch_walk *w, size_t n)
{
    struct heft_str rest;

    heft_name_below((struct heft_str){w->path.p, n}, keep_of(w)->root, &rest);
    return rest;
}

/* ---- frames ------------------------------------------------------------------------------ */

/* Applies the rename rules to "state_dict.": the new name of a container is the prefix of its
 * renamed tensors. */
static bool rename_container(struct heft_torch_walk *w, struct heft_str path, struct heft_str *to)
{
    struct heft_keep *k = keep_of(w);
    const struct heft_plan_request *request = &k->out->plan->request;

    to->p = heft_arena_printf(&k->scratch, w->err, "%.*s.", (int)path.n, path.p);
    to->n = path.n + 1;
    return to->p && heft_rename_all(to, 1, request->rules, request->n_rules, &k->scratch, w->err);
}

bool heft_keep_open(struct heft_torch_walk *w)
{
    struct heft_keep *k = keep_of(w);
    const struct heft_torch_frame *f = newest_frame(w);
    const struct heft_str path = {w->path.p, f->path};
    struct heft_keep_frame frame = {0};
    struct heft_str rest;
    bool is_top;

    if (!heft_grow(&k->frames, &k->cap_frames, w->n_frames, 1, sizeof *k->frames, w->err) ||
        !heft_grow(&k->fates, &k->cap_fates, w->n_entries, 1, sizeof *k->fates, w->err) ||
        !heft_grow(&k->renamed, &k->cap_renamed, w->n_entries, 1, sizeof *k->renamed, w->err))
        return false;
    memset(k->fates + f->first, 0, w->n_entries - f->first);
    memset(k->renamed + f->first, 0, (w->n_entries - f->first) * sizeof *k->renamed);
    is_top = w->n_frames == 1 ? *k->root == '\0'
                              : !k->frames[w->n_frames - 2].is_below && heft_str_is(path, k->root);
    frame.is_below = is_top || heft_name_below(path, k->root, &rest);
    if (is_top && !k->has_top && f->node != HEFT_PICKLE_NIL) {
        k->top = f->node;
        k->has_top = true;
    }
    if (k->renames && frame.is_below && !is_top && path.n &&
        !rename_container(w, path_below(w, path.n), &frame.to))
        return false;
    k->frames[w->n_frames - 1] = frame;
    return true;
}

/* ---- entries ----------------------------------------------------------------------------- */

static bool cannot_move(struct heft_torch_walk *w, struct heft_str from, struct heft_str to)
{
    return heft_fail(
        w->err, HEFT_USAGE, HEFT_NO_OFFSET,
        "renaming \"%.*s\" to \"%.*s\" would move it to another container: torch files keep their "
        "nesting; rename within the container, or select a part with option root",
        (int)heft_min_u64(from.n, 200), from.p, (int)heft_min_u64(to.n, 200), to.p);
}

/* Records that entry `at` of frame `f`, called `name`, is renamed to `to` (full paths). */
static bool rename_entry(struct heft_torch_walk *w, size_t f, size_t at, struct heft_str name,
                         struct heft_str to)
{
    struct heft_keep *k = keep_of(w);
    const struct heft_str within = k->frames[f].to;
    const struct heft_str parent = path_below(w, w->frames[f].path);
    const bool in_top = within.n == 0;
    const size_t skip = in_top ? 0 : parent.n + 1;
    const struct heft_str old = {name.p + skip, name.n - skip};
    struct heft_str key;

    if (!heft_str_starts(to, within) || to.n == within.n)
        return cannot_move(w, name, to);
    key = (struct heft_str){to.p + within.n, to.n - within.n};
    if (heft_str_eq(key, old))
        return true;
    if (!heft_grow(&k->keys, &k->cap_keys, k->n_keys, 1, sizeof *k->keys, w->err))
        return false;
    k->keys[k->n_keys++] = key;
    k->renamed[at] = (uint32_t)k->n_keys; /* fits: fewer than names, which are limited */
    return true;
}

bool heft_keep_tensor(struct heft_torch_walk *w, uint32_t row)
{
    struct heft_keep *k = keep_of(w);
    const uint32_t item = row == HEFT_NONE ? HEFT_NONE : k->item_of_row[row];

    if (!is_below(w))
        return true;
    k->fates[current_entry(w)] = HAS_TENSOR | (item == HEFT_NONE ? LEFT : TAKEN);
    if (item == HEFT_NONE || !k->renames)
        return true;
    return rename_entry(w, w->n_frames - 1, current_entry(w), path_below(w, w->path.n),
                        k->out->exports->items[item].name);
}

static bool judge_path(struct heft_torch_walk *w, size_t path, uint8_t *fate)
{
    struct heft_keep *k = keep_of(w);
    const size_t n = w->path.n;
    struct heft_str name;
    char next;

    w->path.n = path;
    if (!heft_buf_room(&w->path, 1))
        return heft_buf_ok(&w->path, w->err);
    next = w->path.p[path];
    w->path.p[path] = '\0'; /* regular expressions need a NUL */
    name = path_below(w, path);
    *fate = heft_selector_takes(k->selector, name) ? TAKEN : LEFT;
    w->path.p[path] = next;
    w->path.n = n;
    return true;
}

bool heft_keep_value(struct heft_torch_walk *w)
{
    if (!is_below(w) || newest_frame(w)->is_tensor)
        return true;
    return judge_path(w, w->path.n, &keep_of(w)->fates[current_entry(w)]);
}

/* ---- containers -------------------------------------------------------------------------- */

/* The entries of a frame that are pairs of one dictionary node. */
struct pairs {
    uint32_t node; /* NIL if there is no such node */
    size_t first;  /* first entry */
    uint32_t n;
};

static uint32_t pair_count(const struct heft_torch_walk *w, uint32_t node)
{
    return heft_torch_count(w->t, node) / 2;
}

/* The argument from which a mapping is built (OrderedDict(pairs)). */
static uint32_t argument_of(const struct heft_torch *t, uint32_t call)
{
    const bool has_factory = heft_torch_callee(t, call) == HEFT_TORCH_DEFAULTDICT;

    return heft_torch_item(t, heft_torch_node(t, call)->u.call.args, has_factory ? 1 : 0);
}

static bool is_empty(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is_nothing(t, node) ||
           (heft_torch_count(t, node) == 0 &&
            (heft_torch_is(t, node, HEFT_PICKLE_DICT) || heft_torch_is(t, node, HEFT_PICKLE_LIST) ||
             heft_torch_is(t, node, HEFT_PICKLE_TUPLE)));
}

/* The node that holds an object's pairs: the call itself, its attributes, or an argument. */
static uint32_t holder_of(const struct heft_torch *t, uint32_t call, bool is_opaque)
{
    const struct heft_pickle_node *n = heft_torch_node(t, call);
    const enum heft_torch_kind kind = heft_torch_callee(t, call);
    const uint32_t argument = argument_of(t, call);

    if (kind == HEFT_TORCH_NAMESPACE)
        return heft_torch_is(t, n->state, HEFT_PICKLE_DICT) && n->first == HEFT_PICKLE_NIL
                   ? n->state
                   : HEFT_PICKLE_NIL;
    if (n->pairs && (is_opaque || is_empty(t, argument)))
        return call;
    if (!is_opaque && n->first == HEFT_PICKLE_NIL && heft_torch_is(t, argument, HEFT_PICKLE_DICT))
        return argument;
    return HEFT_PICKLE_NIL;
}

static struct pairs pairs_of(const struct heft_torch_walk *w, const struct heft_torch_frame *f)
{
    const struct heft_torch *t = w->t;
    struct pairs p = {HEFT_PICKLE_NIL, f->first, 0};
    const struct heft_pickle_node *n;

    if (f->node == HEFT_PICKLE_NIL || f->is_tensor)
        return p;
    n = heft_torch_node(t, f->node);
    if (n->kind == HEFT_PICKLE_DICT) {
        p.node = f->node;
    } else if (n->kind == HEFT_PICKLE_CALL) {
        const bool is_opaque = f->value->kind == HEFT_VALUE_OPAQUE;

        p.node = holder_of(t, f->node, is_opaque);
        if (is_opaque && p.node != HEFT_PICKLE_NIL)
            p.first = f->end - heft_min_size(pair_count(w, p.node), f->end - f->first);
    }
    p.n = p.node == HEFT_PICKLE_NIL ? 0 : pair_count(w, p.node);
    if (p.n > f->end - p.first) /* some keys are repeated: fewer entries than pairs */
        return (struct pairs){HEFT_PICKLE_NIL, f->first, 0};
    return p;
}

struct tally {
    bool taken, left, left_tensor, has_tensor, renamed;
    size_t first_left;
};

/* Counts the fates in a frame. Attributes follow their dictionary; the non-tensor parts of a tensor
 * follow the tensor. */
static struct tally count_fates(const struct heft_torch_walk *w, const struct heft_torch_frame *f,
                                const struct pairs *p)
{
    const struct heft_keep *k = keep_of(w);
    const size_t first = p->n ? p->first : f->first, end = p->n ? first + p->n : f->end;
    struct tally out = {.first_left = SIZE_MAX};

    for (size_t i = first; i < end; i++) {
        const uint8_t fate = k->fates[i];

        if (f->is_tensor && !(fate & HAS_TENSOR))
            continue;
        out.taken |= (fate & TAKEN) != 0;
        out.left |= (fate & LEFT) != 0;
        out.has_tensor |= (fate & HAS_TENSOR) != 0;
        out.left_tensor |= (fate & LEFT) && (fate & HAS_TENSOR);
        out.renamed |= k->renamed[i] != 0;
        if (fate & LEFT && out.first_left == SIZE_MAX)
            out.first_left = i;
    }
    return out;
}

static bool refuse_part(struct heft_torch_walk *w, const struct heft_torch_frame *f,
                        const char *why)
{
    const struct heft_str path = path_below(w, f->path);

    heft_fail(w->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "%s: a list, a tensor of several parts or an object can only be kept whole", why);
    return heft_error_about(w->err, "value", path.n ? path : HEFT_STR("(root)"));
}

static bool note_whole(struct heft_torch_walk *w, const struct heft_torch_frame *f)
{
    struct heft_keep *k = keep_of(w);

    if (k->n_whole++ >= NAMES_SHOWN)
        return true;
    heft_buf_text(&k->whole, ", ");
    heft_buf_str(&k->whole, path_below(w, f->path));
    return heft_buf_ok(&k->whole, w->err);
}

/* Refuses new keys that equal another new or kept key. */
static bool check_keys(struct heft_torch_walk *w, const struct pairs *p, const uint32_t *what)
{
    const struct heft_keep *k = keep_of(w);
    struct heft_strmap seen = {0};
    bool ok = true;

    for (uint32_t i = 0; ok && i < p->n; i++) {
        const uint32_t key = w->entries[p->first + i].key;
        const bool is_new = what[i] >= HEFT_RENAME_PAIR;
        struct heft_str text;
        uint32_t other = HEFT_MAP_NONE;

        if (is_new && !heft_torch_is_text(w->t, key)) {
            ok = heft_fail(w->err, HEFT_USAGE, HEFT_NO_OFFSET,
                           "a key that is not text cannot be renamed to %.*s",
                           (int)heft_min_u64(k->keys[what[i] - HEFT_RENAME_PAIR].n, 100),
                           k->keys[what[i] - HEFT_RENAME_PAIR].p);
            continue;
        }
        if (what[i] == HEFT_LEAVE_PAIR || !heft_torch_is_text(w->t, key))
            continue;
        text = is_new ? k->keys[what[i] - HEFT_RENAME_PAIR] : heft_pickle_text(&w->t->pickle, key);
        ok = heft_strmap_add(&seen, text, i, &other, w->err) &&
             (other == HEFT_MAP_NONE ||
              heft_fail(w->err, HEFT_USAGE, HEFT_NO_OFFSET, "two keys would have the name %.*s",
                        (int)heft_min_u64(text.n, 200), text.p));
    }
    heft_strmap_release(&seen);
    return ok;
}

static bool same_keys(const struct heft_keep *k, uint32_t a, uint32_t b)
{
    return a == b || (a >= HEFT_RENAME_PAIR && b >= HEFT_RENAME_PAIR &&
                      heft_str_eq(k->keys[a - HEFT_RENAME_PAIR], k->keys[b - HEFT_RENAME_PAIR]));
}

static bool same_change(const struct heft_keep *k, uint32_t known, const uint32_t *what, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!same_keys(k, known == HEFT_KEEP_UNCHANGED ? HEFT_KEEP_PAIR : k->changes[known].what[i],
                       what ? what[i] : HEFT_KEEP_PAIR))
            return false;
    return true;
}

/* Records which pairs are kept, dropped or renamed. A dictionary that several paths lead to must
 * get one result. */
static bool keep_change(struct heft_torch_walk *w, const struct heft_torch_frame *f,
                        const struct pairs *p, const struct tally *tally)
{
    struct heft_keep *k = keep_of(w);
    const uint32_t known = heft_u32map_get(&k->changed, p->node);
    struct heft_keep_change change = {.n = p->n};

    if (tally->left || tally->renamed) {
        change.what = heft_arena_zero(&k->scratch, p->n, sizeof *change.what, w->err);
        if (!change.what)
            return false;
    }
    for (uint32_t i = 0; change.what && i < p->n; i++) {
        const uint32_t renamed = k->renamed[p->first + i];

        change.what[i] = k->fates[p->first + i] & LEFT ? HEFT_LEAVE_PAIR
                         : renamed                     ? HEFT_RENAME_PAIR + renamed - 1
                                                       : HEFT_KEEP_PAIR;
        change.taken += change.what[i] != HEFT_LEAVE_PAIR;
    }
    if (known != HEFT_MAP_NONE)
        return same_change(k, known, change.what, p->n) ||
               refuse_part(w, f, "the same object is at two paths with different selections");
    if (!change.what)
        return heft_u32map_set(&k->changed, p->node, HEFT_KEEP_UNCHANGED, w->err);
    if (!check_keys(w, p, change.what) ||
        !heft_grow(&k->changes, &k->cap_changes, k->n_changes, 1, sizeof change, w->err))
        return false;
    k->changes[k->n_changes] = change;
    return heft_u32map_set(&k->changed, p->node, (uint32_t)k->n_changes++, w->err);
}

/* Passes the fate of a frame to its parent. A tensor with a row of its own has that row's fate. */
static bool tell_parent(struct heft_torch_walk *w, const struct heft_torch_frame *f, uint8_t fate)
{
    struct heft_keep *k = keep_of(w);
    size_t parent, at;

    if (w->n_frames < 2)
        return true;
    parent = w->n_frames - 2;
    if (!k->frames[parent].is_below)
        return true;
    at = w->frames[parent].next - 1;
    if (f->is_tensor && k->fates[at] & HAS_TENSOR)
        return true;
    k->fates[at] = fate;
    if (!k->renames || !(fate & TAKEN) || !(fate & HAS_TENSOR))
        return true;
    if (k->frames[parent + 1].to.n &&
        k->frames[parent + 1].to.p[k->frames[parent + 1].to.n - 1] == '.') {
        const struct heft_str to = k->frames[parent + 1].to;

        return rename_entry(w, parent, at, path_below(w, f->path),
                            (struct heft_str){to.p, to.n - 1});
    }
    return cannot_move(w, path_below(w, f->path), k->frames[parent + 1].to);
}

bool heft_keep_close(struct heft_torch_walk *w)
{
    const struct heft_torch_frame *f = newest_frame(w);
    const struct pairs p = pairs_of(w, f);
    const struct tally tally = count_fates(w, f, &p);
    const bool mixed = tally.taken && tally.left;
    uint8_t fate = tally.taken ? TAKEN : LEFT;

    if (!is_below(w))
        return true;
    if (!tally.taken && !tally.left && !f->is_tensor && f->path && !judge_path(w, f->path, &fate))
        return false;
    if (tally.taken && p.n && !keep_change(w, f, &p, &tally))
        return false;
    if (!p.n && mixed && tally.left_tensor)
        return refuse_part(w, f, "only a part of it is selected");
    if (!p.n && tally.renamed)
        return refuse_part(w, f, "an item of it would be renamed");
    if (!p.n && mixed && !note_whole(w, f))
        return false;
    return tell_parent(w, f, (uint8_t)(fate | (tally.has_tensor ? HAS_TENSOR : 0)));
}
