/* diff_lines.h: lines of a comparison: "- NAME …" only in A, "+ NAME …" only in B, "~ NAME …" different. */
#ifndef CLI_DIFF_LINES_H
#define CLI_DIFF_LINES_H

#include "output/output.h"

#include <heft/heft.h>

/* Name of the dtype of a side, or the kind of the blob. */
const char *diff_type(const struct heft_diff_item *item, const struct heft_diff_side *side);
void print_diff_item(struct out *out, const struct heft_diff_item *item);
void print_diff_pair(struct out *out, const struct heft_diff_pair *pair);
void print_diff_value(struct out *out, const struct heft_diff_value *value);
/* "12 equal, 1 differ, 0 only in A, 2 only in B" */
void print_diff_counts(struct out *out, const struct heft_diff_counts *counts);

#endif
