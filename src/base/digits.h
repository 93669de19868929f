/* digits.h: parses short decimal numbers eight bytes at a time (SWAR). */
#ifndef HEFT_DIGITS_H
#define HEFT_DIGITS_H

#include "base/endian.h"

/* Parses the number at p, of which eight bytes must be readable. Returns how many digits it has, 1
 * to 7; 0 if there is no digit, a needless leading zero, or a longer number. A carry can mark bytes
 * wrongly as non-digits, but only above a correct mark, and only the lowest mark counts. */
HEFT_WRAPS static inline unsigned heft_few_digits(const uint8_t *p, uint64_t *out)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    const uint64_t x = heft_le64(p) ^ each * '0';
    const uint64_t marks = ((x + each * (0x80 - 10)) | x) & each * 0x80;
    const unsigned n = marks ? heft_lowest_bit(marks) / 8 : 0;
    uint64_t number;

    if (n == 0 || (n > 1 && *p == '0'))
        return 0;
    number = x << (64 - 8 * n); /* leading zeros */
    number = (number * 10 + (number >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    number = (number * 100 + (number >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *out = (uint32_t)(number * 10000 + (number >> 32));
    return n;
}

#endif
