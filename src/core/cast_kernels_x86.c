/* cast_kernels_x86.c: loops of casts for AVX2 and F16C, chosen at run time: block types and small floats to
 * F32, F32 to BF16, F16 and blocks.
 *
 *     16 codes, I8 ─► 2 × 8 I32 ─► F32 ─► × scale (- minimum) ─► store
 *
 * The layouts are drawn in blocks_simple.c and blocks_k.c; the products are exact, see blocks_parts.h. */
#include <immintrin.h>

#include "base/processor.h"
#include "core/blocks_iq.h"
#include "core/cast_kernels.h"

#define AVX2   __attribute__((target("avx2,f16c")))
#define INLINE __attribute__((always_inline)) static inline

/* ---- parts of decoders ------------------------------------------------------------------------ */

AVX2 INLINE __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const void *)p);
}

AVX2 INLINE float load_half(const uint8_t *p)
{
    return _cvtsh_ss(heft_le16(p));
}

AVX2 INLINE __m256 widen_8(__m128i codes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes));
}

AVX2 INLINE void store_8(uint8_t *dst, __m256 x)
{
    _mm256_storeu_ps((void *)dst, x);
}

/* Stores 16 elements, codes × scale. */
AVX2 INLINE void put_16(uint8_t *dst, __m128i codes, __m256 scale)
{
    store_8(dst, _mm256_mul_ps(widen_8(codes), scale));
    store_8(dst + 32, _mm256_mul_ps(widen_8(_mm_srli_si128(codes, 8)), scale));
}

/* Stores 16 elements, codes × scale - min. */
AVX2 INLINE void put_16_less(uint8_t *dst, __m128i codes, __m256 scale, __m256 min)
{
    store_8(dst, _mm256_sub_ps(_mm256_mul_ps(widen_8(codes), scale), min));
    store_8(dst + 32, _mm256_sub_ps(_mm256_mul_ps(widen_8(_mm_srli_si128(codes, 8)), scale), min));
}

AVX2 INLINE __m128i low_nibbles(__m128i x)
{
    return _mm_and_si128(x, _mm_set1_epi8(15));
}

AVX2 INLINE __m128i high_nibbles(__m128i x)
{
    return low_nibbles(_mm_srli_epi16(x, 4));
}

/* Bit `bit` of each byte as the number `value`. */
AVX2 INLINE __m128i bits_as(__m128i bytes, unsigned bit, int value)
{
    const __m128i one = _mm_set1_epi8((char)(1u << bit));

    return _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(bytes, one), one),
                         _mm_set1_epi8((char)value));
}

/* LOOP(name, elements, bytes) defines the loop of the decoder `name`, which stores one block. */
#define LOOP(name, elements, bytes)                                                                \
    AVX2 static uint32_t name##_loop(const uint8_t *restrict src, uint8_t *restrict dst, size_t n) \
    {                                                                                              \
        for (size_t i = 0; i < n / (elements); i++, src += (bytes), dst += 4 * (elements))         \
            name(src, dst);                                                                        \
        return 0;                                                                                  \
    }

/* ---- one level of scales ---------------------------------------------------------------------- */

AVX2 INLINE void q8_0(const uint8_t *b, uint8_t *dst)
{
    const __m256 d = _mm256_set1_ps(load_half(b));

    put_16(dst, load_16(b + 2), d);
    put_16(dst + 64, load_16(b + 18), d);
}

/* Codes of 4 bits, looked up in a table of I8. */
AVX2 INLINE void put_looked_up(uint8_t *dst, __m128i table, __m128i codes, __m256 d)
{
    put_16(dst, _mm_shuffle_epi8(table, low_nibbles(codes)), d);
    put_16(dst + 64, _mm_shuffle_epi8(table, high_nibbles(codes)), d);
}

AVX2 INLINE void q4_0(const uint8_t *b, uint8_t *dst)
{
    const __m128i table = _mm_setr_epi8(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);

    put_looked_up(dst, table, load_16(b + 2), _mm256_set1_ps(load_half(b)));
}

