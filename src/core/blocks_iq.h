/* blocks_iq.h: what the decoders of the IQ types share. */
#ifndef HEFT_BLOCKS_IQ_H
#define HEFT_BLOCKS_IQ_H

#include "core/blocks_grids.h"
#include "core/blocks_parts.h"

/* Signs of an octet from 7 bits. */
static inline uint8_t heft_iq_even_signs(unsigned bits)
{
    const unsigned x = bits & 127, folded = x ^ x >> 4;

    return (uint8_t)(x | (0x6996u >> (folded & 15) & 1) << 7);
}

/* d · (1/2 + s) · unit */
static inline float heft_iq_half_scale(float d, unsigned s, float unit)
{
    const float scale = d * (0.5f + (float)s);

    return scale * unit;
}

/* Scale of the k-th 16 elements of IQ2_XS and IQ2_S. */
static inline float heft_iq_scale_of_16(float d, const uint8_t *scales, unsigned k)
{
    return heft_iq_half_scale(d, (unsigned)scales[k / 2] >> 4 * (k % 2) & 15u, 0.25f);
}

/* d of IQ1_M: the top 4 bits of each of the four words of scales. */
static inline float heft_iq1_m_scale(const uint8_t *words)
{
    unsigned bits = 0;

    for (unsigned k = 0; k < 4; k++)
        bits |= (unsigned)(words[2 * k + 1] >> 4) << 4 * k;
    return heft_float_of_bits(heft_f32_of_f16((uint16_t)bits));
}

/* blocks_iq_kernels_x86.c: the loops for AVX2. */
heft_cast_loop heft_iq2_xxs_avx2, heft_iq2_xs_avx2, heft_iq2_s_avx2, heft_iq3_xxs_avx2,
    heft_iq3_s_avx2, heft_iq1_s_avx2, heft_iq1_m_avx2;

#endif
