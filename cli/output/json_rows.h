/* json_rows.h: tensors, and ranges of bytes, as JSON. */
#ifndef CLI_JSON_ROWS_H
#define CLI_JSON_ROWS_H

#include "output/rows.h"

/* Word for how the bytes of a tensor are stored, except HEFT_STORED_PLAIN: "deflate", "pickle" … */
const char *tensor_stored_name(enum heft_stored stored);
/* Writes the object of the k-th tensor shown, which is *t; with the path of its file if with_path. */
void json_tensor(struct out *out, const struct rows *rows, size_t k, const struct heft_tensor *t,
                 bool with_path);
/* Writes all tensors shown as the member "tensors". */
void json_tensors(struct out *out, const struct rows *rows);
/* Writes the ranges of the map as the member "segments". */
void json_segments(struct out *out, const struct heft_map *map);

#endif
