/* kernels_x86.c: kernels for AVX-512 and AVX2, chosen at run time. */
#include "base/processor.h"
#include "tokens/bpe/kernels.h"
#include "tokens/split/bit_places_x86.h"
#include "tokens/split/byte_masks_x86.h"

HEFT_AVX512 static void masks_avx512(const uint8_t *text, struct heft_masks *out)
{
    const __m512i c = _mm512_loadu_si512(text);

    out->letter = heft_letters_avx512(c);
    out->number = heft_within_avx512(c, '0', '9');
    out->blank = heft_equal_avx512(c, ' ');
    out->space = out->blank | heft_within_avx512(c, 9, 13);
    out->quote = heft_equal_avx512(c, '\'');
    out->wide = _mm512_movepi8_mask(c);
}

HEFT_AVX2 static void masks_avx2(const uint8_t *text, struct heft_masks *out)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));

    out->letter = heft_join_avx2(heft_letters_avx2(a), heft_letters_avx2(b));
    out->number = heft_join_avx2(heft_within_avx2(a, '0', '9'), heft_within_avx2(b, '0', '9'));
    out->blank = heft_join_avx2(heft_equal_avx2(a, ' '), heft_equal_avx2(b, ' '));
    out->space =
        out->blank | heft_join_avx2(heft_within_avx2(a, 9, 13), heft_within_avx2(b, 9, 13));
    out->quote = heft_join_avx2(heft_equal_avx2(a, '\''), heft_equal_avx2(b, '\''));
    out->wide = heft_join_avx2(a, b);
}

HEFT_AVX512 static uint32_t least_avx512(const uint32_t numbers[HEFT_LEAST_OF])
{
    return _mm512_reduce_min_epu32(
        _mm512_min_epu32(_mm512_loadu_si512(numbers), _mm512_loadu_si512(numbers + 16)));
}

HEFT_AVX2 static inline __m256i load_half(const uint32_t *numbers)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)numbers);
}

HEFT_AVX2 static uint32_t least_avx2(const uint32_t numbers[HEFT_LEAST_OF])
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
