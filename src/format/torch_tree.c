/* torch_tree.c: walks the graph that the pickle machine made, from its root, and flattens it.
 *
 *     {"model": {"layer.weight": T, "layer.bias": T}, "epoch": 3, "args": Namespace(lr=0.1)}
 *
 *         rows    model.layer.weight, model.layer.bias
 *         values  {"epoch": 3, "args": {"lr": 0.1}}
 *
 * Iterative: a stack of frames, one a container that is open. A container's entries (key, value)
 * are gathered first, so that a repeated key can give way to the later one, as in Python. Objects
 * of unknown classes are containers too: of their arguments, attributes and items.
 *
 * The graph is the file's: it may hold cycles (a value met again within itself becomes an opaque
 * "cycle"), and share a value in many places ("billion laughs"): whatever is met again, and every
 * value made, is paid for from limits.expansion, so the walk is linear in the pickle plus that. */
#include "format/torch_parts.h"

/* Keys of entries that are no node. */
#define KEY_INDEX HEFT_PICKLE_NIL
#define KEY_ARGS  (HEFT_PICKLE_NIL - 1)
#define KEY_STATE (HEFT_PICKLE_NIL - 2)

enum { MARK_OPEN = 1, MARK_SEEN = 2, MARK_GATHERED = 4 };

#define FEW_KEYS 8 /* compared one by one: cheaper than a hash table */

struct entry {
    uint32_t key, value;
};

struct frame {
    uint32_t node;
    uint32_t index;          /* of the next entry without a key */
    size_t first, next, end; /* of its entries */
    size_t path;             /* bytes of the path that name it */
    unsigned segments;       /* of that path */
    struct heft_value *value;
    struct heft_value *last; /* of its children */
    bool has_tensor, has_other;
};

struct walk {
    struct heft_torch *t;
    struct frame *frames;
    size_t n_frames, cap_frames;
    struct entry *entries;
    size_t n_entries, cap_entries;
    struct heft_buf path;
    uint8_t *marks;      /* a node */
    uint64_t name_bytes; /* that names and keys may still take */
    uint32_t *cuts;      /* for rows of several segments: where each but the last ends … */
    size_t n_cuts, cap_cuts;
    size_t *row_cuts; /* … a row: its first one */
    size_t n_row_cuts, cap_row_cuts;
    bool is_deep, has_dot, is_ambiguous; /* two paths may give one name */
    struct heft_error *err;
};

static bool spend(struct walk *w, uint32_t node, uint64_t values)
{
    if (w->t->budget < values)
        return heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                         "more than %" PRIu64 " values besides the tensors: limits.expansion",
                         w->t->model->limits.expansion);
    w->t->budget -= values;
    return true;
}

static bool spend_name(struct walk *w, uint64_t bytes)
{
    if (w->name_bytes < bytes)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the names of tensors and values take more than 16 MiB and four times "
                         "the pickle");
    w->name_bytes -= bytes;
    return true;
}

/* ---- gathering a container's entries ----------------------------------------------------- */

static bool add_entry(struct walk *w, uint32_t key, uint32_t value)
{
    if (!heft_grow(&w->entries, &w->cap_entries, w->n_entries, 1, sizeof *w->entries, w->err))
        return false;
    w->entries[w->n_entries++] = (struct entry){key, value};
    return true;
}

/* Before the items of a node are gone through: the first time is paid for by the pickle. */
static bool pay_items(struct walk *w, uint32_t node)
{
    if (w->marks[node] & MARK_GATHERED)
        return spend(w, node, (uint64_t)heft_torch_count(w->t, node) + 1);
    w->marks[node] |= MARK_GATHERED;
    return true;
}

/* All items, as pairs or one by one. */
static bool add_items(struct walk *w, uint32_t node, bool pairs)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, node);
    uint32_t key = KEY_INDEX, value;

    if (!pay_items(w, node))
        return false;
    if (!heft_grow(&w->entries, &w->cap_entries, w->n_entries, heft_torch_count(w->t, node),
                   sizeof *w->entries, w->err))
        return false;
    while (heft_pickle_next(&iter, &value)) {
        if (pairs) {
            key = value;
            if (!heft_pickle_next(&iter, &value))
                break; /* the machine adds pairs only */
        }
        w->entries[w->n_entries++] = (struct entry){key, value};
    }
    return true;
}

