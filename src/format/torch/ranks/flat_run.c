/* flat_run.c: cuts a run of a row-major tensor into boxes.
 *
 *     [4,3], elements 2 to 10                  . . A
 *                                              B B B      A [0:1,2:3]  B [1:3,0:3]  C [3:4,0:2]
 *                                              B B B
 *                                              C C .
 *
 * Each box begins where the one before ends. It extends along the outermost dimension of which the
 * rest of the run has a whole step, so that the steps grow to the middle of the run and shrink to its
 * end: at most 2 × rank - 1 boxes, each contiguous in the vector and in the tensor. */
#include "format/torch/ranks/flat_run.h"

/* Elements of one step of dimension d: the product of the extents behind it. */
static uint64_t step_of(const struct heft_row *row, unsigned d)
{
    uint64_t step = 1;

    for (unsigned i = d + 1; i < row->rank; i++)
        step *= row->shape[i]; /* no overflow: a divisor of the number of elements */
    return step;
}

/* The outermost dimension that a box from element `at` can extend along; its step in *step. */
static unsigned choose_dim(const struct heft_row *row, uint64_t at, uint64_t left, uint64_t *step)
{
    unsigned d = 0;

    for (; d + 1 < row->rank; d++) {
        *step = step_of(row, d);
        if (at % *step == 0 && left >= *step)
            return d;
    }
    *step = 1;
    return d;
}

/* Fills the box that begins at element `at`; returns its number of elements. */
static uint64_t fill_box(const struct heft_row *row, uint64_t at, uint64_t left, uint64_t *start,
                         uint64_t *extent)
{
    uint64_t step, index = at;
    unsigned dim;

    if (row->rank == 0)
        return 1;
    dim = choose_dim(row, at, left, &step);
    for (unsigned d = row->rank; d > 0; d--) {
        start[d - 1] = index % row->shape[d - 1];
        extent[d - 1] = d - 1 > dim ? row->shape[d - 1] : 1;
        index /= row->shape[d - 1];
    }
    extent[dim] = heft_min_u64(row->shape[dim] - start[dim], left / step);
    return extent[dim] * step;
}

static bool add_box(struct heft_flat_row *flat, const struct heft_flat_run *run, uint64_t done,
                    uint64_t *count, struct heft_error *err)
{
    const size_t rank = flat->row.rank;
    const uint64_t each = heft_dtype_element_bytes((enum heft_dtype)flat->row.dtype);
    uint64_t *numbers;

    if (*flat->budget == 0)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the tensors of the ranks have more parts than 4 × limits.tensors");
    --*flat->budget;
    numbers = heft_arena_u64(&flat->model->mem, 2 * rank + 1, err);
    if (!numbers || !heft_grow(&flat->list, &flat->cap, flat->n, 1, sizeof *flat->list, err))
        return false;
    *count = fill_box(&flat->row, run->at + done, run->n - done, numbers, numbers + rank);
    flat->list[flat->n++] = (struct heft_part){.start = numbers,
                                               .extent = numbers + rank,
                                               .offset = run->offset + done * each,
                                               .storage = run->storage,
                                               .flags = run->flags};
    return true;
}

bool heft_flat_row_add(struct heft_flat_row *flat, const struct heft_flat_run *run,
                       struct heft_error *err)
{
    uint64_t done = 0, count = 0;

    for (; done < run->n; done += count)
        if (!add_box(flat, run, done, &count, err))
            return false;
    return true;
}

void heft_flat_row_release(struct heft_flat_row *flat)
{
    heft_free(flat->list);
    flat->list = NULL;
}

static bool finish_row(struct heft_flat_row *flat, uint32_t source, struct heft_error *err)
{
    struct heft_model *model = flat->model;
    const struct heft_storage none = {.source = source};
    struct heft_row row = flat->row;

    if (flat->n == 0)
        return heft_model_add_storage(model, &none, &row.storage, err) &&
               heft_model_add_row(model, &row, err);
    row.parts = heft_arena_zero(&model->mem, 1, sizeof *row.parts, err);
    if (!row.parts ||
        !(row.parts->list = heft_arena_zero(&model->mem, flat->n, sizeof *row.parts->list, err)))
        return false;
    memcpy(row.parts->list, flat->list, flat->n * sizeof *flat->list);
    row.parts->n = (uint32_t)flat->n; /* fits: the budget is smaller */
    row.storage = flat->list[0].storage;
    return heft_model_add_row(model, &row, err);
}

bool heft_flat_row_end(struct heft_flat_row *flat, uint32_t source, struct heft_error *err)
{
    const bool ok = finish_row(flat, source, err);

    heft_flat_row_release(flat);
    return ok;
}
