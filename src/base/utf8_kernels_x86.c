/* utf8_kernels_x86.c: validation of 32 bytes at a time, with AVX2 (Keiser and Lemire, "Validating UTF-8
 * in less than one instruction per byte", 2021).
 *
 * Errors of two adjacent bytes are bits, each with the halves of bytes where it may occur: the upper
 * and lower half of the first byte, the upper half of the second. Three tables of 16 entries have the
 * bits of each half; a bit in all three is an error. That a third or fourth byte must be a tail is
 * told by the bytes two and three places before; there two tails in a row are no error. */
#include <immintrin.h>

#include "base/processor.h"
#include "base/utf8_kernels.h"

#define AVX2  __attribute__((target("avx2")))
#define BYTES 32

enum {
    NO_TAIL = 1,         /* a lead byte, then no tail */
    LONE_TAIL = 2,       /* ASCII, then a tail */
    LONG_3 = 4,          /* E0, then 80 … 9F */
    BEYOND = 8,          /* F4, then 90 … BF; F5 … FF, then 90 … BF */
    SURROGATE = 16,      /* ED, then A0 … BF */
    LONG_2 = 32,         /* C0 or C1 */
    BEYOND_OR_LONG = 64, /* F5 … FF, then 80 … 8F; F0, then 80 … 8F */
    TAILS = 128          /* two tails */
};
#define ANY (NO_TAIL | LONE_TAIL | TAILS) /* do not depend on the lower half */

#define TWICE(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                                      \
    _mm256_setr_epi8((char)(a), (char)(b), (char)(c), (char)(d), (char)(e), (char)(f), (char)(g),  \
                     (char)(h), (char)(i), (char)(j), (char)(k), (char)(l), (char)(m), (char)(n),  \
                     (char)(o), (char)(p), (char)(a), (char)(b), (char)(c), (char)(d), (char)(e),  \
                     (char)(f), (char)(g), (char)(h), (char)(i), (char)(j), (char)(k), (char)(l),  \
                     (char)(m), (char)(n), (char)(o), (char)(p))

AVX2 static inline __m256i upper_half(__m256i bytes)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
}

/* The bits of the first byte of each pair. */
AVX2 static inline __m256i bits_of_first(__m256i first)
{
    const __m256i upper =
        TWICE(LONE_TAIL, LONE_TAIL, LONE_TAIL, LONE_TAIL, LONE_TAIL, LONE_TAIL, LONE_TAIL,
              LONE_TAIL, TAILS, TAILS, TAILS, TAILS, NO_TAIL | LONG_2, NO_TAIL,
              NO_TAIL | LONG_3 | SURROGATE, NO_TAIL | BEYOND | BEYOND_OR_LONG);
    const __m256i lower = TWICE(
        ANY | LONG_3 | LONG_2 | BEYOND_OR_LONG, ANY | LONG_2, ANY, ANY, ANY | BEYOND,
        ANY | BEYOND | BEYOND_OR_LONG, ANY | BEYOND | BEYOND_OR_LONG, ANY | BEYOND | BEYOND_OR_LONG,
        ANY | BEYOND | BEYOND_OR_LONG, ANY | BEYOND | BEYOND_OR_LONG, ANY | BEYOND | BEYOND_OR_LONG,
        ANY | BEYOND | BEYOND_OR_LONG, ANY | BEYOND | BEYOND_OR_LONG,
        ANY | BEYOND | BEYOND_OR_LONG | SURROGATE, ANY | BEYOND | BEYOND_OR_LONG,
        ANY | BEYOND | BEYOND_OR_LONG);

    return _mm256_and_si256(
        _mm256_shuffle_epi8(upper, upper_half(first)),
        _mm256_shuffle_epi8(lower, _mm256_and_si256(first, _mm256_set1_epi8(0x0F))));
}

AVX2 static inline __m256i bits_of_second(__m256i second)
{
    const __m256i upper =
        TWICE(NO_TAIL, NO_TAIL, NO_TAIL, NO_TAIL, NO_TAIL, NO_TAIL, NO_TAIL, NO_TAIL,
              LONE_TAIL | LONG_2 | TAILS | LONG_3 | BEYOND_OR_LONG,
              LONE_TAIL | LONG_2 | TAILS | LONG_3 | BEYOND,
              LONE_TAIL | LONG_2 | TAILS | SURROGATE | BEYOND,
              LONE_TAIL | LONG_2 | TAILS | SURROGATE | BEYOND, NO_TAIL, NO_TAIL, NO_TAIL, NO_TAIL);

    return _mm256_shuffle_epi8(upper, upper_half(second));
}

/* Bits of errors in the bytes at p, each with the three before it. */
AVX2 static inline __m256i errors_at(const uint8_t *p)
{
    const __m256i now = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i one = _mm256_loadu_si256((const __m256i *)(const void *)(p - 1));
    const __m256i two = _mm256_loadu_si256((const __m256i *)(const void *)(p - 2));
    const __m256i three = _mm256_loadu_si256((const __m256i *)(const void *)(p - 3));
    const __m256i pairs = _mm256_and_si256(bits_of_first(one), bits_of_second(now));
    /* the highest bit of bytes that follow E0 … FF at two places, F0 … FF at three */
    const __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8(0xE0 - 0x80));
    const __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    const __m256i tails =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));

    return _mm256_xor_si256(tails, pairs);
}

AVX2 static bool is_ascii(const uint8_t *p)
{
    return _mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)(const void *)p)) == 0;
}

/* Begin of the last character of p[0, at) if that may be incomplete, since it is beyond ASCII. */
static size_t complete_end(const uint8_t *p, size_t at)
{
    size_t begin = at;

    for (size_t k = 1; k <= 4 && k <= at; k++) {
        begin = at - k;
        if ((p[begin] & 0xC0) != 0x80)
            break;
    }
    return at > 0 && p[at - 1] >= 0x80 ? begin : at;
}

/* Before the first bytes stand zeros. */
AVX2 static size_t valid_avx2(const uint8_t *p, size_t n)
{
    uint8_t first[3 + BYTES] = {0};
    size_t at = BYTES;
    __m256i errors;

    memcpy(first + 3, p, BYTES);
    errors = errors_at(first + 3);
    if (!_mm256_testz_si256(errors, errors))
        return 0;
    for (; n - at >= BYTES; at += BYTES) {
        if (is_ascii(p + at) && p[at - 1] < 0x80)
            continue;
        errors = errors_at(p + at);
        if (!_mm256_testz_si256(errors, errors))
            break;
    }
    return complete_end(p, at);
}

size_t heft_utf8_valid_part(const uint8_t *p, size_t n)
{
    return n >= BYTES && heft_processor_has(HEFT_HAS_AVX2) ? valid_avx2(p, n) : 0;
}
