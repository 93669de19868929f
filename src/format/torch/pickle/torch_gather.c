/* torch_gather.c: the entries (key, value) of a container that the walk opens.
 *
 *     dict, OrderedDict, defaultdict …    key → value, a call's argument first
 *     list, tuple, set, deque             index → value
 *     an object of any other class        its arguments as "args", then attributes, then items
 *
 * They are gathered before any is visited, so that a repeated key can give way to the later one
 * (torch_keys.c). */
#include "format/torch/pickle/torch_walk.h"

bool heft_torch_add_entry(struct heft_torch_walk *w, uint32_t key, uint32_t value)
{
    if (!heft_grow(&w->entries, &w->cap_entries, w->n_entries, 1, sizeof *w->entries, w->err))
        return false;
    w->entries[w->n_entries++] = (struct heft_torch_entry){.key = key, .value = value};
    return true;
}

/* Each entry that is still to be visited takes a tensor or a value, and each that was has taken it:
 * more than both limits are not worth gathering. */
static bool may_gather(struct heft_torch_walk *w, uint32_t node, uint64_t more)
{
    const struct heft_limits *l = &w->t->model->limits;
    const uint64_t tensors = heft_limit_tensors(l, w->t->model->file_bytes);

    return heft_within(w->n_entries, more,
                       tensors < UINT64_MAX - l->expansion ? tensors + l->expansion : UINT64_MAX) ||
           heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                     "containers of more than %" PRIu64
                     " entries that are no tensors: limits.expansion",
                     l->expansion);
}

/* Before the items of a node are gone through: the first time is paid for by the pickle. */
static bool pay_items(struct heft_torch_walk *w, uint32_t node)
{
    if (w->marks[node] & HEFT_TORCH_MARK_GATHERED)
        return heft_torch_spend(w, node, (uint64_t)heft_torch_count(w->t, node) + 1);
    w->marks[node] |= HEFT_TORCH_MARK_GATHERED;
    return true;
}

bool heft_torch_add_items(struct heft_torch_walk *w, uint32_t node, bool pairs)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, node);
    const uint32_t n = heft_torch_count(w->t, node) / (pairs ? 2 : 1);
    uint32_t key = HEFT_TORCH_KEY_INDEX, value;

    if (!pay_items(w, node) || !may_gather(w, node, n))
        return false;
    if (!heft_grow(&w->entries, &w->cap_entries, w->n_entries, n, sizeof *w->entries, w->err))
        return false;
    while (heft_pickle_next(&iter, &value)) {
        if (pairs) {
            key = value;
            if (!heft_pickle_next(&iter, &value))
                break; /* the machine adds pairs only */
        }
        w->entries[w->n_entries++] = (struct heft_torch_entry){.key = key, .value = value};
    }
    return true;
}

static bool is_sequence(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_LIST) || heft_torch_is(t, node, HEFT_PICKLE_TUPLE);
}

bool heft_torch_is_nothing(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL || heft_torch_is(t, node, HEFT_PICKLE_NONE);
}

/* [[key, value], (key, value) …]: what OrderedDict is called with in old files. */
static bool add_pairs(struct heft_torch_walk *w, uint32_t list)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, list);
    uint32_t pair;

    if (!pay_items(w, list) || !may_gather(w, list, heft_torch_count(w->t, list)))
        return false;
    while (heft_pickle_next(&iter, &pair)) {
        if (!is_sequence(w->t, pair) || heft_torch_count(w->t, pair) != 2)
            return heft_fail(w->err, HEFT_MALFORMED, heft_torch_where(w->t, list),
                             "a dictionary made from a list that holds no pairs");
        if (!heft_torch_add_entry(w, heft_torch_item(w->t, pair, 0),
                                  heft_torch_item(w->t, pair, 1)))
            return false;
    }
    return true;
}

bool heft_torch_add_state(struct heft_torch_walk *w, uint32_t state)
{
    const struct heft_torch *t = w->t;
    uint32_t first, second;

    if (heft_torch_is_nothing(t, state))
        return true;
    if (heft_torch_is(t, state, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, state, true);
    first = heft_torch_item(t, state, 0);
    second = heft_torch_item(t, state, 1);
    if (heft_torch_is(t, state, HEFT_PICKLE_TUPLE) && heft_torch_count(t, state) == 2 &&
        heft_torch_is(t, second, HEFT_PICKLE_DICT) &&
        (heft_torch_is(t, first, HEFT_PICKLE_DICT) || heft_torch_is_nothing(t, first)))
        return heft_torch_add_state(w, heft_torch_is_nothing(t, first) ? HEFT_PICKLE_NIL : first) &&
               heft_torch_add_items(w, second, true);
    return heft_torch_add_entry(w, HEFT_TORCH_KEY_STATE, state);
}

/* What a mapping is called with: nothing, a dict, or pairs. */
static bool add_mapping_argument(struct heft_torch_walk *w, uint32_t node)
{
    if (heft_torch_is_nothing(w->t, node))
        return true;
    if (heft_torch_is(w->t, node, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, node, true);
    return is_sequence(w->t, node) ? add_pairs(w, node)
                                   : heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, node);
}

static bool add_sequence_argument(struct heft_torch_walk *w, uint32_t node)
{
    if (heft_torch_is_nothing(w->t, node))
        return true;
    if (is_sequence(w->t, node) || heft_torch_is(w->t, node, HEFT_PICKLE_SET) ||
        heft_torch_is(w->t, node, HEFT_PICKLE_FROZENSET))
        return heft_torch_add_items(w, node, false);
    return heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, node);
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

bool heft_torch_add_mapping(struct heft_torch_walk *w, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);

    if (heft_torch_is(w->t, node, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, node, true);
    return add_mapping_argument(w, heft_torch_item(w->t, n->u.call.args, 0)) &&
           heft_torch_add_items(w, node, n->pairs);
}

/* The state of a quantized convolution is a tuple: its items have names in the state dict. */
static bool gather_convolution(struct heft_torch_walk *w, uint32_t state)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, state);
    uint32_t item, i = 0;

    if (!heft_torch_is(w->t, state, HEFT_PICKLE_TUPLE) ||
        heft_torch_count(w->t, state) != HEFT_TORCH_WORDS - HEFT_TORCH_CONV)
        return heft_torch_add_state(w, state);
    while (heft_pickle_next(&iter, &item))
        if (!heft_torch_add_entry(w, HEFT_TORCH_KEY_WORD + HEFT_TORCH_CONV + i++, item))
            return false;
    return true;
}