static bool is_sequence(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_LIST) || heft_torch_is(t, node, HEFT_PICKLE_TUPLE);
}

static bool is_nothing(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL || heft_torch_is(t, node, HEFT_PICKLE_NONE);
}

/* [[key, value], (key, value) …]: what OrderedDict is called with in old files. */
static bool add_pairs(struct walk *w, uint32_t list)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, list);
    uint32_t pair;

    if (!pay_items(w, list))
        return false;
    while (heft_pickle_next(&iter, &pair)) {
        if (!is_sequence(w->t, pair) || heft_torch_count(w->t, pair) != 2)
            return heft_fail(w->err, HEFT_MALFORMED, heft_torch_where(w->t, list),
                             "a dictionary made from a list that holds no pairs");
        if (!add_entry(w, heft_torch_item(w->t, pair, 0), heft_torch_item(w->t, pair, 1)))
            return false;
    }
    return true;
}

/* Attributes: BUILD's dict, or a pair of dicts (attributes and slots), or anything. */
static bool add_state(struct walk *w, uint32_t state)
{
    const struct heft_torch *t = w->t;
    uint32_t first, second;

    if (is_nothing(t, state))
        return true;
    if (heft_torch_is(t, state, HEFT_PICKLE_DICT))
        return add_items(w, state, true);
    first = heft_torch_item(t, state, 0);
    second = heft_torch_item(t, state, 1);
    if (heft_torch_is(t, state, HEFT_PICKLE_TUPLE) && heft_torch_count(t, state) == 2 &&
        heft_torch_is(t, second, HEFT_PICKLE_DICT) &&
        (heft_torch_is(t, first, HEFT_PICKLE_DICT) || is_nothing(t, first)))
        return add_state(w, is_nothing(t, first) ? HEFT_PICKLE_NIL : first) &&
               add_items(w, second, true);
    return add_entry(w, KEY_STATE, state);
}

/* What a mapping is called with: nothing, a dict, or pairs. */
static bool add_mapping_argument(struct walk *w, uint32_t node)
{
    if (is_nothing(w->t, node))
        return true;
    if (heft_torch_is(w->t, node, HEFT_PICKLE_DICT))
        return add_items(w, node, true);
    return is_sequence(w->t, node) ? add_pairs(w, node) : add_entry(w, KEY_ARGS, node);
}

static bool add_sequence_argument(struct walk *w, uint32_t node)
{
    if (is_nothing(w->t, node))
        return true;
    if (is_sequence(w->t, node) || heft_torch_is(w->t, node, HEFT_PICKLE_SET) ||
        heft_torch_is(w->t, node, HEFT_PICKLE_FROZENSET))
        return add_items(w, node, false);
    return add_entry(w, KEY_ARGS, node);
}

/* copyreg's and numpy's ways to say "a new object of this class": it is the first argument. */
static uint32_t class_of(const struct heft_torch *t, uint32_t node, bool *in_arguments)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);
    const uint32_t callee = n->u.call.callee, first = heft_torch_item(t, n->u.call.args, 0);
    struct heft_str module, name;

    *in_arguments = false;
    if (!heft_torch_is(t, callee, HEFT_PICKLE_GLOBAL))
        return node;
    module = heft_pickle_text(&t->pickle, heft_torch_node(t, callee)->module);
    name = heft_pickle_text(&t->pickle, callee);
    heft_torch_rename(&module, &name);
    *in_arguments = ((heft_str_is(module, "copyreg") &&
                      (heft_str_is(name, "_reconstructor") || heft_str_is(name, "__newobj__"))) ||
                     heft_torch_callee(t, node) == HEFT_TORCH_NP_ARRAY) &&
                    heft_torch_is(t, first, HEFT_PICKLE_GLOBAL);
    return *in_arguments ? first : callee;
}

