/* torch_tree.c: walks the graph of the pickle machine from its root and flattens it.
 *
 *     {"model": {"layer.weight": T, "layer.bias": T}, "epoch": 3, "args": Namespace(lr=0.1)}
 *
 *         rows    model.layer.weight, model.layer.bias
 *         values  {"epoch": 3, "args": {"lr": 0.1}}
 *
 * Iterative: a stack of frames, one for each open container. The entries (key, value) of a
 * container are gathered first, so that the later value of a repeated key replaces the earlier one,
 * as in Python. Objects of unknown classes are containers of their arguments, attributes and items.
 *
 * The graph is untrusted: it may contain cycles (a value met inside itself becomes an opaque
 * "cycle") and share a value in many places ("billion laughs"). Every value that is created, or met
 * again, is charged to limits.expansion, so the walk is linear in the pickle plus that limit. */
#include "format/torch/pickle/torch_walk.h"

/* The node being visited and its position. */
struct place {
    uint32_t node;
    size_t segment;    /* start of its own name in the path */
    unsigned segments; /* segments of the path */
    bool outside;      /* in the state dict of its module */
    bool quoted;       /* as in an entry */
};

/* ---- values ------------------------------------------------------------------------------ */

static struct heft_torch_frame *top_frame(struct heft_torch_walk *w)
{
    return &w->frames[w->n_frames - 1];
}

static bool is_keyed(const struct heft_torch_frame *f)
{
    return f->value->kind == HEFT_VALUE_DICT || f->value->kind == HEFT_VALUE_OPAQUE;
}

/* The last segment of the path: the name of the value in its parent. Quoted if a number is spelled
 * alike: keys of a dict must differ. */
static bool set_key(struct heft_torch_walk *w, const struct place *at, struct heft_value *value)
{
    const size_t n = w->path.n - at->segment, quote = at->quoted;
    char *copy;

    if (!heft_torch_spend_name(w, n))
        return false;
    value->key = "";
    if (w->t->taker)
        return true;
    copy = heft_arena_chars(&w->t->model->mem, n + 2 * quote + 1, w->err);
    if (!copy)
        return false;
    memcpy(copy + quote, w->path.p + at->segment, n);
    heft_torch_mend(copy + quote, n);
    copy[0] = quote ? '\'' : copy[0];
    copy[n + quote] = quote ? '\'' : '\0';
    copy[n + 2 * quote] = '\0';
    value->key = copy;
    value->key_len = n + 2 * quote;
    return true;
}

static struct heft_value *new_value(struct heft_torch_walk *w, const struct place *at)
{
    struct heft_value *value;

    if (!heft_torch_spend(w, at->node, 1) || !heft_torch_weigh(w))
        return NULL;
    if (w->n_spare > 0) {
        value = w->spare[--w->n_spare];
        *value = (struct heft_value){0};
    } else {
        value = heft_arena_zero(&w->t->model->mem, 1, sizeof *value, w->err);
    }
    return value && set_key(w, at, value) ? value : NULL;
}

/* Puts a finished value into its container, or among the spare ones. */
static bool attach_value(struct heft_torch_walk *w, struct heft_torch_frame *parent,
                         struct heft_value *child)
{
    if (w->t->taker) {
        if (!heft_grow(&w->spare, &w->cap_spare, w->n_spare, 1, sizeof(void *), w->err))
            return false;
        w->spare[w->n_spare++] = child;
        return true;
    }
    if (parent->last)
        parent->last->next_sibling = child;
    else
        parent->value->first_child = child;
    parent->last = child;
    return true;
}

static bool attach_opaque(struct heft_torch_walk *w, const struct place *at, const char *type_name)
{
    struct heft_value *value = new_value(w, at);

    if (!value)
        return false;
    value->kind = HEFT_VALUE_OPAQUE;
    value->type_name = type_name;
    top_frame(w)->has_other = true;
    return attach_value(w, top_frame(w), value);
}

/* Records, on request, which opcodes made the row just added. */
static bool keep_provenance(struct heft_torch_walk *w, uint32_t node,
                            const struct heft_torch_made *made)
{
    const uint32_t key = w->entries[top_frame(w)->next - 1].key;

    return !w->t->provenance || heft_torch_keep_provenance(w->t, key, node, made, w->err);
}

/* ---- walking the graph ------------------------------------------------------------------- */

