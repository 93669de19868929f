/* gather.h: elements of a strided row, brought into row-major order in bounded memory. */
#ifndef HEFT_GATHER_H
#define HEFT_GATHER_H

#include "core/reader.h"

/* Elements [first, first+count) of a settled row that has strides, as they are stored. */
HEFT_CHECKED bool heft_gather_row(struct heft_reader *reader, const struct heft_row *row,
                                  uint64_t first, uint64_t count, uint8_t *dst,
                                  struct heft_error *err);

#endif
