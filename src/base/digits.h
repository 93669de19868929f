/* digits.h: numbers of a few digits, all at once. */
#ifndef HEFT_DIGITS_H
#define HEFT_DIGITS_H

#include "base/endian.h"

/* How many digits the number has that the eight bytes at p begin with: one to seven, of which the
 * first is no needless zero. 0: they begin with none that is like that. A carry can mark bytes
 * wrongly as no digits, but only above a right mark, and only the lowest one counts. */
static inline unsigned heft_few_digits(const uint8_t *p, uint64_t *out)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    const uint64_t x = heft_le64(p) ^ each * '0';
    const uint64_t marks = ((x + each * (0x80 - 10)) | x) & each * 0x80;
    const unsigned n = marks ? heft_lowest_bit(marks) / 8 : 0;
    uint64_t number;

    if (n == 0 || (n > 1 && *p == '0'))
        return 0;
    number = x << (64 - 8 * n); /* zeros come first */
    number = (number * 10 + (number >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    number = (number * 100 + (number >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *out = (uint32_t)(number * 10000 + (number >> 32));
    return n;
}

#endif
