/* usage.c: how much of the storages tensors and blobs see.
 *
 *     storage   |------------------------------------|
 *     views        |=====|       |======|                 used: the union of what they see
 *                     |======|
 *
 * A view with strides counts from its first element to its last: what lies between may be another
 * view's. Sorted by storage and begin, one pass gives the union. */
#include "core/usage.h"

#include <stdlib.h>

#include "core/byte_range.h"

struct span {
    uint64_t begin, end;
    uint32_t storage;
};

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b; /* sparse files can say so */
}

/* Elements from the first to the last, of a validated part that is not empty. */
static uint64_t reach(unsigned rank, const uint64_t *shape, const uint64_t *stride)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < rank; i++)
        n = stride ? n + (shape[i] - 1) * stride[i] : n * shape[i];
    return n;
}

static struct span span_of(const struct heft_row *row, uint32_t k)
{
    const struct heft_part *part = row->parts ? &row->parts->list[k] : NULL;
    const struct heft_byte_range range = heft_byte_range_of(row);

    if (!part)
        return (struct span){range.begin, range.end, row->storage};
    return (struct span){part->offset,
                         part->offset +
                             heft_dtype_span((enum heft_dtype)row->dtype,
                                             reach(row->rank, part->extent, part->stride)),
                         part->storage};
}

static struct span span_of_blob(const struct heft_model *model, const struct heft_model_blob *blob)
{
    return (struct span){0, model->storages[blob->storage].len, blob->storage};
}

static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->storage != y->storage)
        return x->storage < y->storage ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static uint64_t sum_union(const struct span *spans, size_t n)
{
    uint64_t sum = 0, reached = 0;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || spans[i].storage != spans[i - 1].storage)
            reached = 0;
        reached = heft_max_u64(reached, spans[i].begin);
        sum = add(sum, spans[i].end - heft_min_u64(reached, spans[i].end));
        reached = heft_max_u64(reached, spans[i].end);
    }
    return sum;
}

static size_t count_pieces(const struct heft_model *model)
{
    size_t n = model->n_blobs;

    for (size_t i = 0; i < model->n_rows; i++)
        n += heft_row_pieces(&model->rows[i]);
    return n;
}

bool heft_model_usage(const struct heft_model *model, uint64_t *stored, uint64_t *used,
                      struct heft_error *err)
{
    struct span *spans = heft_calloc(count_pieces(model) + 1, sizeof *spans, err);
    size_t n = 0;

    if (!spans)
        return false;
    for (size_t i = 0; i < model->n_rows; i++)
        for (uint32_t k = 0; model->rows[i].bytes && k < heft_row_pieces(&model->rows[i]); k++)
            spans[n++] = span_of(&model->rows[i], k);
    for (size_t i = 0; i < model->n_blobs; i++)
        spans[n++] = span_of_blob(model, &model->blobs[i]);
    if (!model->no_shared_storage || model->n_blobs)
        qsort(spans, n, sizeof *spans, by_place);
    *used = sum_union(spans, n);
    *stored = 0;
    for (size_t i = 0; i < model->n_storages; i++)
        if (!model->storages[i].is_other)
            *stored = add(*stored, model->storages[i].len - model->storages[i].front);
    heft_free(spans);
    return true;
}