AVX2 INLINE void iq4_nl(const uint8_t *b, uint8_t *dst)
{
    put_looked_up(dst, load_16((const uint8_t *)heft_block_nl), load_16(b + 2),
                  _mm256_set1_ps(load_half(b)));
}

AVX2 INLINE __m128i e2m1_table(void)
{
    return _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
}

AVX2 INLINE void mxfp4(const uint8_t *b, uint8_t *dst)
{
    put_looked_up(dst, e2m1_table(), load_16(b + 1), _mm256_set1_ps(heft_block_e8m0_half(b[0])));
}

/* The scales of NVFP4 as heft_block_ue4m3_half. */
AVX2 INLINE __m128 scales_of_nvfp4(const uint8_t *b)
{
    const __m128i s = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)heft_le32(b)));
    const __m128i mag = _mm_and_si128(s, _mm_set1_epi32(0x7F));
    const __m128 tiny = _mm_mul_ps(_mm_cvtepi32_ps(mag), _mm_set1_ps(0x1p-10f));
    const __m128 normal =
        _mm_castsi128_ps(_mm_add_epi32(_mm_slli_epi32(mag, 20), _mm_set1_epi32((127 - 8) << 23)));
    const __m128 is_tiny = _mm_castsi128_ps(_mm_cmplt_epi32(mag, _mm_set1_epi32(8)));
    const __m128 is_nan = _mm_castsi128_ps(_mm_cmpeq_epi32(s, _mm_set1_epi32(0x7F)));

    return _mm_andnot_ps(is_nan, _mm_blendv_ps(normal, tiny, is_tiny));
}

AVX2 INLINE void nvfp4(const uint8_t *b, uint8_t *dst)
{
    float scales[4];

    _mm_storeu_ps(scales, scales_of_nvfp4(b));
    for (unsigned k = 0; k < 4; k += 2, dst += 128) {
        const __m128i codes = load_16(b + 4 + 8 * k);
        const __m128i low = _mm_shuffle_epi8(e2m1_table(), low_nibbles(codes));
        const __m128i high = _mm_shuffle_epi8(e2m1_table(), high_nibbles(codes));

        put_16(dst, _mm_unpacklo_epi64(low, high), _mm256_set1_ps(scales[k]));
        put_16(dst + 64, _mm_unpackhi_epi64(low, high), _mm256_set1_ps(scales[k + 1]));
    }
}

AVX2 INLINE void q4_1(const uint8_t *b, uint8_t *dst)
{
    const __m256 d = _mm256_set1_ps(load_half(b)), m = _mm256_set1_ps(-load_half(b + 2));
    const __m128i codes = load_16(b + 4);

    put_16_less(dst, low_nibbles(codes), d, m);
    put_16_less(dst + 64, high_nibbles(codes), d, m);
}

/* Bits 8 k … 8 k + 15 of a word, one a byte, as the fifth bits of codes. */
AVX2 INLINE __m128i fifth_bits(uint32_t word)
{
    const __m128i bytes =
        _mm_shuffle_epi8(_mm_cvtsi32_si128((int)word),
                         _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
    const __m128i bits = _mm_set1_epi64x((long long)0x8040201008040201u);

    return _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(bytes, bits), bits), _mm_set1_epi8(16));
}

AVX2 INLINE void q5_0(const uint8_t *b, uint8_t *dst)
{
    const __m256 d = _mm256_set1_ps(load_half(b));
    const uint32_t high = heft_le32(b + 2);
    const __m128i codes = load_16(b + 6), middle = _mm_set1_epi8(16);

    put_16(dst, _mm_sub_epi8(_mm_or_si128(low_nibbles(codes), fifth_bits(high)), middle), d);
    put_16(dst + 64,
           _mm_sub_epi8(_mm_or_si128(high_nibbles(codes), fifth_bits(high >> 16)), middle), d);
}

AVX2 INLINE void q5_1(const uint8_t *b, uint8_t *dst)
{
    const __m256 d = _mm256_set1_ps(load_half(b)), m = _mm256_set1_ps(-load_half(b + 2));
    const uint32_t high = heft_le32(b + 4);
    const __m128i codes = load_16(b + 8);

    put_16_less(dst, _mm_or_si128(low_nibbles(codes), fifth_bits(high)), d, m);
    put_16_less(dst + 64, _mm_or_si128(high_nibbles(codes), fifth_bits(high >> 16)), d, m);
}

