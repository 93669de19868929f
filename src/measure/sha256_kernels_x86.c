/* sha256_kernels_x86.c: kernels for the SHA extensions, chosen at run time.
 *
 * State and message schedule are those of FIPS 180-4 section 6.2 in the layout of the instructions:
 * s0 holds the words A B E F, s1 holds C D G H; a quad is four rounds, which use the words m[g]. */
#include <immintrin.h>

#include "base/sha256_rounds.h"
#include "measure/sha256_kernels.h"

#define SHA    __attribute__((target("sha,sse4.1,ssse3")))
#define INLINE __attribute__((always_inline)) static inline

typedef __m128i words; /* four words of 32 bits */

struct lane {
    words s0, s1, m[4];
};

SHA INLINE __m128i load_words(const void *p)
{
    return _mm_loadu_si128(p);
}

SHA INLINE void begin_block(struct lane *l, const uint8_t *p)
{
    (void)l; /* hash_quad loads the words, in between its rounds */
    (void)p;
}

/* Rounds 4g … 4g+3 of a block, and the words of the schedule that they allow to compute. g is a
 * constant once this is inlined. */
SHA INLINE void hash_quad(struct lane *l, const uint8_t *p, const int g)
{
    __m128i w;

    if (g < 4)
        l->m[g] = _mm_shuffle_epi8(load_words(p + 16 * g), /* big-endian words */
                                   _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    w = _mm_add_epi32(l->m[g & 3], load_words(heft_sha256_rounds + 4 * g));
    l->s1 = _mm_sha256rnds2_epu32(l->s1, l->s0, w);
    if (g >= 3 && g < 15) {
        const __m128i t = _mm_alignr_epi8(l->m[g & 3], l->m[(g + 3) & 3], 4);

        l->m[(g + 1) & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(l->m[(g + 1) & 3], t), l->m[g & 3]);
    }
    l->s0 = _mm_sha256rnds2_epu32(l->s0, l->s1, _mm_shuffle_epi32(w, 0x0E));
    if (g >= 1 && g < 13)
        l->m[(g + 3) & 3] = _mm_sha256msg1_epu32(l->m[(g + 3) & 3], l->m[g & 3]);
}

SHA INLINE void load_state(struct lane *l, const uint32_t state[8])
{
    const __m128i a = _mm_shuffle_epi32(load_words(state), 0xB1);
    const __m128i b = _mm_shuffle_epi32(load_words(state + 4), 0x1B);

    l->s0 = _mm_alignr_epi8(a, b, 8);
    l->s1 = _mm_blend_epi16(b, a, 0xF0);
}

SHA INLINE void store_state(const struct lane *l, uint32_t state[8])
{
    const __m128i a = _mm_shuffle_epi32(l->s0, 0x1B), b = _mm_shuffle_epi32(l->s1, 0xB1);

    _mm_storeu_si128((void *)state, _mm_blend_epi16(a, b, 0xF0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(b, a, 8));
}

SHA INLINE void add_state(struct lane *l, __m128i s0, __m128i s1)
{
    l->s0 = _mm_add_epi32(l->s0, s0);
    l->s1 = _mm_add_epi32(l->s1, s1);
}

#include "measure/sha256_kernel_loops.h"
