/* quant_state.c: parses the state of bitsandbytes.
 *
 *     {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [24, 40],
 *      "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 2.886458396911621}
 *
 * The three nested members are there or not together. Other members are passed over. */
#include "quant/quant_state.h"

#include "quant/quant.h"
#include "wire/decimal.h"

enum { DEPTH = 4 };

struct parsing {
    const struct heft_quant_node *root;
    const char *type;
    struct heft_quant_state *out;
    struct heft_error *err;
};

static bool refuse_member(const struct parsing *p, const struct heft_quant_node *node,
                          const char *key, const char *expected)
{
    if (!node)
        return heft_fail(p->err, HEFT_MALFORMED, p->root->where, "%s is missing: expected %s", key,
                         expected);
    return heft_fail(p->err, HEFT_MALFORMED, node->where, "%s is %.40s: expected %s", key,
                     node->text.p ? node->text.p : "of another kind", expected);
}

static bool is_power_of_two(uint64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static bool take_size(const struct parsing *p, const char *key, uint64_t *out)
{
    const struct heft_quant_node *const node = heft_quant_get(p->root, key);

    if (!node || node->kind != HEFT_QUANT_NUMBER || !node->is_integer || node->integer < 1 ||
        node->integer > INT32_MAX || !is_power_of_two((uint64_t)node->integer))
        return refuse_member(p, node, key, "a power of two");
    *out = (uint64_t)node->integer;
    return true;
}

static bool take_shape(const struct parsing *p)
{
    const struct heft_quant_node *const node = heft_quant_get(p->root, "shape");
    const struct heft_quant_node *item = node && node->kind == HEFT_QUANT_LIST ? node->child : NULL;
    struct heft_quant_state *const out = p->out;

    if (!item)
        return refuse_member(p, node, "shape", "a list of integers");
    out->elements = 1;
    for (; item; item = item->next) {
        if (item->kind != HEFT_QUANT_NUMBER || !item->is_integer || item->integer < 1 ||
            out->rank == HEFT_QUANT_STATE_DIMS ||
            !heft_mul(out->elements, (uint64_t)item->integer, &out->elements))
            return refuse_member(p, item, "shape",
                                 "at most 16 integers from 1 on, whose product is "
                                 "less than 2^64");
        out->shape[out->rank++] = (uint64_t)item->integer;
    }
    return true;
}

static bool take_dtype(const struct parsing *p)
{
    static const struct {
        const char *name;
        enum heft_dtype dtype;
    } dtypes[] = {{"bfloat16", HEFT_BF16}, {"float16", HEFT_F16}, {"float32", HEFT_F32}};
    const struct heft_quant_node *const node = heft_quant_get(p->root, "dtype");

    for (size_t i = 0; i < HEFT_COUNT(dtypes); i++)
        if (heft_quant_is(node, dtypes[i].name)) {
            p->out->dtype = dtypes[i].dtype;
            return true;
        }
    return refuse_member(p, node, "dtype", "bfloat16, float16 or float32");
}

static bool take_nested(const struct parsing *p)
{
    const struct heft_quant_node *const size = heft_quant_get(p->root, "nested_blocksize");
    const struct heft_quant_node *const dtype = heft_quant_get(p->root, "nested_dtype");
    const struct heft_quant_node *const offset = heft_quant_get(p->root, "nested_offset");

    if (!size && !dtype && !offset)
        return true;
    if (!heft_quant_is(dtype, "float32"))
        return refuse_member(p, dtype, "nested_dtype", "float32");
    if (!offset || offset->kind != HEFT_QUANT_NUMBER || offset->text.n > HEFT_DECIMAL_MOST)
        return refuse_member(p, offset, "nested_offset", "a number");
    /* Python parses a double, which torch rounds. */
    p->out->nested_offset = (float)heft_decimal(
        (struct heft_bytes){(const uint8_t *)offset->text.p, offset->text.n}, false);
    if (!(p->out->nested_offset < (float)INT64_MAX && p->out->nested_offset > (float)INT64_MIN))
        return refuse_member(p, offset, "nested_offset", "a number below 2^63");
    return take_size(p, "nested_blocksize", &p->out->nested_blocksize);
}

bool heft_quant_state_parse(struct heft_bytes text, const char *type, struct heft_arena *mem,
                            struct heft_quant_state *out, struct heft_error *err)
{
    struct parsing p = {.type = type, .out = out, .err = err};
    const struct heft_quant_node *node;

    *out = (struct heft_quant_state){0};
    if (text.n > HEFT_QUANT_STATE_MOST)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "%zu bytes of JSON: expected at most %d", text.n, HEFT_QUANT_STATE_MOST);
    p.root = heft_quant_parse(text, DEPTH, mem, err);
    if (!p.root)
        return false;
    if (p.root->kind != HEFT_QUANT_DICT)
        return refuse_member(&p, p.root, "the state", "a dict");
    node = heft_quant_get(p.root, "quant_type");
    if (!heft_quant_is(node, type))
        return refuse_member(&p, node, "quant_type", type);
    return take_size(&p, "blocksize", &out->blocksize) && take_dtype(&p) && take_shape(&p) &&
           take_nested(&p);
}