static bool gather_opaque(struct walk *w, uint32_t node, struct heft_value *value)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);
    bool in_arguments;
    const uint32_t class = class_of(w->t, node, &in_arguments);

    value->kind = HEFT_VALUE_OPAQUE;
    value->type_name = heft_torch_type_name(w->t, class, w->err);
    if (!value->type_name)
        return false;
    if (heft_torch_count(w->t, n->u.call.args) && !in_arguments &&
        !add_entry(w, KEY_ARGS, n->u.call.args))
        return false;
    return (n->module == HEFT_PICKLE_NIL || add_items(w, n->module, true)) &&
           add_state(w, n->state) && add_items(w, node, n->pairs);
}

static bool gather_call(struct walk *w, uint32_t node, struct heft_value *value)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);
    const enum heft_torch_kind kind = heft_torch_callee(w->t, node);
    const uint32_t first = heft_torch_item(w->t, n->u.call.args, 0);

    switch (kind) {
    case HEFT_TORCH_MAPPING:
    case HEFT_TORCH_DEFAULTDICT:
        value->kind = HEFT_VALUE_DICT;
        return add_mapping_argument(w, kind == HEFT_TORCH_MAPPING
                                           ? first
                                           : heft_torch_item(w->t, n->u.call.args, 1)) &&
               add_items(w, node, n->pairs) && add_state(w, n->state);
    case HEFT_TORCH_NAMESPACE:
        value->kind = HEFT_VALUE_DICT;
        value->type_name = "argparse.Namespace";
        return add_state(w, n->state) && add_items(w, node, n->pairs);
    case HEFT_TORCH_LIST:
    case HEFT_TORCH_TUPLE:
    case HEFT_TORCH_SET:
        value->kind = kind == HEFT_TORCH_LIST    ? HEFT_VALUE_LIST
                      : kind == HEFT_TORCH_TUPLE ? HEFT_VALUE_TUPLE
                                                 : HEFT_VALUE_SET;
        return add_sequence_argument(w, first) && add_items(w, node, n->pairs) &&
               add_state(w, n->state);
    default:
        return gather_opaque(w, node, value);
    }
}

static bool gather(struct walk *w, uint32_t node, struct heft_value *value)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);

    switch ((enum heft_pickle_kind)n->kind) {
    case HEFT_PICKLE_DICT:
        value->kind = HEFT_VALUE_DICT;
        return add_items(w, node, true) && add_state(w, n->state);
    case HEFT_PICKLE_CALL:
        return gather_call(w, node, value);
    case HEFT_PICKLE_LIST:
        value->kind = HEFT_VALUE_LIST;
        break;
    case HEFT_PICKLE_TUPLE:
        value->kind = HEFT_VALUE_TUPLE;
        break;
    default:
        value->kind = HEFT_VALUE_SET;
        break;
    }
    return add_items(w, node, false) && add_state(w, n->state);
}

/* ---- repeated keys ----------------------------------------------------------------------- */

/* Numbers that Python holds equal (1, 1.0, True) as one text; objects by who they are. */
static bool key_text(struct walk *w, uint32_t node, struct heft_buf *buf, struct heft_str *out)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);
    const double number = n->kind == HEFT_PICKLE_FLOAT ? n->u.number : 0.5;
    const char *copy;

    buf->n = 0;
    if (n->kind == HEFT_PICKLE_INT || n->kind == HEFT_PICKLE_BOOL)
        heft_buf_printf(buf, "%" PRId64, n->u.integer);
    else if (number >= -1e15 && number <= 1e15 && number == (double)(int64_t)number)
        heft_buf_printf(buf, "%" PRId64, (int64_t)number);
    else if (n->kind == HEFT_PICKLE_CALL || n->kind == HEFT_PICKLE_PERSID)
        heft_buf_printf(buf, "#%" PRIu32, node);
    else if (!heft_torch_key(w->t, node, node, buf, w->err))
        return false;
    if (!heft_buf_ok(buf, w->err) || !spend_name(w, buf->n))
        return false;
    copy = heft_arena_text(&w->t->graph, (struct heft_str){buf->p, buf->n}, w->err);
    *out = (struct heft_str){copy, buf->n};
    return copy != NULL;
}

struct dedupe {
    struct heft_strmap texts, others;
    struct heft_differ differ;
    struct heft_buf buf;
};

