/* inflate.h: raw deflate streams (RFC 1951) by ISA-L, in constant memory: about 100 KiB, including
 * the window.
 *
 *     struct heft_inflate *z = heft_inflate_new(err);
 *     loop: heft_inflate_step(z, &in, &out, err) with in/out views that shrink from the front
 *     heft_inflate_free(z); */
#ifndef HEFT_INFLATE_H
#define HEFT_INFLATE_H

#include "base/mem.h"

struct heft_inflate;
HEFT_CHECKED struct heft_inflate *heft_inflate_new(struct heft_error *err);
/* Consumes from *in and fills the n bytes at *out; both are advanced. *done is set when the
 * stream's last block has ended. If it is not done and in->n is 0, more input is needed. Invalid
 * data: HEFT_MALFORMED without an offset. */
HEFT_CHECKED bool heft_inflate_step(struct heft_inflate *z, struct heft_bytes *in, uint8_t **out,
                                    size_t *out_n, bool *done, struct heft_error *err);
/* Prepares for another stream. */
void heft_inflate_reset(struct heft_inflate *z);
void heft_inflate_free(struct heft_inflate *z);

#endif
