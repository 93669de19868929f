/* tf_bundle_join.c: tensors whose slices lie in several bundles, as devices that save in parallel
 * leave them before MergeV2Checkpoints. Bundles that are opened together are joined into whole
 * tensors. */
#include <stdlib.h>

#include "core/parts.h"
#include "format/tensorflow/bundle/tf_bundle.h"

static int by_name(const void *a, const void *b)
{
    const struct heft_partial *x = a, *y = b;
    const int order = heft_str_cmp(x->name, y->name);

    return order ? order : (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

static bool is_same(const struct heft_partial *a, const struct heft_partial *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* Number of leading list items that belong to the first item's tensor; the list is sorted by
 * tensor. */
static size_t count_alike(const struct heft_partial *list, size_t n)
{
    size_t count = 1;

    while (count < n && heft_str_eq(list->name, list[count].name))
        count++;
    return count;
}

/* True if the slices hold as many elements as the tensor. */
static bool is_complete(const struct heft_partial *list, size_t n)
{
    uint64_t held = 0;

    for (size_t i = 0; i < n; i++)
        if (!is_same(list, &list[i]) || !heft_add(held, list[i].held, &held))
            return false;
    return n > 1 && held == list->elements;
}

/* Collects the slices of all items as the parts of one row. */
static bool gather_parts(struct heft_model *model, const struct heft_partial *list, size_t n,
                         struct heft_row *row, struct heft_error *err)
{
    struct heft_parts *parts = heft_arena_zero(&model->mem, 1, sizeof *parts, err);
    size_t count = 0;

    *row = (struct heft_row){.name = list->name,
                             .shape = list->shape,
                             .rank = list->rank,
                             .dtype = list->dtype,
                             .parts = parts};
    for (size_t i = 0; i < n; i++)
        count += list[i].parts->n;
    if (!parts || !(parts->list = heft_arena_zero(&model->mem, count, sizeof *parts->list, err)))
        return false;
    for (size_t i = 0; i < n; i++) {
        memcpy(parts->list + parts->n, list[i].parts->list, list[i].parts->n * sizeof *parts->list);
        parts->n += list[i].parts->n;
    }
    return true;
}

/* Marks what the joined row replaces: the rows of the single slices, and the unreadable whole. */
static void mark_replaced(const struct heft_partial *list, size_t n, bool *rows, bool *unreadable)
{
    for (size_t i = 0; i < n; i++) {
        unreadable[list[i].unreadable] = true;
        for (size_t k = 0; k < list[i].parts->n; k++)
            rows[list[i].first_row + k] = true;
    }
}

static void remove_marked(struct heft_model *model, const bool *rows, size_t n_rows,
                          const bool *unreadable)
{
    size_t kept = 0;

    for (size_t i = 0; i < model->n_rows; i++)
        if (i >= n_rows || !rows[i])
            model->rows[kept++] = model->rows[i];
    model->n_rows = kept;
    kept = 0;
    for (size_t i = 0; i < model->n_unreadable; i++)
        if (!unreadable[i])
            model->unreadable[kept++] = model->unreadable[i];
    model->n_unreadable = kept;
}

bool heft_tf_join(struct heft_model *model, struct heft_error *err)
{
    const size_t n = model->n_partial, n_rows = model->n_rows;
    struct heft_arena scratch = {0};
    struct heft_error overlap;
    struct heft_row row;
    bool *rows, *unreadable, ok;

    if (n == 0)
        return true;
    rows = heft_arena_zero(&scratch, n_rows + 1, sizeof *rows, err);
    unreadable = heft_arena_zero(&scratch, model->n_unreadable + 1, sizeof *rows, err);
    ok = rows && unreadable;
    qsort(model->partial, n, sizeof *model->partial, by_name);
    for (size_t i = 0, alike; ok && i < n; i += alike) {
        alike = count_alike(&model->partial[i], n - i);
        if (!is_complete(&model->partial[i], alike))
            continue;
        ok = gather_parts(model, &model->partial[i], alike, &row, err);
        if (!ok || !heft_parts_tile(model, &row, &overlap))
            continue; /* incomplete: each slice stays a row */
        mark_replaced(&model->partial[i], alike, rows, unreadable);
        ok = heft_model_add_row(model, &row, err);
    }
    if (ok)
        remove_marked(model, rows, n_rows, unreadable);
    model->n_partial = 0;
    heft_arena_release(&scratch);
    return ok;
}
