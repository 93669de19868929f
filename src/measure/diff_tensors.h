/* diff_tensors.h: compares the tensors, the metadata and the values of two checkpoints. The public types are
 * those of heft/diff.h. */
#ifndef HEFT_DIFF_TENSORS_H
#define HEFT_DIFF_TENSORS_H

#include "core/reader.h"

/* heft_diff for complete options; a.model and b.model are those of the readers. is_ruled: a is seen
 * through rules files, so that root and renaming are not applied to it again. */
HEFT_CHECKED bool heft_diff_tensors(struct heft_reader *a, struct heft_reader *b,
                                    const struct heft_diff_options *options, bool is_ruled,
                                    const struct heft_diff_visitor *visitor,
                                    struct heft_diff_result *result, struct heft_error *err);
/* diff_metadata.c */
HEFT_CHECKED bool heft_diff_metadata(const struct heft_model *a, const struct heft_model *b,
                                     const struct heft_diff_visitor *visitor,
                                     struct heft_diff_counts *counts, struct heft_error *err);
/* diff_values.c; the roots: NULL where they are not applied. HEFT_LIMIT if shared references multiply to
 * more values than the limits allow. */
HEFT_CHECKED bool heft_diff_values(const struct heft_model *a, const char *root_a,
                                   const struct heft_model *b, const char *root_b,
                                   const struct heft_diff_visitor *visitor,
                                   struct heft_diff_counts *counts, struct heft_error *err);

#endif
