/* quant_ct_int.c: integers of compressed-tensors.
 *
 *     int-quantized    X.weight             I8  [.., out, in]
 *                      X.weight_zero_point  I8  as weight_scale; not if symmetric
 *     pack-quantized   X.weight_packed      I32 [.., out, ⌈in·bits/32⌉]   stored code + 2^(bits−1): a stream of
 *                                                                         bits along each row
 *                      X.weight_shape       I64 [.., out, in]
 *                      X.weight_zero_point  I32 [.., ⌈out·bits/32⌉, groups]  a stream down each column
 *     both             X.weight_scale       [.., out, groups]; channel: groups is 1; tensor: [1]
 *                      X.weight_g_idx       I32 [in]   group of each column (actorder: group)
 *     ─►
 *     X.weight         (code − zero)·scale, the group being column / group_size
 *
 * Older releases (0.9.4) packed ⌊32/bits⌋ codes into a word, which the number of words tells. */
#include "base/endian.h"
#include "quant/bit_stream.h"
#include "quant/int_weight.h"
#include "quant/quant_groups.h"
#include "quant/quant_schemes.h"

struct rows {
    const struct heft_row *weight, *scales, *zeros, *index, *shape;
    struct heft_str prefix;
    bool is_packed, is_tensor; /* one scale for the tensor */
};

static bool suits(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "compressed-tensors");
}

/* ---- the configuration --------------------------------------------------------------------- */

static bool refuse_group(const struct heft_quant *q, const struct heft_quant_group *group,
                         const char *key, const char *expected)
{
    const struct heft_quant_node *const node = heft_quant_get(group->weights, key);

    return heft_quant_config_refuse(q->config, node ? node : group->weights, HEFT_UNSUPPORTED,
                                    q->err, "%s: %s is %.40s: expected %s", group->name, key,
                                    !node          ? "absent"
                                    : node->text.p ? node->text.p
                                                   : "of another kind",
                                    expected);
}

static bool check_format(const struct heft_quant *q, const struct rows *r,
                         const struct heft_quant_group *group)
{
    const bool is_known = r->is_packed ? heft_str_is(group->format, "pack-quantized")
                                       : heft_str_is(group->format, "int-quantized") ||
                                             heft_str_is(group->format, "naive-quantized");

    if (!is_known)
        return heft_quant_refuse(q, r->weight, HEFT_UNSUPPORTED,
                                 "has dtype %s, but the format of %s is %.60s",
                                 heft_dtype_name((enum heft_dtype)r->weight->dtype), group->name,
                                 group->format.n ? group->format.p : "absent");
    return heft_quant_is(heft_quant_get(group->weights, "type"), "int") ||
           refuse_group(q, group, "type", "int");
}

/* Sets bits and group_size; 0 is one group a row. */
static bool read_parameters(const struct heft_quant *q, struct rows *r,
                            const struct heft_quant_group *group, struct heft_int_weight *w)
{
    const struct heft_quant_node *const strategy = heft_quant_get(group->weights, "strategy");
    uint64_t bits;
    bool is_set;

    if (!heft_quant_integer(q->config, group->weights, "num_bits", 1, 32, &bits, &is_set, q->err) ||
        !heft_int_group_size(q, group->weights, "group_size", &w->group_size, &is_set))
        return false;
    if (bits < 1 || bits > (r->is_packed ? HEFT_BIT_STREAM_MOST : 8))
        return refuse_group(q, group, "num_bits", "1 to 8");
    w->bits = r->is_packed ? (uint8_t)bits : 8;
    if (strategy && strategy->kind == HEFT_QUANT_STRING) {
        if (heft_quant_is(strategy, "tensor") || heft_quant_is(strategy, "channel"))
            w->group_size = 0;
        else if (!heft_quant_is(strategy, "group"))
            return refuse_group(q, group, "strategy", "tensor, channel or group");
        else if (w->group_size == 0)
            return refuse_group(q, group, "group_size", "an integer from 1 on");
    }
    r->is_tensor = strategy ? heft_quant_is(strategy, "tensor") : !is_set;
    return true;
}

/* ---- the tensors ----------------------------------------------------------------------------- */

static bool find_rows(struct heft_quant *q, struct rows *r, const struct heft_quant_group *group)
{
    const struct heft_quant_node *const symmetric = heft_quant_get(group->weights, "symmetric");
    const bool has_zeros = symmetric && symmetric->kind == HEFT_QUANT_BOOL && !symmetric->integer;

    r->scales = heft_quant_need(q, r->weight, r->prefix, ".weight_scale");
    r->index = heft_quant_find(q, r->prefix, ".weight_g_idx", true);
    r->zeros = heft_quant_find(q, r->prefix, ".weight_zero_point", true);
    if (!r->scales || !heft_int_scales_known(q, r->scales))
        return false;
    if (r->is_packed && !(r->shape = heft_quant_need(q, r->weight, r->prefix, ".weight_shape")))
        return false;
    if (has_zeros && !r->zeros)
        return heft_quant_need(q, r->weight, r->prefix, ".weight_zero_point") != NULL;
    return has_zeros == (r->zeros != NULL) ||
           heft_quant_refuse(q, r->zeros, HEFT_UNSUPPORTED,
                             "exists, but the quantization of %s is symmetric", group->name);
}

