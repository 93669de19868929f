/* mt19937.c: the Mersenne Twister, with the seeding and the bounded numbers of NumPy's
 * RandomState. */
#include "tokens/sampler/mt19937.h"

#define MIDDLE 397

HEFT_WRAPS void heft_mt_seed(struct heft_mt19937 *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t i = 1; i < HEFT_MT_STATE; i++)
        mt->state[i] = UINT32_C(1812433253) * (mt->state[i - 1] ^ mt->state[i - 1] >> 30) + i;
    mt->at = HEFT_MT_STATE;
}

static void refill_state(struct heft_mt19937 *mt)
{
    uint32_t *s = mt->state;

    for (unsigned i = 0; i < HEFT_MT_STATE; i++) {
        const uint32_t y =
            (s[i] & UINT32_C(0x80000000)) | (s[(i + 1) % HEFT_MT_STATE] & UINT32_C(0x7FFFFFFF));

        s[i] = s[(i + MIDDLE) % HEFT_MT_STATE] ^ y >> 1 ^ (y & 1 ? UINT32_C(0x9908B0DF) : 0);
    }
    mt->at = 0;
}

HEFT_WRAPS uint32_t heft_mt_next(struct heft_mt19937 *mt)
{
    uint32_t y;

    if (mt->at == HEFT_MT_STATE)
        refill_state(mt);
    y = mt->state[mt->at++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9D2C5680);
    y ^= y << 15 & UINT32_C(0xEFC60000);
    return y ^ y >> 18;
}

static uint64_t next64(struct heft_mt19937 *mt)
{
    const uint64_t high = heft_mt_next(mt);

    return high << 32 | heft_mt_next(mt);
}

uint64_t heft_mt_below(struct heft_mt19937 *mt, uint64_t below)
{
    const uint64_t most = below - 1;
    uint64_t mask = most, drawn;

    if (most == 0)
        return 0; /* as NumPy: draws no number */
    for (unsigned shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    do {
        drawn = (most > UINT32_MAX ? next64(mt) : heft_mt_next(mt)) & mask;
    } while (drawn > most);
    return drawn;
}
