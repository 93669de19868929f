/* quant_gptq.c: GPTQ (AutoGPTQ, GPTQModel, AutoRound with their packing).
 *
 *     X.qweight  I32 [in·bits/32, out]       codes: a stream of bits down each column
 *     X.qzeros   I32 [groups, out·bits/32]   zero points: a stream along each row
 *     X.scales   F16 [groups, out]
 *     X.g_idx    I32 [in]                    group of each row of X; absent: row / group_size
 *     ─►
 *     X.weight   [out, in]                   (code − zero)·scale
 *
 * Version 1 of the format stores zero points minus 1, version 2 as they are. Files exist that say one and
 * are the other. If the quantization is symmetric, all zero points are 2^(bits−1): the stored one tells the
 * version, whatever the configuration says. A stored 2^bits − 1 of version 1 is read as 0 by some programs
 * and as 2^bits by others: option gptq_zero decides. */
#include "base/endian.h"
#include "quant/bit_stream.h"
#include "quant/quant_schemes.h"
#include "quant/quant_words.h"

struct parameters {
    uint64_t bits, group_size; /* group_size 0: one group */
    bool is_symmetric, is_v2, has_rules;
};
static bool has_packing(const struct heft_quant_config *config, const char *name)
{
    const struct heft_str text =
        heft_quant_text(heft_quant_get(config->quantization, "packing_format"));

    return heft_str_ends(text, name);
}

static bool suits(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "gptq") ||
           ((heft_str_is(config->method, "auto-round") ||
             heft_str_is(config->method, "intel/auto-round")) &&
            has_packing(config, "auto_gptq"));
}

/* ---- the configuration --------------------------------------------------------------------- */

static bool is_set(const struct heft_quant *q, const char *key)
{
    const struct heft_quant_node *const node = heft_quant_get(q->config->quantization, key);

    return node && node->kind == HEFT_QUANT_BOOL && node->integer;
}

static bool refuse_value(const struct heft_quant *q, const char *key, const char *expected)
{
    const struct heft_quant_node *const node = heft_quant_get(q->config->quantization, key);

    return heft_quant_config_refuse(
        q->config, node, HEFT_UNSUPPORTED, q->err, "%s is %.40s: expected %s", key,
        node && node->text.p ? node->text.p : "of another kind", expected);
}

/* Absent and null are allowed. */
static bool is_one_of(const struct heft_quant *q, const char *key, const char *const *names)
{
    const struct heft_quant_node *const node = heft_quant_get(q->config->quantization, key);

    if (!node || node->kind == HEFT_QUANT_NULL)
        return true;
    for (; *names; names++)
        if (heft_quant_is(node, *names))
            return true;
    return false;
}

static bool read_format(const struct heft_quant *q, struct parameters *p)
{
    static const char *const formats[] = {"gptq", "gptq_v2", NULL};
    static const char *const words[] = {"int32", NULL};

    if (!is_one_of(q, "checkpoint_format", formats))
        return refuse_value(q, "checkpoint_format", "gptq or gptq_v2");
    if (!is_one_of(q, "pack_dtype", words))
        return refuse_value(q, "pack_dtype", "int32");
    if (is_set(q, "is_marlin_format"))
        return refuse_value(q, "is_marlin_format", "false");
    p->is_v2 =
        heft_quant_is(heft_quant_get(q->config->quantization, "checkpoint_format"), "gptq_v2");
    return true;
}

static bool read_parameters(const struct heft_quant *q, struct parameters *p)
{
    const struct heft_quant_node *const rules = heft_quant_get(q->config->quantization, "dynamic");
    bool found;

    *p = (struct parameters){.is_symmetric = is_set(q, "sym"), .has_rules = rules && rules->child};
    if (!heft_quant_integer(q->config, NULL, "bits", 1, 32, &p->bits, &found, q->err))
        return false;
    if (p->bits != 2 && p->bits != 3 && p->bits != 4 && p->bits != 8)
        return refuse_value(q, "bits", "2, 3, 4 or 8");
    if (!heft_int_group_size(q, NULL, "group_size", &p->group_size, &found))
        return false;
    if (!found)
        return refuse_value(q, "group_size", "a number");
    return read_format(q, p);
}

/* ---- the tensors ----------------------------------------------------------------------------- */

static bool refuse_shapes(const struct heft_quant *q, const struct heft_quant_words *r,
                          const struct parameters *p)
{
    return heft_quant_refuse(q, r->weight, HEFT_MALFORMED,
                             "shape %s, with qzeros %s and scales %s, does not fit %" PRIu64
                             " bits and group_size %" PRId64
                             ": expected [in*bits/32,out], [groups,out*bits/32], [groups,out]",
                             heft_quant_shape(r->weight).text, heft_quant_shape(r->zeros).text,
                             heft_quant_shape(r->scales).text, p->bits,
                             p->group_size ? (int64_t)p->group_size : -1);
}

/* `dynamic` rules give modules other bits and group sizes, which the shapes confirm: qzeros has as many
 * words as out codes fill. */
