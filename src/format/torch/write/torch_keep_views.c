/* torch_keep_views.c: finds the part of a graph that the new root reaches, and the tensors in it
 * that have storages:
 *
 *     CALL _rebuild_tensor_v2 (PERSID, offset, size, stride, …)    COPIED: storage and offset change
 *     the same, cast to another dtype; an id that is a tensor      MADE: a new call
 *     PERSID, or CALL _load_from_bytes (…)                         BARE: a storage without a tensor
 *
 * NumPy arrays have their bytes in the pickle and are copied unchanged. Depth-first search with an
 * explicit stack; each node is visited once. */
#include "core/registry.h"
#include "format/torch/write/torch_keep.h"

#define NAMES_SHOWN 8

struct search {
    struct heft_keep *k;
    struct heft_torch *t;
    uint8_t *seen; /* one per node */
    uint32_t *stack;
    size_t n_stack, cap_stack;
    struct heft_error *err;
};

const struct heft_keep_change *heft_keep_change_of(const struct heft_keep *k, uint32_t node)
{
    const uint32_t found = heft_u32map_get(&k->changed, node);

    return found == HEFT_MAP_NONE || found == HEFT_KEEP_UNCHANGED ? NULL : &k->changes[found];
}

/* ---- calls that refer to a storage -------------------------------------------------------- */

/* True for an id that denotes a tensor. */
static bool is_tensor_id(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_PERSID) && !heft_torch_is_storage(t, node);
}

static enum heft_torch_kind kind_of(const struct heft_torch *t, uint32_t callee)
{
    const struct heft_torch_global *known = heft_torch_global_of(t, callee);

    return known ? (enum heft_torch_kind)known->kind : HEFT_TORCH_UNKNOWN;
}

/* True for a storage: an id, or a nested stream that holds one. */
static bool is_storage(struct heft_torch *t, uint32_t node, bool *yes, struct heft_error *err)
{
    const struct heft_torch_nested *nested;

    *yes = node != HEFT_PICKLE_NIL && heft_torch_is_storage(t, node);
    if (*yes || !heft_torch_is(t, node, HEFT_PICKLE_CALL) ||
        heft_torch_callee(t, node) != HEFT_TORCH_LOAD_BYTES)
        return true;
    if (!heft_torch_load_bytes(t, node, &nested, err))
        return false;
    *yes = nested->storage != HEFT_NONE;
    return true;
}

/* The tuple (storage, offset, …) of a call, after the arguments that name its class; NIL if it has
 * none. */
static bool view_arguments(struct heft_torch *t, uint32_t node, uint32_t *args,
                           enum heft_torch_kind *kind, struct heft_error *err)
{
    struct heft_torch_call call = heft_torch_call_of(t, node);
    struct heft_torch_layer layer;
    bool yes;

    while (kind_of(t, call.callee) == HEFT_TORCH_FROM_TYPE) {
        if (!heft_torch_unwrap(t, &call, &layer, err))
            return false;
        if (!layer.is_wrapper)
            break;
    }
    *kind = kind_of(t, call.callee);
    *args = call.args;
    switch (*kind) {
    case HEFT_TORCH_REBUILD:
    case HEFT_TORCH_REBUILD_V2:
    case HEFT_TORCH_REBUILD_V3:
    case HEFT_TORCH_QTENSOR:
    case HEFT_TORCH_CLASS:
    case HEFT_TORCH_TENSOR:
    case HEFT_TORCH_PARAMETER:
        break;
    default:
        *args = HEFT_PICKLE_NIL;
        return true;
    }
    if (heft_torch_is(t, call.state, HEFT_PICKLE_TUPLE) && heft_torch_count(t, call.state) == 4)
        *args = call.state;
    if (!heft_torch_is(t, *args, HEFT_PICKLE_TUPLE) || heft_torch_count(t, *args) < 4)
        *args = HEFT_PICKLE_NIL;
    if (!is_storage(t, heft_torch_item(t, *args, 0), &yes, err))
        return false;
    if (!yes)
        *args = HEFT_PICKLE_NIL;
    return true;
}

/* The call inside the wrappers of a tensor, which the search meets. */
static bool find_innermost(struct heft_torch *t, uint32_t node, uint32_t *inner,
                           struct heft_error *err)
{
    struct heft_torch_call call;
    struct heft_torch_layer layer;

