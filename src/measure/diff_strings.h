/* diff_strings.h: compares the strings of two HEFT_STRING tensors, whatever their encodings. */
#ifndef HEFT_DIFF_STRINGS_H
#define HEFT_DIFF_STRINGS_H

#include "core/model.h"

struct heft_diff_strings {
    bool differ;
    bool is_counted; /* `differing` is set */
    uint64_t differing;
};
/* Compares the strings of two rows with the same number of elements, in one pass over each row, with
 * SHA-256 and 2 MiB of memory. They are counted up to 65 536 elements. */
HEFT_CHECKED bool heft_diff_compare_strings(const struct heft_model *model_a,
                                            const struct heft_row *a,
                                            const struct heft_model *model_b,
                                            const struct heft_row *b, struct heft_diff_strings *out,
                                            struct heft_error *err);

#endif