static bool read_shape(struct heft_quant *q, const struct rows *r, uint64_t *shape)
{
    const struct heft_row *const m = r->weight;
    uint8_t bytes[8 * HEFT_ROW_DIMS];
    uint64_t product = 1;

    if (r->shape->dtype != HEFT_I64 || !heft_quant_has_shape(r->shape, 1, (uint64_t[]){m->rank}))
        return heft_quant_refuse(q, r->shape, HEFT_MALFORMED, "%s %s: expected I64 [%u]",
                                 heft_dtype_name((enum heft_dtype)r->shape->dtype),
                                 heft_quant_shape(r->shape).text, m->rank);
    if (!heft_quant_read(q, r->shape, 0, m->rank, bytes))
        return false;
    for (unsigned d = 0; d < m->rank; d++) {
        shape[d] = heft_le64(bytes + 8 * d);
        if (shape[d] == 0 || shape[d] > INT64_MAX || !heft_mul(product, shape[d], &product) ||
            (d + 1 < m->rank && shape[d] != m->shape[d]))
            return heft_quant_refuse(q, r->shape, HEFT_MALFORMED,
                                     "dimension %u is %" PRId64 ", and shape %s is packed", d,
                                     (int64_t)shape[d], heft_quant_shape(m).text);
    }
    return true;
}

/* How the codes are packed: the number of words tells. */
static bool find_packing(struct heft_quant *q, const struct rows *r, struct heft_int_weight *w)
{
    const uint64_t words = r->weight->shape[r->weight->rank - 1];
    uint64_t stream, old;

    if (!heft_bit_stream_words(w->bits, false, w->columns, &stream) ||
        !heft_bit_stream_words(w->bits, true, w->columns, &old) ||
        (words != stream && words != old))
        return heft_quant_refuse(q, r->weight, HEFT_MALFORMED,
                                 "shape %s does not fit rows of %" PRIu64 " codes of %u bits",
                                 heft_quant_shape(r->weight).text, w->columns, w->bits);
    if (stream == old && 32 % w->bits != 0)
        return heft_quant_refuse(q, r->weight, HEFT_UNSUPPORTED,
                                 "%" PRIu64 " codes of %u bits fill %" PRIu64
                                 " words in two ways of packing, which differ",
                                 w->columns, w->bits, words);
    w->codes_as = words == stream ? HEFT_INT_STREAM : HEFT_INT_WORDS;
    return true;
}

static bool refuse_scales(const struct heft_quant *q, const struct rows *r,
                          const struct heft_row *row, const struct heft_int_weight *w)
{
    return heft_quant_refuse(
        q, row, HEFT_MALFORMED,
        "%s %s does not fit %" PRIu64 " rows of %" PRIu64 " columns in %s of %" PRIu64 " columns",
        heft_dtype_name((enum heft_dtype)row->dtype), heft_quant_shape(row).text, w->rows,
        w->columns, r->is_tensor ? "one group, not" : "groups", w->group_size);
}

/* A matrix of one element for all rows and groups. */
static void spread_one(struct heft_matrix *m, const struct heft_int_weight *w)
{
    m->rows = w->rows;
    m->columns = w->groups;
    m->step[0] = m->step[1] = 0;
}

/* Parameters in the shape of the scales: [.., out, groups], or one for all. */
static bool take_matrix(const struct heft_quant *q, const struct rows *r,
                        const struct heft_row *row, const struct heft_int_weight *w,
                        const uint64_t *shape, struct heft_matrix *out)
{
    const unsigned rank = r->weight->rank;
    bool fits = row->rank == rank || (row->rank == rank - 1u && w->groups == 1);

    if (!heft_matrix_of(row, out, q->err))
        return false;
    if (r->is_tensor && heft_quant_elements(row) == 1) {
        spread_one(out, w);
        return true;
    }
    for (unsigned d = 0; fits && d + 1 < rank; d++)
        fits = row->shape[d] == shape[d];
    if (!fits || (row->rank == rank && row->shape[rank - 1] != w->groups))
        return refuse_scales(q, r, row, w);
    return row->rank == rank || rank == 2 /* [out] is one column */ || refuse_scales(q, r, row, w);
}

static bool take_packed_zeros(const struct heft_quant *q, const struct rows *r,
                              struct heft_int_weight *w, const uint64_t *shape)
{
    const bool in_words = w->codes_as == HEFT_INT_WORDS;
    const unsigned rank = r->weight->rank;
    uint64_t expected[HEFT_ROW_DIMS];

