/* blocks_k.c: the K types, 256 elements with two levels of scales, and IQ4_XS. Sizes in bytes; d and dmin
 * are F16:
 *
 *     Q2_K   scales 16 | codes 64 | d 2 | dmin 2
 *     Q3_K   high bits 32 | codes 64 | scales 12 | d 2
 *     Q4_K   d 2 | dmin 2 | scales 12 | codes 128
 *     Q5_K   d 2 | dmin 2 | scales 12 | high bits 32 | codes 128
 *     Q6_K   low codes 128 | high codes 64 | I8 scales 16 | d 2
 *     IQ4_XS d 2 | high scales 2 | low scales 4 | codes 128
 *
 * Codes of 2 bits: byte l of 32 has those of the elements l, 32 + l, 64 + l and 96 + l of 128, from the
 * low bits up. Codes of 4 bits: byte l of 32 has those of the elements l and 32 + l of 64. */
#include "core/blocks_parts.h"

static void q2_k(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b + 80), dmin = heft_block_f16(b + 82);

    for (unsigned k = 0; k < 16; k++) {
        const uint8_t *const qs = b + 16 + 32 * (k / 8) + 16 * (k % 2);
        const float scale = d * (float)(b[k] & 15), min = dmin * (float)(b[k] >> 4);

        for (unsigned l = 0; l < 16; l++) {
            const float product = scale * (float)(qs[l] >> 2 * (k / 2 % 4) & 3);

            *x++ = product - min;
        }
    }
}

static void q3_k(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b + 108);

    for (unsigned k = 0; k < 16; k++) {
        const uint8_t *const high = b + 16 * (k % 2);
        const uint8_t *const qs = b + 32 + 32 * (k / 8) + 16 * (k % 2);
        const float scale = d * (float)heft_block_q3_scale(b + 96, k);

        for (unsigned l = 0; l < 16; l++) {
            const int low = qs[l] >> 2 * (k / 2 % 4) & 3, bit = high[l] >> k / 2 & 1;

            *x++ = scale * (float)(low + 4 * bit - 4);
        }
    }
}

/* Scale and minimum, 6 bits each, of the j-th 32 elements of Q4_K and Q5_K. */
static void take_scales(const uint8_t *sc, unsigned j, float *scale, float *min)
{
    const unsigned s = j < 4 ? sc[j] & 63u : (sc[j + 4] & 15u) | (unsigned)(sc[j - 4] >> 6) << 4;
    const unsigned m =
        j < 4 ? sc[j + 4] & 63u : (unsigned)(sc[j + 4] >> 4) | (unsigned)(sc[j] >> 6) << 4;

    *scale = (float)s;
    *min = (float)m;
}

static void q4_k(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b), dmin = heft_block_f16(b + 2);

    for (unsigned j = 0; j < 8; j++) {
        const uint8_t *const qs = b + 16 + 32 * (j / 2);
        float scale, min;

        take_scales(b + 4, j, &scale, &min);
        scale *= d;
        min *= dmin;
        for (unsigned l = 0; l < 32; l++) {
            const float product = scale * (float)(qs[l] >> 4 * (j % 2) & 15);

            *x++ = product - min;
        }
    }
}

static void q5_k(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b), dmin = heft_block_f16(b + 2);

    for (unsigned j = 0; j < 8; j++) {
        const uint8_t *const high = b + 16, *const qs = b + 48 + 32 * (j / 2);
        float scale, min;

        take_scales(b + 4, j, &scale, &min);
        scale *= d;
        min *= dmin;
        for (unsigned l = 0; l < 32; l++) {
            const int q = (qs[l] >> 4 * (j % 2) & 15) | (high[l] >> j & 1) << 4;
            const float product = scale * (float)q;

            *x++ = product - min;
        }
    }
}

static void q6_k(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b + 208);

    for (unsigned k = 0; k < 16; k++) {
        const unsigned half = k / 8, quarter = k / 2 % 4;
        const uint8_t *const low = b + 64 * half + 32 * (quarter % 2) + 16 * (k % 2);
        const uint8_t *const high = b + 128 + 32 * half + 16 * (k % 2);
        const float scale = d * (float)(int8_t)b[192 + k];

        for (unsigned l = 0; l < 16; l++) {
            const int q = (low[l] >> 4 * (quarter / 2) & 15) | (high[l] >> 2 * quarter & 3) << 4;

            *x++ = scale * (float)(q - 32);
        }
    }
}

static void iq4_xs(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);
    const unsigned high = heft_le16(b + 2);

    for (unsigned j = 0; j < 8; j++) {
        const unsigned low = (unsigned)b[4 + j / 2] >> 4 * (j % 2) & 15;
        const float scale = d * (float)((int)(low | (high >> 2 * j & 3) << 4) - 32);
        uint8_t q[32];

        heft_block_nibbles(b + 8 + 16 * j, 16, q);
        for (unsigned l = 0; l < 32; l++)
            *x++ = scale * (float)heft_block_nl[q[l]];
    }
}

HEFT_BLOCK_LOOP(q2_k, 256, 84)
HEFT_BLOCK_LOOP(q3_k, 256, 110)
HEFT_BLOCK_LOOP(q4_k, 256, 144)
HEFT_BLOCK_LOOP(q5_k, 256, 176)
HEFT_BLOCK_LOOP(q6_k, 256, 210)
HEFT_BLOCK_LOOP(iq4_xs, 256, 136)

heft_cast_loop *const heft_blocks_k[HEFT_DTYPE_COUNT] = {
    [HEFT_Q2_K] = q2_k_loop, [HEFT_Q3_K] = q3_k_loop, [HEFT_Q4_K] = q4_k_loop,
    [HEFT_Q5_K] = q5_k_loop, [HEFT_Q6_K] = q6_k_loop, [HEFT_IQ4_XS] = iq4_xs_loop,
};