/* ---- two levels of scales --------------------------------------------------------------------- */

/* The eight scales and minima of Q4_K and Q5_K, multiplied with d and dmin. */
AVX2 INLINE void take_scales(const uint8_t *b, float *scales, float *mins)
{
    const uint32_t u = heft_le32(b + 4), v = heft_le32(b + 8), w = heft_le32(b + 12);
    const uint32_t high_scales = (w & 0x0F0F0F0Fu) | (u >> 2 & 0x30303030u);
    const uint32_t high_mins = (w >> 4 & 0x0F0F0F0Fu) | (v >> 2 & 0x30303030u);
    const __m128i s = _mm_set_epi32(0, 0, (int)high_scales, (int)(u & 0x3F3F3F3Fu));
    const __m128i m = _mm_set_epi32(0, 0, (int)high_mins, (int)(v & 0x3F3F3F3Fu));

    _mm256_storeu_ps(scales, _mm256_mul_ps(widen_8(s), _mm256_set1_ps(load_half(b))));
    _mm256_storeu_ps(mins, _mm256_mul_ps(widen_8(m), _mm256_set1_ps(load_half(b + 2))));
}

AVX2 INLINE void q4_k(const uint8_t *b, uint8_t *dst)
{
    float scales[8], mins[8];

    take_scales(b, scales, mins);
    for (unsigned j = 0; j < 8; j += 2, dst += 256) {
        const __m128i one = load_16(b + 16 + 16 * j), two = load_16(b + 32 + 16 * j);
        const __m256 low = _mm256_set1_ps(scales[j]), high = _mm256_set1_ps(scales[j + 1]);
        const __m256 low_min = _mm256_set1_ps(mins[j]), high_min = _mm256_set1_ps(mins[j + 1]);

        put_16_less(dst, low_nibbles(one), low, low_min);
        put_16_less(dst + 64, low_nibbles(two), low, low_min);
        put_16_less(dst + 128, high_nibbles(one), high, high_min);
        put_16_less(dst + 192, high_nibbles(two), high, high_min);
    }
}

AVX2 INLINE void q5_k(const uint8_t *b, uint8_t *dst)
{
    const __m128i bits[2] = {load_16(b + 16), load_16(b + 32)};
    float scales[8], mins[8];

    take_scales(b, scales, mins);
    for (unsigned j = 0; j < 8; j++)
        for (unsigned k = 0; k < 2; k++, dst += 64) {
            const __m128i codes = load_16(b + 48 + 32 * (j / 2) + 16 * k);
            const __m128i four = j % 2 ? high_nibbles(codes) : low_nibbles(codes);

            put_16_less(dst, _mm_or_si128(four, bits_as(bits[k], j, 16)), _mm256_set1_ps(scales[j]),
                        _mm256_set1_ps(mins[j]));
        }
}

/* Bits 2 quarter and 2 quarter + 1 of each byte, as the bits 4 and 5. */
AVX2 INLINE __m128i high_pairs(__m128i bytes, unsigned quarter)
{
    const __m128i up =
        _mm_sll_epi16(bytes, _mm_cvtsi32_si128(quarter < 2 ? 4 - 2 * (int)quarter : 0));
    const __m128i moved = _mm_srl_epi16(up, _mm_cvtsi32_si128(quarter == 3 ? 2 : 0));

    return _mm_and_si128(moved, _mm_set1_epi8(0x30));
}

AVX2 INLINE void q6_k(const uint8_t *b, uint8_t *dst)
{
    const __m256 d = _mm256_set1_ps(load_half(b + 208));
    const __m128i scales_16 = load_16(b + 192);
    float scales[16];

    _mm256_storeu_ps(scales, _mm256_mul_ps(widen_8(scales_16), d));
    _mm256_storeu_ps(scales + 8, _mm256_mul_ps(widen_8(_mm_srli_si128(scales_16, 8)), d));
    for (unsigned k = 0; k < 16; k++, dst += 64) {
        const unsigned half = k / 8, quarter = k / 2 % 4;
        const __m128i low = load_16(b + 64 * half + 32 * (quarter % 2) + 16 * (k % 2));
        const __m128i high = load_16(b + 128 + 32 * half + 16 * (k % 2));
        const __m128i four = quarter < 2 ? low_nibbles(low) : high_nibbles(low);
        const __m128i codes = _mm_or_si128(four, high_pairs(high, quarter));

        put_16(dst, _mm_sub_epi8(codes, _mm_set1_epi8(32)), _mm256_set1_ps(scales[k]));
    }
}