    memcpy(expected, shape, rank * sizeof *shape);
    expected[rank - 1] = w->groups;
    if (!heft_bit_stream_words(w->bits, in_words, w->slice, &expected[rank - 2]) || r->is_tensor ||
        r->zeros->dtype != HEFT_I32 || !heft_quant_has_shape(r->zeros, rank, expected))
        return refuse_scales(q, r, r->zeros, w);
    if (!heft_matrix_of(r->zeros, &w->zeros, q->err))
        return false;
    heft_matrix_transpose(&w->zeros);
    w->base = 0; /* codes and zero points are shifted alike */
    w->zeros_as = in_words ? HEFT_INT_ZERO_WORDS : HEFT_INT_ZERO_STREAM;
    return true;
}

static bool take_zeros(const struct heft_quant *q, const struct rows *r, struct heft_int_weight *w,
                       const uint64_t *shape)
{
    w->only_zero = -1;
    w->base = (int32_t)(1u << (w->bits - 1)); /* stored codes are shifted */
    if (!r->zeros)
        return true;
    if (r->is_packed)
        return take_packed_zeros(q, r, w, shape);
    w->zeros_as = HEFT_INT_ZERO_BYTES;
    if (r->zeros->dtype != HEFT_I8)
        return refuse_scales(q, r, r->zeros, w);
    return take_matrix(q, r, r->zeros, w, shape, &w->zeros);
}

static bool take_groups(struct heft_quant *q, const struct rows *r, struct heft_int_weight *w,
                        const uint64_t *shape)
{
    const unsigned rank = r->weight->rank;

    w->columns = shape[rank - 1];
    w->slice = shape[rank - 2];
    w->rows = w->codes.rows;
    if (w->group_size == 0)
        w->group_size = w->columns;
    w->groups = w->columns / w->group_size;
    if (w->columns % w->group_size != 0)
        return heft_quant_refuse(q, r->weight, HEFT_UNSUPPORTED,
                                 "rows of %" PRIu64 " columns in groups of %" PRIu64, w->columns,
                                 w->group_size);
    return !r->is_packed || find_packing(q, r, w);
}

static bool take_tensors(struct heft_quant *q, const struct rows *r, struct heft_int_weight *w,
                         uint64_t *shape)
{
    const struct heft_row *const m = r->weight;

    if (m->rank < 2 || m->bytes == 0)
        return heft_quant_refuse(q, m, HEFT_UNSUPPORTED,
                                 "shape %s: expected two dimensions or more, none of them 0",
                                 heft_quant_shape(m).text);
    memcpy(shape, m->shape, m->rank * sizeof *shape);
    if (!heft_matrix_of(m, &w->codes, q->err) || (r->is_packed && !read_shape(q, r, shape)) ||
        !take_groups(q, r, w, shape) || !take_matrix(q, r, r->scales, w, shape, &w->scales) ||
        !take_zeros(q, r, w, shape))
        return false;
    w->scale_dtype = r->scales->dtype;
    if (!r->is_packed)
        w->codes_as = HEFT_INT_BYTES;
    return !r->index || heft_int_weight_index(q, r->index, true, w);
}

static bool take_weight(struct heft_quant *q, uint32_t row, struct rows *r)
{
    struct heft_int_weight *const w = heft_arena_zero(q->mem, 1, sizeof *w, q->err);
    uint64_t *const shape = heft_arena_u64(q->mem, r->weight->rank + 1u, q->err);
    struct heft_int_place place = {.scheme = "compressed-tensors",
                                   .name = r->weight->name,
                                   .shape = shape,
                                   .rank = r->weight->rank,
                                   .as = HEFT_DTYPE_COUNT};
    struct heft_quant_group group;

    if (!w || !shape || !heft_quant_group_of(q, r->weight, r->prefix, &group) ||
        !check_format(q, r, &group) || !read_parameters(q, r, &group, w) ||
        !find_rows(q, r, &group) || !take_tensors(q, r, w, shape) ||
        (r->is_packed && !(place.name = heft_quant_join(q, r->prefix, ".weight")).p))
        return false;
    if (r->scales->dtype != HEFT_F32)
        place.as = (enum heft_dtype)r->scales->dtype;
    return heft_int_weight_replace(q, row, w, &place);
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    struct rows r = {.weight = &q->model->rows[row]};

    r.is_packed =
        r.weight->dtype == HEFT_I32 && heft_quant_ends(r.weight->name, ".weight_packed", &r.prefix);
    *taken = r.is_packed ||
             (r.weight->dtype == HEFT_I8 && heft_quant_ends(r.weight->name, ".weight", &r.prefix));
    return !*taken || take_weight(q, row, &r);
}

static const char *const companions[] = {".weight_packed", ".weight_scale",      ".weight_shape",
                                         ".weight_g_idx",  ".weight_zero_point", NULL};

const struct heft_quant_scheme heft_quant_ct_int = {
    .name = "compressed-tensors", .suits = suits, .take = take, .companions = companions};
