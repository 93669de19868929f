/* train_number.h: variable-length integers for internal use: 7 bits a byte, lowest first. Reading
 * checks nothing, as only written data is read. */
#ifndef HEFT_TRAIN_NUMBER_H
#define HEFT_TRAIN_NUMBER_H

#include "base/base.h"

#define HEFT_NUMBER_ROOM 10

static inline size_t heft_train_number_width(uint64_t v)
{
    return v < 0x80 ? 1 : heft_highest_bit(v) / 7 + 1;
}
static inline size_t heft_train_number_put(uint8_t *to, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}
static inline size_t heft_train_number_get(const uint8_t *p, uint64_t *v)
{
    size_t n = 0;

    *v = p[0] & 0x7F;
    while (p[n++] & 0x80)
        *v |= (uint64_t)(p[n] & 0x7F) << (7 * n);
    return n;
}

#endif