/* The codes of 2 bits of the k-th 16 elements. */
AVX2 INLINE __m128i pairs_of(const uint8_t *qs, unsigned k)
{
    const __m128i bytes = load_16(qs + 32 * (k / 8) + 16 * (k % 2));

    return _mm_and_si128(_mm_srl_epi16(bytes, _mm_cvtsi32_si128(2 * (int)(k / 2 % 4))),
                         _mm_set1_epi8(3));
}

AVX2 INLINE void q2_k(const uint8_t *b, uint8_t *dst)
{
    const __m256 d = _mm256_set1_ps(load_half(b + 80)), dmin = _mm256_set1_ps(load_half(b + 82));
    const __m128i s = low_nibbles(load_16(b)), m = high_nibbles(load_16(b));
    float scales[16], mins[16];

    _mm256_storeu_ps(scales, _mm256_mul_ps(widen_8(s), d));
    _mm256_storeu_ps(scales + 8, _mm256_mul_ps(widen_8(_mm_srli_si128(s, 8)), d));
    _mm256_storeu_ps(mins, _mm256_mul_ps(widen_8(m), dmin));
    _mm256_storeu_ps(mins + 8, _mm256_mul_ps(widen_8(_mm_srli_si128(m, 8)), dmin));
    for (unsigned k = 0; k < 16; k++, dst += 64)
        put_16_less(dst, pairs_of(b + 16, k), _mm256_set1_ps(scales[k]), _mm256_set1_ps(mins[k]));
}

AVX2 INLINE void q3_k(const uint8_t *b, uint8_t *dst)
{
    const __m128i bits[2] = {load_16(b), load_16(b + 16)};
    const float d = load_half(b + 108);

    for (unsigned k = 0; k < 16; k++, dst += 64) {
        const __m128i codes = _mm_or_si128(pairs_of(b + 32, k), bits_as(bits[k % 2], k / 2, 4));
        const float scale = d * (float)heft_block_q3_scale(b + 96, k);

        put_16(dst, _mm_sub_epi8(codes, _mm_set1_epi8(4)), _mm256_set1_ps(scale));
    }
}

AVX2 INLINE void iq4_xs(const uint8_t *b, uint8_t *dst)
{
    const __m128i table = load_16((const uint8_t *)heft_block_nl);
    const float d = load_half(b);
    const unsigned high = heft_le16(b + 2);

    for (unsigned j = 0; j < 8; j++, dst += 128) {
        const unsigned low = (unsigned)b[4 + j / 2] >> 4 * (j % 2) & 15;
        const float scale = d * (float)((int)(low | (high >> 2 * j & 3) << 4) - 32);

        put_looked_up(dst, table, load_16(b + 8 + 16 * j), _mm256_set1_ps(scale));
    }
}

LOOP(q8_0, 32, 34)
LOOP(q4_0, 32, 18)
LOOP(q4_1, 32, 20)
LOOP(q5_0, 32, 22)
LOOP(q5_1, 32, 24)
LOOP(iq4_nl, 32, 18)
LOOP(mxfp4, 32, 17)
LOOP(nvfp4, 64, 36)
LOOP(q2_k, 256, 84)
LOOP(q3_k, 256, 110)
LOOP(q4_k, 256, 144)
LOOP(q5_k, 256, 176)
LOOP(q6_k, 256, 210)
LOOP(iq4_xs, 256, 136)

/* ---- small floats to F32 ---------------------------------------------------------------------- */

AVX2 static uint32_t f16_to_f32(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        store_8(dst + 4 * i, _mm256_cvtph_ps(load_16(src + 2 * i)));
    return heft_cast_plain_to_f32(HEFT_F16)(src + 2 * i, dst + 4 * i, n - i);
}

