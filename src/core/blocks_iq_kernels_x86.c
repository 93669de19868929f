/* blocks_iq_kernels_x86.c: the IQ types with code books for AVX2, an octet of elements at a time. The layouts
 * are drawn in blocks_iq.c; cast_kernels_x86.c has the table of kernels. */
#include <immintrin.h>

#include "core/blocks_iq.h"

#define AVX2   __attribute__((target("avx2,f16c")))
#define INLINE __attribute__((always_inline)) static inline

/* LOOP(name, bytes) defines the loop of the decoder `name`, which stores 256 elements. */
#define LOOP(name, bytes)                                                                          \
    AVX2 uint32_t heft_##name##_avx2(const uint8_t *restrict src, uint8_t *restrict dst, size_t n) \
    {                                                                                              \
        for (size_t i = 0; i < n / 256; i++, src += (bytes), dst += 1024)                          \
            name(src, dst);                                                                        \
        return 0;                                                                                  \
    }

/* Elements of a row of indexes of 2 bits. */
AVX2 INLINE __m256 look_up(unsigned row, __m256 values)
{
    const __m256i shifts = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i moved = _mm256_srlv_epi32(_mm256_set1_epi32((int)row), shifts);

    return _mm256_permutevar8x32_ps(values, _mm256_and_si256(moved, _mm256_set1_epi32(3)));
}

/* Elements of two rows of indexes of 4 bits. */
AVX2 INLINE __m256 look_up_fours(unsigned one, unsigned two, __m256 values)
{
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i moved = _mm256_srlv_epi32(_mm256_set1_epi32((int)(one | two << 16)), shifts);

    return _mm256_permutevar8x32_ps(values, _mm256_and_si256(moved, _mm256_set1_epi32(7)));
}

/* Stores values × scale, negative where a bit of `signs` is set. */
AVX2 INLINE void put_signed(uint8_t *dst, __m256 values, float scale, unsigned signs)
{
    const __m256i shifts = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    const __m256i bits = _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32((int)signs), shifts),
                                          _mm256_set1_epi32(INT32_MIN));
    const __m256 x = _mm256_mul_ps(values, _mm256_set1_ps(scale));

    _mm256_storeu_ps((void *)dst, _mm256_xor_ps(x, _mm256_castsi256_ps(bits)));
}

AVX2 INLINE __m256 values_of_iq2(void)
{
    return _mm256_setr_ps(8, 25, 43, 0, 0, 0, 0, 0);
}

AVX2 INLINE void iq2_xxs(const uint8_t *b, uint8_t *dst)
{
    const float d = heft_block_f16(b);

    for (unsigned j = 0; j < 8; j++) {
        const uint8_t *const group = b + 2 + 8 * j;
        const uint32_t signs = heft_le32(group + 4);
        const float scale = heft_iq_half_scale(d, signs >> 28, 0.25f);

        for (unsigned o = 0; o < 4; o++, dst += 32)
            put_signed(dst, look_up(heft_grid_2xxs[group[o]], values_of_iq2()), scale,
                       heft_iq_even_signs(signs >> 7 * o));
    }
}

AVX2 INLINE void iq2_xs(const uint8_t *b, uint8_t *dst)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, dst += 32) {
        const unsigned word = heft_le16(b + 2 + 2 * o);

        put_signed(dst, look_up(heft_grid_2xs[word & 511], values_of_iq2()),
                   heft_iq_scale_of_16(d, b + 66, o / 2), heft_iq_even_signs(word >> 9));
    }
}

AVX2 INLINE void iq2_s(const uint8_t *b, uint8_t *dst)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, dst += 32) {
        const unsigned index = b[2 + o] | ((unsigned)b[66 + o / 4] >> 2 * (o % 4) & 3) << 8;

        put_signed(dst, look_up(heft_grid_2s[index], values_of_iq2()),
                   heft_iq_scale_of_16(d, b + 74, o / 2), b[34 + o]);
    }
}

AVX2 INLINE void iq3_xxs(const uint8_t *b, uint8_t *dst)
{
    const __m256 values = _mm256_setr_ps(4, 12, 20, 28, 36, 44, 52, 62);
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, dst += 32) {
        const uint32_t word = heft_le32(b + 66 + o / 4 * 4);
        const unsigned one = heft_grid_3xxs[b[2 + 2 * o]], two = heft_grid_3xxs[b[3 + 2 * o]];

        put_signed(dst, look_up_fours(one, two, values), heft_iq_half_scale(d, word >> 28, 0.5f),
                   heft_iq_even_signs(word >> 7 * (o % 4)));
    }
}

AVX2 INLINE void iq3_s(const uint8_t *b, uint8_t *dst)
{
    const __m256 values = _mm256_setr_ps(1, 3, 5, 7, 9, 11, 13, 15);
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, dst += 32) {
        const unsigned high = (unsigned)b[66 + o / 4] >> 2 * (o % 4);
        const unsigned one = heft_grid_3s[b[2 + 2 * o] | (high & 1) << 8];
        const unsigned two = heft_grid_3s[b[3 + 2 * o] | (high >> 1 & 1) << 8];
        const unsigned s = (unsigned)b[106 + o / 8] >> 4 * (o / 4 % 2) & 15;

        put_signed(dst, look_up_fours(one, two, values), d * (float)(1 + 2 * s), b[74 + o]);
    }
}

/* Stores (values + shift) × scale. */
AVX2 INLINE void put_shifted(uint8_t *dst, unsigned row, float scale, bool down)
{
    const __m256 values = _mm256_setr_ps(-1, 0, 1, 0, 0, 0, 0, 0);
    const __m256 x = _mm256_add_ps(look_up(row, values), _mm256_set1_ps(down ? -0.125f : 0.125f));

    _mm256_storeu_ps((void *)dst, _mm256_mul_ps(x, _mm256_set1_ps(scale)));
}

AVX2 INLINE void iq1_s(const uint8_t *b, uint8_t *dst)
{
    const float d = heft_block_f16(b);

    for (unsigned o = 0; o < 32; o++, dst += 32) {
        const unsigned high = heft_le16(b + 34 + o / 4 * 2);
        const unsigned index = b[2 + o] | (high >> 3 * (o % 4) & 7) << 8;

        put_shifted(dst, heft_grid_1[index], d * (float)(2 * (high >> 12 & 7) + 1), high >> 15);
    }
}

AVX2 INLINE void iq1_m(const uint8_t *b, uint8_t *dst)
{
    const float d = heft_iq1_m_scale(b + 48);

    for (unsigned o = 0; o < 32; o++, dst += 32) {
        const unsigned k = o / 2, s = (unsigned)heft_le16(b + 48 + k / 4 * 2) >> 3 * (k % 4) & 7;
        const unsigned high = (unsigned)b[32 + o / 2] >> 4 * (o % 2) & 15;

        put_shifted(dst, heft_grid_1[b[o] | (high & 7) << 8], d * (float)(2 * s + 1), high >> 3);
    }
}

LOOP(iq2_xxs, 66)
LOOP(iq2_xs, 74)
LOOP(iq2_s, 82)
LOOP(iq3_xxs, 98)
LOOP(iq3_s, 110)
LOOP(iq1_s, 50)
LOOP(iq1_m, 56)
