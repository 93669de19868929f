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
#include "format/torch_walk.h"

bool heft_torch_spend(struct heft_torch_walk *w, uint32_t node, uint64_t values)
{
    if (w->t->budget < values)
        return heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                         "more than %" PRIu64 " values besides the tensors: limits.expansion",
                         w->t->model->limits.expansion);
    w->t->budget -= values;
    return true;
}

bool heft_torch_spend_name(struct heft_torch_walk *w, uint64_t bytes)
{
    if (w->name_bytes < bytes)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the names of tensors and values take more than 16 MiB and four times "
                         "the pickle");
    w->name_bytes -= bytes;
    return true;
}

/* ---- values ------------------------------------------------------------------------------ */

static struct heft_torch_frame *top_frame(struct heft_torch_walk *w)
{
    return &w->frames[w->n_frames - 1];
}

static bool is_keyed(const struct heft_torch_frame *f)
{
    return f->value->kind == HEFT_VALUE_DICT || f->value->kind == HEFT_VALUE_OPAQUE;
}

/* The last segment of the path: what the value is called in its parent. */
static bool set_key(struct heft_torch_walk *w, size_t segment, struct heft_value *value)
{
    const struct heft_str key = {w->path.p + segment, w->path.n - segment};
    char *copy;

    if (!heft_torch_spend_name(w, key.n))
        return false;
    copy = heft_arena_text(&w->t->model->mem, key, w->err);
    if (!copy)
        return false;
    heft_torch_mend(copy, key.n);
    value->key = copy;
    value->key_len = key.n;
    return true;
}

static struct heft_value *new_value(struct heft_torch_walk *w, uint32_t node, size_t segment)
{
    struct heft_value *value;

    if (!heft_torch_spend(w, node, 1))
        return NULL;
    value = heft_arena_zero(&w->t->model->mem, 1, sizeof *value, w->err);
    return value && set_key(w, segment, value) ? value : NULL;
}

static void attach(struct heft_torch_frame *parent, struct heft_value *child)
{
    if (parent->last)
        parent->last->next_sibling = child;
    else
        parent->value->first_child = child;
    parent->last = child;
}

static bool attach_named(struct heft_torch_walk *w, uint32_t node, size_t segment,
                         enum heft_value_kind kind, const char *type_name)
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

/* For those who ask: which opcodes made the row that was just added. */
static bool keep_trail(struct heft_torch_walk *w, uint32_t node, const struct heft_torch_made *made)
{
    const struct heft_torch_frame *f = w->n_frames ? top_frame(w) : NULL;
    const uint32_t key = f ? w->entries[f->next - 1].key : HEFT_PICKLE_NIL;

    return !w->t->model->trail || heft_torch_keep_trail(w->t, key, node, made, w->err);
}

static bool visit_tensor(struct heft_torch_walk *w, uint32_t node, size_t segment,
                         struct heft_torch_made *made)
{
    struct heft_torch_frame *f = w->n_frames ? top_frame(w) : NULL;
    struct heft_value *value;
    struct heft_str name;

    if (made->found == HEFT_TORCH_UNREAD) {
        if (!heft_torch_spend_name(w, w->path.n) ||
            !heft_model_add_unreadable(w->t->model, (struct heft_str){w->path.p, w->path.n},
                                       w->t->source, heft_torch_where(w->t, node), made->reason,
                                       w->err))
            return false;
        if (f && !is_keyed(f))
            return attach_named(w, node, segment, HEFT_VALUE_OPAQUE, made->reason);
    } else {
        const bool again =
            f && f->value->kind != HEFT_VALUE_OPAQUE && heft_torch_has_row(w->t, node, &name);

        if (!again && (!heft_torch_add_row(w, made, &name) || !keep_trail(w, node, made) ||
                       !heft_torch_remember_row(w->t, node, w->err)))
            return false;
        if (again || (f && !is_keyed(f))) {
            value = new_value(w, node, segment);
            if (!value)
                return false;
            value->kind = HEFT_VALUE_TENSOR;
            value->text = name.p;
            value->text_len = name.n;
            attach(f, value);
            f->has_other |= again;
        }
    }
    if (f)
        f->has_tensor = true;
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------- */

static bool push_frame(struct heft_torch_walk *w, uint32_t node, size_t segment, unsigned segments)
{
    struct heft_torch_frame f = {
        .node = node, .path = w->path.n, .segments = segments, .first = w->n_entries};

    if (w->n_frames >= w->t->model->limits.depth)
        return heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                         "values nested deeper than %" PRIu64, w->t->model->limits.depth);
    f.value = new_value(w, node, segment);
    if (!f.value || !heft_torch_gather(w, node, f.value) || !heft_torch_settle_keys(w, f.first) ||
        !heft_grow(&w->frames, &w->cap_frames, w->n_frames, 1, sizeof *w->frames, w->err))
        return false;
    f.next = f.first;
    f.end = w->n_entries;
    w->marks[node] |= HEFT_TORCH_MARK_OPEN;
    w->frames[w->n_frames++] = f;
    return true;
}

static bool is_ordered(const struct heft_torch_walk *w, uint32_t node)
{
    const struct heft_torch_global *class;

    if (!heft_torch_is(w->t, node, HEFT_PICKLE_CALL))
        return false;
    class = heft_torch_global_of(w->t, heft_torch_node(w->t, node)->u.call.callee);
    return class && strcmp(class->name, "OrderedDict") == 0;
}

/* What a writer has to know of a dictionary with tensors, and of the root. */
static bool keep_class(struct heft_torch_walk *w, const struct heft_torch_frame *f)
{
    if ((!f->has_tensor && w->n_frames > 1) || !is_ordered(w, f->node))
        return true;
    return heft_torch_spend_name(w, f->path) &&
           heft_model_add_ordered(w->t->model, (struct heft_str){w->path.p, f->path}, w->err);
}

