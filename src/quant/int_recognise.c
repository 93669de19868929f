/* int_recognise.c: what the schemes of integer codes have in common while weights are recognised. */
#include "base/endian.h"
#include "quant/int_weight.h"

static const char *identity_of(struct heft_quant *q, const struct heft_int_weight *w,
                               const struct heft_int_place *place)
{
    return heft_arena_printf(q->mem, q->err,
                             "%s bits %u group %" PRIu64 " index %d zeros %u base %" PRId32
                             " full %u formula %u",
                             place->scheme, w->bits, w->group_size, w->index.row != NULL,
                             w->zeros_as, w->base, w->full, w->formula);
}

bool heft_int_weight_replace(struct heft_quant *q, uint32_t row, const struct heft_int_weight *w,
                             const struct heft_int_place *place)
{
    const struct heft_row *const used[] = {w->codes.row, w->scales.row, w->zeros.row, w->index.row};
    const struct heft_row *sources[HEFT_COUNT(used)];
    struct heft_quant_weight weight = {.name = place->name,
                                       .shape = place->shape,
                                       .rank = place->rank,
                                       .sources = sources,
                                       .recipe = {.make = heft_int_weight_make,
                                                  .check = heft_int_weight_check,
                                                  .ctx = w,
                                                  .as = (uint8_t)place->as}};

    if (w->formula == HEFT_INT_BIASED) {
        weight.recipe.rounds = w->scale_dtype;
        weight.make_otherwise = heft_int_weight_make_exact;
    }
    for (size_t i = 0; i < HEFT_COUNT(used); i++)
        if (used[i])
            sources[weight.n_sources++] = used[i];
    weight.recipe.identity = identity_of(q, w, place);
    return weight.recipe.identity && heft_quant_replace(q, row, &weight);
}

bool heft_int_scales_known(const struct heft_quant *q, const struct heft_row *row)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;

    return dtype == HEFT_F16 || dtype == HEFT_BF16 || dtype == HEFT_F32 ||
           heft_quant_refuse(q, row, HEFT_UNSUPPORTED, "has dtype %s: expected F16, BF16 or F32",
                             heft_dtype_name(dtype));
}

bool heft_int_group_size(const struct heft_quant *q, const struct heft_quant_node *dict,
                         const char *key, uint64_t *out, bool *found)
{
    const struct heft_quant_node *const node =
        heft_quant_get(dict ? dict : q->config->quantization, key);

    *out = 0;
    *found = node && node->kind != HEFT_QUANT_NULL;
    if (node && node->kind == HEFT_QUANT_NUMBER && node->is_integer && node->integer == -1)
        return true;
    return heft_quant_integer(q->config, dict, key, 1, (uint64_t)1 << 31, out, found, q->err);
}

/* ---- indexes of groups --------------------------------------------------------------------- */

enum { MOST_INDEXED = 1 << 20 }; /* columns */

struct indexing {
    struct heft_quant *q;
    const struct heft_row *row;
    const struct heft_int_weight *weight;
    uint32_t *counts;   /* columns of each group; NULL: not counted */
    bool is_plain;      /* column c has group c / group_size so far */
    bool has_negatives; /* so that it counts as absent */
};

static bool look_at(struct indexing *x, uint64_t column, int32_t group)
{
    if (group < 0 && x->counts) {
        x->has_negatives = true;
        return true;
    }
    if (group < 0 || (uint64_t)group >= x->weight->groups)
        return heft_quant_refuse(x->q, x->row, HEFT_MALFORMED,
                                 "element %" PRIu64 " is group %" PRId32
                                 "; the groups are 0 to %" PRIu64,
                                 column, group, x->weight->groups - 1);
    x->is_plain = x->is_plain && (uint64_t)group == column / x->weight->group_size;
    if (x->counts)
        x->counts[group]++;
    return true;
}

static bool look_at_all(struct indexing *x)
{
    const size_t n = (size_t)x->weight->columns;
    uint8_t *const bytes = heft_alloc(4 * n, x->q->err);
    bool ok = bytes && heft_quant_read(x->q, x->row, 0, n, bytes);

    for (size_t i = 0; ok && i < n; i++)
        ok = look_at(x, i, (int32_t)heft_le32(bytes + 4 * i));
    heft_free(bytes);
    return ok;
}

/* compressed-tensors 0.9.4 sorts the columns by their groups, and cuts them into groups of equal size:
 * other groups than these of its own would come out differently. */
static bool check_sizes(const struct indexing *x)
{
    for (uint64_t g = 0; !x->has_negatives && g < x->weight->groups; g++)
        if (x->counts[g] != x->weight->group_size)
            return heft_quant_refuse(x->q, x->row, HEFT_UNSUPPORTED,
                                     "group %" PRIu64 " has %" PRIu32 " columns: expected %" PRIu64
                                     ", the group_size",
                                     g, x->counts[g], x->weight->group_size);
    return true;
}

bool heft_int_weight_index(struct heft_quant *q, const struct heft_row *row, bool may_be_absent,
                           struct heft_int_weight *w)
{
    struct indexing x = {.q = q, .row = row, .weight = w, .is_plain = true};
    bool ok;

    if (row->dtype != HEFT_I32 || !heft_quant_has_shape(row, 1, &w->columns))
        return heft_quant_refuse(
            q, row, HEFT_MALFORMED, "%s %s: expected I32 [%" PRIu64 "], a group of each column",
            heft_dtype_name((enum heft_dtype)row->dtype), heft_quant_shape(row).text, w->columns);
    if (w->columns > MOST_INDEXED || w->groups > MOST_INDEXED)
        return heft_quant_refuse(q, row, HEFT_LIMIT,
                                 "has more than %d elements, which is the limit", MOST_INDEXED);
    if (may_be_absent && !(x.counts = heft_calloc((size_t)w->groups, sizeof *x.counts, q->err)))
        return false;
    ok = look_at_all(&x) && (!x.counts || check_sizes(&x));
    heft_free(x.counts);
    if (!ok || x.has_negatives || x.is_plain)
        return ok;
    return heft_matrix_of(row, &w->index, q->err);
}
