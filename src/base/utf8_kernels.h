/* utf8_kernels.h: validation of UTF-8 with vector instructions. */
#ifndef HEFT_UTF8_KERNELS_H
#define HEFT_UTF8_KERNELS_H

#include "base/base.h"

/* Returns the length of a part of p[0, n) that is valid UTF-8 of complete characters. It ends before
 * an error, or near the end: less than 64 bytes of valid text may be left. 0 if the processor has no
 * such instructions. */
size_t heft_utf8_valid_part(const uint8_t *p, size_t n);

#endif