static void follow_shapes(const struct heft_quant_words *r, struct parameters *p)
{
    static const uint8_t known[] = {2, 3, 4, 8};
    const uint64_t out = r->scales->shape[1], words = r->zeros->shape[1];

    for (size_t i = 0; i < HEFT_COUNT(known); i++)
        if (out > 0 && out * known[i] % 32 == 0 && out * known[i] / 32 == words)
            p->bits = known[i];
}

/* Sizes from 1 on, whose products cannot overflow: all are extents of stored tensors of four bytes an
 * element. */
static bool take_shapes(const struct heft_quant *q, const struct heft_quant_words *r,
                        struct parameters *p, struct heft_int_weight *w)
{
    uint64_t out, group_size;

    if (r->weight->rank != 2 || r->zeros->rank != 2 || r->scales->rank != 2 ||
        r->weight->bytes == 0 || r->scales->bytes == 0 || r->zeros->bytes == 0)
        return refuse_shapes(q, r, p);
    if (p->has_rules)
        follow_shapes(r, p);
    out = r->weight->shape[1];
    w->rows = w->slice = out;
    w->columns = r->weight->shape[0] * 32 / p->bits;
    w->groups = r->scales->shape[0];
    w->bits = (uint8_t)p->bits;
    if (p->has_rules && w->columns % w->groups == 0 && p->group_size * w->groups != w->columns)
        p->group_size = w->columns / w->groups;
    group_size = p->group_size ? p->group_size : w->columns;
    w->group_size = group_size;
    if (r->weight->shape[0] * 32 % p->bits != 0 || r->scales->shape[1] != out ||
        out * p->bits % 32 != 0 || r->zeros->shape[0] != w->groups ||
        r->zeros->shape[1] != out * p->bits / 32 ||
        w->groups != w->columns / group_size + (w->columns % group_size != 0) ||
        (w->columns % group_size != 0 && !r->index))
        return refuse_shapes(q, r, p);
    return true;
}

/* ---- zero points ----------------------------------------------------------------------------- */

static bool take_symmetric(struct heft_quant *q, const struct heft_quant_words *r,
                           const struct parameters *p, struct heft_int_weight *w)
{
    const uint8_t middle = (uint8_t)(1u << (w->bits - 1));
    uint8_t word[4], first;

    if (!heft_quant_read(q, r->zeros, 0, 1, word))
        return false;
    heft_bit_stream_codes(word, w->bits, 0, 1, &first);
    if (first != middle && first != middle - 1)
        return heft_quant_refuse(
            q, r->zeros, HEFT_UNSUPPORTED,
            "the first zero point is %u: the quantization is symmetric, expected "
            "%u (gptq) or %u (gptq_v2)",
            first, middle - 1u, middle);
    w->only_zero = first;
    w->base = first == middle ? 0 : 1;
    w->full = HEFT_INT_FULL_KEPT;
    if ((w->base == 0) == p->is_v2)
        return true;
    return heft_quant_note(q,
                           "checkpoint_format is %s, but the zero points are those of %s, which is "
                           "what they are read as",
                           p->is_v2 ? "gptq_v2" : "gptq", p->is_v2 ? "gptq" : "gptq_v2");
}

static bool take_zeros(struct heft_quant *q, const struct heft_quant_words *r,
                       const struct parameters *p, struct heft_int_weight *w)
{
    const char *const choice = q->request->gptq_zero;

    w->zeros_as = HEFT_INT_ZERO_STREAM;
    w->only_zero = -1;
    if (p->is_symmetric)
        return take_symmetric(q, r, p, w);
    w->base = p->is_v2 ? 0 : 1;
    if (!p->is_v2 && !choice)
        w->full = HEFT_INT_FULL_REFUSED;
    else if (!p->is_v2 && strcmp(choice, "wrap") == 0)
        w->full = HEFT_INT_FULL_WRAPS;
    return true;
}

/* ---- the weight ------------------------------------------------------------------------------ */

static bool take_weight(struct heft_quant *q, struct heft_quant_words *r, struct heft_int_weight *w)
{
    struct parameters p;

    r->index = heft_quant_find(q, r->prefix, ".g_idx", true);
    if (!read_parameters(q, &p) || !heft_quant_words_find(q, r) || !take_shapes(q, r, &p, w) ||
        !heft_matrix_of(r->weight, &w->codes, q->err) ||
        !heft_matrix_of(r->scales, &w->scales, q->err) ||
        !heft_matrix_of(r->zeros, &w->zeros, q->err) || !take_zeros(q, r, &p, w))
        return false;
    w->codes_as = HEFT_INT_STREAM;
    w->scale_dtype = r->scales->dtype;
    heft_matrix_transpose(&w->codes);
    heft_matrix_transpose(&w->scales);
    return !r->index || heft_int_weight_index(q, r->index, false, w);
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    return heft_quant_words_take(q, row, "gptq", take_weight, taken);
}

const struct heft_quant_scheme heft_quant_gptq = {
    .name = "gptq", .suits = suits, .take = take, .companions = heft_quant_words_companions};
