/* pairs.h: fast lookup of merges: a table for pairs of bytes, a Bloom filter with one hash for all
 * others (most pairs do not merge), then the vocabulary's hash table. */
#ifndef HEFT_PAIRS_H
#define HEFT_PAIRS_H

#include "tokens/bpe/kernels.h"
#include "tokens/bpe/vocab.h"

struct heft_canonical_lazy;
/* Lazily built tables (canonical_tokens.c). */
HEFT_CHECKED struct heft_canonical_lazy *heft_canonical_lazy_new(struct heft_error *err);
void heft_canonical_lazy_free(struct heft_canonical_lazy *canonical);

struct heft_pairs {
    const struct heft_vocab *v;
    const struct heft_kernel *kernel;
    uint32_t *of_bytes; /* [left << 8 | right], bytes: rank of their merge, or UINT32_MAX */
    uint64_t *filter;   /* Bloom filter of pairs that merge */
    unsigned bits;      /* log2 of its size in bits */
    uint32_t first_made;
    bool is_counted; /* merges make consecutive ids, starting with first_made */
    struct heft_canonical_lazy *canonical;
};

/* Tables of all merges of the vocabulary. */
HEFT_CHECKED bool heft_pairs_init(struct heft_pairs *pairs, const struct heft_vocab *v,
                                  struct heft_error *err);
/* The same in steps: empty tables for at most `merges` merges, then each merge by its rank. */
HEFT_CHECKED bool heft_pairs_begin(struct heft_pairs *pairs, const struct heft_vocab *v,
                                   size_t merges, struct heft_error *err);
void heft_pairs_add(struct heft_pairs *pairs, uint32_t rank);
void heft_pairs_release(struct heft_pairs *pairs);

HEFT_WRAPS static inline size_t heft_pairs_bit(const struct heft_pairs *pairs, uint32_t left,
                                               uint32_t right)
{
    return (size_t)(heft_pair_of(left, right) * UINT64_C(0xBF58476D1CE4E5B9) >> (64 - pairs->bits));
}
/* Returns the rank of the pair's merge, or NO_RANK. */
static inline uint32_t heft_pairs_find(const struct heft_pairs *pairs, uint32_t left,
                                       uint32_t right)
{
    const size_t bit = heft_pairs_bit(pairs, left, right);

    return pairs->filter[bit / 64] >> bit % 64 & 1 ? heft_vocab_pair(pairs->v, left, right)
                                                   : HEFT_NO_RANK;
}
/* Returns the id that a merge makes. */
static inline uint32_t heft_pairs_made(const struct heft_pairs *pairs, uint32_t rank)
{
    return HEFT_LIKELY(pairs->is_counted) ? pairs->first_made + rank : pairs->v->merges[rank].id;
}

#endif
