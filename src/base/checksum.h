/* checksum.h: CRC-32 (zip) and CRC-32C (TensorFlow), through ISA-L, in pieces of any size.
 * Both start at 0 and chain: crc(ab) = crc(b, crc(a)). */
#ifndef HEFT_CHECKSUM_H
#define HEFT_CHECKSUM_H

#include "base/base.h"

uint32_t heft_crc32(uint32_t crc, const void *p, size_t n);
uint32_t heft_crc32c(uint32_t crc, const void *p, size_t n);
/* crc32 of a followed by b, from crc32(a), crc32(b) and the length of b: for pieces read by several
 * threads. Time grows with the number of bits of len_b. */
uint32_t heft_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

#endif
