/* bit_places.h: table for SIMD kernels that turn bits into positions, eight at a time. */
#ifndef HEFT_BIT_PLACES_H
#define HEFT_BIT_PLACES_H

#include <stdint.h>

/* Positions of the bits of a byte, one byte each, lowest first, for the 16 bytes with the same
 * upper half. */
#define PLACES_OF(upper)                                                                           \
    (upper), (upper) << 8, (upper) << 8 | 1, (upper) << 16 | 0x0100, (upper) << 8 | 2,             \
        (upper) << 16 | 0x0200, (upper) << 16 | 0x0201, (upper) << 24 | 0x020100,                  \
        (upper) << 8 | 3, (upper) << 16 | 0x0300, (upper) << 16 | 0x0301,                          \
        (upper) << 24 | 0x030100, (upper) << 16 | 0x0302, (upper) << 24 | 0x030200,                \
        (upper) << 24 | 0x030201, (upper) << 32 | 0x03020100
#define PLACES(upper) PLACES_OF(UINT64_C(upper))
static const uint64_t heft_bit_places[256] = {
    PLACES(0),      PLACES(4),        PLACES(5),        PLACES(0x0504),
    PLACES(6),      PLACES(0x0604),   PLACES(0x0605),   PLACES(0x060504),
    PLACES(7),      PLACES(0x0704),   PLACES(0x0705),   PLACES(0x070504),
    PLACES(0x0706), PLACES(0x070604), PLACES(0x070605), PLACES(0x07060504),
};

#undef PLACES
#undef PLACES_OF

#endif