static bool push_frame(struct heft_torch_walk *w, const struct place *at, bool is_tensor)
{
    const uint32_t node = at->node;
    struct heft_torch_frame f = {.node = node,
                                 .path = w->path.n,
                                 .segments = at->segments,
                                 .outside = at->outside,
                                 .is_tensor = is_tensor,
                                 .rows = w->t->model->n_rows,
                                 .unreadable = w->t->model->n_unreadable,
                                 .first = w->n_entries};

    if (w->n_frames >= w->t->model->limits.depth)
        return heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                         "values nested deeper than %" PRIu64, w->t->model->limits.depth);
    f.value = new_value(w, at);
    if (!f.value || !(is_tensor ? heft_torch_gather_tensor : heft_torch_gather)(w, node, f.value) ||
        !heft_torch_settle_keys(w, f.first) ||
        !heft_grow(&w->frames, &w->cap_frames, w->n_frames, 1, sizeof *w->frames, w->err))
        return false;
    f.next = f.first;
    f.end = w->n_entries;
    w->marks[node] |= HEFT_TORCH_MARK_OPEN;
    w->frames[w->n_frames++] = f;
    return !w->t->taker || w->t->taker->open(w);
}

const char heft_torch_ordered_kind = 0;

static bool is_ordered(const struct heft_torch_walk *w, uint32_t node)
{
    const struct heft_torch_global *class;

    if (!heft_torch_is(w->t, node, HEFT_PICKLE_CALL))
        return false;
    class = heft_torch_global_of(w->t, heft_torch_node(w->t, node)->u.call.callee);
    return class && strcmp(class->name, "OrderedDict") == 0;
}

/* Records what a writer needs to know of a dictionary with tensors, and of the root. */
static bool keep_class(struct heft_torch_walk *w, const struct heft_torch_frame *f)
{
    const char *path;

    if ((!f->has_tensor && w->n_frames > 1) || !is_ordered(w, f->node))
        return true;
    if (!heft_torch_spend_name(w, f->path))
        return false;
    path = heft_arena_text(&w->t->model->mem, (struct heft_str){w->path.p, f->path}, w->err);
    return path &&
           heft_model_attach(
               w->t->model,
               (struct heft_attachment){&heft_torch_ordered_kind, {path, f->path}, NULL}, w->err);
}

/* A dictionary omits values that contain only tensors; a list keeps their positions. */
static bool pop_frame(struct heft_torch_walk *w)
{
    const struct heft_torch_frame f = w->frames[w->n_frames - 1];
    struct heft_torch_frame *parent = w->n_frames > 1 ? &w->frames[w->n_frames - 2] : NULL;
    const bool is_opaque = f.value->kind == HEFT_VALUE_OPAQUE;
    const bool only_tensors = f.has_tensor && !f.has_other && !is_opaque;

    if (w->t->taker && !w->t->taker->close(w))
        return false;
    w->n_frames--;
    if (f.node != HEFT_PICKLE_NIL)
        w->marks[f.node] &= (uint8_t)~HEFT_TORCH_MARK_OPEN;
    w->n_entries = f.first;
    if (f.is_tensor && !heft_torch_check_parts(w, &f))
        return heft_error_about(w->err, "tensor", (struct heft_str){w->path.p, f.path});
    if (!parent) {
        if (f.has_other || is_opaque) /* for an item: what the tensor has besides its row */
            w->t->values = w->t->is_item && f.node == HEFT_PICKLE_NIL ? f.last : f.value;
        return true;
    }
    parent->has_tensor |= f.has_tensor;
    parent->has_other |= !only_tensors;
    return (only_tensors && is_keyed(parent)) || attach_value(w, parent, f.value);
}

/* A tensor that is already a row. */
static bool refer_to_row(struct heft_torch_walk *w, const struct place *at, struct heft_str name)
{
    struct heft_value *value = new_value(w, at);

    if (!value)
        return false;
    value->kind = HEFT_VALUE_TENSOR;
    value->text = name.p;
    value->text_len = name.n;
    return attach_value(w, top_frame(w), value);
}

/* The placeholder of a tensor in a list. If the tensor has other contents, they take the position
 * themselves. */
static bool keep_place(struct heft_torch_walk *w, const struct place *at,
                       const struct heft_torch_made *made, struct heft_str name)
{
    if (is_keyed(top_frame(w)) || made->has_more)
        return true;
    return made->found == HEFT_TORCH_UNREAD ? attach_opaque(w, at, made->reason)
                                            : refer_to_row(w, at, name);
}

