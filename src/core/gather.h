/* gather.h: gathers the elements of strided rows, and of rows in parts, into row-major order in
 * bounded memory. */
#ifndef HEFT_GATHER_H
#define HEFT_GATHER_H

#include "core/nd_view.h"
#include "core/reader.h"

/* Reads the blocks [first, first+count) of a validated row with strides, as stored: flags are
 * not applied. A block is one element of a plain dtype. */
HEFT_CHECKED bool heft_gather_row(struct heft_reader *reader, const struct heft_row *row,
                                  uint64_t first, uint64_t count, uint8_t *dst,
                                  struct heft_error *err);
/* The same for the elements of a row in parts, with the flags of each part applied. */
HEFT_CHECKED bool heft_gather_parts(struct heft_reader *reader, const struct heft_row *row,
                                    uint64_t first, uint64_t count, uint8_t *dst,
                                    struct heft_error *err);
/* Bytes that are adjacent both in storage and in the row, of a row with strides or in parts: of the part
 * where they are fewest. 0 of a derived row. */
uint64_t heft_gather_run(const struct heft_row *row);
/* Gathers one box of a storage. The caller sets dims (outermost first; n, from, to), n, from and
 * to. */
HEFT_CHECKED bool heft_gather_box(struct heft_reader *reader, uint32_t storage, uint32_t each,
                                  struct heft_nd_view *box, uint8_t *dst, struct heft_error *err);

#endif
