/* train_pairs.h: pairs of neighbouring symbols, the most frequent first, and where they stand, within
 * bounds of memory: only pairs that rank before a line are kept. Counts of pairs never rise, so what ranks
 * behind the line once stays there; when all that rank before it are merged or rarer, the cells are
 * looked through again with another line (train_merge.c).
 *
 *     rank      th 90,000 │ he 81,000 │ …   in 12,000 │ no 11,999 │ …
 *                          kept                   least ┘   forgotten */
#ifndef HEFT_TRAIN_PAIRS_H
#define HEFT_TRAIN_PAIRS_H

#include "base/mem.h"
#include "tokens/train/train_cells.h"

struct heft_train_pair {
    uint64_t key; /* left << 32 | right; UINT64_MAX: free */
    uint64_t count;
    uint64_t list;    /* where its list is in the pool + 1; 0: it has none */
    uint32_t n, last; /* bytes of the list; its last block + 1 */
};
/* Lists one behind the other, each behind the key of its pair and the bytes that it may have. */
struct heft_train_pool {
    uint8_t *p;
    size_t n, cap;
    size_t live; /* bytes of lists that pairs still have */
};
struct heft_train_ranked {
    uint64_t count, key;
};
struct heft_train_pairs {
    const struct heft_train_cells *cells; /* whose symbols they are */
    bool largest_text_first;
    struct heft_train_ranked least; /* the last one kept; a key of UINT64_MAX: all of its count */
    struct heft_train_pool pool;
    uint64_t most_pool; /* bytes of it, as far as lists that pairs still have allow it */
    struct heft_train_pair *slots;
    unsigned bits, most_bits;
    size_t n;
    struct heft_train_ranked *heap; /* counts too high, never too low; pairs that are gone, too */
    size_t n_heap, cap_heap;
};

static inline uint64_t heft_train_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}
/* A pair's list is made of blocks of cells where it arose, each as its distance from the one before: what it
 * takes with n bytes. */
#define HEFT_TRAIN_LIST_HEAD 12
static inline uint64_t heft_train_pair_cost(uint32_t n)
{
    return (uint64_t)n + HEFT_TRAIN_LIST_HEAD;
}

HEFT_CHECKED bool heft_train_pairs_set_bits(struct heft_train_pairs *pairs, unsigned bits,
                                            struct heft_error *err);
/* Forgets all of them. */
HEFT_CHECKED bool heft_train_pairs_clear(struct heft_train_pairs *pairs, struct heft_error *err);
/* NULL: it is not there. */
struct heft_train_pair *heft_train_pairs_find(const struct heft_train_pairs *pairs, uint64_t key);
/* Whether there is room for no other pair. */
bool heft_train_pairs_is_full(const struct heft_train_pairs *pairs);
/* A pair that is not there, with nothing in it; NULL on failure. Pointers to others end. */
HEFT_CHECKED struct heft_train_pair *heft_train_pairs_add(struct heft_train_pairs *pairs,
                                                          uint64_t key, struct heft_error *err);
/* Room for the n bytes that `pair` says; its list is empty then. Lists may move, now and only now. */
HEFT_CHECKED bool heft_train_pairs_give_list(struct heft_train_pairs *pairs,
                                             struct heft_train_pair *pair, struct heft_error *err);
static inline uint8_t *heft_train_pairs_list(const struct heft_train_pairs *pairs,
                                             const struct heft_train_pair *pair)
{
    return pairs->pool.p + pair->list - 1;
}
/* Pointers to others end. */
void heft_train_pairs_drop(struct heft_train_pairs *pairs, struct heft_train_pair *pair);
/* `count` of them are no more. */
void heft_train_pairs_lessen(struct heft_train_pairs *pairs, uint64_t key, uint64_t count);
/* Whether a pair ranks before the line. */
bool heft_train_pairs_want(const struct heft_train_pairs *pairs, uint64_t count, uint64_t key);
/* A pair that is there takes part in heft_train_pairs_next. */
HEFT_CHECKED bool heft_train_pairs_push(struct heft_train_pairs *pairs,
                                        const struct heft_train_pair *pair, struct heft_error *err);
/* The one that ranks first, or NULL. */
struct heft_train_pair *heft_train_pairs_next(struct heft_train_pairs *pairs);
/* Only the first `most`, with lists of `most_bytes`, are kept, but one at least; all take part in
 * heft_train_pairs_next. */
HEFT_CHECKED bool heft_train_pairs_thin(struct heft_train_pairs *pairs, size_t most,
                                        uint64_t most_bytes, struct heft_error *err);
void heft_train_pairs_release(struct heft_train_pairs *pairs);

#endif
