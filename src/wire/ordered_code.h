/* ordered_code.h: TensorFlow's OrderedCode: an encoding of numbers and texts whose bytes sort like
 * the values. Checkpoints use it in the keys of tensor slices.
 *
 *     number   length L (0 … 8), then the number in L bytes, big-endian, without leading zeros
 *     text     its bytes, with 00 written as 00 ff and ff as ff 00; then the terminator 00 01
 *     signed   1 … 10 bytes: a 1 bit for each byte, a 0 bit, then the number. All bits are inverted
 *              if the number is negative, so that the leading bits also encode the sign
 *
 * Writers append to a buffer with sticky errors. Readers advance a cursor; cur->bad is set for any
 * encoding that the writers do not produce, so each value has exactly one encoding. */
#ifndef HEFT_ORDERED_CODE_H
#define HEFT_ORDERED_CODE_H

#include "base/cursor.h"
#include "base/mem.h"

void heft_ordered_put_number(struct heft_buf *out, uint64_t v);
void heft_ordered_put_text(struct heft_buf *out, struct heft_str text);
void heft_ordered_put_signed(struct heft_buf *out, int64_t v);

uint64_t heft_ordered_number(struct heft_cur *cur);
/* Appends the decoded text to `out`. */
void heft_ordered_text(struct heft_cur *cur, struct heft_buf *out);
int64_t heft_ordered_signed(struct heft_cur *cur);

#endif
