/* blocks_simple.c: block types with one level of scales. Sizes in bytes; d and m are F16:
 *
 *     Q4_0   d 2 | codes 16            Q4_1   d 2 | m 2 | codes 16
 *     Q5_0   d 2 | bits 4 | codes 16   Q5_1   d 2 | m 2 | bits 4 | codes 16     bits: the fifth of each code
 *     Q8_0   d 2 | I8 × 32             Q8_K   d 4 (F32) | I8 × 256 | sums 32
 *     IQ4_NL d 2 | codes 16            MXFP4  exponent 1 | codes 16
 *     NVFP4  F8 × 4 | codes 32         Q1_0   d 2 | bits 16                     Q2_0   d 2 | codes 16
 *     TQ1_0  digits 48 | digits 4 | d 2                                         TQ2_0  codes 64 | d 2
 *
 * Codes of 4 bits are in halves: those of the first half of the elements in the low bits. */
#include "core/blocks_parts.h"

/* ---- codes of 4 and 5 bits ----------------------------------------------------------------- */

static void q4_0(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);
    uint8_t q[32];

    heft_block_nibbles(b + 2, 16, q);
    for (unsigned i = 0; i < 32; i++)
        x[i] = d * (float)(q[i] - 8);
}

static void q4_1(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b), m = heft_block_f16(b + 2);
    uint8_t q[32];

    heft_block_nibbles(b + 4, 16, q);
    for (unsigned i = 0; i < 32; i++) {
        const float product = d * (float)q[i];

        x[i] = product + m;
    }
}

/* Codes of 5 bits: bit i of `high` is the top bit of the code of element i. */
static void take_fives(const uint8_t *qs, uint32_t high, uint8_t *q)
{
    heft_block_nibbles(qs, 16, q);
    for (unsigned i = 0; i < 32; i++)
        q[i] = (uint8_t)(q[i] | (high >> i & 1) << 4);
}

static void q5_0(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);
    uint8_t q[32];

    take_fives(b + 6, heft_le32(b + 2), q);
    for (unsigned i = 0; i < 32; i++)
        x[i] = d * (float)(q[i] - 16);
}

static void q5_1(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b), m = heft_block_f16(b + 2);
    uint8_t q[32];

    take_fives(b + 8, heft_le32(b + 4), q);
    for (unsigned i = 0; i < 32; i++) {
        const float product = d * (float)q[i];

        x[i] = product + m;
    }
}

static void iq4_nl(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);
    uint8_t q[32];

    heft_block_nibbles(b + 2, 16, q);
    for (unsigned i = 0; i < 32; i++)
        x[i] = d * (float)heft_block_nl[q[i]];
}

/* ---- E2M1 codes ------------------------------------------------------------------------------ */

/* Twice the value of each E2M1 code; -0 is 0, as in ggml's table of integers. */
static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void mxfp4(const uint8_t *b, float *x)
{
    const float d = heft_block_e8m0_half(b[0]);
    uint8_t q[32];

    heft_block_nibbles(b + 1, 16, q);
    for (unsigned i = 0; i < 32; i++)
        x[i] = d * (float)e2m1[q[i]];
}

static void nvfp4(const uint8_t *b, float *x)
{
    for (unsigned k = 0; k < 4; k++) {
        const float d = heft_block_ue4m3_half(b[k]);
        uint8_t q[16];

        heft_block_nibbles(b + 4 + 8 * k, 8, q);
        for (unsigned i = 0; i < 16; i++)
            x[16 * k + i] = d * (float)e2m1[q[i]];
    }
}

/* ---- codes of 8 bits --------------------------------------------------------------------------- */

static void q8_0(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned i = 0; i < 32; i++)
        x[i] = (float)(int8_t)b[2 + i] * d;
}

static void q8_k(const uint8_t *b, float *x)
{
    const float d = heft_float_of_bits(heft_le32(b));

    for (unsigned i = 0; i < 256; i++)
        x[i] = d * (float)(int8_t)b[4 + i];
}

/* ---- codes of 1 and 2 bits ------------------------------------------------------------------- */

/* Bits that are 0 stand for -d. */
static void q1_0(const uint8_t *b, float *x)
{
    const uint32_t bits = heft_f32_of_f16(heft_le16(b));

    for (unsigned i = 0; i < 128; i++)
        x[i] = heft_float_of_bits(bits ^ (~(uint32_t)b[2 + i / 8] >> i % 8 & 1) << 31);
}

static void q2_0(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned i = 0; i < 64; i++)
        x[i] = (float)((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * d;
}

/* A byte is 0.abcde in base 3, rounded up, times 256: its digits, from the first on, belong to different
 * groups of n elements. Multiplied by a power of 3, a byte begins with another digit. */
static void take_digits(const uint8_t *bytes, unsigned n, unsigned power, float d, float *x)
{
    for (unsigned i = 0; i < n; i++) {
        const unsigned rest = bytes[i] * power & 255;

        x[i] = d * (float)((int)(rest * 3 >> 8) - 1);
    }
}

static void tq1_0(const uint8_t *b, float *x)
{
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    const float d = heft_block_f16(b + 52);

    for (unsigned p = 0; p < 5; p++) {
        take_digits(b, 32, powers[p], d, x + 32 * p);
        take_digits(b + 32, 16, powers[p], d, x + 160 + 16 * p);
    }
    for (unsigned p = 0; p < 4; p++)
        take_digits(b + 48, 4, powers[p], d, x + 240 + 4 * p);
}

static void tq2_0(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b + 64);

    for (unsigned half = 0; half < 2; half++)
        for (unsigned j = 0; j < 4; j++)
            for (unsigned l = 0; l < 32; l++)
                *x++ = d * (float)((b[32 * half + l] >> 2 * j & 3) - 1);
}

HEFT_BLOCK_LOOP(q4_0, 32, 18)
HEFT_BLOCK_LOOP(q4_1, 32, 20)
HEFT_BLOCK_LOOP(q5_0, 32, 22)
HEFT_BLOCK_LOOP(q5_1, 32, 24)
HEFT_BLOCK_LOOP(q8_0, 32, 34)
HEFT_BLOCK_LOOP(q8_k, 256, 292)
HEFT_BLOCK_LOOP(iq4_nl, 32, 18)
HEFT_BLOCK_LOOP(mxfp4, 32, 17)
HEFT_BLOCK_LOOP(nvfp4, 64, 36)
HEFT_BLOCK_LOOP(q1_0, 128, 18)
HEFT_BLOCK_LOOP(q2_0, 64, 18)
HEFT_BLOCK_LOOP(tq1_0, 256, 54)
HEFT_BLOCK_LOOP(tq2_0, 256, 66)

heft_cast_loop *const heft_blocks_simple[HEFT_DTYPE_COUNT] = {
    [HEFT_Q4_0] = q4_0_loop,     [HEFT_Q4_1] = q4_1_loop,   [HEFT_Q5_0] = q5_0_loop,
    [HEFT_Q5_1] = q5_1_loop,     [HEFT_Q8_0] = q8_0_loop,   [HEFT_Q8_K] = q8_k_loop,
    [HEFT_IQ4_NL] = iq4_nl_loop, [HEFT_MXFP4] = mxfp4_loop, [HEFT_NVFP4] = nvfp4_loop,
    [HEFT_Q1_0] = q1_0_loop,     [HEFT_Q2_0] = q2_0_loop,   [HEFT_TQ1_0] = tq1_0_loop,
    [HEFT_TQ2_0] = tq2_0_loop,
};