static bool find_same(struct walk *w, struct dedupe *d, size_t position, uint32_t *same)
{
    const uint32_t key = w->entries[position].key;
    const bool is_text = heft_torch_is_text(w->t, key);
    struct heft_str text;

    if (is_text)
        text = heft_pickle_text(&w->t->pickle, key);
    else if (!key_text(w, key, &d->buf, &text))
        return false;
    return heft_strmap_add(is_text ? &d->texts : &d->others, text, (uint32_t)position, same,
                           w->err);
}

static bool drop_repeated(struct walk *w, struct dedupe *d, size_t first)
{
    size_t kept = first;

    for (size_t i = first; i < w->n_entries; i++) {
        const struct entry e = w->entries[i];
        uint32_t same = HEFT_MAP_NONE;

        w->entries[kept] = e;
        if (e.key < KEY_STATE && !find_same(w, d, kept, &same))
            return false;
        if (same != HEFT_MAP_NONE)
            w->entries[same].value = e.value;
        else
            kept++;
    }
    w->n_entries = kept;
    return true;
}

/* Many keys, all of them texts and different, as in a state dictionary. False is an error. */
static bool texts_differ(struct walk *w, struct dedupe *d, size_t first, bool *yes)
{
    size_t i = first;

    if (!heft_differ_reserve(&d->differ, w->n_entries - first, w->err))
        return false;
    for (; i < w->n_entries; i++) {
        const uint32_t key = w->entries[i].key;

        if (key >= KEY_STATE || !heft_torch_is_text(w->t, key) ||
            !heft_differ_show(&d->differ, heft_pickle_text(&w->t->pickle, key)))
            break;
    }
    *yes = i == w->n_entries;
    return true;
}

/* Few keys, all of them texts and different: the ordinary case of small dictionaries. */
static bool clearly_unique(const struct walk *w, size_t first)
{
    const struct heft_pickle *pickle = &w->t->pickle;

    if (w->n_entries - first > FEW_KEYS)
        return false;
    for (size_t i = first; i < w->n_entries; i++) {
        if (w->entries[i].key >= KEY_STATE)
            continue;
        if (!heft_torch_is_text(w->t, w->entries[i].key))
            return w->n_entries - first == 1;
        for (size_t k = first; k < i; k++)
            if (w->entries[k].key < KEY_STATE &&
                heft_str_eq(heft_pickle_text(pickle, w->entries[i].key),
                            heft_pickle_text(pickle, w->entries[k].key)))
                return false;
    }
    return true;
}

/* The later value of a key wins, in the place of the first, as in Python. */
static bool settle_keys(struct walk *w, size_t first)
{
    struct dedupe d = {0};
    bool ok, unique, has_keys = false;

    for (size_t i = first; i < w->n_entries && !has_keys; i++)
        has_keys = w->entries[i].key < KEY_STATE;
    if (!has_keys || clearly_unique(w, first))
        return true;
    if (w->n_entries >= HEFT_MAP_NONE)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET, "more than 2^32 dictionary items");
    ok = texts_differ(w, &d, first, &unique) && (unique || drop_repeated(w, &d, first));
    heft_differ_release(&d.differ);
    heft_strmap_release(&d.texts);
    heft_strmap_release(&d.others);
    heft_buf_release(&d.buf);
    return ok;
}

/* ---- values ------------------------------------------------------------------------------ */

static struct frame *top_frame(struct walk *w)
{
    return &w->frames[w->n_frames - 1];
}

static bool is_keyed(const struct frame *f)
{
    return f->value->kind == HEFT_VALUE_DICT || f->value->kind == HEFT_VALUE_OPAQUE;
}

/* The last segment of the path: what the value is called in its parent. */
static bool set_key(struct walk *w, size_t segment, struct heft_value *value)
{
    const struct heft_str key = {w->path.p + segment, w->path.n - segment};
    char *copy;

    if (!spend_name(w, key.n))
        return false;
    copy = heft_arena_text(&w->t->model->mem, key, w->err);
    if (!copy)
        return false;
    heft_torch_mend(copy, key.n);
    value->key = copy;
    value->key_len = key.n;
    return true;
}

static struct heft_value *new_value(struct walk *w, uint32_t node, size_t segment)
{
    struct heft_value *value;

    if (!spend(w, node, 1))
        return NULL;
    value = heft_arena_zero(&w->t->model->mem, 1, sizeof *value, w->err);
    return value && set_key(w, segment, value) ? value : NULL;
}

