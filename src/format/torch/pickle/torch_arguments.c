/* torch_arguments.c: validates the arguments of tensors that are more than one range of a storage. */
#include "format/torch/pickle/torch_walk.h"

static const struct heft_torch_layout LAYOUTS[] = {
    {"torch.sparse_coo",
     {HEFT_TORCH_INDICES, HEFT_TORCH_VALUES, HEFT_TORCH_SHAPE, HEFT_TORCH_IS_COALESCED},
     3,
     2,
     false,
     false},
    {"torch.sparse_csr",
     {HEFT_TORCH_CROW_INDICES, HEFT_TORCH_COL_INDICES, HEFT_TORCH_VALUES, HEFT_TORCH_SHAPE},
     4,
     3,
     false,
     false},
    {"torch.sparse_csc",
     {HEFT_TORCH_CCOL_INDICES, HEFT_TORCH_ROW_INDICES, HEFT_TORCH_VALUES, HEFT_TORCH_SHAPE},
     4,
     3,
     true,
     false},
    {"torch.sparse_bsr",
     {HEFT_TORCH_CROW_INDICES, HEFT_TORCH_COL_INDICES, HEFT_TORCH_VALUES, HEFT_TORCH_SHAPE},
     4,
     3,
     false,
     true},
    {"torch.sparse_bsc",
     {HEFT_TORCH_CCOL_INDICES, HEFT_TORCH_ROW_INDICES, HEFT_TORCH_VALUES, HEFT_TORCH_SHAPE},
     4,
     3,
     true,
     true},
};

/* The layout of a node like _get_layout("torch.sparse_coo"). */
const struct heft_torch_layout *heft_torch_layout_of(const struct heft_torch *t, uint32_t node)
{
    uint32_t name;

    if (!heft_torch_is(t, node, HEFT_PICKLE_CALL) ||
        heft_torch_callee(t, node) != HEFT_TORCH_LAYOUT)
        return NULL;
    name = heft_torch_item(t, heft_torch_node(t, node)->u.call.args, 0);
    for (size_t i = 0; i < HEFT_COUNT(LAYOUTS); i++)
        if (heft_torch_is_word(t, name, heft_str_of(LAYOUTS[i].name)))
            return &LAYOUTS[i];
    return NULL;
}

bool heft_torch_has_parts(const struct heft_torch *t, const struct heft_torch_call *call)
{
    const struct heft_torch_global *known = heft_torch_global_of(t, call->callee);
    const uint32_t count = heft_torch_count(t, call->args);
    const uint32_t first = heft_torch_item(t, call->args, 0);
    const uint32_t data = heft_torch_item(t, call->args, 1);
    const struct heft_torch_layout *layout;

    if (known->kind == HEFT_TORCH_NESTED)
        return count == 3 || count == 4;
    if (known->kind == HEFT_TORCH_JAGGED)
        return count == 1 && heft_torch_is(t, first, HEFT_PICKLE_DICT);
    layout = count == 2 ? heft_torch_layout_of(t, first) : NULL;
    return layout && heft_torch_is(t, data, HEFT_PICKLE_TUPLE) &&
           heft_torch_count(t, data) >= layout->least && heft_torch_count(t, data) <= 4;
}

static bool is_number(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_INT) || heft_torch_is(t, node, HEFT_PICKLE_FLOAT);
}

/* True for a tuple of quantizer parameters: (per_tensor_affine, scale, zero point) or
 * (per_channel_affine, scales, zero points, axis). */
bool heft_torch_has_qparams(const struct heft_torch *t, uint32_t node)
{
    const struct heft_torch_global *scheme = heft_torch_global_of(t, heft_torch_item(t, node, 0));

    if (!heft_torch_is(t, node, HEFT_PICKLE_TUPLE) || !scheme ||
        scheme->kind != HEFT_TORCH_CONSTANT)
        return false;
    if (strcmp(scheme->name, "per_tensor_affine") == 0)
        return heft_torch_count(t, node) == 3 && is_number(t, heft_torch_item(t, node, 1)) &&
               heft_torch_is(t, heft_torch_item(t, node, 2), HEFT_PICKLE_INT);
    return (strcmp(scheme->name, "per_channel_affine") == 0 ||
            strcmp(scheme->name, "per_channel_affine_float_qparams") == 0) &&
           heft_torch_count(t, node) == 4 &&
           heft_torch_is(t, heft_torch_item(t, node, 3), HEFT_PICKLE_INT);
}

bool heft_torch_has_state(const struct heft_torch *t, uint32_t state)
{
    const uint32_t first = heft_torch_item(t, state, 0), second = heft_torch_item(t, state, 1);

    if (heft_torch_is_nothing(t, state))
        return false;
    if (heft_torch_is(t, state, HEFT_PICKLE_DICT))
        return heft_torch_count(t, state) != 0;
    if (!heft_torch_is(t, state, HEFT_PICKLE_TUPLE) || heft_torch_count(t, state) != 2 ||
        !heft_torch_is(t, second, HEFT_PICKLE_DICT))
        return true;
    return heft_torch_count(t, second) != 0 ||
           !(heft_torch_is_nothing(t, first) ||
             (heft_torch_is(t, first, HEFT_PICKLE_DICT) && heft_torch_count(t, first) == 0));
}
