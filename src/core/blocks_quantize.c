/* blocks_quantize.c: F32 to the block types that need no search for their scales: Q8_0, Q4_0, Q4_1, Q5_0 and
 * Q5_1, by the steps of ggml, each rounded to F32. Products and sums are separate statements, so that no
 * compiler contracts them: ggml itself differs in 3 of 20 000 blocks where it is built with FMA.
 *
 * The results are those of ggml, also where gguf-py differs: the sign of a scale of 0. Where the scale is
 * so small that its reciprocal is infinite, all codes are 0: ggml converts infinities and NaN to integers
 * there, which gives 0 on x86. */
#include <math.h>

#include "core/blocks_parts.h"

enum { BLOCK = 32 }; /* elements of each of these types */

/* Encodes a block of finite elements. Returns whether a scale overflows. */
typedef bool block_encode(const float *x, uint8_t *b);

static uint32_t count_special(const float *x)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < BLOCK; i++)
        n += (heft_bits_of_float(x[i]) & HEFT_F32_ABS) >= HEFT_F32_INF;
    return n;
}

HEFT_INLINE uint32_t encode_blocks(block_encode *encode, unsigned bytes,
                                   const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    uint32_t lost = 0;

    for (size_t at = 0; at < n; at += BLOCK, dst += bytes) {
        float x[BLOCK];
        uint32_t bad;

        for (unsigned i = 0; i < BLOCK; i++)
            heft_copy_le(&x[i], src + (at + i) * sizeof *x, sizeof *x);
        bad = count_special(x) * HEFT_CAST_INFINITE;
        if (!bad)
            bad = encode(x, dst);
        if (bad)
            memset(dst, 0, bytes);
        lost += bad;
    }
    return lost;
}

/* Stores a scale as F16. Returns whether it overflows. */
static bool put_scale(uint8_t *b, float d)
{
    uint32_t over;
    const uint16_t half = heft_f16_of_f32(heft_bits_of_float(d), &over);

    heft_put_le16(b, half);
    return (half & 0x7FFF) >= 0x7C00;
}

static float reciprocal(float d)
{
    return d != 0 ? 1.0f / d : 0.0f;
}

/* The element of the largest magnitude, the first of equal ones; 0 if there are only zeros. */
static float find_extreme(const float *x)
{
    float most = 0, extreme = 0;

    for (unsigned i = 0; i < BLOCK; i++)
        if (fabsf(x[i]) > most) {
            most = fabsf(x[i]);
            extreme = x[i];
        }
    return extreme;
}

/* Minimum and maximum; of equal ones, 0 and -0, the first. */
static void find_bounds(const float *x, float *least, float *most)
{
    *least = *most = x[0];
    for (unsigned i = 1; i < BLOCK; i++) {
        *least = x[i] < *least ? x[i] : *least;
        *most = x[i] > *most ? x[i] : *most;
    }
}

/* Codes trunc((x - offset) / d + half), at most `top`. */
static void make_codes(const float *x, float offset, float id, float half, int top, uint8_t *codes)
{
    if (isinf(id)) {
        memset(codes, 0, BLOCK);
        return;
    }
    for (unsigned i = 0; i < BLOCK; i++) {
        const float from = x[i] - offset, product = from * id, sum = product + half;
        const int code = (int)sum;

        codes[i] = (uint8_t)(code < top ? code : top);
    }
}

/* Low bits of codes, as heft_block_nibbles takes them apart. */
static void put_nibbles(const uint8_t *codes, uint8_t *qs)
{
    for (unsigned i = 0; i < BLOCK / 2; i++)
        qs[i] = (uint8_t)((codes[i] & 15) | codes[BLOCK / 2 + i] << 4);
}

/* The fifth bit of each code. */
static void put_fifths(const uint8_t *codes, uint8_t *bits)
{
    uint32_t all = 0;

    for (unsigned i = 0; i < BLOCK; i++)
        all |= (uint32_t)(codes[i] >> 4) << i;
    heft_put_le32(bits, all);
}

static bool encode_q4_0(const float *x, uint8_t *b)
{
    const float d = find_extreme(x) / -8;
    uint8_t codes[BLOCK];

    make_codes(x, 0, reciprocal(d), 8.5f, 15, codes);
    put_nibbles(codes, b + 2);
    return put_scale(b, d);
}

static bool encode_q5_0(const float *x, uint8_t *b)
{
    const float d = find_extreme(x) / -16;
    uint8_t codes[BLOCK];

    make_codes(x, 0, reciprocal(d), 16.5f, 31, codes);
    put_fifths(codes, b + 2);
    put_nibbles(codes, b + 6);
    return put_scale(b, d);
}

/* Puts scale and minimum of a block of Q4_1 or Q5_1, whose largest code is `top`, and makes its codes. True if one
 * of them exceeds F16. */
static bool encode_bounds(const float *x, uint8_t top, uint8_t *b, uint8_t *codes)
{
    float least, most, d;
    bool over;

    find_bounds(x, &least, &most);
    d = (most - least) / (float)top;
    over = put_scale(b, d);
    over |= put_scale(b + 2, least);
    if (!over)
        make_codes(x, least, reciprocal(d), 0.5f, top, codes);
    return over;
}

static bool encode_q4_1(const float *x, uint8_t *b)
{
    uint8_t codes[BLOCK];

    if (encode_bounds(x, 15, b, codes))
        return true;
    put_nibbles(codes, b + 4);
    return false;
}

static bool encode_q5_1(const float *x, uint8_t *b)
{
    uint8_t codes[BLOCK];

    if (encode_bounds(x, 31, b, codes))
        return true;
    put_fifths(codes, b + 4);
    put_nibbles(codes, b + 8);
    return false;
}

/* Rounds to the nearest integer, halves away from 0. */
static int round_away(float x)
{
    const int whole = (int)x;
    const float rest = x - (float)whole;

    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static bool encode_q8_0(const float *x, uint8_t *b)
{
    const float d = fabsf(find_extreme(x)) / 127, id = reciprocal(d);

    for (unsigned i = 0; i < BLOCK; i++)
        b[2 + i] = (uint8_t)(isinf(id) ? 0 : round_away(x[i] * id));
    return put_scale(b, d);
}

#define ENCODE_LOOP(name, bytes)                                                                   \
    static uint32_t name##_loop(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)      \
    {                                                                                              \
        return encode_blocks(encode_##name, bytes, src, dst, n);                                   \
    }

ENCODE_LOOP(q4_0, 18)
ENCODE_LOOP(q4_1, 20)
ENCODE_LOOP(q5_0, 22)
ENCODE_LOOP(q5_1, 24)
ENCODE_LOOP(q8_0, 34)

heft_cast_loop *const heft_blocks_quantize[HEFT_DTYPE_COUNT] = {
    [HEFT_Q4_0] = q4_0_loop, [HEFT_Q4_1] = q4_1_loop, [HEFT_Q5_0] = q5_0_loop,
    [HEFT_Q5_1] = q5_1_loop, [HEFT_Q8_0] = q8_0_loop,
};
