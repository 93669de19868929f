/* quant_fp8.c: 8-bit floats with scales.
 *
 *     quant_method        scales of a weight W [.., out, in]
 *     fp8                 W_scale_inv or X.scale [.., ⌈out/bm⌉, ⌈in/bn⌉] with weight_block_size, else one scale
 *     compressed-tensors  W_scale: one; [out, 1]; or a grid of block_structure or groups, by `strategy`
 *     fbgemm_fp8          W_scale [out, 1]; of experts [E, 1, n] or [E, n, 1]
 *     modelopt            W_scale one, or [out]; of experts [E] or [E, n]; MXFP8 as below
 *     mxfp8               W_scale U8 [out, in/32], 2^(e − 127)
 *
 * W is X.weight, or the parameter of experts itself. "inv" is the inverse of the factor that quantized: all
 * scales are multiplied. Blocks are those of the configuration, ragged edges included; never out / rows of
 * the scales. DeepSeek-V4's experts are 4-bit floats in I8. */
#include "quant/quant_grid.h"
#include "quant/quant_groups.h"

static bool is_method(const struct heft_quant *q, const char *method)
{
    return heft_str_is(q->config->method, method);
}

static bool suits_fp8(const struct heft_quant_config *config)
{
    static const char *const methods[] = {"fp8", "compressed-tensors", "fbgemm_fp8", "modelopt",
                                          "mxfp8"};

    for (size_t i = 0; i < HEFT_COUNT(methods); i++)
        if (heft_str_is(config->method, methods[i]))
            return true;
    return false;
}

static bool is_fp8(const struct heft_row *row)
{
    return row->dtype == HEFT_F8_E4M3 || row->dtype == HEFT_F8_E5M2;
}

static bool is_scale_name(struct heft_str name)
{
    return heft_str_ends(name, "_scale") || heft_str_ends(name, "_scale_inv") ||
           heft_str_ends(name, ".scale");
}

static bool refuse_shape(struct heft_quant *q, const struct heft_quant_grid *g, const char *wanted)
{
    return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                             "shape %s needs scales of shape %s, %.200s has shape %s",
                             heft_quant_shape(g->codes).text, wanted, g->scales->name.p,
                             heft_quant_shape(g->scales).text);
}

/* ---- which scale an element has ------------------------------------------------------------------ */

/* One scale for all elements. */
static bool set_one(struct heft_quant *q, struct heft_quant_grid *g)
{
    g->block_rows = g->rows;
    g->block_columns = g->columns;
    g->grid_rows = g->grid_columns = 1;
    g->one_slice = true;
    return heft_quant_elements(g->scales) == 1 || refuse_shape(q, g, "[] or [1]");
}

static void set_grid(struct heft_quant_grid *g, uint64_t rows, uint64_t columns)
{
    g->grid_rows = rows;
    g->grid_columns = columns;
    g->block_rows = rows == 1 ? g->rows : 1;
    g->block_columns = columns == 1 ? g->columns : 1;
}

/* Scales of the rank of the weight, with extents of 1 or the weight's: one for all slices, or each its own. */
static bool set_broadcast(struct heft_quant *q, struct heft_quant_grid *g)
{
    const struct heft_row *const w = g->codes, *const s = g->scales;
    const uint64_t *const last = s->shape + s->rank - 2;
    bool same = true, ones = true;

    for (unsigned d = 0; d + 2 < w->rank; d++) {
        same = same && s->shape[d] == w->shape[d];
        ones = ones && s->shape[d] == 1;
    }
    if ((!same && !ones) || (last[0] != 1 && last[0] != g->rows) ||
        (last[1] != 1 && last[1] != g->columns))
        return refuse_shape(q, g, "[.., out or 1, in or 1]");
    g->one_slice = ones && !same;
    set_grid(g, last[0], last[1]);
    return true;
}

/* [out] of a matrix: per row. Of experts [E, out, in]: [E], or [E, n], where n tells rows from columns. */
static bool set_short(struct heft_quant *q, struct heft_quant_grid *g)
{
    const struct heft_row *const w = g->codes, *const s = g->scales;
    const bool is_matrix = w->rank == 2;

    if (s->rank + 1u != w->rank && !(w->rank == 3 && s->rank == 1))
        return refuse_shape(q, g, "[out], or [E] or [E, out] for experts");
    if (!is_matrix && s->shape[0] != w->shape[0])
        return refuse_shape(q, g, "[E] or [E, out]");
    if (!is_matrix && s->rank == 1) {
        set_grid(g, 1, 1);
        return true;
    }
    if (!is_matrix && g->rows == g->columns)
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                                 "shape %s does not tell whether %.200s is for rows or columns",
                                 heft_quant_shape(w).text, s->name.p);
    if (s->shape[s->rank - 1] == g->rows)
        set_grid(g, g->rows, 1);
    else if (!is_matrix && s->shape[s->rank - 1] == g->columns)
        set_grid(g, 1, g->columns);
    else
        return refuse_shape(q, g, "[out]");
    return true;
}

