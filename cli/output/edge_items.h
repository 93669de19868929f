/* edge_items.h: reads the elements of a tensor that print_array shows: all of a small tensor, of a
 * large one the items at the edges of each dimension. */
#ifndef CLI_EDGE_ITEMS_H
#define CLI_EDGE_ITEMS_H

#include "output/array_text.h"

enum {
    EDGE_RANK = 64,
    EDGE_MOST = 1000000
}; /* dimensions, as struct heft_limits has it; elements */

struct edge_request {
    struct heft_checkpoint *c;
    size_t index;
    const struct heft_range *ranges; /* of a slice */
    size_t n_ranges;
    const enum heft_dtype *cast; /* NULL: none */
};

/* What print_array needs; release with edge_items_release. */
struct edge_items {
    struct array array;
    bool is_whole;       /* every element is shown */
    uint64_t overflowed; /* finite values that are out of range of the cast, among those shown */
    /* private */
    uint64_t shape[EDGE_RANK];
    bool is_cut[EDGE_RANK];
    struct element *elements;
};

/* Finds out which elements are shown. HEFT_LIMIT if they are more than EDGE_MOST (many short
 * dimensions); HEFT_USAGE if the elements have no text. */
bool edge_items_plan(struct edge_items *items, const struct edge_request *request,
                     struct heft_error *err);
/* Reads them; of a tensor that is not compressed only the bytes of these elements. */
bool edge_items_read(struct edge_items *items, const struct edge_request *request,
                     struct heft_error *err);
void edge_items_release(struct edge_items *items);

#endif