static void attach(struct frame *parent, struct heft_value *child)
{
    if (parent->last)
        parent->last->next_sibling = child;
    else
        parent->value->first_child = child;
    parent->last = child;
}

static bool attach_named(struct walk *w, uint32_t node, size_t segment, enum heft_value_kind kind,
                         const char *type_name)
{
    struct heft_value *value = new_value(w, node, segment);

    if (!value)
        return false;
    value->kind = kind;
    value->type_name = type_name;
    attach(top_frame(w), value);
    top_frame(w)->has_other = true;
    return true;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Remembers how a row's path is cut into segments, to show it should another give the same name. */
static bool keep_cuts(struct walk *w)
{
    if (!heft_grow(&w->row_cuts, &w->cap_row_cuts, w->n_row_cuts, 1, sizeof *w->row_cuts, w->err))
        return false;
    w->row_cuts[w->n_row_cuts++] = w->n_cuts;
    for (size_t i = 1; i < w->n_frames; i++) {
        if (!heft_grow(&w->cuts, &w->cap_cuts, w->n_cuts, 1, sizeof *w->cuts, w->err))
            return false;
        w->cuts[w->n_cuts++] = (uint32_t)w->frames[i].path; /* names are bounded far below 4 GiB */
    }
    w->is_deep |= w->n_frames > 1;
    return true;
}

static bool add_row(struct walk *w, struct heft_torch_made *made, struct heft_str *name)
{
    const char *copy;

    if (!spend_name(w, w->path.n))
        return false;
    copy = heft_arena_text(&w->t->model->mem, (struct heft_str){w->path.p, w->path.n}, w->err);
    if (!copy)
        return false;
    *name = made->row.name = (struct heft_str){copy, w->path.n};
    return heft_model_add_row(w->t->model, &made->row, w->err) && keep_cuts(w);
}

static bool visit_tensor(struct walk *w, uint32_t node, size_t segment,
                         struct heft_torch_made *made)
{
    struct frame *f = w->n_frames ? top_frame(w) : NULL;
    struct heft_value *value;
    struct heft_str name;

    if (made->found == HEFT_TORCH_UNREAD) {
        if (!spend_name(w, w->path.n) ||
            !heft_model_add_unreadable(w->t->model, (struct heft_str){w->path.p, w->path.n},
                                       w->t->source, heft_torch_where(w->t, node), made->reason,
                                       w->err))
            return false;
        if (f && !is_keyed(f))
            return attach_named(w, node, segment, HEFT_VALUE_OPAQUE, made->reason);
    } else {
        if (!add_row(w, made, &name))
            return false;
        if (f && !is_keyed(f)) {
            value = new_value(w, node, segment);
            if (!value)
                return false;
            value->kind = HEFT_VALUE_TENSOR;
            value->text = name.p;
            value->text_len = name.n;
            attach(f, value);
        }
    }
    if (f)
        f->has_tensor = true;
    return true;
}

static struct heft_str row_name(const struct walk *w, size_t row)
{
    return w->t->model->rows[row].name;
}

/* "model / layer.weight": the segments of a row's path. */
static void put_path(const struct walk *w, size_t row, size_t begin, struct heft_buf *out)
{
    const struct heft_str name = row_name(w, row);
    const size_t k = row - begin;
    const size_t end = k + 1 < w->n_row_cuts ? w->row_cuts[k + 1] : w->n_cuts;
    size_t from = 0;

    for (size_t i = w->row_cuts[k]; i < end; i++) {
        heft_buf_put(out, name.p + from, w->cuts[i] - from);
        heft_buf_text(out, " / ");
        from = w->cuts[i] + (w->cuts[i] < name.n && name.p[w->cuts[i]] == '.');
    }
    heft_buf_put(out, name.p + from, name.n - from);
    heft_buf_char(out, '\0');
}

static bool same_name(struct walk *w, size_t row, size_t other, size_t begin)
{
    const struct heft_model *model = w->t->model;
    struct heft_buf a = {0}, b = {0};
    bool ok;

    put_path(w, other, begin, &a);
    put_path(w, row, begin, &b);
    ok = heft_buf_ok(&a, w->err) && heft_buf_ok(&b, w->err);
    if (ok) {
        heft_fail(w->err, HEFT_MALFORMED, model->storages[model->rows[row].storage].off,
                  "two paths give this name: %.100s and %.100s", a.p, b.p);
        heft_error_about(w->err, "tensor", row_name(w, row));
    }
    heft_buf_release(&a);
    heft_buf_release(&b);
    return false;
}

/* Two paths can only meet in one name where a key has a dot or is no text. */
static bool check_names(struct walk *w, size_t begin)
{
    struct heft_strmap names = {0};
    uint32_t other = HEFT_MAP_NONE;
    bool ok = true;

    if (!w->is_ambiguous && !(w->is_deep && w->has_dot))
        return true;
    for (size_t i = begin; ok && i < w->t->model->n_rows; i++)
        ok = heft_strmap_add(&names, row_name(w, i), (uint32_t)i, &other, w->err) &&
             (other == HEFT_MAP_NONE || same_name(w, i, other, begin));
    heft_strmap_release(&names);
    return ok;
}

/* ---- the walk ---------------------------------------------------------------------------- */

static bool push_frame(struct walk *w, uint32_t node, size_t segment, unsigned segments)
{
    struct frame f = {.node = node, .path = w->path.n, .segments = segments, .first = w->n_entries};

    if (w->n_frames >= w->t->model->limits.depth)
        return heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                         "values nested deeper than %" PRIu64, w->t->model->limits.depth);
    f.value = new_value(w, node, segment);
    if (!f.value || !gather(w, node, f.value) || !settle_keys(w, f.first) ||
        !heft_grow(&w->frames, &w->cap_frames, w->n_frames, 1, sizeof *w->frames, w->err))
        return false;
    f.next = f.first;
    f.end = w->n_entries;
    w->marks[node] |= MARK_OPEN;
    w->frames[w->n_frames++] = f;
    return true;
}

