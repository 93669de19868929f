/* parts.h: tensors stored in parts: validation that the parts tile the tensor, and slices. */
#ifndef HEFT_PARTS_H
#define HEFT_PARTS_H

#include "core/model.h"

/* Validates a row with parts: each part lies inside its storage and inside the tensor, and
 * together they hold each element exactly once. HEFT_MALFORMED names the first element that is
 * missing or held by several parts. Sorts the parts; a row with a single part becomes an
 * ordinary row. */
HEFT_CHECKED bool heft_parts_validate(struct heft_model *model, struct heft_row *row,
                                      struct heft_error *err);
/* Whether parts, each inside a tensor that has elements, hold each element exactly once. Fails
 * as validation does. The storages of the parts must exist. */
HEFT_CHECKED bool heft_parts_tile(const struct heft_model *model, const struct heft_row *row,
                                  struct heft_error *err);
/* Sets `first` and `reach` of the parts of a row, of which there is at least one, sorts them by `first`,
 * and sets storage and offset of the row to those of the first one. */
void heft_parts_sort(struct heft_row *row);
/* heft_row_slice for a validated row with parts; the ranges must have been checked. */
HEFT_CHECKED bool heft_parts_slice(const struct heft_row *row, const struct heft_range *ranges,
                                   size_t n_ranges, struct heft_arena *arena, struct heft_row *out,
                                   struct heft_error *err);

#endif
