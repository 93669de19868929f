/* unpack.h: decompresses .gz and .zst files in constant memory, also of several members or frames
 * in sequence.
 *
 *     struct heft_unpack *u = heft_unpack_new(HEFT_PACK_GZIP, err);
 *     loop: heft_unpack_step(u, &in, &out, &out_n, err)    views that shrink from the front
 *     heft_unpack_end(u, err)                              checks that the last member is complete
 *     heft_unpack_free(u); */
#ifndef HEFT_UNPACK_H
#define HEFT_UNPACK_H

#include "base/mem.h"

enum heft_pack { HEFT_PACK_NONE, HEFT_PACK_GZIP, HEFT_PACK_ZSTD };

/* Detected by the first bytes: 1F 8B 08, or 28 B5 2F FD (a skippable frame: 5x 2A 4D 18). */
enum heft_pack heft_pack_of(struct heft_bytes head);

struct heft_unpack;
HEFT_CHECKED struct heft_unpack *heft_unpack_new(enum heft_pack pack, struct heft_error *err);
/* Consumes from *in and fills the *out_n bytes at *out; both are advanced. Stops when either is
 * used up. Invalid data: HEFT_MALFORMED, a checksum mismatch: HEFT_MISMATCH, a zstd window that is
 * too large: HEFT_LIMIT; without an offset, but *in is close to the place. */
HEFT_CHECKED bool heft_unpack_step(struct heft_unpack *u, struct heft_bytes *in, uint8_t **out,
                                   size_t *out_n, struct heft_error *err);
HEFT_CHECKED bool heft_unpack_end(const struct heft_unpack *u, struct heft_error *err);
void heft_unpack_free(struct heft_unpack *u);

#endif
