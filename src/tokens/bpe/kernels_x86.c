/* kernels_x86.c: kernels for AVX-512 and AVX2, chosen at run time. */
#include "base/processor.h"
#include "tokens/bpe/kernels.h"
#include "tokens/split/bit_places_x86.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,popcnt")))
#define AVX2   __attribute__((target("avx2,popcnt")))

/* low ≤ c ≤ high for unsigned bytes: c − low wraps around below low. */
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

AVX2 static inline __m256i letters256(__m256i c)
{
    return within256(_mm256_or_si256(c, _mm256_set1_epi8(0x20)), 'a', 'z');
}

AVX2 static inline __m256i equal256(__m256i c, char to)
{
    return _mm256_cmpeq_epi8(c, _mm256_set1_epi8(to));
}

/* Mask of 64 bytes from two halves. */
AVX2 static inline uint64_t join_halves(__m256i low, __m256i high)
{
    return (uint64_t)bits(high) << 32 | bits(low);
}

AVX2 static void masks_avx2(const uint8_t *text, struct heft_masks *out)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));

    out->letter = join_halves(letters256(a), letters256(b));
    out->number = join_halves(within256(a, '0', '9'), within256(b, '0', '9'));
    out->blank = join_halves(equal256(a, ' '), equal256(b, ' '));
    out->space = out->blank | join_halves(within256(a, 9, 13), within256(b, 9, 13));
    out->quote = join_halves(equal256(a, '\''), equal256(b, '\''));
    out->wide = join_halves(a, b);
}

AVX512 static uint32_t least_avx512(const uint32_t numbers[HEFT_LEAST_OF])
{
    return _mm512_reduce_min_epu32(
        _mm512_min_epu32(_mm512_loadu_si512(numbers), _mm512_loadu_si512(numbers + 16)));
}

AVX2 static inline __m256i load_half(const uint32_t *numbers)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)numbers);
}

AVX2 static uint32_t least_avx2(const uint32_t numbers[HEFT_LEAST_OF])
{
    const __m256i eight =
        _mm256_min_epu32(_mm256_min_epu32(load_half(numbers), load_half(numbers + 8)),
                         _mm256_min_epu32(load_half(numbers + 16), load_half(numbers + 24)));
    __m128i four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));

    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E)); /* upper half onto the lower */
    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1)); /* then neighbours */
    return (uint32_t)_mm_cvtsi128_si32(four);
}

static const struct heft_kernel KERNEL_AVX512 = {masks_avx512, heft_places_avx512, least_avx512,
                                                 true};
static const struct heft_kernel KERNEL_AVX2 = {masks_avx2, heft_places_avx2, least_avx2, true};

const struct heft_kernel *heft_scan_kernel_at(size_t index)
{
    const bool has512 = heft_processor_has(HEFT_HAS_AVX512 | HEFT_HAS_POPCNT);
    const bool has2 = heft_processor_has(HEFT_HAS_AVX2 | HEFT_HAS_POPCNT);
    const struct heft_kernel *const all[] = {has512 ? &KERNEL_AVX512 : NULL,
                                             has2 ? &KERNEL_AVX2 : NULL, &heft_kernel_plain};

    for (size_t i = 0; i < HEFT_COUNT(all); i++) {
        if (all[i] && index == 0)
            return all[i];
        index -= all[i] != NULL;
    }
    return NULL;
}

const struct heft_kernel *heft_scan_kernel(void)
{
    return heft_scan_kernel_at(0);
}
