/* quant_fp8.c: 8-bit floats with scales: DeepSeek V3, Qwen, MiniMax (`quant_method: fp8`).
 *
 *     X.weight F8_E4M3 [.., out, in]   X.weight_scale_inv [.., ⌈out/bm⌉, ⌈in/bn⌉], weight_block_size [bm, bn]
 *                                      or one scale for the tensor, weight_block_size null
 *
 * "inv" is the inverse of the factor that quantized: the scale is multiplied. Blocks are those of the
 * configuration, ragged edges included; never out / rows of the scales. */
#include "quant/quant_grid.h"

static bool suits_fp8(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "fp8");
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

static uint64_t blocks_of(uint64_t n, uint64_t block)
{
    return n / block + (n % block != 0);
}

/* dtype of stored scales; HEFT_DTYPE_COUNT if the row has another one. */
static enum heft_dtype scale_dtype(const struct heft_row *scale)
{
    switch ((enum heft_dtype)scale->dtype) {
    case HEFT_F32:
    case HEFT_BF16:
    case HEFT_F16:
    case HEFT_F8_E8M0:
        return (enum heft_dtype)scale->dtype;
    case HEFT_U8:
        return HEFT_F8_E8M0;
    default:
        return HEFT_DTYPE_COUNT;
    }
}

/* Checks that the scales are [.., ⌈out/bm⌉, ⌈in/bn⌉]. */
static bool set_blocks(struct heft_quant *q, struct heft_quant_grid *g, const uint64_t block[2])
{
    const struct heft_row *const w = g->codes, *const s = g->scales;
    bool fits = s->rank == w->rank;

    g->block_rows = block[0];
    g->block_columns = block[1];
    g->grid_rows = blocks_of(g->rows, block[0]);
    g->grid_columns = blocks_of(g->columns, block[1]);
    for (unsigned d = 0; fits && d + 2 < w->rank; d++)
        fits = s->shape[d] == w->shape[d];
    if (fits && s->shape[s->rank - 2] == g->grid_rows && s->shape[s->rank - 1] == g->grid_columns)
        return true;
    return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                             "shape %s in blocks of %" PRIu64 " x %" PRIu64 " needs %" PRIu64
                             " x %" PRIu64 " scales, %.200s has shape %s",
                             heft_quant_shape(w).text, block[0], block[1], g->grid_rows,
                             g->grid_columns, s->name.p, heft_quant_shape(s).text);
}

static bool set_one(struct heft_quant *q, struct heft_quant_grid *g)
{
    g->block_rows = g->rows;
    g->block_columns = g->columns;
    g->grid_rows = g->grid_columns = 1;
    g->one_slice = true;
    return heft_quant_elements(g->scales) == 1 ||
           heft_quant_refuse(q, g->codes, HEFT_UNSUPPORTED,
                             "without weight_block_size it needs one scale, %.200s has shape %s",
                             g->scales->name.p, heft_quant_shape(g->scales).text);
}

static bool take_weight(struct heft_quant *q, uint32_t row, const struct heft_row *scale)
{
    const struct heft_row *const w = &q->model->rows[row];
    struct heft_quant_grid g = {.codes = w, .scales = scale, .scale_as = scale_dtype(scale)};
    uint64_t block[2];
    bool is_set;

    if (w->rank < 2)
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED, "a quantized weight of %u dimensions",
                                 w->rank);
    if (g.scale_as == HEFT_DTYPE_COUNT)
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED, "scales of dtype %s in %.200s",
                                 heft_dtype_name((enum heft_dtype)scale->dtype), scale->name.p);
    g.rows = w->shape[w->rank - 2];
    g.columns = w->shape[w->rank - 1];
    return heft_quant_pair(q->config, NULL, "weight_block_size", block, &is_set, q->err) &&
           (is_set ? set_blocks(q, &g, block) : set_one(q, &g)) &&
           heft_quant_grid_add(q, row, w->name, &g, HEFT_DTYPE_COUNT, "fp8");
}

static bool take_fp8(struct heft_quant *q, uint32_t row, bool *taken)
{
    const struct heft_row *const w = &q->model->rows[row];
    const struct heft_row *scale;
    struct heft_str prefix;

    *taken = is_fp8(w) && !is_scale_name(w->name);
    if (!*taken)
        return true;
    scale = heft_quant_find(q, w->name, "_scale_inv", true);
    if (!scale && heft_quant_ends(w->name, ".weight", &prefix))
        scale = heft_quant_find(q, prefix, ".scale", true);
    if (!scale)
        return heft_quant_refuse(q, w, HEFT_MALFORMED,
                                 "%.200s_scale_inv is missing, which it needs", w->name.p);
    return take_weight(q, row, scale);
}

static const char *const companions[] = {"_scale_inv", NULL};

const struct heft_quant_scheme heft_quant_fp8 = {
    .name = "fp8", .suits = suits_fp8, .take = take_fp8, .companions = companions};
