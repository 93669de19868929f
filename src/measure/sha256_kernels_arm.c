/* sha256_kernels_arm.c: kernels for the SHA-256 instructions of ARMv8, chosen at run time. CMakeLists.txt
 * allows the compiler these instructions in this file.
 *
 * s0 holds the words A B C D of the state, s1 holds E F G H; a quad is four rounds, which use the
 * words m[g] of the message schedule (FIPS 180-4 section 6.2). */
#include <arm_neon.h>

#include "base/base.h"
#include "base/sha256_rounds.h"
#include "measure/sha256_kernels.h"

#define SHA
#define INLINE HEFT_INLINE

typedef uint32x4_t words;

struct lane {
    words s0, s1, m[4];
};

INLINE void begin_block(struct lane *l, const uint8_t *p)
{
    for (unsigned i = 0; i < 4; i++) /* big-endian words */
        l->m[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(p + 16 * i)));
}

/* Rounds 4g … 4g+3 of a block; then the words of rounds 4g+16 … 4g+19 take the place of those used.
 * g is a constant once this is inlined. */
INLINE void hash_quad(struct lane *l, const uint8_t *p, const unsigned g)
{
    words *const m = l->m;
    const words w = vaddq_u32(m[g & 3], vld1q_u32(heft_sha256_rounds + 4 * g));
    const words s0 = l->s0;

    (void)p; /* begin_block has loaded the words */
    l->s0 = vsha256hq_u32(s0, l->s1, w);
    l->s1 = vsha256h2q_u32(l->s1, s0, w);
    if (g < 12)
        m[g & 3] = vsha256su1q_u32(vsha256su0q_u32(m[g & 3], m[(g + 1) & 3]), m[(g + 2) & 3],
                                   m[(g + 3) & 3]);
}

INLINE void load_state(struct lane *l, const uint32_t state[8])
{
    l->s0 = vld1q_u32(state);
    l->s1 = vld1q_u32(state + 4);
}

INLINE void store_state(const struct lane *l, uint32_t state[8])
{
    vst1q_u32(state, l->s0);
    vst1q_u32(state + 4, l->s1);
}

INLINE void add_state(struct lane *l, words s0, words s1)
{
    l->s0 = vaddq_u32(l->s0, s0);
    l->s1 = vaddq_u32(l->s1, s1);
}

#include "measure/sha256_kernel_loops.h"
