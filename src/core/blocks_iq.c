/* blocks_iq.c: the IQ types with code books, 256 elements. Sizes in bytes; d is F16:
 *
 *     IQ2_XXS  d 2 | 8 × (indexes 4 | signs and scale 4)
 *     IQ2_XS   d 2 | indexes and signs 64 | scales 8
 *     IQ2_S    d 2 | low indexes 32 | signs 32 | high indexes 8 | scales 8
 *     IQ3_XXS  d 2 | indexes 64 | 8 × (signs and scale 4)
 *     IQ3_S    d 2 | low indexes 64 | high indexes 8 | signs 32 | scales 4
 *     IQ1_S    d 2 | low indexes 32 | high indexes, scales and shifts 16
 *     IQ1_M    low indexes 32 | high indexes and shifts 16 | scales 8
 *
 * An index selects a row of a code book: the magnitudes of 8 elements (an octet), of 4 in IQ3. Signs are
 * a bit each, or 7 bits an octet: then the number of negative ones is even. */
#include "core/blocks_iq.h"

static const float grid_2[4] = {8, 25, 43, 0};
static const float grid_3xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
static const float grid_3s[8] = {1, 3, 5, 7, 9, 11, 13, 15};
static const float grid_1[4] = {-1, 0, 1, 0};

static inline float with_sign(float x, uint8_t signs, unsigned i)
{
    return x * (signs >> i & 1 ? -1.0f : 1.0f);
}

/* Octet of IQ2. */
static void put_octet(float scale, unsigned row, uint8_t signs, float *x)
{
    for (unsigned i = 0; i < 8; i++)
        x[i] = with_sign(scale * grid_2[row >> 2 * i & 3], signs, i);
}

/* Four elements of IQ3; their signs are the low bits. */
static void put_four(float scale, const float *values, unsigned row, uint8_t signs, float *x)
{
    for (unsigned i = 0; i < 4; i++)
        x[i] = with_sign(scale * values[row >> 4 * i & 7], signs, i);
}

/* Octet of IQ1: values of the code book, shifted by an eighth up or down. */
static void put_shifted(float scale, unsigned row, bool down, float *x)
{
    const float shift = down ? -0.125f : 0.125f;

    for (unsigned i = 0; i < 8; i++)
        x[i] = scale * (grid_1[row >> 2 * i & 3] + shift);
}

static void iq2_xxs(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned j = 0; j < 8; j++) {
        const uint8_t *const group = b + 2 + 8 * j;
        const uint32_t signs = heft_le32(group + 4);
        const float scale = heft_iq_half_scale(d, signs >> 28, 0.25f);

        for (unsigned o = 0; o < 4; o++, x += 8)
            put_octet(scale, heft_grid_2xxs[group[o]], heft_iq_even_signs(signs >> 7 * o), x);
    }
}

static void iq2_xs(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, x += 8) {
        const unsigned word = heft_le16(b + 2 + 2 * o);

        put_octet(heft_iq_scale_of_16(d, b + 66, o / 2), heft_grid_2xs[word & 511],
                  heft_iq_even_signs(word >> 9), x);
    }
}

static void iq2_s(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, x += 8) {
        const unsigned index = b[2 + o] | ((unsigned)b[66 + o / 4] >> 2 * (o % 4) & 3) << 8;

        put_octet(heft_iq_scale_of_16(d, b + 74, o / 2), heft_grid_2s[index], b[34 + o], x);
    }
}

static void iq3_xxs(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, x += 8) {
        const uint32_t word = heft_le32(b + 66 + o / 4 * 4);
        const float scale = heft_iq_half_scale(d, word >> 28, 0.5f);
        const uint8_t signs = heft_iq_even_signs(word >> 7 * (o % 4));

        put_four(scale, grid_3xxs, heft_grid_3xxs[b[2 + 2 * o]], signs, x);
        put_four(scale, grid_3xxs, heft_grid_3xxs[b[3 + 2 * o]], signs >> 4, x + 4);
    }
}

static void iq3_s(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned t = 0; t < 64; t++, x += 4) {
        const unsigned index = b[2 + t] | ((unsigned)b[66 + t / 8] >> t % 8 & 1) << 8;
        const unsigned s = (unsigned)b[106 + t / 16] >> 4 * (t / 8 % 2) & 15;

        put_four(d * (float)(1 + 2 * s), grid_3s, heft_grid_3s[index],
                 (uint8_t)(b[74 + t / 2] >> 4 * (t % 2)), x);
    }
}

static void iq1_s(const uint8_t *b, float *x)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, x += 8) {
        const unsigned high = heft_le16(b + 34 + o / 4 * 2);
        const unsigned index = b[2 + o] | (high >> 3 * (o % 4) & 7) << 8;

        put_shifted(d * (float)(2 * (high >> 12 & 7) + 1), heft_grid_1[index], high >> 15, x);
    }
}

static void iq1_m(const uint8_t *b, float *x)
{
    const float d = heft_iq1_m_scale(b + 48);

    for (unsigned o = 0; o < 32; o++, x += 8) {
        const unsigned k = o / 2, s = (unsigned)heft_le16(b + 48 + k / 4 * 2) >> 3 * (k % 4) & 7;
        const unsigned high = (unsigned)b[32 + o / 2] >> 4 * (o % 2) & 15;

        put_shifted(d * (float)(2 * s + 1), heft_grid_1[b[o] | (high & 7) << 8], high >> 3, x);
    }
}

HEFT_BLOCK_LOOP(iq2_xxs, 256, 66)
HEFT_BLOCK_LOOP(iq2_xs, 256, 74)
HEFT_BLOCK_LOOP(iq2_s, 256, 82)
HEFT_BLOCK_LOOP(iq3_xxs, 256, 98)
HEFT_BLOCK_LOOP(iq3_s, 256, 110)
HEFT_BLOCK_LOOP(iq1_s, 256, 50)
HEFT_BLOCK_LOOP(iq1_m, 256, 56)

heft_cast_loop *const heft_blocks_iq[HEFT_DTYPE_COUNT] = {
    [HEFT_IQ2_XXS] = iq2_xxs_loop, [HEFT_IQ2_XS] = iq2_xs_loop, [HEFT_IQ2_S] = iq2_s_loop,
    [HEFT_IQ3_XXS] = iq3_xxs_loop, [HEFT_IQ3_S] = iq3_s_loop,   [HEFT_IQ1_S] = iq1_s_loop,
    [HEFT_IQ1_M] = iq1_m_loop,
};
