/* inflate.h: raw deflate streams (RFC 1951), in constant memory: about 100 KiB, window included; through ISA-L.
 *
 *     struct heft_inflate *z = heft_inflate_new(err);
 *     loop: heft_inflate_step(z, &in, &out, err) with in/out views that shrink from the front
 *     heft_inflate_free(z);
 */
#ifndef HEFT_INFLATE_H
#define HEFT_INFLATE_H

#include "base/mem.h"

struct heft_inflate;
HEFT_CHECKED struct heft_inflate *heft_inflate_new(struct heft_error *err);
/* Consumes from *in, fills the n bytes at *out; both are advanced. *done when the stream's last
 * block ended. Not done and in->n == 0: feed more. Bad data: HEFT_MALFORMED without offset. */
HEFT_CHECKED bool heft_inflate_step(struct heft_inflate *z, struct heft_bytes *in, uint8_t **out,
                                    size_t *out_n, bool *done, struct heft_error *err);
/* Ready for another stream. */
void heft_inflate_reset(struct heft_inflate *z);
void heft_inflate_free(struct heft_inflate *z);

#endif
