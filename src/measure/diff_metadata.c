/* diff_metadata.c: compares the metadata of two checkpoints, key by key, without bookkeeping. */
#include "core/tie_records.h"
#include "measure/diff_tensors.h"

static bool tell(const struct heft_diff_visitor *visitor, enum heft_diff_kind kind,
                 const struct heft_pair *a, const struct heft_pair *b, struct heft_error *err)
{
    const struct heft_pair *const either = a ? a : b;
    const struct heft_diff_pair pair = {.kind = kind,
                                        .key = either->key.p,
                                        .key_len = either->key.n,
                                        .a = a ? a->value.p : NULL,
                                        .b = b ? b->value.p : NULL,
                                        .a_len = a ? a->value.n : 0,
                                        .b_len = b ? b->value.n : 0};

    return !visitor->metadata || visitor->metadata(visitor->ctx, &pair) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

/* Keys of a model → index, without bookkeeping. After validation each key is there once. */
static bool map_keys(struct heft_strmap *map, const struct heft_model *model,
                     struct heft_error *err)
{
    uint32_t found;

    for (uint32_t i = 0; i < model->n_metadata; i++) /* limited by the bytes of the header */
        if (!heft_metadata_is_bookkeeping(model, model->metadata[i].key) &&
            !heft_strmap_add(map, model->metadata[i].key, i, &found, err))
            return false;
    return true;
}

/* Reports the keys of `model` that the map of the other model lacks. */
static bool tell_lacking(const struct heft_model *model, const struct heft_strmap *other,
                         const struct heft_diff_visitor *visitor, struct heft_diff_counts *counts,
                         struct heft_error *err)
{
    for (size_t i = 0; i < model->n_metadata; i++) {
        const struct heft_pair *const pair = &model->metadata[i];

        if (heft_metadata_is_bookkeeping(model, pair->key) ||
            heft_strmap_get(other, pair->key) != HEFT_MAP_NONE)
            continue;
        counts->only_b++;
        if (!tell(visitor, HEFT_DIFF_ONLY_B, NULL, pair, err))
            return false;
    }
    return true;
}

static bool compare_pair(const struct heft_pair *a, const struct heft_pair *b,
                         const struct heft_diff_visitor *visitor, struct heft_diff_counts *counts,
                         struct heft_error *err)
{
    if (!b) {
        counts->only_a++;
        return tell(visitor, HEFT_DIFF_ONLY_A, a, NULL, err);
    }
    if (heft_str_eq(a->value, b->value)) {
        counts->equal++;
        return true;
    }
    counts->differ++;
    return tell(visitor, HEFT_DIFF_BOTH, a, b, err);
}

static bool compare_maps(const struct heft_model *a, const struct heft_model *b,
                         const struct heft_strmap *keys_a, const struct heft_strmap *keys_b,
                         const struct heft_diff_visitor *visitor, struct heft_diff_counts *counts,
                         struct heft_error *err)
{
    for (size_t i = 0; i < a->n_metadata; i++) {
        const struct heft_pair *const pair = &a->metadata[i];
        const uint32_t at = heft_strmap_get(keys_b, pair->key);

        if (!heft_metadata_is_bookkeeping(a, pair->key) &&
            !compare_pair(pair, at == HEFT_MAP_NONE ? NULL : &b->metadata[at], visitor, counts,
                          err))
            return false;
    }
    return tell_lacking(b, keys_a, visitor, counts, err);
}

bool heft_diff_metadata(const struct heft_model *a, const struct heft_model *b,
                        const struct heft_diff_visitor *visitor, struct heft_diff_counts *counts,
                        struct heft_error *err)
{
    struct heft_strmap keys_a = {0}, keys_b = {0};
    const bool ok = map_keys(&keys_a, a, err) && map_keys(&keys_b, b, err) &&
                    compare_maps(a, b, &keys_a, &keys_b, visitor, counts, err);

    heft_strmap_release(&keys_a);
    heft_strmap_release(&keys_b);
    return ok;
}
