/* array_text.h: prints arrays as numpy does: brackets, lines of at most 75 columns, edge items. */
#ifndef CLI_ARRAY_TEXT_H
#define CLI_ARRAY_TEXT_H

#include "output/element.h"
#include "output/output.h"

/* numpy's defaults: arrays of more elements are summarized, with that many items at each edge of a
 * long dimension. */
enum { ARRAY_THRESHOLD = 1000, ARRAY_EDGE = 3 };

/* The elements that are shown of an array, in row-major order. */
struct array {
    struct element_type type;
    unsigned rank;
    const uint64_t *shape; /* of what is shown: at most 2 * ARRAY_EDGE in a dimension cut short */
    const bool *is_cut; /* whether "..." stands behind the first ARRAY_EDGE items; rank entries */
    const struct element *elements;
    size_t n;
};

/* Prints str(array) without a newline. */
void print_array(struct out *out, const struct array *array);

#endif
