/* unpack.h: .gz and .zst files as the bytes that were packed, in constant memory, also of several
 * members or frames one behind the other.
 *
 *     struct heft_unpack *u = heft_unpack_new(HEFT_PACK_GZIP, err);
 *     loop: heft_unpack_step(u, &in, &out, &out_n, err)    views that shrink from the front
 *     heft_unpack_end(u, err)                              no member was left half
 *     heft_unpack_free(u); */
#ifndef HEFT_UNPACK_H
#define HEFT_UNPACK_H

#include "base/mem.h"

enum heft_pack { HEFT_PACK_NONE, HEFT_PACK_GZIP, HEFT_PACK_ZSTD };

/* By the first bytes: 1F 8B 08, or 28 B5 2F FD (a skippable frame: 5x 2A 4D 18). */
enum heft_pack heft_pack_of(struct heft_bytes head);

struct heft_unpack;
HEFT_CHECKED struct heft_unpack *heft_unpack_new(enum heft_pack pack, struct heft_error *err);
/* Consumes from *in, fills the *out_n bytes at *out; both are advanced. Stops where either is used
 * up. Bad data: HEFT_MALFORMED, sums that do not agree: HEFT_MISMATCH, a window of zstd that is too
 * large: HEFT_LIMIT; without offset, but *in stands about there. */
HEFT_CHECKED bool heft_unpack_step(struct heft_unpack *u, struct heft_bytes *in, uint8_t **out,
                                   size_t *out_n, struct heft_error *err);
HEFT_CHECKED bool heft_unpack_end(const struct heft_unpack *u, struct heft_error *err);
void heft_unpack_free(struct heft_unpack *u);

#endif
