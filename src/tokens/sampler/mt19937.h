/* mt19937.h: the random numbers of NumPy's RandomState: MT19937, and bounds by mask and rejection.
 */
#ifndef HEFT_MT19937_H
#define HEFT_MT19937_H

#include "base/base.h"

#define HEFT_MT_STATE 624

struct heft_mt19937 {
    uint32_t state[HEFT_MT_STATE];
    unsigned at;
};
/* As RandomState(seed). */
void heft_mt_seed(struct heft_mt19937 *mt, uint32_t seed);
uint32_t heft_mt_next(struct heft_mt19937 *mt);
/* As randint(0, below) for below ≥ 1: one number of 32 bits a try, two where `below` needs more. */
uint64_t heft_mt_below(struct heft_mt19937 *mt, uint64_t below);

#endif
