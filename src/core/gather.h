/* gather.h: elements of a row that is strided or lies in parts, brought into row-major order in
 * bounded memory. */
#ifndef HEFT_GATHER_H
#define HEFT_GATHER_H

#include "core/nd_view.h"
#include "core/reader.h"

/* Elements [first, first+count) of a settled row that has strides, as they are stored. */
HEFT_CHECKED bool heft_gather_row(struct heft_reader *reader, const struct heft_row *row,
                                  uint64_t first, uint64_t count, uint8_t *dst,
                                  struct heft_error *err);
/* The same of a row in parts, and their flags resolved. */
HEFT_CHECKED bool heft_gather_parts(struct heft_reader *reader, const struct heft_row *row,
                                    uint64_t first, uint64_t count, uint8_t *dst,
                                    struct heft_error *err);
/* One box of a storage to its places: dims in the destination's order with n, from and to; begins
 * from and to. */
HEFT_CHECKED bool heft_gather_box(struct heft_reader *reader, uint32_t storage, uint32_t each,
                                  struct heft_nd_view *box, uint8_t *dst, struct heft_error *err);

#endif
