/* usage.c: bytes of storages that tensors and blobs use.
 *
 *     storage   |------------------------------------|
 *     views        |=====|       |======|                 used: the union of these ranges
 *                     |======|
 *
 * A strided view counts from its first to its last element, gaps included. The union of intervals is
 * computed by sorting them by storage and start, and one pass. */
#include "core/usage.h"

#include <stdlib.h>

#include "core/byte_range.h"

struct span {
    uint64_t begin, end;
    uint32_t storage;
};

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX
                              : a + b; /* saturated: sizes of sparse files can add up to 2^64 */
}

/* Number of elements from the first to the last one of a validated, non-empty part. */
static uint64_t elements_spanned(unsigned rank, const uint64_t *shape, const uint64_t *stride)
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
    return (struct span){
        part->offset,
        part->offset + elements_spanned(heft_row_boxed_rank(row), part->extent, part->stride) *
                           heft_row_unit(row),
        part->storage};
}

static struct span span_of_blob(const struct heft_model *model, const struct heft_model_blob *blob)
{
    return (struct span){0, model->storages[blob->storage].len, blob->storage};
}

static int by_storage_and_begin(const void *a, const void *b)
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
        sum = add_saturated(sum, spans[i].end - heft_min_u64(reached, spans[i].end));
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
        qsort(spans, n, sizeof *spans, by_storage_and_begin);
    *used = sum_union(spans, n);
    *stored = 0;
    for (size_t i = 0; i < model->n_storages; i++)
        if (!model->storages[i].is_other)
            *stored = add_saturated(*stored, model->storages[i].len - model->storages[i].front);
    heft_free(spans);
    return true;
}
