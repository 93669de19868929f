/* quant_nvfp4.c: 4-bit floats (E2M1), two in a byte, the low nibble first.
 *
 *     modelopt NVFP4        W U8 [.., out, in/2], W_scale F8_E4M3 [.., out, in/16], W_scale_2 F32:
 *                           value = code · (scale · scale_2)
 *     compressed-tensors    X.weight_packed U8, X.weight_scale F8_E4M3, X.weight_global_scale F32:
 *       nvfp4-pack-…        value = code · (scale / global); the global scale is the reciprocal
 *       mxfp4-pack-…        X.weight_packed U8, X.weight_scale U8 [out, in/32], 2^(e − 127)
 *
 * W is X.weight, or the parameter of experts itself. */
#include "quant/quant_grid.h"
#include "quant/quant_groups.h"

#define NV_GROUP 16
#define MX_GROUP 32

static bool suits_nvfp4(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "modelopt") ||
           heft_str_is(config->method, "compressed-tensors");
}

/* Scales in tiles of 128 x 4, as TensorRT-LLM writes them, are a row of another rank. */
static bool check_layout(struct heft_quant *q, const struct heft_quant_grid *g,
                         enum heft_dtype dtype)
{
    if (g->scales->dtype == dtype)
        return true;
    if (g->scales->dtype == HEFT_U8 && g->scales->rank == 1)
        return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                                 "the scales %.200s are in a kernel's layout", g->scales->name.p);
    return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                             "scales of dtype %s in %.200s, expected %s",
                             heft_dtype_name((enum heft_dtype)g->scales->dtype), g->scales->name.p,
                             heft_dtype_name(dtype));
}

/* One factor for the tensor, or one for each slice, [E] or [E,1,1]. */
static bool check_factor(struct heft_quant *q, const struct heft_quant_grid *g)
{
    const struct heft_row *const f = g->factor;
    const uint64_t n = heft_quant_elements(f);
    uint64_t slices = 1;

    for (unsigned d = 0; d + 2 < g->codes->rank; d++)
        slices *= g->codes->shape[d];
    if (f->dtype != HEFT_F32)
        return heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED, "%.200s is %s, expected F32",
                                 f->name.p, heft_dtype_name((enum heft_dtype)f->dtype));
    return n == 1 || (n == slices && f->rank > 0 && f->shape[0] == slices) ||
           heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                             "%.200s has shape %s, expected one value, or one for each slice",
                             f->name.p, heft_quant_shape(f).text);
}

static bool add_nvfp4(struct heft_quant *q, uint32_t row, struct heft_str name,
                      struct heft_quant_grid *g)
{
    const uint64_t block[2] = {1, NV_GROUP};

    return check_layout(q, g, HEFT_F8_E4M3) && heft_quant_grid_begin(q, g) && check_factor(q, g) &&
           heft_quant_grid_blocks(q, g, block) &&
           heft_quant_grid_add(q, row, name, g, HEFT_DTYPE_COUNT, "nvfp4");
}

/* ---- modelopt ------------------------------------------------------------------------------------ */

static bool check_algorithm(struct heft_quant *q, const struct heft_row *w)
{
    struct heft_str algorithm, prefix;

    if (!heft_quant_algorithm(q, w, &algorithm))
        return false;
    if (!heft_str_is(algorithm, "NVFP4") && !heft_str_is(algorithm, "W4A16_NVFP4"))
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED, "quant_algo %.60s is not dequantized%s",
                                 algorithm.n ? algorithm.p : "(none)",
                                 algorithm.n &&
                                         (strstr(algorithm.p, "AWQ") || strstr(algorithm.p, "SVD"))
                                     ? ": its weights are meant for a scaled input"
                                     : "");
    if (heft_quant_ends(w->name, ".weight", &prefix) &&
        heft_quant_find(q, prefix, ".pre_quant_scale", false))
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                                 "%.*s.pre_quant_scale: the weights are meant for a scaled input",
                                 (int)heft_min_size(prefix.n, 200), prefix.p);
    return true;
}

/* The companion W_scale or W_weight_scale, with an ending. */
static const struct heft_row *find_scale(struct heft_quant *q, struct heft_str name,
                                         const char *plain, const char *other)
{
    const struct heft_row *const found = heft_quant_find(q, name, plain, true);

    return found ? found : heft_quant_find(q, name, other, true);
}

