/* kernels_x86.c: by AVX-512 or AVX2, where the processor has them. */
#include <immintrin.h>

#include "tokens/kernels.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,popcnt")))
#define AVX2   __attribute__((target("avx2")))

/* low <= c <= high, of bytes without sign: c - low wraps round below low. */
AVX512 static inline uint64_t within512(__m512i c, char low, char high)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8(low)),
                                  _mm512_set1_epi8((char)(high - low)));
}

AVX512 static void masks_avx512(const uint8_t *text, struct heft_masks *out)
{
    const __m512i c = _mm512_loadu_si512(text);

    out->letter = within512(_mm512_or_si512(c, _mm512_set1_epi8(0x20)), 'a', 'z');
    out->number = within512(c, '0', '9');
    out->blank = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(' '));
    out->space = out->blank | within512(c, 9, 13);
    out->quote = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('\''));
    out->wide = _mm512_movepi8_mask(c);
}

AVX2 static inline uint32_t bits(__m256i c)
{
    return (uint32_t)_mm256_movemask_epi8(c);
}

AVX2 static inline __m256i within256(__m256i c, char low, char high)
{
    const __m256i from = _mm256_sub_epi8(c, _mm256_set1_epi8(low));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(from, _mm256_set1_epi8((char)(high - low))), from);
}

AVX2 static void masks_avx2(const uint8_t *text, struct heft_masks *out)
{
    *out = (struct heft_masks){0};
    for (unsigned i = 0; i < 64; i += 32) {
        const __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(text + i));
        const __m256i blank = _mm256_cmpeq_epi8(c, _mm256_set1_epi8(' '));
        const __m256i lower = _mm256_or_si256(c, _mm256_set1_epi8(0x20));

        out->letter |= (uint64_t)bits(within256(lower, 'a', 'z')) << i;
        out->number |= (uint64_t)bits(within256(c, '0', '9')) << i;
        out->blank |= (uint64_t)bits(blank) << i;
        out->space |= (uint64_t)bits(_mm256_or_si256(blank, within256(c, 9, 13))) << i;
        out->quote |= (uint64_t)bits(_mm256_cmpeq_epi8(c, _mm256_set1_epi8('\''))) << i;
        out->wide |= (uint64_t)bits(c) << i;
    }
}

/* Sixteen places at a time: those whose bit is set move together. */
AVX512 static size_t places_avx512(uint64_t begin, uint32_t base, uint32_t *out)
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

AVX512 static uint32_t least_avx512(const uint32_t numbers[HEFT_LEAST_OF])
{
    return _mm512_reduce_min_epu32(
        _mm512_min_epu32(_mm512_loadu_si512(numbers), _mm512_loadu_si512(numbers + 16)));
}

AVX2 static inline __m256i load(const uint32_t *numbers)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)numbers);
}

AVX2 static uint32_t least_avx2(const uint32_t numbers[HEFT_LEAST_OF])
{
    const __m256i eight =
        _mm256_min_epu32(_mm256_min_epu32(load(numbers), load(numbers + 8)),
                         _mm256_min_epu32(load(numbers + 16), load(numbers + 24)));
    __m128i four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));

    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E)); /* the upper half on the lower */
    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1)); /* then neighbours */
    return (uint32_t)_mm_cvtsi128_si32(four);
}

static const struct heft_kernel KERNEL_AVX512 = {masks_avx512, places_avx512, least_avx512};
static const struct heft_kernel KERNEL_AVX2 = {masks_avx2, heft_places_plain, least_avx2};

const struct heft_kernel *heft_scan_kernel_at(size_t index)
{
    const bool has512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("popcnt");
    const bool has2 = __builtin_cpu_supports("avx2");
    const struct heft_kernel *const all[] = {has512 ? &KERNEL_AVX512 : NULL,
                                             has2 ? &KERNEL_AVX2 : NULL, &heft_kernel_plain};

    for (size_t i = 0; i < HEFT_COUNT(all); i++)
        if (all[i] && index-- == 0)
            return all[i];
    return NULL;
}

const struct heft_kernel *heft_scan_kernel(void)
{
    return heft_scan_kernel_at(0);
}
