/* tf_twins.h: finds variables that are stored twice: Keras 3's model.export() writes such
 * SavedModels. */
#ifndef HEFT_TF_TWINS_H
#define HEFT_TF_TWINS_H

#include "core/model.h"

/* What was found among the rows of a bundle. */
struct heft_tf_twins {
    size_t pairs;           /* variables that are stored twice */
    size_t unequal;         /* … whose two copies differ, and which remain two tensors */
    struct heft_str differ; /* full_name of one of the latter; borrowed */
};

/* True for the key of a copy that no function captures: a key below _all_variables. */
bool heft_tf_is_copy(struct heft_str key);
/* Finds rows that store one variable twice. The n rows from `first` on have their keys as names.
 * twin[i]: number (from `first`) of the other row of the variable, or HEFT_NONE. full[i]: full_name
 * in the object graph, empty if unknown. */
HEFT_CHECKED bool heft_tf_twins_find(const struct heft_model *model, size_t first, size_t n,
                                     const struct heft_str *full, uint32_t *twin,
                                     struct heft_tf_twins *found, struct heft_error *err);

#endif
