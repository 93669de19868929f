/* token_deflate.h: ids as int64 in deflate, by a code made for nothing else. */
#ifndef HEFT_TOKEN_DEFLATE_H
#define HEFT_TOKEN_DEFLATE_H

#include "base/mem.h"

/* Appends blocks that end at a byte, none of them the last, with the 8 little-endian bytes of each
 * of the n ids of `width` bytes (2 or 4). *crc: CRC-32 of those bytes alone. */
HEFT_CHECKED bool heft_deflate_ids(struct heft_buf *out, const uint8_t *ids, size_t n,
                                   unsigned width, uint32_t *crc, struct heft_error *err);

#endif
