/* bit_places_x86.h: positions of bits with the instructions of AVX-512 and of AVX2, for kernels. They
 * may write up to 16 numbers more. */
#ifndef HEFT_BIT_PLACES_X86_H
#define HEFT_BIT_PLACES_X86_H

#include <immintrin.h>

#include "base/base.h"
#include "tokens/split/bit_places.h"

/* Eight positions at a time. */
__attribute__((target("avx2,popcnt"))) static inline size_t
heft_places_avx2(uint64_t begin, uint32_t base, uint32_t *out)
{
    size_t n = 0;

    for (unsigned i = 0; i < 64; i += 8, begin >>= 8) {
        const uint8_t eight = (uint8_t)begin;
        const __m128i in = _mm_loadl_epi64((const __m128i *)(const void *)&heft_bit_places[eight]);

        _mm256_storeu_si256(
            (__m256i *)(void *)(out + n),
            _mm256_add_epi32(_mm256_set1_epi32((int)(base + i)), _mm256_cvtepu8_epi32(in)));
        n += (size_t)_mm_popcnt_u32(eight);
    }
    return n;
}

/* Sixteen positions at a time: a compress moves those whose bit is set together. */
__attribute__((target("avx512f,avx512bw,popcnt"))) static inline size_t
heft_places_avx512(uint64_t begin, uint32_t base, uint32_t *out)
{
    __m512i place =
        _mm512_add_epi32(_mm512_set1_epi32((int)base),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    size_t n = 0;

    for (unsigned i = 0; i < 4; i++, begin >>= 16) {
        const __mmask16 which = (__mmask16)begin;

        _mm512_storeu_si512(out + n, _mm512_maskz_compress_epi32(which, place));
        n += (size_t)_mm_popcnt_u32(which);
        place = _mm512_add_epi32(place, _mm512_set1_epi32(16));
    }
    return n;
}

#endif
