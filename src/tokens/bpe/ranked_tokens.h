/* ranked_tokens.h: tokens with ranks, as tiktoken has them. Any two neighbours in a pre-token merge if
 * their joined bytes are a token, those of the lowest rank first; a pre-token that is a token is taken
 * whole. The rank is the id.
 *
 * So one table, bytes → id, is enough to encode. What needs merges, each of two ids (long pre-tokens,
 * explain), derives them when it is first used (rank_merges.c): for 200 000 tokens this takes 45 ms,
 * opening the vocabulary 12 ms. */
#ifndef HEFT_RANKED_TOKENS_H
#define HEFT_RANKED_TOKENS_H

#include <stdatomic.h>

#include "io/pool.h"
#include "tokens/bpe/kernels.h"
#include "tokens/bpe/vocab_ids.h"

#define HEFT_LONGEST_RANKED 128 /* bytes of a token with a rank: the longest of published ones */

struct heft_ranked {
    const struct heft_vocab *v;
    struct heft_vocab_ids ids;
    uint32_t *of_bytes;  /* [first << 8 | second]: the token of two bytes, or HEFT_NO_RANK */
    uint64_t *is_ranked; /* by id: bits; other tokens are special */
    uint32_t n_longer;   /* tokens of two bytes and more */
    bool is_reached;     /* known: each token is what its bytes merge into */
    /* By id two bits, if that is not known: whether it was looked at; whether its bytes merge into it. */
    _Atomic uint64_t *reached;
    struct heft_lock *lock;
    struct heft_vocab *merged; /* the same tokens with merges; NULL: not derived yet */
};

/* Takes over a table of all tokens with ranks, which v->tokens has, and no other ones yet. n_ids: the
 * ids that the vocabulary may have in the end. */
HEFT_CHECKED bool heft_ranked_init(struct heft_vocab *v, struct heft_vocab_ids *ids, size_t n_ids,
                                   struct heft_error *err);
void heft_ranked_free(struct heft_ranked *ranked);

/* Returns the token of these bytes, or HEFT_MAP_NONE. Bytes are followed by HEFT_VOCAB_PAD readable
 * ones. */
static inline uint32_t heft_ranked_find(const struct heft_ranked *ranked, const uint8_t *p,
                                        size_t n)
{
    return heft_vocab_ids_seek(&ranked->ids, (struct heft_str){(const char *)p, n});
}

static inline bool heft_ranked_has(const struct heft_ranked *ranked, uint32_t id)
{
    return ranked->is_ranked[id / 64] >> id % 64 & 1;
}

/* Whether a pre-token may be a token that its bytes do not merge into: then it must not be split, and
 * is not cached as a part of others. */
static inline bool heft_vocab_has_wholes(const struct heft_vocab *v)
{
    return v->ranked ? !v->ranked->is_reached : v->wholes.count > 0;
}

/* The bits of `reached`. */
#define HEFT_RANKED_SEEN    UINT64_C(1)
#define HEFT_RANKED_REACHED UINT64_C(2)
/* Merges the bytes of a token and notes whether they make it. */
bool heft_ranked_look(struct heft_ranked *ranked, uint32_t id);

/* Whether merging the bytes of a token with a rank makes the token. Threads may ask at the same time. */
static inline bool heft_ranked_reaches(struct heft_ranked *ranked, uint32_t id)
{
    const uint64_t known =
        atomic_load_explicit(&ranked->reached[id / 32], memory_order_relaxed) >> id % 32 * 2;

    if (ranked->is_reached || known & HEFT_RANKED_SEEN)
        return ranked->is_reached || known & HEFT_RANKED_REACHED;
    return heft_ranked_look(ranked, id);
}

/* Returns a vocabulary with the merges of v: v itself unless it has ranks. The first call derives them.
 * It has the tokens and the tables of merges, lives as long as v, and nothing else of it may be used.
 * NULL if out of memory. */
const struct heft_vocab *heft_vocab_merged(const struct heft_vocab *v, struct heft_error *err);

/* Fills in `to`, which has the tokens already, with the merges derived from them. */
HEFT_CHECKED bool heft_ranked_derive(const struct heft_ranked *ranked, struct heft_vocab *to,
                                     struct heft_error *err);
/* Merges the bytes of a token with a rank, as long as more than `least` parts are left. Returns how
 * many are left; of two, *left and *right are the tokens. */
size_t heft_ranked_merge_token(const struct heft_ranked *ranked, uint32_t id, size_t least,
                               uint32_t *left, uint32_t *right);

#endif
