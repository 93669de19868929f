/* mt19937.h: random numbers of NumPy's legacy RandomState: Mersenne Twister MT19937 (Matsumoto and
 * Nishimura, 1998); bounded integers by mask and rejection. */
#ifndef HEFT_MT19937_H
#define HEFT_MT19937_H

#include "base/base.h"

#define HEFT_MT_STATE 624

struct heft_mt19937 {
    uint32_t state[HEFT_MT_STATE];
    unsigned at;
};
/* Same as RandomState(seed). */
void heft_mt_seed(struct heft_mt19937 *mt, uint32_t seed);
uint32_t heft_mt_next(struct heft_mt19937 *mt);
/* Same as randint(0, below) for below ≥ 1: each try draws one 32-bit number, or two if `below`
 * needs more bits. */
uint64_t heft_mt_below(struct heft_mt19937 *mt, uint64_t below);

#endif