static bool set_any(struct heft_quant *q, struct heft_quant_grid *g)
{
    if (heft_quant_elements(g->scales) == 1)
        return set_one(q, g);
    return g->scales->rank == g->codes->rank ? set_broadcast(q, g) : set_short(q, g);
}

/* E8M0 for each 32 columns. */
static bool set_mx(struct heft_quant *q, struct heft_quant_grid *g)
{
    const uint64_t block[2] = {1, 32};

    if (g->scales->dtype != HEFT_U8 && g->scales->dtype != HEFT_F8_E8M0)
        return heft_quant_refuse(
            q, g->codes, HEFT_UNSUPPORTED, "scales of dtype %s in %.200s, expected U8",
            heft_dtype_name((enum heft_dtype)g->scales->dtype), g->scales->name.p);
    return heft_quant_grid_blocks(q, g, block);
}

/* ---- what the configuration says ----------------------------------------------------------------- */

static bool set_by_blocks(struct heft_quant *q, struct heft_quant_grid *g)
{
    uint64_t block[2];
    bool is_set;

    if (!heft_quant_pair(q->config, NULL, "weight_block_size", block, &is_set, q->err))
        return false;
    return is_set ? heft_quant_grid_blocks(q, g, block) : set_one(q, g);
}

static bool set_by_strategy(struct heft_quant *q, struct heft_quant_grid *g,
                            const struct heft_quant_group *group)
{
    const struct heft_quant_node *const strategy = heft_quant_get(group->weights, "strategy");
    uint64_t block[2] = {1, 0};
    bool is_set;

    if (heft_quant_is(strategy, "tensor"))
        return set_one(q, g);
    if (heft_quant_is(strategy, "channel"))
        return g->scales->rank == g->codes->rank && g->scales->shape[g->scales->rank - 1] == 1
                   ? set_broadcast(q, g)
                   : refuse_shape(q, g, "[.., out, 1]");
    if (heft_quant_is(strategy, "block"))
        return heft_quant_pair(q->config, group->weights, "block_structure", block, &is_set,
                               q->err) &&
               (is_set ? heft_quant_grid_blocks(q, g, block)
                       : heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                                           "%s has no block_structure", group->name));
    if (heft_quant_is(strategy, "group"))
        return heft_quant_integer(q->config, group->weights, "group_size", 1, (uint64_t)1 << 31,
                                  &block[1], &is_set, q->err) &&
               (is_set ? heft_quant_grid_blocks(q, g, block)
                       : heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED, "%s has no group_size",
                                           group->name));
    return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED, "%s has an unknown strategy",
                             group->name);
}

static bool set_by_group(struct heft_quant *q, struct heft_quant_grid *g)
{
    struct heft_str module = g->codes->name;
    struct heft_quant_group group;
    uint64_t bits;
    bool is_set;

    (void)heft_quant_ends(module, ".weight", &module);
    if (!heft_quant_group_of(q, g->codes, module, &group) ||
        !heft_quant_integer(q->config, group.weights, "num_bits", 1, 32, &bits, &is_set, q->err))
        return false;
    if (bits != 8 || !heft_quant_is(heft_quant_get(group.weights, "type"), "float"))
        return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                                 "it is %s, and %s of config_groups has other weights",
                                 heft_dtype_name((enum heft_dtype)g->codes->dtype), group.name);
    if (heft_str_is(group.format, "mxfp8-quantized"))
        return set_mx(q, g);
    if (heft_str_is(group.format, "float-quantized") ||
        heft_str_is(group.format, "naive-quantized"))
        return set_by_strategy(q, g, &group);
    return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                             "format %.40s of %s is not one of 8-bit floats",
                             group.format.n ? group.format.p : "(none)", group.name);
}

