/* quant_words.c: see quant_words.h. */
#include "quant/quant_words.h"

bool heft_quant_words_find(struct heft_quant *q, struct heft_quant_words *r)
{
    r->zeros = heft_quant_need(q, r->weight, r->prefix, ".qzeros");
    r->scales = r->zeros ? heft_quant_need(q, r->weight, r->prefix, ".scales") : NULL;
    if (!r->scales)
        return false;
    if (r->weight->dtype != HEFT_I32 || r->zeros->dtype != HEFT_I32)
        return heft_quant_refuse(q, r->weight, HEFT_UNSUPPORTED,
                                 "%s, with qzeros of dtype %s: expected I32 for both",
                                 heft_dtype_name((enum heft_dtype)r->weight->dtype),
                                 heft_dtype_name((enum heft_dtype)r->zeros->dtype));
    return heft_int_scales_known(q, r->scales);
}

bool heft_quant_words_take(struct heft_quant *q, uint32_t row, const char *scheme,
                           heft_quant_words_fn *describe, bool *taken)
{
    struct heft_quant_words r = {.weight = &q->model->rows[row]};
    struct heft_int_place place = {.scheme = scheme, .rank = 2};
    struct heft_int_weight *w;
    uint64_t *shape;

    *taken = heft_quant_ends(r.weight->name, ".qweight", &r.prefix);
    if (!*taken)
        return true;
    w = heft_arena_zero(q->mem, 1, sizeof *w, q->err);
    shape = heft_arena_u64(q->mem, 2, q->err);
    if (!w || !shape || !describe(q, &r, w) ||
        !(place.name = heft_quant_join(q, r.prefix, ".weight")).p)
        return false;
    shape[0] = w->rows;
    shape[1] = w->columns;
    place.shape = shape;
    place.as = (enum heft_dtype)r.scales->dtype;
    return heft_int_weight_replace(q, row, w, &place);
}

const char *const heft_quant_words_companions[] = {".qzeros", ".scales", ".g_idx", NULL};
