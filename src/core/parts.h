/* parts.h: rows that lie in parts: the proof that the parts tile the tensor, and slices of them. */
#ifndef HEFT_PARTS_H
#define HEFT_PARTS_H

#include "core/model.h"

/* Checks a row with parts: each inside its storage and inside the tensor, and together they hold
 * each element once. HEFT_MALFORMED names the first element that none or that two of them hold.
 * Afterwards the parts are sorted; a row of one part has become a whole one. */
HEFT_CHECKED bool heft_parts_validate(struct heft_model *model, struct heft_row *row,
                                      struct heft_error *err);
/* Whether parts that lie inside the tensor, which has elements, hold each of them once. Fails as
 * settling would; their storages are there. */
HEFT_CHECKED bool heft_parts_tile(const struct heft_model *model, const struct heft_row *row,
                                  struct heft_error *err);
/* heft_row_slice, of a settled row with parts and ranges that were checked. */
HEFT_CHECKED bool heft_parts_slice(const struct heft_row *row, const struct heft_range *ranges,
                                   size_t n_ranges, struct heft_arena *arena, struct heft_row *out,
                                   struct heft_error *err);

#endif