static bool set_by_algorithm(struct heft_quant *q, struct heft_quant_grid *g)
{
    struct heft_str algorithm;

    if (!heft_quant_algorithm(q, g->codes, &algorithm))
        return false;
    if (heft_str_is(algorithm, "MXFP8"))
        return set_mx(q, g);
    if (heft_str_is(algorithm, "FP8") || heft_str_is(algorithm, "FP8_PER_CHANNEL_PER_TOKEN"))
        return set_any(q, g);
    return heft_quant_refuse(
        q, g->codes, HEFT_UNSUPPORTED, "it is %s, and quant_algo %.60s is not dequantized",
        heft_dtype_name((enum heft_dtype)g->codes->dtype), algorithm.n ? algorithm.p : "(none)");
}

static bool set_scales(struct heft_quant *q, struct heft_quant_grid *g)
{
    if (is_method(q, "fp8"))
        return set_by_blocks(q, g);
    if (is_method(q, "compressed-tensors"))
        return set_by_group(q, g);
    if (is_method(q, "modelopt"))
        return set_by_algorithm(q, g);
    return is_method(q, "mxfp8") ? set_mx(q, g) : set_any(q, g);
}

/* ---- weights ------------------------------------------------------------------------------------- */

static const struct heft_row *find_scales(struct heft_quant *q, struct heft_str name)
{
    const struct heft_row *scales;
    struct heft_str prefix;

    if (!is_method(q, "fp8")) {
        scales = heft_quant_find(q, name, "_scale", true);
        return scales ? scales : heft_quant_find(q, name, "_weight_scale", true);
    }
    scales = heft_quant_find(q, name, "_scale_inv", true);
    return !scales && heft_quant_ends(name, ".weight", &prefix)
               ? heft_quant_find(q, prefix, ".scale", true)
               : scales;
}

static bool take_weight(struct heft_quant *q, uint32_t row, const struct heft_row *scales)
{
    const struct heft_row *const w = &q->model->rows[row];
    struct heft_quant_grid g = {.codes = w, .scales = scales};

    return heft_quant_grid_begin(q, &g) && set_scales(q, &g) &&
           heft_quant_grid_add(q, row, w->name, &g, HEFT_DTYPE_COUNT, "fp8");
}

/* Experts of DeepSeek-V4: I8 [out, in/2], each byte two E2M1 codes; scales F8_E8M0 [out, in/32]. */
static bool take_v4_expert(struct heft_quant *q, uint32_t row, struct heft_str prefix)
{
    const struct heft_row *const w = &q->model->rows[row];
    const struct heft_row *const scales = heft_quant_find(q, prefix, ".scale", true);
    struct heft_quant_grid g = {.codes = w, .scales = scales, .code = HEFT_QUANT_CODE_E2M1};
    const uint64_t block[2] = {1, 32};

    if (!scales || scales->dtype != HEFT_F8_E8M0 || !strstr(w->name.p, ".experts.") ||
        strstr(w->name.p, ".shared_experts.") ||
        !heft_quant_is(heft_quant_get(q->config->root, "expert_dtype"), "fp4"))
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                                 "I8 with quant_method fp8: only experts with expert_dtype fp4 and "
                                 "F8_E8M0 scales are known");
    return heft_quant_grid_begin(q, &g) && heft_quant_grid_blocks(q, &g, block) &&
           heft_quant_grid_add(q, row, w->name, &g, HEFT_DTYPE_COUNT, "fp8");
}

static bool take_fp8(struct heft_quant *q, uint32_t row, bool *taken)
{
    const struct heft_row *const w = &q->model->rows[row];
    const struct heft_row *scales;
    struct heft_str prefix;

    *taken =
        is_method(q, "fp8") && w->dtype == HEFT_I8 && heft_quant_ends(w->name, ".weight", &prefix);
    if (*taken)
        return take_v4_expert(q, row, prefix);
    *taken = is_fp8(w) && !is_scale_name(w->name);
    if (!*taken)
        return true;
    scales = find_scales(q, w->name);
    if (!scales)
        return heft_quant_refuse(q, w, HEFT_MALFORMED, "%.200s_scale%s is missing, which it needs",
                                 w->name.p, is_method(q, "fp8") ? "_inv" : "");
    return take_weight(q, row, scales);
}

static const char *const companions[] = {"_scale_inv", "_weight_scale", ".weight_scale", NULL};

const struct heft_quant_scheme heft_quant_fp8 = {
    .name = "fp8", .suits = suits_fp8, .take = take_fp8, .companions = companions};
