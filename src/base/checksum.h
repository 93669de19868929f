/* checksum.h: CRC-32 (zip) and CRC-32C (TensorFlow) by ISA-L, incrementally. Both start at 0:
 * crc(ab) = crc(b, crc(a)). */
#ifndef HEFT_CHECKSUM_H
#define HEFT_CHECKSUM_H

#include "base/base.h"

uint32_t heft_crc32(uint32_t crc, const void *p, size_t n);
uint32_t heft_crc32c(uint32_t crc, const void *p, size_t n);
/* CRC of a followed by b, computed from crc(a), crc(b) and the length of b: for ranges read by
 * several threads. O(log len_b). */
uint32_t heft_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);
uint32_t heft_crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

/* Checksums stored in files. */
enum heft_sum {
    HEFT_SUM_NONE,
    HEFT_SUM_CRC32,
    HEFT_SUM_CRC32C,
    HEFT_SUM_OWN /* defined by the format, and not over the bytes in their order alone */
};
/* Of the two CRCs only. */
uint32_t heft_sum_of(enum heft_sum sum, const void *p, size_t n);
uint32_t heft_sum_combine(enum heft_sum sum, uint32_t a, uint32_t b, uint64_t len_b);
const char *heft_sum_name(enum heft_sum sum); /* name for messages, such as "CRC-32C" */

#endif
