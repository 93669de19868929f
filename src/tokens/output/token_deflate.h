/* token_deflate.h: compresses ids as int64 by a fixed Huffman code. */
#ifndef HEFT_TOKEN_DEFLATE_H
#define HEFT_TOKEN_DEFLATE_H

#include "base/mem.h"

/* Appends the n ids of `width` bytes (2 or 4) as 8 little-endian bytes each, in blocks that end at
 * a byte boundary and are not the last. *crc: CRC-32 of those bytes alone. */
HEFT_CHECKED bool heft_deflate_ids(struct heft_buf *out, const uint8_t *ids, size_t n,
                                   unsigned width, uint32_t *crc, struct heft_error *err);

#endif