/* A byte of E5M2 is the upper half of an F16. */
AVX2 static uint32_t e5m2_to_f32(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    const __m128i zero = _mm_setzero_si128();
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        const __m128i bytes = load_16(src + i);

        store_8(dst + 4 * i, _mm256_cvtph_ps(_mm_unpacklo_epi8(zero, bytes)));
        store_8(dst + 4 * i + 32, _mm256_cvtph_ps(_mm_unpackhi_epi8(zero, bytes)));
    }
    return heft_cast_plain_to_f32(HEFT_F8_E5M2)(src + i, dst + 4 * i, n - i);
}

/* Eight bytes of E4M3 as heft_f32_of_e4m3: the bits of a magnitude are those of F16, shifted by one;
 * F16 has a bias that is larger by 8, which the factor 2^8 corrects, subnormal numbers included. */
AVX2 INLINE __m256 widen_e4m3(__m128i bytes)
{
    const __m128i x = _mm_cvtepu8_epi16(bytes);
    const __m128i mag = _mm_and_si128(x, _mm_set1_epi16(0x7F));
    const __m128i sign = _mm_slli_epi16(_mm_srli_epi16(x, 7), 15);
    const __m128i half = _mm_or_si128(sign, _mm_slli_epi16(mag, 7));
    const __m256 value = _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0f));
    const __m256i wide = _mm256_cvtepi16_epi32(mag);
    const __m256i is_nan = _mm256_cmpeq_epi32(wide, _mm256_set1_epi32(0x7F));

    return _mm256_or_ps(
        value, _mm256_castsi256_ps(_mm256_and_si256(is_nan, _mm256_set1_epi32(0x7FF00000))));
}

AVX2 static uint32_t e4m3_to_f32(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        const __m128i bytes = load_16(src + i);

        store_8(dst + 4 * i, widen_e4m3(bytes));
        store_8(dst + 4 * i + 32, widen_e4m3(_mm_srli_si128(bytes, 8)));
    }
    return heft_cast_plain_to_f32(HEFT_F8_E4M3)(src + i, dst + 4 * i, n - i);
}

/* ---- F32 to fewer bits ------------------------------------------------------------------------ */

AVX2 INLINE __m256i load_words(const uint8_t *src)
{
    return _mm256_loadu_si256((const void *)src);
}

/* All ones where a finite magnitude is above `most`. */
AVX2 INLINE __m256i find_over(__m256i mag, int most)
{
    return _mm256_and_si256(_mm256_cmpgt_epi32(mag, _mm256_set1_epi32(most)),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32((int)HEFT_F32_INF), mag));
}

AVX2 INLINE uint32_t add_lanes(__m256i x)
{
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const __m128i two = _mm_add_epi32(four, _mm_srli_si128(four, 8));

    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(two, _mm_srli_si128(two, 4)));
}

/* The upper halves of eight words, rounded to nearest even; NaN becomes 0x7FC0. */
AVX2 INLINE __m256i round_to_bf16(__m256i u, __m256i *over)
{
    const __m256i mag = _mm256_and_si256(u, _mm256_set1_epi32((int)HEFT_F32_ABS));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7FFF)), odd);
    const __m256i nan = _mm256_cmpgt_epi32(mag, _mm256_set1_epi32((int)HEFT_F32_INF));

    *over = _mm256_sub_epi32(*over, find_over(mag, 0x7F7F7FFF));
    return _mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), _mm256_set1_epi32(0x7FC0), nan);
}

AVX2 static uint32_t f32_to_bf16(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    __m256i over = _mm256_setzero_si256();
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        const __m256i a = round_to_bf16(load_words(src + 4 * i), &over);
        const __m256i b = round_to_bf16(load_words(src + 4 * i + 32), &over);
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xD8);

        _mm256_storeu_si256((void *)(dst + 2 * i), both);
    }
    return add_lanes(over) + heft_cast_plain_from_f32(HEFT_BF16)(src + 4 * i, dst + 2 * i, n - i);
}

