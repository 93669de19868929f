/* quant_mlx.c: MLX.
 *
 *     X.weight   U32 [.., out, in·bits/32]       codes: a stream of bits along each row
 *     X.scales   [.., out, in/group_size]        affine: F16, BF16, F32; else U8: E8M0 or E4M3
 *     X.biases   as scales                       affine only
 *     ─►
 *     X.weight   [.., out, in]                   affine: code·scale + bias, each step in the dtype of
 *                                                the scales; else the float of the code times the scale
 *
 *     config.json {"quantization": {"group_size": 64, "bits": 4, "mode": "affine",
 *                                   "model.layers.0.mlp.up_proj": {"group_size": 32, "bits": 8}, …}} */
#include "core/small_floats.h"
#include "quant/bit_stream.h"
#include "quant/int_weight.h"
#include "quant/quant_schemes.h"

struct mode {
    const char *name;
    uint8_t group_size, bits; /* 0: any */
    uint8_t scale_dtype;      /* of U8 scales */
};
static const struct mode modes[] = {
    {"affine", 0, 0, HEFT_DTYPE_COUNT},
    {"mxfp4", 32, 4, HEFT_F8_E8M0},
    {"nvfp4", 16, 4, HEFT_F8_E4M3},
    {"mxfp8", 32, 8, HEFT_F8_E8M0},
};
struct parameters {
    const struct mode *mode;
    uint64_t group_size, bits;
};
struct rows {
    const struct heft_row *weight, *scales, *biases;
    struct heft_str prefix;
};

static const float e2m1[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                               -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

static bool suits(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "mlx");
}

/* ---- the configuration --------------------------------------------------------------------- */

/* The dict of the module, if it has parameters of its own; else that of the model. */
static bool find_dict(struct heft_quant *q, const struct rows *r,
                      const struct heft_quant_node **out)
{
    const struct heft_quant_node *own;

    if (!heft_quant_member(q, r->prefix, &own))
        return false;
    *out = own && own->kind == HEFT_QUANT_DICT ? own : q->config->quantization;
    if (own && own->kind == HEFT_QUANT_BOOL && !own->integer)
        return heft_quant_refuse(q, r->weight, HEFT_UNSUPPORTED,
                                 "has scales, but the configuration says that this module is not "
                                 "quantized");
    return true;
}

static bool find_mode(const struct heft_quant *q, const struct heft_quant_node *dict,
                      const struct mode **out)
{
    const struct heft_quant_node *const node = heft_quant_get(dict, "mode");

    *out = &modes[0]; /* also for a module with other parameters of its own */
    if (!node || node->kind == HEFT_QUANT_NULL)
        return true;
    for (size_t i = 0; i < HEFT_COUNT(modes); i++)
        if (heft_quant_is(node, modes[i].name)) {
            *out = &modes[i];
            return true;
        }
    return heft_quant_config_refuse(q->config, node, HEFT_UNSUPPORTED, q->err,
                                    "MLX: mode is %.40s: expected affine, mxfp4, nvfp4 or mxfp8",
                                    node->text.p ? node->text.p : "no text");
}

static bool read_parameters(struct heft_quant *q, const struct rows *r, struct parameters *p)
{
    const struct heft_quant_node *dict;
    bool has_size, has_bits;

    if (!find_dict(q, r, &dict) || !find_mode(q, dict, &p->mode) ||
        !heft_quant_integer(q->config, dict, "group_size", 1, (uint64_t)1 << 31, &p->group_size,
                            &has_size, q->err) ||
        !heft_quant_integer(q->config, dict, "bits", 1, 32, &p->bits, &has_bits, q->err))
        return false;
    if (!has_size)
        p->group_size = p->mode->group_size;
    if (!has_bits)
        p->bits = p->mode->bits;
    if (p->group_size == 0 || p->bits == 0)
        return heft_quant_config_refuse(q->config, dict, HEFT_MALFORMED, q->err,
                                        "MLX: %s is missing", p->bits ? "group_size" : "bits");
    if (p->bits > 8 || p->bits == 7 || p->bits == 1 ||
        (p->mode->bits && (p->bits != p->mode->bits || p->group_size != p->mode->group_size)))
        return heft_quant_config_refuse(q->config, dict, HEFT_UNSUPPORTED, q->err,
                                        "MLX: %" PRIu64 " bits and group_size %" PRIu64
                                        " in mode %s are not known",
                                        p->bits, p->group_size, p->mode->name);
    return true;
}

/* ---- the tensors ----------------------------------------------------------------------------- */

