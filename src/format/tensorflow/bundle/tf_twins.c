/* tf_twins.c: variables that a SavedModel of Keras 3's model.export() stores twice.
 *
 *     variables/7/.ATTRIBUTES/VARIABLE_VALUE         captured by functions; full_name "c1/kernel"
 *     _all_variables/4/.ATTRIBUTES/VARIABLE_VALUE    captured by none; full_name "c1/kernel", too
 *
 * The numbers below _all_variables follow the order of a set, which differs in each export. Two keys
 * are one variable if only these two have the full name, one of them is below _all_variables, and
 * dtype, shape, length and CRC-32C are equal. O(n). */
#include "format/tensorflow/bundle/tf_twins.h"

#include "base/map.h"

#define COPIES  "_all_variables/"
#define SEVERAL (HEFT_NONE - 1)

bool heft_tf_is_copy(struct heft_str key)
{
    return heft_str_starts(key, HEFT_STR(COPIES));
}

/* Adds name → row, or name → SEVERAL if the name is not unique. */
static bool add_name(struct heft_strmap *map, struct heft_str name, uint32_t row,
                     struct heft_error *err)
{
    uint32_t found;

    return heft_strmap_add(map, name, row, &found, err) &&
           (found == HEFT_MAP_NONE || heft_strmap_set(map, name, SEVERAL, err));
}

static bool are_equal(const struct heft_model *model, const struct heft_row *a,
                      const struct heft_row *b)
{
    const struct heft_storage *x = &model->storages[heft_row_storage(a, 0)];
    const struct heft_storage *y = &model->storages[heft_row_storage(b, 0)];

    return !a->parts && !b->parts && a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0) &&
           x->len == y->len && x->sum == HEFT_SUM_CRC32C && y->sum == HEFT_SUM_CRC32C &&
           x->crc == y->crc;
}

bool heft_tf_twins_find(const struct heft_model *model, size_t first, size_t n,
                        const struct heft_str *full, uint32_t *twin, size_t *pairs,
                        struct heft_error *err)
{
    const struct heft_row *const rows = model->rows + first;
    struct heft_strmap captured = {0}, copies = {0};
    bool ok = true;

    *pairs = 0;
    memset(twin, 0xff, n * sizeof *twin);  /* every byte 0xff: HEFT_NONE */
    for (uint32_t i = 0; ok && i < n; i++) /* row numbers fit in 32 bits */
        if (full[i].n)
            ok = add_name(heft_tf_is_copy(rows[i].name) ? &copies : &captured, full[i], i, err);
    for (uint32_t i = 0; ok && i < n; i++) {
        const uint32_t other = full[i].n ? heft_strmap_get(&copies, full[i]) : HEFT_MAP_NONE;

        if (heft_tf_is_copy(rows[i].name) || other >= SEVERAL ||
            heft_strmap_get(&captured, full[i]) != i || !are_equal(model, &rows[i], &rows[other]))
            continue;
        twin[i] = other;
        twin[other] = i;
        ++*pairs;
    }
    heft_strmap_release(&captured);
    heft_strmap_release(&copies);
    return ok;
}
