/* ascii_words_kernels_x86.c: kernels for AVX-512 and AVX2, chosen at run time. */
#include "base/processor.h"
#include "tokens/split/ascii_words_loops.h"
#include "tokens/split/bit_places_x86.h"

/* Without the and-not of BMI, compilers compute in the mask registers of AVX-512, which takes longer. */
#define AVX512 __attribute__((target("avx512f,avx512bw,popcnt,bmi,bmi2")))
#define AVX2   __attribute__((target("avx2,popcnt")))

/* low ≤ c ≤ high for unsigned bytes: c − low wraps around below low. */
AVX512 static inline uint64_t within512(__m512i c, char low, char high)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8(low)),
                                  _mm512_set1_epi8((char)(high - low)));
}

AVX512 static inline uint64_t equal512(__m512i c, char to)
{
    return _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(to));
}

AVX512 static inline void masks_avx512(const uint8_t *text, struct heft_ascii_masks *m)
{
    const __m512i c = _mm512_loadu_si512(text);

    m->letter = within512(_mm512_or_si512(c, _mm512_set1_epi8(0x20)), 'a', 'z');
    m->upper = within512(c, 'A', 'Z');
    m->number = within512(c, '0', '9');
    m->blank = equal512(c, ' ');
    m->space = m->blank | within512(c, 9, 13);
    m->line = equal512(c, '\n') | equal512(c, '\r');
    m->quote = equal512(c, '\'');
    m->slash = equal512(c, '/');
    m->wide = _mm512_movepi8_mask(c);
}

AVX512 static size_t scan_avx512(const struct heft_ascii_rules *rules, const uint8_t *text,
                                 size_t n, size_t at, uint32_t *starts, size_t room)
{
    HEFT_ASCII_SCAN(masks_avx512, heft_places_avx512);
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
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
           (uint32_t)_mm256_movemask_epi8(low);
}

AVX2 static inline void masks_avx2(const uint8_t *text, struct heft_ascii_masks *m)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));

    m->letter = join_halves(letters256(a), letters256(b));
    m->upper = join_halves(within256(a, 'A', 'Z'), within256(b, 'A', 'Z'));
    m->number = join_halves(within256(a, '0', '9'), within256(b, '0', '9'));
    m->blank = join_halves(equal256(a, ' '), equal256(b, ' '));
    m->space = m->blank | join_halves(within256(a, 9, 13), within256(b, 9, 13));
    m->line = join_halves(_mm256_or_si256(equal256(a, '\n'), equal256(a, '\r')),
                          _mm256_or_si256(equal256(b, '\n'), equal256(b, '\r')));
    m->quote = join_halves(equal256(a, '\''), equal256(b, '\''));
    m->slash = join_halves(equal256(a, '/'), equal256(b, '/'));
    m->wide = join_halves(a, b);
}

AVX2 static size_t scan_avx2(const struct heft_ascii_rules *rules, const uint8_t *text, size_t n,
                             size_t at, uint32_t *starts, size_t room)
{
    HEFT_ASCII_SCAN(masks_avx2, heft_places_avx2);
}

static const struct heft_ascii_kernel KERNEL_AVX512 = {scan_avx512};
static const struct heft_ascii_kernel KERNEL_AVX2 = {scan_avx2};

static const struct heft_ascii_kernel *simd_kernel(size_t index)
{
    const bool has512 = heft_processor_has(HEFT_HAS_AVX512 | HEFT_HAS_POPCNT);
    const bool has2 = heft_processor_has(HEFT_HAS_AVX2 | HEFT_HAS_POPCNT);
    const struct heft_ascii_kernel *const all[] = {has512 ? &KERNEL_AVX512 : NULL,
                                                   has2 ? &KERNEL_AVX2 : NULL};

    for (size_t i = 0; i < HEFT_COUNT(all); i++) {
        if (all[i] && index == 0)
            return all[i];
        index -= all[i] != NULL;
    }
    return NULL;
}

const struct heft_ascii_kernel *heft_ascii_kernel_at(size_t index)
{
    const struct heft_ascii_kernel *const kernel = simd_kernel(index);

    if (kernel || index == 0)
        return kernel ? kernel : &heft_ascii_kernel_plain;
    return simd_kernel(index - 1) ? &heft_ascii_kernel_plain : NULL;
}

const struct heft_ascii_kernel *heft_ascii_kernel(void)
{
    return simd_kernel(0);
}
