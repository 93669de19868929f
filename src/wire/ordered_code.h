/* ordered_code.h: TensorFlow's OrderedCode: numbers and texts as bytes that sort as they do. Keys of
 * slices in checkpoints are made of it.
 *
 *     number   length L (0 … 8), then the L bytes of it, big end first, no zeros in front
 *     text     its bytes, 00 as 00 ff, ff as ff 00; then 00 01
 *     signed   1 … 10 bytes: as many 1 bits as it has bytes, a 0, the number; all bits turned where
 *              it is negative (the ones then become the sign)
 *
 * Writing appends to a buffer, whose failure sticks; reading moves a cursor, which turns bad on
 * anything that writing does not make: each value has one spelling. */
#ifndef HEFT_ORDERED_CODE_H
#define HEFT_ORDERED_CODE_H

#include "base/cursor.h"
#include "base/mem.h"

void heft_ordered_put_number(struct heft_buf *out, uint64_t v);
void heft_ordered_put_text(struct heft_buf *out, struct heft_str text);
void heft_ordered_put_signed(struct heft_buf *out, int64_t v);

uint64_t heft_ordered_number(struct heft_cur *cur);
/* Appends the text to `out`. */
void heft_ordered_text(struct heft_cur *cur, struct heft_buf *out);
int64_t heft_ordered_signed(struct heft_cur *cur);

#endif
