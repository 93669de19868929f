/* train_pairs.h: pairs of adjacent symbols, the most frequent first, with the cells where they
 * occur, in bounded memory: only pairs above a threshold of rank are kept. Counts never rise, so a
 * pair below the threshold stays below. When all pairs above are merged or have become rarer, the
 * cells are surveyed again with another threshold (train_merge.c).
 *
 *     rank      th 90,000 │ he 81,000 │ …   in 12,000 │ no 11,999 │ …
 *                          kept                   least ┘   dropped */
#ifndef HEFT_TRAIN_PAIRS_H
#define HEFT_TRAIN_PAIRS_H

#include "base/mem.h"
#include "tokens/train/train_cells.h"

struct heft_train_pair {
    uint64_t key; /* left << 32 | right; UINT64_MAX in a free slot */
    uint64_t count;
    uint64_t list;    /* offset of its list in the pool + 1; 0: none */
    uint32_t n, last; /* n: bytes of the list of occurrences; last: number of its last block + 1 */
};
/* Memory pool of lists. Each is preceded by the key of its pair and its capacity. */
struct heft_train_pool {
    uint8_t *p;
    size_t n, cap;
    size_t live; /* bytes of lists in use */
};
struct heft_train_ranked {
    uint64_t count, key;
};
struct heft_train_pairs {
    const struct heft_train_cells *cells; /* cells whose symbols the pairs are */
    bool largest_text_first;
    struct heft_train_ranked least; /* the lowest pair kept; key UINT64_MAX: all with its count */
    struct heft_train_pool pool;
    uint64_t most_pool; /* limit of the pool in bytes, if the lists in use allow it */
    struct heft_train_pair *slots;
    unsigned bits, most_bits;
    size_t n;
    /* counts may be too high, never too low; may contain pairs that are gone */
    struct heft_train_ranked *heap;
    size_t n_heap, cap_heap;
};

static inline uint64_t heft_train_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}
/* Bytes of a list of n bytes in the pool. A list has the blocks of cells where its pair arose,
 * delta-encoded. */
#define HEFT_TRAIN_LIST_HEAD 12
static inline uint64_t heft_train_pair_cost(uint32_t n)
{
    return (uint64_t)n + HEFT_TRAIN_LIST_HEAD;
}

HEFT_CHECKED bool heft_train_pairs_set_bits(struct heft_train_pairs *pairs, unsigned bits,
                                            struct heft_error *err);
/* Removes all pairs. */
HEFT_CHECKED bool heft_train_pairs_clear(struct heft_train_pairs *pairs, struct heft_error *err);
/* Returns NULL if the pair is not kept. */
struct heft_train_pair *heft_train_pairs_find(const struct heft_train_pairs *pairs, uint64_t key);
/* Whether no more pairs fit. */
bool heft_train_pairs_is_full(const struct heft_train_pairs *pairs);
/* Adds a pair that is not kept yet, with a count of 0; NULL on failure. Invalidates pointers to
 * pairs. */
HEFT_CHECKED struct heft_train_pair *heft_train_pairs_add(struct heft_train_pairs *pairs,
                                                          uint64_t key, struct heft_error *err);
/* Allocates the pair->n bytes of its list and empties it. The only call that may move lists. */
HEFT_CHECKED bool heft_train_pairs_give_list(struct heft_train_pairs *pairs,
                                             struct heft_train_pair *pair, struct heft_error *err);
static inline uint8_t *heft_train_pairs_list(const struct heft_train_pairs *pairs,
                                             const struct heft_train_pair *pair)
{
    return pairs->pool.p + pair->list - 1;
}
/* Invalidates pointers to pairs. */
void heft_train_pairs_drop(struct heft_train_pairs *pairs, struct heft_train_pair *pair);
/* Lowers the count of a pair by `count`. */
void heft_train_pairs_lessen(struct heft_train_pairs *pairs, uint64_t key, uint64_t count);
/* Whether a pair ranks above the threshold. */
bool heft_train_pairs_want(const struct heft_train_pairs *pairs, uint64_t count, uint64_t key);
/* Enters a kept pair into the heap. */
HEFT_CHECKED bool heft_train_pairs_push(struct heft_train_pairs *pairs,
                                        const struct heft_train_pair *pair, struct heft_error *err);
/* Removes the pair that ranks first from the heap; NULL if there is none. */
struct heft_train_pair *heft_train_pairs_next(struct heft_train_pairs *pairs);
/* Keeps only the `most` first pairs whose lists fit into `most_bytes`, but at least one, and
 * rebuilds the heap. */
HEFT_CHECKED bool heft_train_pairs_thin(struct heft_train_pairs *pairs, size_t most,
                                        uint64_t most_bytes, struct heft_error *err);
void heft_train_pairs_release(struct heft_train_pairs *pairs);

#endif