static bool take_modelopt(struct heft_quant *q, uint32_t row, bool *taken)
{
    const struct heft_row *const w = &q->model->rows[row];
    struct heft_quant_grid g = {.codes = w, .code = HEFT_QUANT_CODE_E2M1, .how = HEFT_QUANT_TIMES};

    *taken = false;
    if (w->dtype != HEFT_U8 || heft_str_ends(w->name, "_scale"))
        return true;
    g.scales = find_scale(q, w->name, "_scale", "_weight_scale");
    if (!g.scales)
        return true;
    *taken = true;
    if (!check_algorithm(q, w))
        return false;
    g.factor = find_scale(q, w->name, "_scale_2", "_weight_scale_2");
    if (!g.factor)
        return heft_quant_refuse(q, w, HEFT_MALFORMED, "%.200s_scale_2 is missing, which it needs",
                                 w->name.p);
    return add_nvfp4(q, row, w->name, &g);
}

/* ---- compressed-tensors -------------------------------------------------------------------------- */

static bool check_parameters(struct heft_quant *q, const struct heft_row *w,
                             const struct heft_quant_group *group, uint64_t size)
{
    uint64_t bits, found;
    bool has_bits, has_size;

    if (!heft_quant_integer(q->config, group->weights, "num_bits", 1, 32, &bits, &has_bits,
                            q->err) ||
        !heft_quant_integer(q->config, group->weights, "group_size", 0, (uint64_t)1 << 31, &found,
                            &has_size, q->err))
        return false;
    if (bits == 4 && found == size &&
        heft_quant_is(heft_quant_get(group->weights, "type"), "float"))
        return true;
    return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                             "%s of config_groups: format %.40s has 4-bit floats in groups of "
                             "%" PRIu64 ", the group says otherwise",
                             group->name, group->format.p, size);
}

static bool add_mxfp4(struct heft_quant *q, uint32_t row, struct heft_str name,
                      struct heft_quant_grid *g)
{
    const uint64_t block[2] = {1, MX_GROUP};

    return check_layout(q, g, HEFT_U8) && heft_quant_grid_begin(q, g) &&
           heft_quant_grid_blocks(q, g, block) &&
           heft_quant_grid_add(q, row, name, g, HEFT_DTYPE_COUNT, "mxfp4");
}

static bool take_packed(struct heft_quant *q, uint32_t row, bool *taken)
{
    const struct heft_row *const w = &q->model->rows[row];
    struct heft_quant_grid g = {.codes = w, .code = HEFT_QUANT_CODE_E2M1};
    struct heft_quant_group group;
    struct heft_str module, name;
    bool is_nv;

    *taken = false;
    if (w->dtype != HEFT_U8 || !heft_quant_ends(w->name, ".weight_packed", &module))
        return true;
    *taken = true;
    if (!heft_quant_group_of(q, w, module, &group))
        return false;
    is_nv = heft_str_is(group.format, "nvfp4-pack-quantized");
    if (!is_nv && !heft_str_is(group.format, "mxfp4-pack-quantized"))
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                                 "U8, and format %.40s of %s is not dequantized",
                                 group.format.n ? group.format.p : "(none)", group.name);
    name = heft_quant_join(q, module, ".weight");
    g.scales = heft_quant_need(q, w, module, ".weight_scale");
    if (!name.p || !g.scales || !check_parameters(q, w, &group, is_nv ? NV_GROUP : MX_GROUP))
        return false;
    if (!is_nv)
        return add_mxfp4(q, row, name, &g);
    g.how = HEFT_QUANT_DIVIDED;
    g.factor = heft_quant_need(q, w, module, ".weight_global_scale");
    return g.factor && add_nvfp4(q, row, name, &g);
}

static bool take_nvfp4(struct heft_quant *q, uint32_t row, bool *taken)
{
    return heft_str_is(q->config->method, "modelopt") ? take_modelopt(q, row, taken)
                                                      : take_packed(q, row, taken);
}

static const char *const companions[] = {".weight_scale",   ".weight_scale_2",      "_weight_scale",
                                         "_weight_scale_2", ".weight_global_scale", NULL};

const struct heft_quant_scheme heft_quant_nvfp4 = {
    .name = "nvfp4", .suits = suits_nvfp4, .take = take_nvfp4, .companions = companions};
