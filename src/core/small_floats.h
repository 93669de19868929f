/* small_floats.h: the bits of floats, exact widening of floats of 8 and 16 bits to F32, and rounding
 * of F32 to fewer bits. The functions are inline and have no branches, so that compilers vectorize
 * loops over them. */
#ifndef HEFT_SMALL_FLOATS_H
#define HEFT_SMALL_FLOATS_H

#include "base/base.h"

static inline bool heft_host_is_little(void)
{
    const uint16_t one = 1;
    uint8_t first;

    memcpy(&first, &one, 1);
    return first == 1;
}

/* Copies an element between host order and little-endian bytes; on little-endian hosts a memcpy
 * of constant size. */
static inline void heft_copy_le(void *to, const void *from, size_t n)
{
    if (heft_host_is_little()) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[n - 1 - i];
}

static inline uint32_t heft_bits_of_float(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float heft_float_of_bits(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

#define HEFT_F32_INF 0x7F800000u
#define HEFT_F32_ABS 0x7FFFFFFFu

/* Widens the magnitude (bits without the sign) of a small float with `man` mantissa bits and
 * exponent bias `bias` to F32 bits. The caller handles infinities and NaN. Below `1 << man` the
 * value is subnormal: an integer times a power of two. */
static inline uint32_t heft_widen_float(uint32_t mag, unsigned man, unsigned bias)
{
    const float ulp = heft_float_of_bits((128u - bias - man) << 23);
    const uint32_t tiny = heft_bits_of_float((float)(int32_t)mag * ulp);
    const uint32_t normal = (mag << (23 - man)) + ((127u - bias) << 23);

    return mag < (1u << man) ? tiny : normal;
}

/* ---- small floats to F32 bits ------------------------------------------------------------ */

static inline uint32_t heft_f32_of_f16(uint16_t h)
{
    const uint32_t mag = h & 0x7FFFu;
    const uint32_t quiet = mag > 0x7C00 ? 0x400000u : 0;
    const uint32_t special = HEFT_F32_INF | mag << 13 | quiet;

    return (uint32_t)(h & 0x8000u) << 16 |
           (mag >= 0x7C00 ? special : heft_widen_float(mag, 10, 15));
}

static inline uint32_t heft_f32_of_bf16(uint16_t h)
{
    return (uint32_t)h << 16;
}

static inline uint32_t heft_f32_of_e5m2(uint8_t b)
{
    const uint32_t mag = b & 0x7Fu;

    const uint32_t special = HEFT_F32_INF | mag << 21 | (mag > 0x7C ? 0x400000u : 0);

    return (uint32_t)(b & 0x80u) << 24 | (mag >= 0x7C ? special : heft_widen_float(mag, 2, 15));
}

static inline uint32_t heft_f32_of_e4m3(uint8_t b)
{
    const uint32_t mag = b & 0x7Fu;

    return (uint32_t)(b & 0x80u) << 24 | (mag == 0x7F ? 0x7FF00000u : heft_widen_float(mag, 3, 7));
}

/* FNUZ dtypes have one zero, no infinity, and a single NaN at the code of minus zero. */
static inline uint32_t heft_f32_of_fnuz(uint8_t b, unsigned man, unsigned bias)
{
    const uint32_t value = (uint32_t)(b & 0x80u) << 24 | heft_widen_float(b & 0x7Fu, man, bias);

    return b == 0x80 ? HEFT_F32_INF + 1 : value;
}

static inline uint32_t heft_f32_of_e4m3fnuz(uint8_t b)
{
    return heft_f32_of_fnuz(b, 3, 8);
}

static inline uint32_t heft_f32_of_e5m2fnuz(uint8_t b)
{
    return heft_f32_of_fnuz(b, 2, 16);
}

static inline uint32_t heft_f32_of_e4m3b11fnuz(uint8_t b)
{
    return heft_f32_of_fnuz(b, 3, 11);
}

/* E8M0 has only an exponent: the value is 2^(b - 127). */
static inline uint32_t heft_f32_of_e8m0(uint8_t b)
{
    const uint32_t value = b == 0 ? 0x400000u : (uint32_t)b << 23;

    return b == 0xFF ? HEFT_F32_INF + 1 : value;
}

/* Narrows the magnitude of a finite F32 to such a float, rounded to nearest even. The result
 * exceeds the largest finite magnitude if the value overflows. Subnormal results are rounded by
 * adding a number whose unit in the last place is that of the result. */
HEFT_WRAPS static inline uint32_t heft_narrow_float(uint32_t mag, unsigned man, unsigned bias)
{
    const uint32_t magic = (127u + 1 - bias - man + 23) << 23;
    const uint32_t tiny =
        heft_bits_of_float(heft_float_of_bits(mag) + heft_float_of_bits(magic)) - magic;
    const uint32_t odd = (mag >> (23 - man)) & 1;
    const uint32_t normal =
        (mag - ((127u - bias) << 23) + (1u << (22 - man)) - 1 + odd) >> (23 - man);

    return mag < ((128u - bias) << 23) ? tiny : normal;
}

/* ---- F32 bits to floats of 16 bits; `over`: a finite value overflowed --------------------- */

HEFT_WRAPS static inline uint16_t heft_bf16_of_f32(uint32_t u, uint32_t *over)
{
    const uint32_t mag = u & HEFT_F32_ABS;
    const uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;

    *over = (uint32_t)(mag < HEFT_F32_INF) & (uint32_t)(mag >= 0x7F7F8000u);
    return (uint16_t)(mag > HEFT_F32_INF ? 0x7FC0 : rounded);
}

static inline uint16_t heft_f16_of_f32(uint32_t u, uint32_t *over)
{
    const uint32_t mag = u & HEFT_F32_ABS;
    const uint32_t nan = 0x7E00u | (mag >> 13 & 0x3FF);
    const uint32_t finite = mag >= 0x477FF000u ? 0x7C00 : heft_narrow_float(mag, 10, 15);

    *over = (uint32_t)(mag < HEFT_F32_INF) & (uint32_t)(mag >= 0x477FF000u);
    return (uint16_t)((u >> 16 & 0x8000) | (mag > HEFT_F32_INF ? nan : finite));
}

#endif
