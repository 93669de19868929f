/* torch_wrappers.c: removes the calls around a tensor one by one: Parameter, _rebuild_from_type_v2
 * and similar, and the type tags of TorchScript. Each call is created after its arguments, so this
 * ends. */
#include "format/torch/pickle/torch_parts.h"

bool heft_torch_bad_arguments(struct heft_torch *t, uint32_t call, uint32_t callee,
                              struct heft_error *err)
{
    const char *name = heft_torch_type_name(t, callee, err);

    return name &&
           heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, call), "bad arguments for %s", name);
}

bool heft_torch_has_set_state(const struct heft_torch *t, const struct heft_torch_call *call)
{
    return heft_torch_is(t, call->state, HEFT_PICKLE_TUPLE) &&
           heft_torch_count(t, call->state) == 4;
}

/* Removes one wrapper: *call becomes what it wraps. False if its arguments are wrong. */
static bool take_wrapper_off(const struct heft_torch *t, enum heft_torch_kind kind,
                             struct heft_torch_call *call)
{
    uint32_t inner = heft_torch_item(t, call->args, 0);

    if (kind == HEFT_TORCH_FROM_TYPE) { /* arguments (function, type, arguments, state) */
        if (heft_torch_count(t, call->args) < 3 ||
            !heft_torch_is(t, heft_torch_item(t, call->args, 2), HEFT_PICKLE_TUPLE) ||
            !heft_torch_is(t, inner, HEFT_PICKLE_GLOBAL))
            return false;
        *call = (struct heft_torch_call){call->node, inner, heft_torch_item(t, call->args, 2),
                                         HEFT_PICKLE_NIL};
        return true;
    }
    if (inner == HEFT_PICKLE_NIL && heft_torch_is(t, call->state, HEFT_PICKLE_TUPLE) &&
        heft_torch_count(t, call->state) ==
            5) /* Parameter() without arguments, then BUILD (data, _, hooks, grad, _) */
        inner = heft_torch_item(t, call->state, 0);
    if (!heft_torch_is(t, inner, HEFT_PICKLE_CALL) || inner >= call->node)
        return false;
    *call = heft_torch_call_of(t, inner);
    return true;
}

bool heft_torch_unwrap(struct heft_torch *t, struct heft_torch_call *call,
                       struct heft_torch_layer *layer, struct heft_error *err)
{
    const struct heft_torch_call outer = *call;
    const enum heft_torch_kind kind = heft_torch_kind_of(t, call->callee);

    *layer = (struct heft_torch_layer){HEFT_PICKLE_NIL, HEFT_PICKLE_NIL, HEFT_PICKLE_NIL, false};
    if (kind != HEFT_TORCH_FROM_TYPE && kind != HEFT_TORCH_ON_DEVICE &&
        (kind != HEFT_TORCH_PARAMETER || heft_torch_has_set_state(t, call)))
        return true;
    if (!take_wrapper_off(t, kind, call))
        return heft_torch_bad_arguments(t, outer.node, outer.callee, err);
    if (!heft_torch_charge(t, outer.node, 1, "wrappers around tensors", err))
        return false;
    layer->is_wrapper = true;
    if (kind == HEFT_TORCH_ON_DEVICE)
        layer->dtype = heft_torch_item(t, outer.args, 1);
    else
        layer->state = heft_torch_item(t, outer.args, 3);
    if (kind == HEFT_TORCH_FROM_TYPE)
        layer->type = heft_torch_item(t, outer.args, 1);
    return true;
}

/* The loop ends, because each value is created before the call around it. */
bool heft_torch_untag(struct heft_torch *t, uint32_t *node, struct heft_error *err)
{
    while (heft_torch_is(t, *node, HEFT_PICKLE_CALL) &&
           heft_torch_callee(t, *node) == HEFT_TORCH_TAGGED) {
        const struct heft_pickle_node *n = heft_torch_node(t, *node);

        if (heft_torch_count(t, n->u.call.args) != 2 || n->first != HEFT_PICKLE_NIL ||
            n->state != HEFT_PICKLE_NIL)
            return true; /* not in torch's form: an ordinary object */
        if (!heft_torch_charge(t, *node, 1, "type tags", err))
            return false;
        *node = heft_torch_item(t, n->u.call.args, 0);
    }
    return true;
}
