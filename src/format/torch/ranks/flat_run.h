/* flat_run.h: tensors that are stored as runs of a flat vector, for example a vector of all
 * parameters that is cut by rank. */
#ifndef HEFT_FLAT_RUN_H
#define HEFT_FLAT_RUN_H

#include "core/model.h"

/* Elements [at, at + n) of a row-major tensor, adjacent in a storage. */
struct heft_flat_run {
    uint64_t at, n;
    uint64_t offset; /* byte offset of the first one in the storage */
    uint32_t storage;
    uint8_t flags; /* as in struct heft_row */
};

/* A row under construction. `row` has name, shape, rank and dtype; the number of its elements is below
 * 2^63. */
struct heft_flat_row {
    struct heft_model *model;
    struct heft_row row;
    struct heft_part *list; /* on the heap */
    size_t n, cap;
    uint64_t *budget; /* boxes that may still be made, for all rows of a checkpoint */
};

/* Adds the boxes of a run: at most 2 × rank - 1, at least one if n > 0. The run must lie inside the
 * tensor. HEFT_LIMIT if the budget is used up. */
HEFT_CHECKED bool heft_flat_row_add(struct heft_flat_row *flat, const struct heft_flat_run *run,
                                    struct heft_error *err);
/* Adds the row to the model. A row without runs has no elements: it gets an empty storage of
 * `source`. Releases the list, also on failure. */
HEFT_CHECKED bool heft_flat_row_end(struct heft_flat_row *flat, uint32_t source,
                                    struct heft_error *err);
void heft_flat_row_release(struct heft_flat_row *flat);

#endif