AVX2 static uint32_t f32_to_f16(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    __m256i over = _mm256_setzero_si256();
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256i u = load_words(src + 4 * i);
        const __m256i mag = _mm256_and_si256(u, _mm256_set1_epi32((int)HEFT_F32_ABS));

        over = _mm256_sub_epi32(over, find_over(mag, 0x477FEFFF));
        _mm_storeu_si128((void *)(dst + 2 * i),
                         _mm256_cvtps_ph(_mm256_castsi256_ps(u), _MM_FROUND_TO_NEAREST_INT));
    }
    return add_lanes(over) + heft_cast_plain_from_f32(HEFT_F16)(src + 4 * i, dst + 2 * i, n - i);
}

/* ---- F32 to blocks: the steps of blocks_quantize.c -------------------------------------------- */

/* 32 elements. */
struct block {
    __m256 x[4];
};

AVX2 INLINE __m256 magnitude_of(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

AVX2 INLINE float find_most(__m256 x)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

AVX2 INLINE float find_least(__m256 x)
{
    const __m128 four = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_min_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* The first element at which a mask of 32 bits, which is not 0, is set. */
AVX2 INLINE float first_of(const uint8_t *src, uint32_t mask)
{
    float x;

    memcpy(&x, src + 4 * (size_t)__builtin_ctz(mask), sizeof x);
    return x;
}

/* Bit i: element i equals x; with `size`, its magnitude does. */
AVX2 INLINE uint32_t find_equal(const struct block *b, float x, bool size)
{
    uint32_t mask = 0;

    for (unsigned k = 0; k < 4; k++) {
        const __m256 v = size ? magnitude_of(b->x[k]) : b->x[k];
        const __m256 same = _mm256_cmp_ps(v, _mm256_set1_ps(x), _CMP_EQ_OQ);

        mask |= (uint32_t)_mm256_movemask_ps(same) << 8 * k;
    }
    return mask;
}

/* Loads a block. Returns the number of elements that are NaN or infinite. */
AVX2 INLINE uint32_t load_block(const uint8_t *src, struct block *b)
{
    __m256 finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    const __m256 limit = _mm256_set1_ps(__builtin_inff());
    uint32_t mask = 0;

    for (unsigned k = 0; k < 4; k++) {
        b->x[k] = _mm256_loadu_ps((const void *)(src + 32 * k));
        finite = _mm256_and_ps(finite, _mm256_cmp_ps(magnitude_of(b->x[k]), limit, _CMP_LT_OQ));
    }
    if (_mm256_movemask_ps(finite) == 0xFF)
        return 0;
    for (unsigned k = 0; k < 4; k++)
        mask |=
            (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(magnitude_of(b->x[k]), limit, _CMP_NLT_UQ))
            << 8 * k;
    return (uint32_t)__builtin_popcount(mask);
}

AVX2 INLINE float largest_magnitude(const struct block *b)
{
    const __m256 one = _mm256_max_ps(magnitude_of(b->x[0]), magnitude_of(b->x[1]));
    const __m256 two = _mm256_max_ps(magnitude_of(b->x[2]), magnitude_of(b->x[3]));

    return find_most(_mm256_max_ps(one, two));
}

AVX2 INLINE bool put_scale(uint8_t *b, float d)
{
    const uint16_t half = _cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT);

    heft_put_le16(b, half);
    return (half & 0x7FFF) >= 0x7C00;
}

/* 0 also where the reciprocal is infinite: the codes are then set to 0 by *no_codes. */
AVX2 INLINE float reciprocal(float d, bool *no_codes)
{
    const float id = d != 0 ? 1.0f / d : 0.0f;

    *no_codes = __builtin_isinf(id);
    return *no_codes ? 0.0f : id;
}

/* 32 integers as bytes, saturated, in order. */
AVX2 INLINE __m256i pack_bytes(const __m256i q[4])
{
    const __m256i words =
        _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));

    return _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Rounds to the nearest integer, halves away from 0. */
