/* equal_rows.h: pairs of tensors that must be equal for a conversion: replicas in several files, of
 * which one is written, and tied names that are stored twice. */
#ifndef HEFT_EQUAL_ROWS_H
#define HEFT_EQUAL_ROWS_H

#include "core/model.h"

/* Two rows of a model, with the same dtype and as many elements. */
struct heft_equal_rows {
    const struct heft_row *a, *b; /* named as in the input */
    const char *where;            /* "FILE:LINE" of the rule, for errors */
};

/* Compares the logical bytes of all pairs, in bounded memory. HEFT_MALFORMED names the rule, both tensors
 * and the first element that differs. Pairs that are the same view of a storage are not read. */
HEFT_CHECKED bool heft_equal_rows_check(const struct heft_model *model,
                                        const struct heft_equal_rows *list, size_t n,
                                        struct heft_error *err);

#endif