static bool add_unreadable(struct heft_torch_walk *w, const struct place *at,
                           const struct heft_torch_made *made)
{
    return heft_torch_spend_name(w, w->path.n) &&
           heft_model_add_unreadable(w->t->model, (struct heft_str){w->path.p, w->path.n},
                                     w->t->source, heft_torch_where(w->t, at->node), made->reason,
                                     w->err);
}

static bool visit_outsider(struct heft_torch_walk *w, const struct place *at,
                           const struct heft_torch_made *made)
{
    struct heft_value *value;

    if (made->found == HEFT_TORCH_PARTS)
        return push_frame(w, at, true);
    if (made->found == HEFT_TORCH_UNREAD)
        return attach_opaque(w, at, made->reason);
    value = new_value(w, at);
    if (!value || !heft_torch_add_outsider(w, at->node, &made->row, value))
        return false;
    top_frame(w)->has_other = true;
    return w->t->taker ? w->t->taker->value(w) : attach_value(w, top_frame(w), value);
}

static bool visit_tensor(struct heft_torch_walk *w, const struct place *at,
                         struct heft_torch_made *made)
{
    struct heft_str name = {0};

    if (at->outside)
        return visit_outsider(w, at, made);
    if (made->found == HEFT_TORCH_UNREAD && !add_unreadable(w, at, made))
        return false;
    if (made->found == HEFT_TORCH_ROW && top_frame(w)->value->kind != HEFT_VALUE_OPAQUE &&
        heft_torch_has_row(w->t, at->node, &name)) {
        top_frame(w)->has_tensor = top_frame(w)->has_other = true;
        return refer_to_row(w, at, name);
    }
    if (made->found == HEFT_TORCH_ROW &&
        (!heft_torch_add_row(w, at->node, made, &name) || !keep_provenance(w, at->node, made) ||
         !heft_torch_remember_row(w->t, at->node, w->err)))
        return false;
    if (w->t->taker && made->found != HEFT_TORCH_PARTS &&
        !w->t->taker->tensor(w, made->found == HEFT_TORCH_ROW ? (uint32_t)w->t->model->n_rows - 1
                                                              : HEFT_NONE))
        return false;
    w->n_recast += made->is_recast;
    top_frame(w)->has_tensor = true;
    return keep_place(w, at, made, name) && (!made->has_more || push_frame(w, at, true));
}