AVX2 INLINE __m256i round_away(__m256 x)
{
    const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256 rest = magnitude_of(_mm256_sub_ps(x, whole));
    const __m256 one = _mm256_or_ps(_mm256_and_ps(x, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(1.0f));
    const __m256 is_up = _mm256_cmp_ps(rest, _mm256_set1_ps(0.5f), _CMP_GE_OQ);

    return _mm256_cvttps_epi32(_mm256_add_ps(whole, _mm256_and_ps(is_up, one)));
}

AVX2 INLINE bool encode_q8_0(const struct block *b, const uint8_t *src, uint8_t *dst)
{
    const float d = largest_magnitude(b) / 127;
    bool no_codes;
    const __m256 id = _mm256_set1_ps(reciprocal(d, &no_codes));
    __m256i q[4];

    (void)src;
    for (unsigned k = 0; k < 4; k++)
        q[k] = round_away(_mm256_mul_ps(b->x[k], id));
    _mm256_storeu_si256((void *)(dst + 2), pack_bytes(q));
    return put_scale(dst, d);
}

/* Codes trunc((x - offset) / d + half), at most `top`, as bytes. */
AVX2 INLINE __m256i make_codes(const struct block *b, float offset, float d, float half, int top)
{
    bool no_codes;
    const __m256 id = _mm256_set1_ps(reciprocal(d, &no_codes));
    __m256i q[4];

    for (unsigned k = 0; k < 4; k++) {
        const __m256 from = _mm256_sub_ps(b->x[k], _mm256_set1_ps(offset));
        const __m256 product = _mm256_mul_ps(from, id);

        q[k] = _mm256_cvttps_epi32(_mm256_add_ps(product, _mm256_set1_ps(half)));
    }
    return no_codes ? _mm256_setzero_si256()
                    : _mm256_min_epu8(pack_bytes(q), _mm256_set1_epi8((char)top));
}

AVX2 INLINE void put_nibbles(__m256i codes, uint8_t *dst)
{
    const __m128i low = _mm_and_si128(_mm256_castsi256_si128(codes), _mm_set1_epi8(15));
    const __m128i high = _mm_and_si128(_mm256_extracti128_si256(codes, 1), _mm_set1_epi8(15));

    _mm_storeu_si128((void *)dst, _mm_or_si128(low, _mm_slli_epi16(high, 4)));
}

AVX2 INLINE void put_fifths(__m256i codes, uint8_t *dst)
{
    heft_put_le32(dst, (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(codes, 3)));
}

/* The element of the largest magnitude, the first of equal ones; 0 if there are only zeros. */
AVX2 INLINE float find_extreme(const struct block *b, const uint8_t *src)
{
    const float most = largest_magnitude(b);

    return most > 0 ? first_of(src, find_equal(b, most, true)) : 0.0f;
}

AVX2 INLINE bool encode_q4_0(const struct block *b, const uint8_t *src, uint8_t *dst)
{
    const float d = find_extreme(b, src) / -8;

    put_nibbles(make_codes(b, 0, d, 8.5f, 15), dst + 2);
    return put_scale(dst, d);
}

AVX2 INLINE bool encode_q5_0(const struct block *b, const uint8_t *src, uint8_t *dst)
{
    const float d = find_extreme(b, src) / -16;
    const __m256i codes = make_codes(b, 0, d, 16.5f, 31);

    put_fifths(codes, dst + 2);
    put_nibbles(codes, dst + 6);
    return put_scale(dst, d);
}

/* Stores the step of `steps` between minimum and maximum, and the minimum. Returns whether one
 * overflows. */
AVX2 INLINE bool put_bounds(const struct block *b, const uint8_t *src, float steps, uint8_t *dst,
                            float *d, float *least)
{
    const __m256 low = _mm256_min_ps(_mm256_min_ps(b->x[0], b->x[1]), //
                                     _mm256_min_ps(b->x[2], b->x[3]));
    const __m256 high = _mm256_max_ps(_mm256_max_ps(b->x[0], b->x[1]), //
                                      _mm256_max_ps(b->x[2], b->x[3]));
    const float most = first_of(src, find_equal(b, find_most(high), false));
    bool over;

    *least = first_of(src, find_equal(b, find_least(low), false));
    *d = (most - *least) / steps;
    over = put_scale(dst, *d);
    return put_scale(dst + 2, *least) || over;
}

AVX2 INLINE bool encode_q4_1(const struct block *b, const uint8_t *src, uint8_t *dst)
{
    float d, least;
    const bool over = put_bounds(b, src, 15, dst, &d, &least);

    if (!over)
        put_nibbles(make_codes(b, least, d, 0.5f, 15), dst + 4);
    return over;
}

AVX2 INLINE bool encode_q5_1(const struct block *b, const uint8_t *src, uint8_t *dst)
{
    float d, least;
    const bool over = put_bounds(b, src, 31, dst, &d, &least);
    __m256i codes;

    if (over)
        return true;
    codes = make_codes(b, least, d, 0.5f, 31);
    put_fifths(codes, dst + 4);
    put_nibbles(codes, dst + 8);
    return false;
}

#define ENCODE_LOOP(name, bytes)                                                                   \
    AVX2 static uint32_t f32_to_##name(const uint8_t *restrict src, uint8_t *restrict dst,         \
                                       size_t n)                                                   \
    {                                                                                              \
        uint32_t lost = 0;                                                                         \
                                                                                                   \
        for (size_t at = 0; at < n; at += 32, src += 128, dst += (bytes)) {                        \
            struct block b;                                                                        \
            uint32_t bad = load_block(src, &b) * HEFT_CAST_INFINITE;                               \
                                                                                                   \
            if (!bad)                                                                              \
                bad = encode_##name(&b, src, dst);                                                 \
            if (bad)                                                                               \
                memset(dst, 0, bytes);                                                             \
            lost += bad;                                                                           \
        }                                                                                          \
        return lost;                                                                               \
    }

