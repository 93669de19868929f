/* tf_twins.c: variables that a SavedModel of Keras 3's model.export() stores twice.
 *
 *     variables/7/.ATTRIBUTES/VARIABLE_VALUE         captured by functions; full_name "c1/kernel"
 *     _all_variables/4/.ATTRIBUTES/VARIABLE_VALUE    captured by none; full_name "c1/kernel", too
 *
 * The numbers below _all_variables follow the order of a set, which differs in each export. Two keys
 * are one variable if they have the same full name, one of them is below _all_variables, and dtype,
 * shape, length and CRC-32C are equal. In a subclassed model several variables may have one full
 * name; those with the same contents, too, are paired in the order of their keys, if there are as
 * many copies as variables. Sorts the rows: O(n log n), only if the bundle has such copies. */
#include "format/tensorflow/bundle/tf_twins.h"

#include <stdlib.h>

#define COPIES "_all_variables/"

/* A row that has a full name. */
struct place {
    struct heft_str full;
    const struct heft_row *row;
    const struct heft_storage *storage;
    uint32_t number;
    bool is_copy;
};

bool heft_tf_is_copy(struct heft_str key)
{
    return heft_str_starts(key, HEFT_STR(COPIES));
}

static int order_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_full(const struct place *a, const struct place *b)
{
    const int order = memcmp(a->full.p, b->full.p, heft_min_size(a->full.n, b->full.n));

    return order ? order : order_u64(a->full.n, b->full.n);
}

/* Orders places by what two copies of a variable have in common, the name first. */
static int order_contents(const struct place *a, const struct place *b)
{
    int order = order_full(a, b);

    if (!order)
        order = order_u64(a->row->dtype, b->row->dtype);
    if (!order)
        order = order_u64(a->row->rank, b->row->rank);
    for (unsigned d = 0; !order && d < a->row->rank; d++)
        order = order_u64(a->row->shape[d], b->row->shape[d]);
    if (!order)
        order = order_u64(a->storage->len, b->storage->len);
    return order ? order : order_u64(a->storage->crc, b->storage->crc);
}

static int compare_places(const void *left, const void *right)
{
    const struct place *const a = left, *const b = right;
    int order = order_contents(a, b);

    if (!order)
        order = a->is_copy - b->is_copy;
    return order ? order : order_u64(a->number, b->number);
}

/* Lists the rows that have a full name. *copies: how many of them are copies. */
static size_t list_places(const struct heft_model *model, size_t first, size_t n,
                          const struct heft_str *full, struct place *places, size_t *copies)
{
    size_t listed = 0;

    *copies = 0;
    for (uint32_t i = 0; i < n; i++) { /* row numbers fit in 32 bits */
        const struct heft_row *const row = &model->rows[first + i];
        const struct heft_storage *const storage = &model->storages[heft_row_storage(row, 0)];

        if (!full[i].n)
            continue;
        places[listed++] = (struct place){full[i], row, storage, i, heft_tf_is_copy(row->name)};
        *copies += heft_tf_is_copy(row->name);
    }
    return listed;
}

static bool has_checksum(const struct place *place)
{
    return !place->row->parts && place->storage->sum == HEFT_SUM_CRC32C;
}

/* Pairs the first `half` of places with equal contents with as many copies behind them. */
static void pair_halves(const struct place *places, size_t half, uint32_t *twin)
{
    for (size_t i = 0; i < half; i++) {
        twin[places[i].number] = places[half + i].number;
        twin[places[half + i].number] = places[i].number;
    }
}

/* Pairs the places that begin at places[0] and have its contents. Returns how many there are. */
static size_t pair_equal(const struct place *places, size_t n, uint32_t *twin, size_t *pairs)
{
    size_t end = 1, copies = places[0].is_copy;
    bool is_known = has_checksum(&places[0]);

    for (; end < n && order_contents(&places[0], &places[end]) == 0; end++) {
        copies += places[end].is_copy;
        is_known = is_known && has_checksum(&places[end]);
    }
    if (is_known && 2 * copies == end) {
        pair_halves(places, copies, twin);
        *pairs += copies;
    }
    return end;
}

/* Counts the variables of one full name whose copies differ. Returns how many places have it. */
static size_t count_unequal(const struct place *places, size_t n, const uint32_t *twin,
                            struct heft_tf_twins *found)
{
    size_t end = 0, single[2] = {0, 0}, unequal;

    for (; end < n && order_full(&places[0], &places[end]) == 0; end++)
        if (twin[places[end].number] == HEFT_NONE)
            single[places[end].is_copy]++;
    unequal = heft_min_size(single[0], single[1]);
    if (unequal && !found->unequal)
        found->differ = places[0].full;
    found->unequal += unequal;
    return end;
}

bool heft_tf_twins_find(const struct heft_model *model, size_t first, size_t n,
                        const struct heft_str *full, uint32_t *twin, struct heft_tf_twins *found,
                        struct heft_error *err)
{
    struct place *const places = heft_calloc(n + 1, sizeof *places, err);
    size_t listed, copies;

    *found = (struct heft_tf_twins){0};
    memset(twin, 0xff, n * sizeof *twin); /* every byte 0xff: HEFT_NONE */
    if (!places)
        return false;
    listed = list_places(model, first, n, full, places, &copies);
    if (copies && copies < listed) {
        qsort(places, listed, sizeof *places, compare_places);
        for (size_t at = 0; at < listed;)
            at += pair_equal(places + at, listed - at, twin, &found->pairs);
        for (size_t at = 0; at < listed;)
            at += count_unequal(places + at, listed - at, twin, found);
    }
    heft_free(places);
    return true;
}
