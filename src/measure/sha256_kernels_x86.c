/* sha256_kernels_x86.c: kernels for the SHA extensions, chosen at run time.
 *
 * State and message schedule are those of FIPS 180-4 section 6.2 in the layout of the instructions:
 * s0 holds the words A B E F, s1 holds C D G H; a quad is four rounds, which use the words m[g]. */
#include <immintrin.h>

#include "base/processor.h"
#include "measure/sha256_kernels.h"

#define SHA    __attribute__((target("sha,sse4.1,ssse3")))
#define INLINE __attribute__((always_inline)) static inline

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct lane {
    __m128i s0, s1, m[4];
};

SHA INLINE __m128i load_words(const void *p)
{
    return _mm_loadu_si128(p);
}

/* Rounds 4g … 4g+3 of a block, and the words of the schedule that they allow to compute. g is a
 * constant once this is inlined. */
SHA INLINE void hash_quad(struct lane *l, const uint8_t *p, const int g)
{
    __m128i w;

    if (g < 4)
        l->m[g] = _mm_shuffle_epi8(load_words(p + 16 * g), /* big-endian words */
                                   _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    w = _mm_add_epi32(l->m[g & 3], load_words(ROUND + 4 * g));
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

/* Calls DO(0) … DO(15): a loop would not be unrolled. */
#define EACH_QUAD(DO)                                                                              \
    DO(0);                                                                                         \
    DO(1);                                                                                         \
    DO(2);                                                                                         \
    DO(3);                                                                                         \
    DO(4);                                                                                         \
    DO(5);                                                                                         \
    DO(6);                                                                                         \
    DO(7);                                                                                         \
    DO(8);                                                                                         \
    DO(9);                                                                                         \
    DO(10);                                                                                        \
    DO(11);                                                                                        \
    DO(12);                                                                                        \
    DO(13);                                                                                        \
    DO(14);                                                                                        \
    DO(15)
#define QUAD_OF_ONE(g) hash_quad(&l, p, g)
#define QUAD_OF_TWO(g)                                                                             \
    hash_quad(&l, p, g);                                                                           \
    hash_quad(&k, q, g)

SHA static void hash_one(uint32_t state[8], const uint8_t *p, size_t blocks)
{
    struct lane l;

    load_state(&l, state);
    for (; blocks > 0; blocks--, p += 64) {
        const __m128i s0 = l.s0, s1 = l.s1;

        EACH_QUAD(QUAD_OF_ONE);
        add_state(&l, s0, s1);
    }
    store_state(&l, state);
}

SHA static void hash_two(uint32_t a[8], const uint8_t *p, uint32_t b[8], const uint8_t *q,
                         size_t blocks)
{
    struct lane l, k;

    load_state(&l, a);
    load_state(&k, b);
    for (; blocks > 0; blocks--, p += 64, q += 64) {
        const __m128i l0 = l.s0, l1 = l.s1, k0 = k.s0, k1 = k.s1;

        EACH_QUAD(QUAD_OF_TWO);
        add_state(&l, l0, l1);
        add_state(&k, k0, k1);
    }
    store_state(&l, a);
    store_state(&k, b);
}

const struct heft_sha256_kernels *heft_sha256_kernels(void)
{
    static const struct heft_sha256_kernels kernels = {hash_one, hash_two};

    return heft_processor_has(HEFT_HAS_SHA) ? &kernels : NULL;
}
