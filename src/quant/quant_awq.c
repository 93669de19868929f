/* quant_awq.c: AWQ, version gemm (AutoAWQ, AutoRound with its packing).
 *
 *     X.qweight  I32 [in, out/8]       four bits: code 8k + [0 2 4 6 1 3 5 7][p] is nibble p of word k
 *     X.qzeros   I32 [groups, out/8]   zero points, in the same order
 *     X.scales   F16 [groups, out]
 *     ─►
 *     X.weight   [out, in]             (code − zero)·scale, the group being column / group_size */
#include "quant/quant_schemes.h"
#include "quant/quant_words.h"

static bool suits(const struct heft_quant_config *config)
{
    const struct heft_str packing =
        heft_quant_text(heft_quant_get(config->quantization, "packing_format"));

    return heft_str_is(config->method, "awq") ||
           ((heft_str_is(config->method, "auto-round") ||
             heft_str_is(config->method, "intel/auto-round")) &&
            heft_str_ends(packing, "auto_awq"));
}

/* ---- the configuration --------------------------------------------------------------------- */

/* First of two keys that is there: transformers' name, AutoAWQ's own name. */
static const char *choose_key(const struct heft_quant *q, const char *first, const char *second)
{
    return heft_quant_get(q->config->quantization, first) ? first : second;
}

static bool refuse_value(const struct heft_quant *q, const char *key, const char *expected)
{
    const struct heft_quant_node *const node = heft_quant_get(q->config->quantization, key);

    return heft_quant_config_refuse(q->config, node, HEFT_UNSUPPORTED, q->err,
                                    "AWQ: %s is %.40s: expected %s", key,
                                    !node           ? "absent"
                                    : node->text.p  ? node->text.p
                                    : node->integer ? "true"
                                                    : "false",
                                    expected);
}

static bool check_version(const struct heft_quant *q)
{
    const struct heft_quant_node *const dict = q->config->quantization;
    const struct heft_quant_node *const version = heft_quant_get(dict, "version");
    const struct heft_quant_node *const zeros = heft_quant_get(dict, "zero_point");
    const struct heft_quant_node *const backend = heft_quant_get(dict, "backend");

    if (version && !heft_quant_is(version, "gemm") && !heft_quant_is(version, "GEMM"))
        return refuse_value(q, "version", "gemm");
    if (heft_quant_is(backend, "llm-awq"))
        return refuse_value(q, "backend", "autoawq");
    if (zeros && zeros->kind == HEFT_QUANT_BOOL && !zeros->integer)
        return refuse_value(q, "zero_point", "true");
    return true;
}

static bool read_parameters(const struct heft_quant *q, uint64_t *group_size)
{
    const char *const bits_key = choose_key(q, "bits", "w_bit");
    const char *const size_key = choose_key(q, "group_size", "q_group_size");
    uint64_t bits;
    bool found;

    if (!heft_quant_integer(q->config, NULL, bits_key, 1, 32, &bits, &found, q->err))
        return false;
    if (bits != 4)
        return refuse_value(q, bits_key, "4");
    if (!heft_int_group_size(q, NULL, size_key, group_size, &found))
        return false;
    if (!found)
        return refuse_value(q, size_key, "a number");
    return check_version(q);
}

/* ---- the tensors ----------------------------------------------------------------------------- */

static bool take_shapes(const struct heft_quant *q, const struct heft_quant_words *r,
                        uint64_t group_size, struct heft_int_weight *w)
{
    const struct heft_row *const m = r->weight;
    bool ok = m->rank == 2 && m->bytes > 0;

    if (ok) {
        w->columns = m->shape[0];
        w->rows = w->slice = m->shape[1] * 8;
        w->group_size = group_size ? group_size : w->columns;
        w->groups = w->columns / w->group_size;
        ok = w->columns % w->group_size == 0 &&
             heft_quant_has_shape(r->scales, 2, (uint64_t[]){w->groups, w->rows}) &&
             heft_quant_has_shape(r->zeros, 2, (uint64_t[]){w->groups, m->shape[1]});
    }
    return ok || heft_quant_refuse(
                     q, m, HEFT_MALFORMED,
                     "shape %s, with qzeros %s and scales %s, does not fit group_size "
                     "%" PRId64 ": expected [in,out/8], [groups,out/8], [groups,out]",
                     heft_quant_shape(m).text, heft_quant_shape(r->zeros).text,
                     heft_quant_shape(r->scales).text, group_size ? (int64_t)group_size : -1);
}

static bool take_weight(struct heft_quant *q, struct heft_quant_words *r, struct heft_int_weight *w)
{
    uint64_t group_size;

    if (!read_parameters(q, &group_size) || !heft_quant_words_find(q, r) ||
        !take_shapes(q, r, group_size, w) || !heft_matrix_of(r->weight, &w->codes, q->err) ||
        !heft_matrix_of(r->scales, &w->scales, q->err) ||
        !heft_matrix_of(r->zeros, &w->zeros, q->err))
        return false;
    w->bits = 4;
    w->only_zero = -1;
    w->codes_as = HEFT_INT_NIBBLES;
    w->zeros_as = HEFT_INT_ZERO_NIBBLES;
    w->scale_dtype = r->scales->dtype;
    heft_matrix_transpose(&w->codes);
    heft_matrix_transpose(&w->scales);
    return true;
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    return heft_quant_words_take(q, row, "awq", take_weight, taken);
}

const struct heft_quant_scheme heft_quant_awq = {
    .name = "awq", .suits = suits, .take = take, .companions = heft_quant_words_companions};
