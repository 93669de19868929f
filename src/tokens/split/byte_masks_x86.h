/* byte_masks_x86.h: comparisons of 64 bytes of text with the instructions of AVX-512 and of AVX2, for
 * kernels. The result has a bit for each byte; AVX2 has two vectors of 32 bytes. */
#ifndef HEFT_BYTE_MASKS_X86_H
#define HEFT_BYTE_MASKS_X86_H

#include <immintrin.h>

#include "base/base.h"

#define HEFT_AVX512 __attribute__((target("avx512f,avx512bw,popcnt")))
#define HEFT_AVX2   __attribute__((target("avx2,popcnt")))

/* low ≤ c ≤ high for unsigned bytes: c − low wraps around below low. */
HEFT_AVX512 static inline uint64_t heft_within_avx512(__m512i c, char low, char high)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8(low)),
                                  _mm512_set1_epi8((char)(high - low)));
}

HEFT_AVX512 static inline uint64_t heft_equal_avx512(__m512i c, char to)
{
    return _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(to));
}

HEFT_AVX512 static inline uint64_t heft_letters_avx512(__m512i c)
{
    return heft_within_avx512(_mm512_or_si512(c, _mm512_set1_epi8(0x20)), 'a', 'z');
}

HEFT_AVX2 static inline __m256i heft_within_avx2(__m256i c, char low, char high)
{
    const __m256i from = _mm256_sub_epi8(c, _mm256_set1_epi8(low));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(from, _mm256_set1_epi8((char)(high - low))), from);
}

HEFT_AVX2 static inline __m256i heft_equal_avx2(__m256i c, char to)
{
    return _mm256_cmpeq_epi8(c, _mm256_set1_epi8(to));
}

HEFT_AVX2 static inline __m256i heft_letters_avx2(__m256i c)
{
    return heft_within_avx2(_mm256_or_si256(c, _mm256_set1_epi8(0x20)), 'a', 'z');
}

/* Mask of 64 bytes from two halves. */
HEFT_AVX2 static inline uint64_t heft_join_avx2(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
           (uint32_t)_mm256_movemask_epi8(low);
}

#endif
