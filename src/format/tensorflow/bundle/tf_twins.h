/* tf_twins.h: variables that a SavedModel of Keras 3's model.export() stores twice. */
#ifndef HEFT_TF_TWINS_H
#define HEFT_TF_TWINS_H

#include "core/model.h"

/* Whether it is the key of a copy that no function captures: below _all_variables. */
bool heft_tf_is_copy(struct heft_str key);
/* twin[i] of the n rows from `first` on, which have their keys as names: the number (from `first`
 * on) of the row that is the same variable, else HEFT_NONE. full[i]: the full_name that the object
 * graph has beside the key; n = 0: none. */
HEFT_CHECKED bool heft_tf_twins_find(const struct heft_model *model, size_t first, size_t n,
                                     const struct heft_str *full, uint32_t *twin, size_t *pairs,
                                     struct heft_error *err);

#endif
