/* torch_plain.c: tells whether the object of a pickle is a flat dictionary of plain tensors. Such a
 * file can be written again from its rows; otherwise its tree must be kept. */
#include "format/torch/pickle/torch_parts.h"

/* True for the numbers and texts of bookkeeping. */
static bool is_word_or_number(const struct heft_value *value)
{
    return value->kind <= HEFT_VALUE_STRING && value->kind != HEFT_VALUE_BIGINT;
}

bool heft_torch_modules_fit(const struct heft_value *modules)
{
    for (const struct heft_value *m = modules->first_child; m; m = m->next_sibling) {
        if (m->kind != HEFT_VALUE_DICT || m->type_name)
            return false;
        for (const struct heft_value *v = m->first_child; v; v = v->next_sibling)
            if (!is_word_or_number(v))
                return false;
    }
    return modules->kind == HEFT_VALUE_DICT;
}

static bool is_ordered_dict(const struct heft_torch *t, uint32_t node)
{
    const struct heft_torch_global *class;

    if (!heft_torch_is(t, node, HEFT_PICKLE_CALL) ||
        heft_torch_count(t, heft_torch_node(t, node)->u.call.args))
        return false;
    class = heft_torch_global_of(t, heft_torch_node(t, node)->u.call.callee);
    return class && strcmp(class->name, "OrderedDict") == 0;
}

/* True for a storage id on the CPU: ("storage", class, key, "cpu", elements). */
static bool is_on_cpu(const struct heft_torch *t, uint32_t id)
{
    const uint32_t args = heft_torch_is(t, id, HEFT_PICKLE_PERSID)
                              ? heft_torch_node(t, id)->u.call.args
                              : HEFT_PICKLE_NIL;

    return heft_torch_is(t, args, HEFT_PICKLE_TUPLE) && heft_torch_count(t, args) >= 5 &&
           heft_torch_is_word(t, heft_torch_item(t, args, 3), HEFT_STR("cpu"));
}

/* True for a tensor that the writer of state dicts reproduces: no gradient, no hooks, no flags. */
static bool is_plain_tensor(const struct heft_torch *t, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);
    enum heft_torch_kind kind;
    uint32_t args, hooks, grad;

    if (n->kind != HEFT_PICKLE_CALL || n->state != HEFT_PICKLE_NIL)
        return false;
    kind = heft_torch_callee(t, node);
    args = n->u.call.args;
    if (!(kind == HEFT_TORCH_REBUILD_V2 && heft_torch_count(t, args) == 6) &&
        !(kind == HEFT_TORCH_REBUILD_V3 && heft_torch_count(t, args) == 7))
        return false;
    grad = heft_torch_item(t, args, 4);
    hooks = heft_torch_item(t, args, 5);
    return heft_torch_is(t, grad, HEFT_PICKLE_BOOL) && !heft_torch_node(t, grad)->u.integer &&
           is_ordered_dict(t, hooks) && heft_torch_count(t, hooks) == 0 &&
           is_on_cpu(t, heft_torch_item(t, args, 0));
}

/* True if the attributes are only {"_metadata": …}, which modules set on their state dicts. */
static bool is_plain_state(const struct heft_torch *t, uint32_t root)
{
    const uint32_t state = heft_torch_node(t, root)->state;
    const struct heft_value *modules = t->values ? t->values->first_child : NULL;

    if (state == HEFT_PICKLE_NIL)
        return !modules;
    return is_ordered_dict(t, root) && heft_torch_is(t, state, HEFT_PICKLE_DICT) &&
           heft_torch_count(t, state) == 2 &&
           heft_torch_is_word(t, heft_torch_item(t, state, 0), HEFT_STR("_metadata")) && modules &&
           !modules->next_sibling && heft_torch_modules_fit(modules);
}

bool heft_torch_is_plain(const struct heft_torch *t)
{
    const uint32_t root = t->pickle.root;
    struct heft_pickle_iter iter = heft_pickle_items(&t->pickle, root);
    uint32_t key, value;

    if ((!heft_torch_is(t, root, HEFT_PICKLE_DICT) && !is_ordered_dict(t, root)) ||
        !is_plain_state(t, root))
        return false;
    while (heft_pickle_next(&iter, &key))
        if (!heft_torch_is(t, key, HEFT_PICKLE_STR) || !heft_pickle_next(&iter, &value) ||
            !is_plain_tensor(t, value))
            return false;
    return true;
}