/* A dictionary leaves out what holds nothing but tensors; a list keeps its places. */
static void pop_frame(struct heft_torch_walk *w)
{
    const struct heft_torch_frame f = w->frames[--w->n_frames];
    struct heft_torch_frame *parent = w->n_frames ? top_frame(w) : NULL;
    const bool is_opaque = f.value->kind == HEFT_VALUE_OPAQUE;
    const bool only_tensors = f.has_tensor && !f.has_other && !is_opaque;

    w->marks[f.node] &= (uint8_t)~HEFT_TORCH_MARK_OPEN;
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

/* A number for the node that no other pickle of the model has; 0 where they have run out. */
static uint32_t object_of(const struct heft_torch_walk *w, uint32_t node)
{
    const uint64_t number = (uint64_t)w->t->model->n_objects + node + 1;

    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Salvaging: a value that makes no sense stands as an opaque one. */
static bool read_leaf(struct heft_torch_walk *w, uint32_t node, struct heft_value *leaf,
                      bool *is_leaf)
{
    struct heft_error found = {0};

    if (heft_torch_leaf(w->t, node, leaf, is_leaf, &found))
        return true;
    if (!heft_model_forgives(w->t->model, &found)) {
        *w->err = found;
        return false;
    }
    *leaf = (struct heft_value){.kind = HEFT_VALUE_OPAQUE, .type_name = "damaged"};
    *is_leaf = true;
    return true;
}

static bool visit(struct heft_torch_walk *w, uint32_t node, size_t segment, unsigned segments)
{
    struct heft_torch_made made;
    struct heft_value leaf = {0}, *value;
    bool is_leaf;

    if (!heft_torch_untag(w->t, &node, w->err))
        return false;
    if (w->marks[node] & HEFT_TORCH_MARK_OPEN)
        return attach_named(w, node, segment, HEFT_VALUE_OPAQUE, "cycle");
    if (w->marks[node] & HEFT_TORCH_MARK_SEEN && !heft_torch_spend(w, node, 1))
        return false;
    w->marks[node] |= HEFT_TORCH_MARK_SEEN;
    if (!heft_torch_tensor(w->t, node, &made, w->err))
        return heft_error_about(w->err, "tensor", (struct heft_str){w->path.p, w->path.n});
    if (made.found != HEFT_TORCH_OTHER) {
        made.row.object = object_of(w, node);
        return visit_tensor(w, node, segment, &made);
    }
    if (!read_leaf(w, node, &leaf, &is_leaf))
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
static bool name_entry(struct heft_torch_walk *w, struct heft_torch_frame *f,
                       const struct heft_torch_entry *e, size_t *segment)
{
    w->path.n = f->path;
    if (f->segments)
        heft_buf_char(&w->path, '.');
    *segment = w->path.n;
    if (e->key == HEFT_TORCH_KEY_INDEX) {
        heft_buf_u64(&w->path, f->index++);
    } else if (e->key == HEFT_TORCH_KEY_ARGS || e->key == HEFT_TORCH_KEY_STATE) {
        heft_buf_text(&w->path, e->key == HEFT_TORCH_KEY_ARGS ? "args" : "state");
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

static bool walk_frames(struct heft_torch_walk *w)
{
    while (w->n_frames) {
        struct heft_torch_frame *f = top_frame(w);
        struct heft_torch_entry e;
        size_t segment;

        if (f->next == f->end) {
            if (!keep_class(w, f))
                return false;
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
static bool walk_root(struct heft_torch_walk *w)
{
    struct heft_torch *t = w->t;
    uint32_t root = t->pickle.root;
    struct heft_torch_made made;
    struct heft_value leaf = {0};
    bool is_leaf;

    if (!heft_torch_untag(t, &root, w->err))
        return false;
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
    t->values = heft_arena_zero(&t->model->mem, t->is_item ? 1 : 2, sizeof leaf, w->err);
    if (!t->values)
        return false;
    t->values[t->is_item ? 0 : 1] = leaf;
    if (!t->is_item)
        t->values->first_child = &t->values[1];
    return true;
}

bool heft_torch_walk(struct heft_torch *t, struct heft_error *err)
{
    const size_t begin = t->model->n_rows;
    struct heft_torch_walk w = {.t = t, .err = err};
    bool ok;

    if (!t->is_item)
        t->names = HEFT_TORCH_NAMES;
    w.name_bytes = t->names + 4 * (uint64_t)t->pickle.length; /* below 2^35 */
    w.marks = heft_arena_zero(&t->graph, t->pickle.count, 1, err);
    heft_buf_str(&w.path, t->prefix);
    ok = w.marks &&
         heft_grow(&t->model->rows, &t->model->cap_rows, begin, t->n_storages,
                   sizeof *t->model->rows, err) &&
         heft_grow(&w.row_cuts, &w.cap_row_cuts, 0, t->n_storages, sizeof *w.row_cuts, err) &&
         walk_root(&w) &&
         (t->model->salvage || heft_torch_check_names(&w, begin)); /* salvaging, one of two stays */
    t->names = heft_min_u64(t->names, w.name_bytes);
    if (ok && t->values && !t->is_item) { /* its root is a dict, whatever the pickle's was */
        t->values->kind = HEFT_VALUE_DICT;
        if (!t->values->key)
            t->values->key = "";
    }
    t->model->n_objects =
        (uint32_t)heft_min_u64(UINT32_MAX, (uint64_t)t->model->n_objects + t->pickle.count);
    heft_free(w.frames);
    heft_free(w.entries);
    heft_free(w.cuts);
    heft_free(w.row_cuts);
    heft_buf_release(&w.path);
    heft_arena_release(&t->graph);
    return ok;
}