/* A dictionary leaves out what holds nothing but tensors; a list keeps its places. */
static void pop_frame(struct walk *w)
{
    const struct frame f = w->frames[--w->n_frames];
    struct frame *parent = w->n_frames ? top_frame(w) : NULL;
    const bool is_opaque = f.value->kind == HEFT_VALUE_OPAQUE;
    const bool only_tensors = f.has_tensor && !f.has_other && !is_opaque;

    w->marks[f.node] &= (uint8_t)~MARK_OPEN;
    w->n_entries = f.first;
    if (!parent) {
        if (f.has_other || is_opaque)
            w->t->values = f.value;
        return;
    }
    parent->has_tensor |= f.has_tensor;
    parent->has_other |= !only_tensors;
    if (!only_tensors || !is_keyed(parent))
        attach(parent, f.value);
}

static bool visit(struct walk *w, uint32_t node, size_t segment, unsigned segments)
{
    struct heft_torch_made made;
    struct heft_value leaf = {0}, *value;
    bool is_leaf;

    if (w->marks[node] & MARK_OPEN)
        return attach_named(w, node, segment, HEFT_VALUE_OPAQUE, "cycle");
    if (w->marks[node] & MARK_SEEN && !spend(w, node, 1))
        return false;
    w->marks[node] |= MARK_SEEN;
    if (!heft_torch_tensor(w->t, node, &made, w->err))
        return heft_error_about(w->err, "tensor", (struct heft_str){w->path.p, w->path.n});
    if (made.found != HEFT_TORCH_OTHER)
        return visit_tensor(w, node, segment, &made);
    if (!heft_torch_leaf(w->t, node, &leaf, &is_leaf, w->err))
        return heft_error_about(w->err, "value", (struct heft_str){w->path.p, w->path.n});
    if (!is_leaf)
        return push_frame(w, node, segment, segments);
    value = new_value(w, node, segment);
    if (!value)
        return false;
    leaf.key = value->key;
    leaf.key_len = value->key_len;
    *value = leaf;
    attach(top_frame(w), value);
    top_frame(w)->has_other = true;
    return true;
}

