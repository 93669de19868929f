/* quant_mxfp6.c: 6-bit floats of compressed-tensors, mxfp6-pack-quantized.
 *
 *     X.weight_packed  U8 [.., out, in·6/8]   four E2M3 codes in three bytes: a stream of bits along each row
 *     X.weight_scale   U8 [.., out, in/32]    E8M0: 2^(u − 127)
 *     ─►
 *     X.weight         [.., out, in]          E2M3[code]·scale
 *
 * E2M3 is s e e m m m with exponent bias 1: up to 7.5, in steps of 1/8 below 2. */
#include "quant/int_weight.h"
#include "quant/quant_groups.h"
#include "quant/quant_schemes.h"

enum { GROUP = 32, CODES = 64 };

struct rows {
    const struct heft_row *weight, *scales;
    struct heft_str prefix;
};

static bool suits(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "compressed-tensors");
}

static float value_of(unsigned code)
{
    const unsigned exponent = code >> 3 & 3, mantissa = code & 7;
    const float magnitude = exponent == 0
                                ? (float)mantissa / 8.0f
                                : (float)(8 + mantissa) / 8.0f * (float)(1u << (exponent - 1));

    return code & 32 ? -magnitude : magnitude;
}

static const float *make_table(struct heft_quant *q)
{
    float *const table = heft_arena_zero(q->mem, CODES, sizeof *table, q->err);

    for (unsigned i = 0; table && i < CODES; i++)
        table[i] = value_of(i);
    return table;
}

static bool take_shapes(const struct heft_quant *q, const struct rows *r, struct heft_int_weight *w,
                        uint64_t *shape)
{
    const struct heft_row *const m = r->weight;
    uint64_t expected[HEFT_ROW_DIMS];
    bool fits = m->rank >= 2 && m->bytes > 0 && m->shape[m->rank - 1] % (GROUP * 6 / 8) == 0;

    if (fits) {
        memcpy(shape, m->shape, m->rank * sizeof *shape);
        shape[m->rank - 1] = m->shape[m->rank - 1] / 3 * 4;
        memcpy(expected, shape, m->rank * sizeof *shape);
        expected[m->rank - 1] = shape[m->rank - 1] / GROUP;
        w->columns = shape[m->rank - 1];
        w->groups = expected[m->rank - 1];
        fits = r->scales->dtype == HEFT_U8 && heft_quant_has_shape(r->scales, m->rank, expected);
    }
    return fits || heft_quant_refuse(
                       q, m, HEFT_MALFORMED,
                       "shape %s, with scales %s %s: expected [..,out,in*6/8], and U8 "
                       "[..,out,in/32]",
                       heft_quant_shape(m).text, heft_dtype_name((enum heft_dtype)r->scales->dtype),
                       heft_quant_shape(r->scales).text);
}

static bool take_weight(struct heft_quant *q, uint32_t row, struct rows *r)
{
    struct heft_int_weight *const w = heft_arena_zero(q->mem, 1, sizeof *w, q->err);
    uint64_t *const shape = heft_arena_u64(q->mem, r->weight->rank + 1u, q->err);
    struct heft_int_place place = {
        .scheme = "mxfp6", .shape = shape, .rank = r->weight->rank, .as = HEFT_DTYPE_COUNT};

    r->scales = heft_quant_need(q, r->weight, r->prefix, ".weight_scale");
    if (!w || !shape || !r->scales || !take_shapes(q, r, w, shape) ||
        !heft_matrix_of(r->weight, &w->codes, q->err) ||
        !heft_matrix_of(r->scales, &w->scales, q->err) || !(w->table = make_table(q)) ||
        !(place.name = heft_quant_join(q, r->prefix, ".weight")).p)
        return false;
    w->rows = w->slice = w->codes.rows;
    w->group_size = GROUP;
    w->bits = 6;
    w->only_zero = -1;
    w->codes_as = HEFT_INT_STREAM;
    w->formula = HEFT_INT_TABLE;
    w->scale_dtype = HEFT_F8_E8M0;
    return heft_int_weight_replace(q, row, w, &place);
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    struct rows r = {.weight = &q->model->rows[row]};
    struct heft_quant_group group;

    if (r.weight->dtype != HEFT_U8 || !heft_quant_ends(r.weight->name, ".weight_packed", &r.prefix))
        return true;
    if (!heft_quant_group_of(q, r.weight, r.prefix, &group)) {
        *taken = true;
        return false;
    }
    *taken = heft_str_is(group.format, "mxfp6-pack-quantized");
    return !*taken || take_weight(q, row, &r);
}

static const char *const companions[] = {".weight_packed", ".weight_scale", NULL};

const struct heft_quant_scheme heft_quant_mxfp6 = {
    .name = "compressed-tensors mxfp6", .suits = suits, .take = take, .companions = companions};