ENCODE_LOOP(q4_0, 18)
ENCODE_LOOP(q4_1, 20)
ENCODE_LOOP(q5_0, 22)
ENCODE_LOOP(q5_1, 24)
ENCODE_LOOP(q8_0, 34)

static const struct heft_cast_kernel kernel_avx2 = {
    .name = "avx2",
    .to_f32 = {[HEFT_Q8_0] = q8_0_loop,
               [HEFT_Q4_0] = q4_0_loop,
               [HEFT_Q4_1] = q4_1_loop,
               [HEFT_Q5_0] = q5_0_loop,
               [HEFT_Q5_1] = q5_1_loop,
               [HEFT_IQ4_NL] = iq4_nl_loop,
               [HEFT_MXFP4] = mxfp4_loop,
               [HEFT_NVFP4] = nvfp4_loop,
               [HEFT_Q2_K] = q2_k_loop,
               [HEFT_Q3_K] = q3_k_loop,
               [HEFT_Q4_K] = q4_k_loop,
               [HEFT_Q5_K] = q5_k_loop,
               [HEFT_Q6_K] = q6_k_loop,
               [HEFT_IQ4_XS] = iq4_xs_loop,
               [HEFT_IQ2_XXS] = heft_iq2_xxs_avx2,
               [HEFT_IQ2_XS] = heft_iq2_xs_avx2,
               [HEFT_IQ2_S] = heft_iq2_s_avx2,
               [HEFT_IQ3_XXS] = heft_iq3_xxs_avx2,
               [HEFT_IQ3_S] = heft_iq3_s_avx2,
               [HEFT_IQ1_S] = heft_iq1_s_avx2,
               [HEFT_IQ1_M] = heft_iq1_m_avx2,
               [HEFT_F16] = f16_to_f32,
               [HEFT_F8_E4M3] = e4m3_to_f32,
               [HEFT_F8_E5M2] = e5m2_to_f32},
    .from_f32 = {[HEFT_BF16] = f32_to_bf16,
                 [HEFT_F16] = f32_to_f16,
                 [HEFT_Q4_0] = f32_to_q4_0,
                 [HEFT_Q4_1] = f32_to_q4_1,
                 [HEFT_Q5_0] = f32_to_q5_0,
                 [HEFT_Q5_1] = f32_to_q5_1,
                 [HEFT_Q8_0] = f32_to_q8_0},
};

const struct heft_cast_kernel *heft_cast_kernel_at(size_t index)
{
    return index == 0 && heft_processor_has(HEFT_HAS_AVX2 | HEFT_HAS_F16C) ? &kernel_avx2 : NULL;
}