/* Appends an entry's own name to the path; *segment is where it begins. */
static bool name_entry(struct walk *w, struct frame *f, const struct entry *e, size_t *segment)
{
    w->path.n = f->path;
    if (f->segments)
        heft_buf_char(&w->path, '.');
    *segment = w->path.n;
    if (e->key == KEY_INDEX) {
        heft_buf_u64(&w->path, f->index++);
    } else if (e->key == KEY_ARGS || e->key == KEY_STATE) {
        heft_buf_text(&w->path, e->key == KEY_ARGS ? "args" : "state");
        w->is_ambiguous = true;
    } else {
        const bool is_text = heft_torch_is_text(w->t, e->key);

        if (!heft_torch_key(w->t, e->key, f->next - f->first, &w->path, w->err))
            return heft_error_about(w->err, "value", (struct heft_str){w->path.p, f->path});
        w->is_ambiguous |= !is_text;
    }
    if (!heft_buf_ok(&w->path, w->err))
        return false;
    if (w->path.n > w->t->model->limits.name)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "a name of %zu bytes, the limit is %" PRIu64, w->path.n,
                         w->t->model->limits.name);
    w->has_dot = w->has_dot || memchr(w->path.p + *segment, '.', w->path.n - *segment);
    return true;
}

static bool walk_frames(struct walk *w)
{
    while (w->n_frames) {
        struct frame *f = top_frame(w);
        struct entry e;
        size_t segment;

        if (f->next == f->end) {
            pop_frame(w);
            continue;
        }
        e = w->entries[f->next++];
        if (!name_entry(w, f, &e, &segment) || !visit(w, e.value, segment, f->segments + 1))
            return false;
    }
    return true;
}

/* A root that is a tensor or a plain value gets a name: the prefix, or "tensor", "value". */
static bool walk_root(struct walk *w)
{
    struct heft_torch *t = w->t;
    const uint32_t root = t->pickle.root;
    struct heft_torch_made made;
    struct heft_value leaf = {0};
    bool is_leaf;

    if (!heft_torch_tensor(t, root, &made, w->err))
        return heft_error_about(w->err, "tensor", HEFT_STR("tensor"));
    if (made.found != HEFT_TORCH_OTHER) {
        heft_buf_text(&w->path, t->prefix.n ? "" : "tensor");
        return heft_buf_ok(&w->path, w->err) && visit_tensor(w, root, 0, &made);
    }
    if (!heft_torch_leaf(t, root, &leaf, &is_leaf, w->err))
        return false;
    if (!is_leaf) {
        heft_buf_char(&w->path, '.'); /* so that it has memory, though its length may be 0 */
        w->path.n = t->prefix.n;
        return heft_buf_ok(&w->path, w->err) && push_frame(w, root, 0, t->prefix.n != 0) &&
               walk_frames(w);
    }
    leaf.key = t->prefix.n ? t->prefix.p : "value";
    leaf.key_len = strlen(leaf.key);
    t->values = heft_arena_zero(&t->model->mem, 2, sizeof leaf, w->err);
    if (!t->values)
        return false;
    t->values[1] = leaf;
    t->values->first_child = &t->values[1];
    return true;
}

bool heft_torch_walk(struct heft_torch *t, struct heft_error *err)
{
    const size_t begin = t->model->n_rows;
    struct walk w = {.t = t, .err = err};
    bool ok;

    w.name_bytes = ((uint64_t)16 << 20) + 4 * (uint64_t)t->pickle.length; /* below 2^35 */
    w.marks = heft_arena_zero(&t->graph, t->pickle.count, 1, err);
    heft_buf_str(&w.path, t->prefix);
    ok = w.marks &&
         heft_grow(&t->model->rows, &t->model->cap_rows, begin, t->n_storages,
                   sizeof *t->model->rows, err) &&
         heft_grow(&w.row_cuts, &w.cap_row_cuts, 0, t->n_storages, sizeof *w.row_cuts, err) &&
         walk_root(&w) && check_names(&w, begin);
    if (ok && t->values) { /* its root is a dict, whatever the pickle's was */
        t->values->kind = HEFT_VALUE_DICT;
        if (!t->values->key)
            t->values->key = "";
    }
    heft_free(w.frames);
    heft_free(w.entries);
    heft_free(w.cuts);
    heft_free(w.row_cuts);
    heft_buf_release(&w.path);
    heft_arena_release(&t->graph);
    return ok;
}
