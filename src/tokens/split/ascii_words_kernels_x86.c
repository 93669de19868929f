/* ascii_words_kernels_x86.c: kernels for AVX-512 and AVX2, chosen at run time. */
#include "base/processor.h"
#include "tokens/split/ascii_words_loops.h"
#include "tokens/split/bit_places_x86.h"
#include "tokens/split/byte_masks_x86.h"

/* Without the and-not of BMI, compilers compute in the mask registers of AVX-512, which takes longer. */
#define AVX512 __attribute__((target("avx512f,avx512bw,popcnt,bmi,bmi2")))

AVX512 static inline void masks_avx512(const uint8_t *text, struct heft_ascii_masks *m)
{
    const __m512i c = _mm512_loadu_si512(text);

    m->letter = heft_letters_avx512(c);
    m->upper = heft_within_avx512(c, 'A', 'Z');
    m->number = heft_within_avx512(c, '0', '9');
    m->blank = heft_equal_avx512(c, ' ');
    m->space = m->blank | heft_within_avx512(c, 9, 13);
    m->line = heft_equal_avx512(c, '\n') | heft_equal_avx512(c, '\r');
    m->quote = heft_equal_avx512(c, '\'');
    m->slash = heft_equal_avx512(c, '/');
    m->wide = _mm512_movepi8_mask(c);
}

AVX512 static size_t scan_avx512(const struct heft_ascii_rules *rules, const uint8_t *text,
                                 size_t n, size_t at, uint32_t *starts, size_t room)
{
    HEFT_ASCII_SCAN(masks_avx512, heft_places_avx512);
}

HEFT_AVX2 static inline void masks_avx2(const uint8_t *text, struct heft_ascii_masks *m)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));

    m->letter = heft_join_avx2(heft_letters_avx2(a), heft_letters_avx2(b));
    m->upper = heft_join_avx2(heft_within_avx2(a, 'A', 'Z'), heft_within_avx2(b, 'A', 'Z'));
    m->number = heft_join_avx2(heft_within_avx2(a, '0', '9'), heft_within_avx2(b, '0', '9'));
    m->blank = heft_join_avx2(heft_equal_avx2(a, ' '), heft_equal_avx2(b, ' '));
    m->space = m->blank | heft_join_avx2(heft_within_avx2(a, 9, 13), heft_within_avx2(b, 9, 13));
    m->line = heft_join_avx2(_mm256_or_si256(heft_equal_avx2(a, '\n'), heft_equal_avx2(a, '\r')),
                             _mm256_or_si256(heft_equal_avx2(b, '\n'), heft_equal_avx2(b, '\r')));
    m->quote = heft_join_avx2(heft_equal_avx2(a, '\''), heft_equal_avx2(b, '\''));
    m->slash = heft_join_avx2(heft_equal_avx2(a, '/'), heft_equal_avx2(b, '/'));
    m->wide = heft_join_avx2(a, b);
}

HEFT_AVX2 static size_t scan_avx2(const struct heft_ascii_rules *rules, const uint8_t *text,
                                  size_t n, size_t at, uint32_t *starts, size_t room)
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