    *inner = node;
    if (!heft_torch_is(t, node, HEFT_PICKLE_CALL))
        return true;
    call = heft_torch_call_of(t, node);
    do {
        const uint32_t first = heft_torch_item(t, call.args, 0);

        *inner = call.node;
        if (kind_of(t, call.callee) == HEFT_TORCH_PARAMETER && first != HEFT_PICKLE_NIL &&
            is_tensor_id(t, first)) {
            *inner = first;
            return true;
        }
        if (!heft_torch_unwrap(t, &call, &layer, err))
            return false;
        *inner = call.node;
    } while (layer.is_wrapper);
    return true;
}

/* ---- items of the export list ------------------------------------------------------------ */

static struct heft_str name_of(const struct heft_torch_out *out, uint32_t item)
{
    return out->exports->items[item].name;
}

/* Maps each call to the item of the export list whose row was made from it. */
static bool map_items(struct search *s)
{
    struct heft_keep *k = s->k;
    const struct heft_export_list *exports = k->out->exports;

    for (uint32_t i = 0; i < exports->n_items; i++) {
        const struct heft_row *row = exports->items[i].row;
        uint32_t node, known;

        if (row->object == 0 || row->object > s->t->pickle.count)
            return heft_fail(s->err, HEFT_LIMIT, HEFT_NO_OFFSET, "more than 2^32 values");
        if (!find_innermost(s->t, row->object - 1, &node, s->err))
            return false;
        known = heft_u32map_get(&k->item_of, node);
        if (known == HEFT_MAP_NONE && !heft_u32map_set(&k->item_of, node, i, s->err))
            return false;
        if (known != HEFT_MAP_NONE && exports->items[known].as != exports->items[i].as)
            return heft_fail(
                s->err, HEFT_USAGE, HEFT_NO_OFFSET,
                "%.200s and %.200s are the same tensor and cannot be cast to both %s and %s",
                name_of(k->out, known).p, name_of(k->out, i).p,
                heft_dtype_name((enum heft_dtype)exports->items[known].as),
                heft_dtype_name((enum heft_dtype)exports->items[i].as));
    }
    return true;
}

static const uint64_t *copy_numbers(struct heft_keep *k, const uint64_t *numbers, unsigned n,
                                    struct heft_error *err)
{
    uint64_t *copy = heft_arena_u64(k->out->plan->mem, n + 1ull, err);

    if (copy && n)
        memcpy(copy, numbers, n * sizeof *copy);
    return copy;
}

/* Adds a tensor that is not an item, such as a module's attribute. Its row outlives this reading. */
static bool add_unnamed(struct search *s, const struct heft_torch_made *made,
                        struct heft_export_item *item)
{
    struct heft_row *row = heft_arena_zero(s->k->out->plan->mem, 1, sizeof *row, s->err);

    if (!row)
        return false;
    *row = made->row;
    row->name = HEFT_STR("a tensor among the values");
    row->shape = copy_numbers(s->k, made->row.shape, row->rank, s->err);
    row->original_strides = row->stride =
        made->row.stride ? copy_numbers(s->k, made->row.stride, row->rank, s->err) : NULL;
    if (!row->shape || (made->row.stride && !row->stride) ||
        !heft_row_size((enum heft_dtype)row->dtype, row->rank, row->shape, &row->bytes))
        return false;
    *item = (struct heft_export_item){
        .row = row, .name = row->name, .bytes = row->bytes, .as = row->dtype};
    return true;
}

static bool read_view(struct search *s, uint32_t node, struct heft_torch_made *made)
{
    if (!heft_torch_tensor(s->t, node, made, s->err))
        return false;
    if (made->found == HEFT_TORCH_ROW)
        return true;
    return heft_fail(s->err, HEFT_UNSUPPORTED, heft_torch_where(s->t, node),
                     "a tensor among the values cannot be read: %s; exclude its container",
                     made->found == HEFT_TORCH_UNREAD ? made->reason : "of an unknown kind");
}

static bool refuse_dtype(const struct search *s, const struct heft_export_item *item)
{
    const bool is_zip = s->k->style == HEFT_TORCH_ZIP;
    const struct heft_format *format =
        heft_registry_find(s->k->out->exports->model->formats, is_zip ? "torch" : "torch-legacy");
    const enum heft_dtype as = (enum heft_dtype)item->as;
    enum heft_dtype to;

    if (heft_registry_supports_dtype(format, as))
        return true;
    to = heft_registry_instead(format, as);
    if (to == HEFT_DTYPE_COUNT)
        heft_fail(s->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "%s has no %s and no dtype to cast it to", format->name, heft_dtype_name(as));
    else
        heft_fail(s->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s has no %s; cast '%s=%s' would do",
                  format->name, heft_dtype_name(as), item->name.p, heft_dtype_name(to));
    return heft_error_about(s->err, "tensor", item->name);
}

