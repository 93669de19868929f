/* pairs.c: the bits of the pairs that merge. */
#include "tokens/pairs.h"

#define BITS_EACH 10 /* bits for a merge, at least: fewer than one in ten pairs passes by chance */

bool heft_pairs_init(struct heft_pairs *pairs, const struct heft_vocab *v, struct heft_error *err)
{
    *pairs = (struct heft_pairs){.v = v, .bits = 10};
    while ((uint64_t)1 << pairs->bits < (uint64_t)v->n_merges * BITS_EACH)
        pairs->bits++;
    pairs->filter = heft_calloc((size_t)1 << (pairs->bits - 6), sizeof *pairs->filter, err);
    if (!pairs->filter)
        return false;
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const size_t bit = heft_pairs_bit(pairs, v->merges[rank].left, v->merges[rank].right);

        pairs->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return true;
}

void heft_pairs_release(struct heft_pairs *pairs)
{
    heft_free(pairs->filter);
    *pairs = (struct heft_pairs){0};
}
