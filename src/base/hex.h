/* hex.h: the value of a hexadecimal digit. */
#ifndef HEFT_HEX_H
#define HEFT_HEX_H

#include <stdint.h>

#define HEFT_NO_HEX 16 /* no hexadecimal digit: greater than every digit */

static inline unsigned heft_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10U;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10U;
    return HEFT_NO_HEX;
}

#endif