/* Copies conjugated and negated views as such: their bytes are kept as stored. */
static bool drop_flags(struct search *s, struct heft_export_item *item)
{
    struct heft_row *row;

    if (!(item->row->flags & (HEFT_ROW_CONJ | HEFT_ROW_NEG)))
        return true;
    row = heft_arena_zero(s->k->out->plan->mem, 1, sizeof *row, s->err);
    if (!row)
        return false;
    *row = *item->row;
    row->flags &= (uint8_t) ~(HEFT_ROW_CONJ | HEFT_ROW_NEG);
    item->row = row;
    return true;
}

static bool add_item(struct search *s, uint32_t node, uint32_t *number, bool *is_plain)
{
    struct heft_keep *k = s->k;
    struct heft_torch_out *out = k->out;
    const uint32_t known = heft_u32map_get(&k->item_of, node);
    struct heft_torch_made made;
    struct heft_export_item item;

    if (!read_view(s, node, &made) ||
        !heft_grow(&out->items, &out->cap_items, out->n_items, 1, sizeof item, s->err) ||
        !heft_grow(&out->origin, &out->cap_origin, out->n_items, 1, sizeof *out->origin, s->err) ||
        !heft_grow(&out->alone, &out->cap_alone, out->n_items, 1, sizeof *out->alone, s->err))
        return false;
    if (known != HEFT_MAP_NONE)
        item = out->exports->items[known];
    else if (!add_unnamed(s, &made, &item))
        return false;
    *is_plain = item.as == item.row->dtype;
    if (!refuse_dtype(s, &item) || (*is_plain && !drop_flags(s, &item)))
        return false;
    *number = (uint32_t)out->n_items;
    out->alone[out->n_items] = false;
    out->origin[out->n_items] = known == HEFT_MAP_NONE ? HEFT_NONE : known;
    out->items[out->n_items++] = item;
    return true;
}

/* ---- views ------------------------------------------------------------------------------- */

static bool add_view(struct search *s, uint32_t key, struct heft_keep_view view)
{
    struct heft_keep *k = s->k;

    if (!heft_grow(&k->views, &k->cap_views, k->n_views, 1, sizeof view, s->err))
        return false;
    k->views[k->n_views] = view;
    return heft_u32map_set(&k->view_of, key, (uint32_t)k->n_views++, s->err);
}

static bool cannot_cast(struct search *s, const struct heft_export_item *item, const char *what)
{
    heft_fail(s->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "it is %s, and a torch file cannot hold a cast copy of that", what);
    return heft_error_about(s->err, "tensor", item->name);
}

static bool is_true(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_BOOL) && heft_torch_node(t, node)->u.integer;
}

static bool add_call(struct search *s, uint32_t node, uint32_t args, enum heft_torch_kind kind)
{
    struct heft_keep_view view = {.args = args, .id = heft_torch_item(s->t, args, 0)};
    bool is_plain;

    if (!add_item(s, node, &view.item, &is_plain))
        return false;
    view.how = is_plain ? HEFT_KEEP_COPIED : HEFT_KEEP_MADE;
    if (is_plain)
        return add_view(s, args, view);
    if (kind == HEFT_TORCH_QTENSOR || heft_torch_callee(s->t, node) == HEFT_TORCH_FROM_TYPE)
        return cannot_cast(s, &s->k->out->items[view.item],
                           kind == HEFT_TORCH_QTENSOR ? "quantized" : "of a class of its own");
    view.requires_grad = is_true(s->t, heft_torch_item(s->t, args, 4));
    return add_view(s, node, view);
}

static bool add_bare(struct search *s, uint32_t node, bool is_tensor)
{
    struct heft_keep_view view = {
        .args = HEFT_PICKLE_NIL, .id = node, .how = is_tensor ? HEFT_KEEP_MADE : HEFT_KEEP_BARE};
    const struct heft_storage *storage;
    const struct heft_export_item *item;
    bool is_plain;

    if (!add_item(s, node, &view.item, &is_plain))
        return false;
    item = &s->k->out->items[view.item];
    storage = &s->t->model->storages[item->row->storage];
    s->k->out->alone[view.item] = !is_tensor && item->row->bytes != storage->len;
    return (is_plain || is_tensor || cannot_cast(s, item, "a storage by itself")) &&
           add_view(s, node, view);
}