/* BUILD's (what it holds, class): weights of quantized layers, a tuple. */
static bool gather_script_object(struct heft_torch_walk *w, uint32_t state,
                                 struct heft_value *value)
{
    const uint32_t held = heft_torch_item(w->t, state, 0), class = heft_torch_item(w->t, state, 1);
    struct heft_value name = {0};
    bool is_leaf;

    if (!heft_torch_is(w->t, state, HEFT_PICKLE_TUPLE) || heft_torch_count(w->t, state) != 2 ||
        !heft_torch_is_text(w->t, class))
        return heft_torch_add_state(w, state);
    if (!heft_torch_leaf(w->t, class, &name, &is_leaf, w->err))
        return false;
    value->type_name = name.text;
    return is_sequence(w->t, held) ? heft_torch_add_items(w, held, false)
                                   : heft_torch_add_entry(w, HEFT_TORCH_KEY_INDEX, held);
}

/* OptimizedModule(module, how): its state dict is the module's, each name behind "_orig_mod.". How it
 * is compiled is no part of that. */
static bool gather_compiled(struct heft_torch_walk *w, uint32_t args)
{
    const size_t first = w->n_entries;

    if (!heft_torch_add_entry(w, HEFT_TORCH_KEY_WORD + HEFT_TORCH_ORIG_MOD,
                              heft_torch_item(w->t, args, 0)) ||
        !heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, heft_torch_item(w->t, args, 1)))
        return false;
    w->entries[first + 1].outside = true;
    return true;
}

static bool gather_opaque(struct heft_torch_walk *w, uint32_t node, struct heft_value *value)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);
    const enum heft_torch_kind kind = heft_torch_callee(w->t, node);
    const uint32_t argument = heft_torch_item(w->t, n->u.call.args, 0);
    const size_t first = w->n_entries;
    bool in_arguments, ok;
    const uint32_t class = class_of(w->t, node, &in_arguments);

    value->kind = HEFT_VALUE_OPAQUE;
    value->type_name = heft_torch_type_name(w->t, class, w->err);
    if (!value->type_name)
        return false;
    if (kind == HEFT_TORCH_GRAPH_MODULE && heft_torch_is(w->t, argument, HEFT_PICKLE_DICT))
        return heft_torch_add_items(w, argument, true) && heft_torch_open_module(w, first);
    if (kind == HEFT_TORCH_COMPILED && heft_torch_count(w->t, n->u.call.args) == 2)
        return gather_compiled(w, n->u.call.args) && heft_torch_add_state(w, n->state);
    if (heft_torch_count(w->t, n->u.call.args) && !in_arguments &&
        !heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, n->u.call.args))
        return false;
    ok = n->module == HEFT_PICKLE_NIL || heft_torch_add_items(w, n->module, true);
    if (kind == HEFT_TORCH_QUANTIZED_CONV)
        ok = ok && gather_convolution(w, n->state);
    else if (kind == HEFT_TORCH_SCRIPT_OBJECT)
        ok = ok && gather_script_object(w, n->state, value);
    else
        ok = ok && heft_torch_add_state(w, n->state) && heft_torch_open_module(w, first);
    return ok && heft_torch_add_items(w, node, n->pairs);
}

static bool gather_call(struct heft_torch_walk *w, uint32_t node, struct heft_value *value)
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
               heft_torch_add_items(w, node, n->pairs) && heft_torch_add_state(w, n->state);
    case HEFT_TORCH_NAMESPACE:
        value->kind = HEFT_VALUE_DICT;
        value->type_name = heft_torch_type_name(w->t, n->u.call.callee, w->err);
        return value->type_name && heft_torch_add_state(w, n->state) &&
               heft_torch_add_items(w, node, n->pairs);
    case HEFT_TORCH_LIST:
    case HEFT_TORCH_TUPLE:
    case HEFT_TORCH_SET:
        value->kind = kind == HEFT_TORCH_LIST    ? HEFT_VALUE_LIST
                      : kind == HEFT_TORCH_TUPLE ? HEFT_VALUE_TUPLE
                                                 : HEFT_VALUE_SET;
        return add_sequence_argument(w, first) && heft_torch_add_items(w, node, n->pairs) &&
               heft_torch_add_state(w, n->state);
    default:
        return gather_opaque(w, node, value);
    }
}

bool heft_torch_gather(struct heft_torch_walk *w, uint32_t node, struct heft_value *value)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);

    switch ((enum heft_pickle_kind)n->kind) {
    case HEFT_PICKLE_DICT:
        value->kind = HEFT_VALUE_DICT;
        return heft_torch_add_items(w, node, true) && heft_torch_add_state(w, n->state);
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
    return heft_torch_add_items(w, node, false) && heft_torch_add_state(w, n->state);
}