/* A number for the node that no other pickle of the model uses; 0 if numbers have run out. */
static uint32_t object_of(const struct heft_torch_walk *w, uint32_t node)
{
    const uint64_t number = (uint64_t)w->t->model->n_objects + node + 1;

    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Salvage: an invalid value becomes an opaque one. */
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

static bool visit_node(struct heft_torch_walk *w, struct place *at)
{
    uint32_t node;
    struct heft_torch_made made;
    struct heft_value leaf = {0}, *value;
    bool is_leaf;

    if (!heft_torch_untag(w->t, &at->node, w->err))
        return false;
    node = at->node;
    if (w->marks[node] & HEFT_TORCH_MARK_OPEN)
        return attach_opaque(w, at, "cycle");
    if (w->marks[node] & HEFT_TORCH_MARK_SEEN && !heft_torch_spend(w, node, 1))
        return false;
    w->marks[node] |= HEFT_TORCH_MARK_SEEN;
    if (!heft_torch_tensor(w->t, node, &made, w->err))
        return heft_error_about(w->err, "tensor", (struct heft_str){w->path.p, w->path.n});
    if (made.found != HEFT_TORCH_OTHER) {
        made.row.object = object_of(w, node);
        return visit_tensor(w, at, &made);
    }
    if (!read_leaf(w, node, &leaf, &is_leaf))
        return heft_error_about(w->err, "value", (struct heft_str){w->path.p, w->path.n});
    if (!is_leaf)
        return push_frame(w, at, false);
    value = new_value(w, at);
    if (!value)
        return false;
    leaf.key = value->key;
    leaf.key_len = value->key_len;
    *value = leaf;
    top_frame(w)->has_other = true;
    return attach_value(w, top_frame(w), value) && (!w->t->taker || w->t->taker->value(w));
}

/* Names of entries whose key is not a node. */
static const char *word_of(uint32_t key)
{
    static const char *const words[HEFT_TORCH_WORDS] = {
        [HEFT_TORCH_AXIS] = "axis",
        [HEFT_TORCH_CCOL_INDICES] = "ccol_indices",
        [HEFT_TORCH_COL_INDICES] = "col_indices",
        [HEFT_TORCH_CROW_INDICES] = "crow_indices",
        [HEFT_TORCH_DECLARED] = "dtype",
        [HEFT_TORCH_INDICES] = "indices",
        [HEFT_TORCH_IS_COALESCED] = "is_coalesced",
        [HEFT_TORCH_LAYOUT_NAME] = "layout",
        [HEFT_TORCH_OFFSETS] = "offsets",
        [HEFT_TORCH_ORIG_MOD] = "_orig_mod",
        [HEFT_TORCH_QSCHEME] = "qscheme",
        [HEFT_TORCH_ROW_INDICES] = "row_indices",
        [HEFT_TORCH_SCALE] = "scale",
        [HEFT_TORCH_SCALES] = "scales",
        [HEFT_TORCH_SHAPE] = "size",
        [HEFT_TORCH_SIZES] = "sizes",
        [HEFT_TORCH_STRIDES] = "strides",
        [HEFT_TORCH_VALUES] = "values",
        [HEFT_TORCH_ZERO_POINT] = "zero_point",
        [HEFT_TORCH_ZERO_POINTS] = "zero_points",
        [HEFT_TORCH_CONV] = "in_channels",
        "out_channels",
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "transposed",
        "output_padding",
        "groups",
        "padding_mode",
        "weight",
        "bias",
        "scale",
        "zero_point",
        "training",
    };

    switch (key) {
    case HEFT_TORCH_KEY_ARGS:
        return "args";
    case HEFT_TORCH_KEY_STATE:
        return "state";
    case HEFT_TORCH_KEY_ROOT:
        return "tensor";
    default:
        return words[key - HEFT_TORCH_KEY_WORD];
    }
}

/* Appends an entry's own name to the path; *segment is its start. */
static bool name_entry(struct heft_torch_walk *w, struct heft_torch_frame *f,
                       const struct heft_torch_entry *e, size_t *segment)
{
    w->path.n = f->path;
    if (f->segments)
        heft_buf_char(&w->path, '.');
    *segment = w->path.n;
    if (e->key == HEFT_TORCH_KEY_INDEX) {
        heft_buf_u64(&w->path, f->index++);
    } else if (e->key == HEFT_TORCH_KEY_ROOT && w->t->prefix.n) {
        heft_buf_str(&w->path, w->t->prefix); /* may contain a NUL */
    } else if (!heft_torch_is_node(e->key)) {
        heft_buf_text(&w->path, word_of(e->key));
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
                         "the name has %zu bytes, the limit is %" PRIu64, w->path.n,
                         w->t->model->limits.name);
    w->has_dot = w->has_dot || memchr(w->path.p + *segment, '.', w->path.n - *segment);
    return true;
}

static bool walk_frames(struct heft_torch_walk *w)
{
    while (w->n_frames) {
        struct heft_torch_frame *f = top_frame(w);
        struct heft_torch_entry e;
        struct place at;

        if (f->next == f->end) {
            if (!keep_class(w, f) || !pop_frame(w))
                return false;
            continue;
        }
        e = w->entries[f->next++];
        at = (struct place){.node = e.value,
                            .segments = f->segments + 1,
                            .outside = f->outside || e.outside,
                            .quoted = e.quoted};
        if (!name_entry(w, f, &e, &at.segment) || !visit_node(w, &at))
            return false;
    }
    return true;
}

/* Handles a root that is a tensor: it is visited as the only entry of an imaginary dictionary. */
static bool walk_tensor(struct heft_torch_walk *w, uint32_t root)
{
    struct heft_torch_frame f = {.node = HEFT_PICKLE_NIL, .end = 1};

    f.value = heft_arena_zero(&w->t->model->mem, 1, sizeof *f.value, w->err);
    if (!f.value || !heft_torch_add_entry(w, HEFT_TORCH_KEY_ROOT, root) ||
        !heft_grow(&w->frames, &w->cap_frames, w->n_frames, 1, sizeof *w->frames, w->err))
        return false;
    f.value->kind = HEFT_VALUE_DICT;
    w->frames[w->n_frames++] = f;
    return (!w->t->taker || w->t->taker->open(w)) && walk_frames(w);
}

/* Names a root that is a tensor or a plain value: the prefix, or "tensor" or "value". */
static bool walk_root(struct heft_torch_walk *w)
{
    struct heft_torch *t = w->t;
    uint32_t root = t->pickle.root;
    struct heft_torch_made made;
    struct place at = {.segments = t->prefix.n != 0};
    struct heft_value leaf = {0};
    bool is_leaf;

    if (!heft_torch_untag(t, &root, w->err))
        return false;
    at.node = root;
    if (!heft_torch_tensor(t, root, &made, w->err))
        return heft_error_about(w->err, "tensor", HEFT_STR("tensor"));
    if (made.found != HEFT_TORCH_OTHER)
        return walk_tensor(w, root);
    if (!heft_torch_leaf(t, root, &leaf, &is_leaf, w->err))
        return false;
    if (!is_leaf) {
        heft_buf_char(&w->path, '.'); /* allocates memory although the length may be 0 */
        w->path.n = t->prefix.n;
        return heft_buf_ok(&w->path, w->err) && push_frame(w, &at, false) && walk_frames(w);
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

static bool note_tensors(struct heft_torch_walk *w)
{
    struct heft_model *model = w->t->model;

    if (w->n_recast &&
        !heft_model_note(model, HEFT_NOTE, w->t->source, HEFT_NO_OFFSET, w->err,
                         "%" PRIu64
                         " tensor%s stored in another dtype than declared (the value NAME.dtype)",
                         w->n_recast, w->n_recast == 1 ? " is" : "s are"))
        return false;
    return w->n_doubts <= HEFT_TORCH_MOST_NOTES ||
           heft_model_note(model, HEFT_FINDING, w->t->source, HEFT_NO_OFFSET, w->err,
                           "%" PRIu64 " quantized tensors in all have such parameters",
                           w->n_doubts);
}

const char heft_torch_request_kind = 0;

/* Copies what the model's request asks of the torch readers. */
static void take_request(struct heft_torch *t)
{
    const struct heft_open_request *asked = &t->model->request;
    const struct heft_torch_request *request =
        asked->kind == &heft_torch_request_kind ? asked->data : NULL;

    t->provenance = request ? request->provenance : NULL;
    t->taker = request && t->is_object ? request->taker : NULL;
}

bool heft_torch_walk(struct heft_torch *t, struct heft_error *err)
{
    const size_t begin = t->model->n_rows;
    struct heft_torch_walk w = {.t = t, .err = err};
    bool ok;

    take_request(t);
    if (!t->is_item)
        t->names = HEFT_TORCH_NAMES;
    w.name_bytes = t->names + 4 * (uint64_t)t->pickle.length; /* no overflow: below 2^35 */
    w.marks = heft_arena_zero(&t->graph, t->pickle.count, 1, err);
    heft_buf_str(&w.path, t->prefix);
    ok = w.marks &&
         heft_grow(&t->model->rows, &t->model->cap_rows, begin, t->n_storages,
                   sizeof *t->model->rows, err) &&
         heft_grow(&w.row_cuts, &w.cap_row_cuts, 0, t->n_storages, sizeof *w.row_cuts, err) &&
         heft_grow(&w.row_nodes, &w.cap_row_nodes, 0, t->n_storages, sizeof *w.row_nodes, err) &&
         walk_root(&w) && heft_torch_fits(&w) &&
         (t->model->salvage || heft_torch_check_names(&w, begin)) && /* salvage: one is kept */
         heft_torch_settle_outsiders(&w, begin) && note_tensors(&w);
    t->names = heft_min_u64(t->names, w.name_bytes);
    if (ok && t->values &&
        !t->is_item) { /* the result is a dict, whatever the root of the pickle */
        t->values->kind = HEFT_VALUE_DICT;
        if (!t->values->key)
            t->values->key = "";
    }
    if (ok && t->is_object && !t->taker)
        t->model->has_tree = !heft_torch_is_plain(t);
    ok = ok && (!t->taker || t->taker->take(t, err));
    t->model->n_objects =
        (uint32_t)heft_min_u64(UINT32_MAX, (uint64_t)t->model->n_objects + t->pickle.count);
    heft_free(w.frames);
    heft_free(w.entries);
    heft_free(w.cuts);
    heft_free(w.row_cuts);
    heft_free(w.row_nodes);
    heft_free(w.cut_keys);
    heft_free(w.row_keys);
    heft_free(w.outsiders);
    heft_free(w.spare);
    heft_buf_release(&w.path);
    heft_arena_release(&t->graph);
    heft_model_hold(t->model, &t->held, 0);
    return ok;
}