/* ---- searching the graph ----------------------------------------------------------------- */

static bool push_node(struct search *s, uint32_t node)
{
    if (node == HEFT_PICKLE_NIL || s->seen[node])
        return true;
    if (!heft_grow(&s->stack, &s->cap_stack, s->n_stack, 1, sizeof *s->stack, s->err))
        return false;
    s->seen[node] = 1;
    s->stack[s->n_stack++] = node;
    return true;
}

/* Pushes the items after the first `skip`, and the pairs that are kept. */
static bool push_items(struct search *s, uint32_t node, uint32_t skip)
{
    const struct heft_keep_change *change = heft_keep_change_of(s->k, node);
    struct heft_pickle_iter iter = heft_pickle_items(&s->t->pickle, node);
    uint32_t item, i = 0;

    for (; heft_pickle_next(&iter, &item); i++) {
        if (i < skip || (change && change->what[i / 2] == HEFT_LEAVE_PAIR))
            continue;
        if (!push_node(s, item))
            return false;
    }
    return true;
}

/* Notes a NumPy array that a cast rule matches. */
static bool note_array(struct search *s, uint32_t node)
{
    struct heft_keep *k = s->k;
    const uint32_t item = heft_u32map_get(&k->item_of, node);
    const struct heft_export_item *taken;

    if (item == HEFT_MAP_NONE)
        return true;
    taken = &k->out->exports->items[item];
    if (taken->as == taken->row->dtype || k->n_uncast++ >= NAMES_SHOWN)
        return true;
    heft_buf_text(&k->uncast, ", ");
    heft_buf_str(&k->uncast, taken->name);
    return heft_buf_ok(&k->uncast, s->err);
}

static bool visit_call(struct search *s, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(s->t, node);
    enum heft_torch_kind kind;
    uint32_t args;
    bool is_bytes;

    if (!is_storage(s->t, node, &is_bytes, s->err))
        return false;
    s->k->n_nested +=
        s->k->style == HEFT_TORCH_STREAM && heft_torch_callee(s->t, node) == HEFT_TORCH_NESTED;
    if (is_bytes)
        return add_bare(s, node, false);
    if (!view_arguments(s->t, node, &args, &kind, s->err))
        return false;
    if (args != HEFT_PICKLE_NIL && !add_call(s, node, args, kind))
        return false;
    if (args != HEFT_PICKLE_NIL && heft_u32map_get(&s->k->view_of, args) == HEFT_MAP_NONE)
        return true; /* made anew: its parts are not written */
    if (args != HEFT_PICKLE_NIL) {
        s->seen[args] = 1;
        if (!push_items(s, args, 1))
            return false;
    }
    return (args != HEFT_PICKLE_NIL || note_array(s, node)) && push_node(s, n->u.call.callee) &&
           push_node(s, n->u.call.args) && push_node(s, n->module) && push_items(s, node, 0) &&
           push_node(s, n->state);
}

static bool visit_node(struct search *s, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(s->t, node);

    switch ((enum heft_pickle_kind)n->kind) {
    case HEFT_PICKLE_CALL:
        return visit_call(s, node);
    case HEFT_PICKLE_PERSID:
        return add_bare(s, node, is_tensor_id(s->t, node));
    case HEFT_PICKLE_TUPLE:
    case HEFT_PICKLE_LIST:
    case HEFT_PICKLE_DICT:
    case HEFT_PICKLE_SET:
    case HEFT_PICKLE_FROZENSET:
        return push_items(s, node, 0) && push_node(s, n->state);
    default:
        return true;
    }
}

bool heft_keep_find_views(struct heft_keep *k, struct heft_torch *t, struct heft_error *err)
{
    struct search s = {.k = k, .t = t, .err = err};
    bool ok;

    t->budget = t->model->limits.expansion; /* the walk used it up on the same wrappers */
    s.seen = heft_arena_zero(&k->scratch, t->pickle.count + 1ull, 1, err);
    ok = s.seen && map_items(&s) && push_node(&s, k->top);
    while (ok && s.n_stack)
        ok = visit_node(&s, s.stack[--s.n_stack]);
    heft_free(s.stack);
    return ok;
}
