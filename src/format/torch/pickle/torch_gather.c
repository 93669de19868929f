/* torch_gather.c: the entries (key, value) of a container that the walk opens.
 *
 *     dict, OrderedDict, defaultdict …    key → value, the argument of a call first
 *     list, tuple, set, deque             index → value
 *     an object of any other class        its arguments as "args", then attributes, then items
 *
 * They are gathered before any is visited, so that the later value of a repeated key can replace the
 * earlier one (torch_keys.c). */
#include "format/torch/pickle/torch_walk.h"

static bool add_sequence_argument(struct heft_torch_walk *w, uint32_t node)
{
    if (heft_torch_is_nothing(w->t, node))
        return true;
    if (heft_torch_is_sequence(w->t, node) || heft_torch_is(w->t, node, HEFT_PICKLE_SET) ||
        heft_torch_is(w->t, node, HEFT_PICKLE_FROZENSET))
        return heft_torch_add_items(w, node, false);
    return heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, node);
}

/* Functions of copyreg and NumPy that create a new object: its class is their first argument. */
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

/* The state of a quantized convolution is a tuple; its items have names in the state dict. */
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

/* BUILD's (contents, class): weights of quantized layers, a tuple. */
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
    return heft_torch_is_sequence(w->t, held) ? heft_torch_add_items(w, held, false)
                                              : heft_torch_add_entry(w, HEFT_TORCH_KEY_INDEX, held);
}

/* OptimizedModule(module, how): its state dict is the module's, with names prefixed by
 * "_orig_mod.". The compilation settings are not part of it. */
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
        return heft_torch_add_mapping_argument(w, kind == HEFT_TORCH_MAPPING
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
