/* file_order.h: numbers of the host as files have them, little-endian, and back. */
#ifndef HEFT_FILE_ORDER_H
#define HEFT_FILE_ORDER_H

#include "base/endian.h"

/* Reverses each word of `word` bytes on a big-endian host. */
static inline void in_file_order(void *numbers, size_t bytes, size_t word)
{
    uint8_t *p = numbers;

    if (!heft_is_big_endian())
        return;
    for (size_t at = 0; at + word <= bytes; at += word)
        for (size_t i = 0; i < word / 2; i++) {
            const uint8_t other = p[at + i];

            p[at + i] = p[at + word - 1 - i];
            p[at + word - 1 - i] = other;
        }
}

#endif