static bool find_rows(struct heft_quant *q, struct rows *r, const struct parameters *p)
{
    const bool is_affine = p->mode == &modes[0];

    r->scales = heft_quant_need(q, r->weight, r->prefix, ".scales");
    r->biases = r->scales ? heft_quant_find(q, r->prefix, ".biases", true) : NULL;
    if (!r->scales)
        return false;
    if (is_affine != (r->biases != NULL))
        return heft_quant_refuse(q, r->weight, HEFT_MALFORMED, "%.*s.biases %s, in mode %s",
                                 (int)heft_min_size(200, r->prefix.n), r->prefix.p,
                                 is_affine ? "is missing" : "exists", p->mode->name);
    if (is_affine)
        return heft_int_scales_known(q, r->scales) &&
               (r->biases->dtype == r->scales->dtype ||
                heft_quant_refuse(q, r->biases, HEFT_UNSUPPORTED, "has dtype %s, and the scales %s",
                                  heft_dtype_name((enum heft_dtype)r->biases->dtype),
                                  heft_dtype_name((enum heft_dtype)r->scales->dtype)));
    return r->scales->dtype == HEFT_U8 ||
           heft_quant_refuse(q, r->scales, HEFT_UNSUPPORTED, "has dtype %s: expected U8 in mode %s",
                             heft_dtype_name((enum heft_dtype)r->scales->dtype), p->mode->name);
}

static bool refuse_shapes(const struct heft_quant *q, const struct rows *r,
                          const struct parameters *p)
{
    return heft_quant_refuse(
        q, r->weight, HEFT_MALFORMED,
        "shape %s, with scales %s%s%s, does not fit %" PRIu64 " bits and group_size %" PRIu64
        ": expected [..,out,in*bits/32], [..,out,in/group_size]",
        heft_quant_shape(r->weight).text, heft_quant_shape(r->scales).text,
        r->biases ? " and biases " : "", r->biases ? heft_quant_shape(r->biases).text : "", p->bits,
        p->group_size);
}

static bool take_shapes(struct heft_quant *q, const struct rows *r, const struct parameters *p,
                        struct heft_int_weight *w, uint64_t *shape)
{
    const struct heft_row *const m = r->weight;
    const unsigned last = m->rank - 1u;
    uint64_t expected[HEFT_ROW_DIMS];

    if (m->rank < 2 || m->bytes == 0 || m->shape[last] * 32 % p->bits != 0)
        return refuse_shapes(q, r, p);
    memcpy(shape, m->shape, m->rank * sizeof *shape);
    shape[last] = m->shape[last] * 32 / p->bits;
    memcpy(expected, shape, m->rank * sizeof *shape);
    expected[last] = shape[last] / p->group_size;
    if (shape[last] % p->group_size != 0 || !heft_quant_has_shape(r->scales, m->rank, expected) ||
        (r->biases && !heft_quant_has_shape(r->biases, m->rank, expected)))
        return refuse_shapes(q, r, p);
    w->columns = shape[last];
    w->group_size = p->group_size;
    w->groups = expected[last];
    w->bits = (uint8_t)p->bits;
    return true;
}

/* Values of all codes of eight bits, made once a weight. */
static bool make_table(struct heft_quant *q, struct heft_int_weight *w)
{
    float *table;

    w->table = e2m1;
    if (w->bits == 4)
        return true;
    table = heft_arena_zero(q->mem, 256, sizeof *table, q->err);
    for (unsigned i = 0; table && i < 256; i++)
        table[i] = heft_float_of_bits(heft_f32_of_e4m3((uint8_t)i));
    w->table = table;
    return table != NULL;
}

static bool take_formula(struct heft_quant *q, const struct rows *r, const struct parameters *p,
                         struct heft_int_weight *w)
{
    w->codes_as = HEFT_INT_STREAM;
    w->only_zero = -1;
    if (!heft_matrix_of(r->weight, &w->codes, q->err) ||
        !heft_matrix_of(r->scales, &w->scales, q->err))
        return false;
    w->rows = w->slice = w->codes.rows;
    if (r->biases) {
        w->formula = HEFT_INT_BIASED;
        w->scale_dtype = r->scales->dtype;
        return heft_matrix_of(r->biases, &w->zeros, q->err);
    }
    w->formula = HEFT_INT_TABLE;
    w->scale_dtype = p->mode->scale_dtype;
    return make_table(q, w);
}

static bool take_weight(struct heft_quant *q, uint32_t row, struct rows *r)
{
    struct heft_int_weight *const w = heft_arena_zero(q->mem, 1, sizeof *w, q->err);
    uint64_t *const shape = heft_arena_u64(q->mem, r->weight->rank + 1u, q->err);
    struct heft_int_place place = {.scheme = "mlx",
                                   .name = r->weight->name,
                                   .shape = shape,
                                   .rank = r->weight->rank,
                                   .as = HEFT_DTYPE_COUNT};
    struct parameters p;

    if (!w || !shape || !read_parameters(q, r, &p) || !find_rows(q, r, &p) ||
        !take_shapes(q, r, &p, w, shape) || !take_formula(q, r, &p, w))
        return false;
    if (r->biases)
        place.as = (enum heft_dtype)r->scales->dtype;
    return heft_int_weight_replace(q, row, w, &place);
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    struct rows r = {.weight = &q->model->rows[row]};

    *taken = r.weight->dtype == HEFT_U32 && heft_quant_ends(r.weight->name, ".weight", &r.prefix);
    return !*taken || take_weight(q, row, &r);
}

static const char *const companions[] = {".scales", ".biases", NULL};

const struct heft_quant_scheme heft_quant_mlx = {
    .name = "mlx", .suits = suits, .take = take, .companions = companions};
