/* token_trie.h: which tokens of a vocabulary a text begins with, the longest above all.
 *
 *     starts   65536 places, by the first two bytes as they stand (heft_le16)
 *     place    bits: by which bytes tokens go on, byte % 64; the first of the nodes behind
 *     nodes    a place's, in the order of its bits; of bytes with the same bit one, the others being
 *              its twins
 *     items    tokens, in the order in which they were added
 *     next     those that have no node yet: a chain at the place that they have come to
 *
 * Nodes that are tried together lie together. They are made when a text comes to their place for the
 * first time: most texts come to few. Any number of threads may look for tokens. Codes are the caller's, 256 and more and below 2^24; those below
 * 256 are the bytes themselves. */
#ifndef HEFT_TOKEN_TRIE_H
#define HEFT_TOKEN_TRIE_H

#include <stdatomic.h>

#include "base/endian.h"
#include "base/mem.h"
#include "io/pool.h"

#define HEFT_TRIE_WAITING (UINT32_C(1) << 31)

struct heft_trie_place {
    uint64_t more;
    uint32_t token;         /* code << 8 | byte; code: of the token that ends here, 0: none */
    _Atomic uint32_t first; /* of its nodes; WAITING and an item: they are not made yet */
};
struct heft_trie {
    const struct heft_str *words; /* the bytes of all tokens */
    struct heft_lock *lock;       /* of who makes nodes */
    struct heft_trie_place *starts;
    struct heft_trie_place *nodes; /* [0]: none */
    uint32_t *twins;               /* of a node: another one with the same bit; 0: none */
    struct heft_trie_item *items;  /* [0]: none */
    uint32_t *next;                /* of an item; 0: none */
    uint32_t n_nodes, n_items;
    size_t cap_nodes, cap_items;
};
struct heft_trie_match {
    uint32_t code;
    uint32_t length; /* in bytes */
};

/* For so many tokens, out of words[], and so many nodes, at most: a token brings one for each byte
 * behind the second that no token before it has brought. words[] and the lock are asked as long as the
 * trie is. */
HEFT_CHECKED bool heft_trie_init(struct heft_trie *trie, const struct heft_str *words,
                                 struct heft_lock *lock, size_t tokens, size_t nodes,
                                 struct heft_error *err);
/* words[word], of two bytes at least, is a token. All are added before any is looked for; no two have
 * the same bytes. */
void heft_trie_add(struct heft_trie *trie, uint32_t word, uint32_t code);
void heft_trie_release(struct heft_trie *trie);
/* Makes the nodes behind a place to which so many bytes lead, and at which items wait; returns the
 * first. */
uint32_t heft_trie_unfold(struct heft_trie *trie, struct heft_trie_place *place, size_t depth);

static inline struct heft_trie_place *heft_trie_start(const struct heft_trie *trie,
                                                      const uint8_t *text)
{
    return &trie->starts[heft_le16(text)];
}

/* Where tokens go on by a byte from a place to which `depth` bytes lead; NULL: none does. counts: in
 * functions that are HEFT_COUNTING. */
HEFT_INLINE struct heft_trie_place *heft_trie_step(struct heft_trie *trie,
                                                   struct heft_trie_place *from, uint8_t byte,
                                                   size_t depth, bool counts)
{
    const uint64_t bit = UINT64_C(1) << (byte & 63), below = from->more & (bit - 1);
    uint32_t node;

    if (HEFT_LIKELY((from->more & bit) == 0))
        return NULL;
    node = atomic_load_explicit(&from->first, memory_order_acquire);
    if (HEFT_UNLIKELY(node & HEFT_TRIE_WAITING))
        node = heft_trie_unfold(trie, from, depth);
    node += counts ? HEFT_COUNT_ONES(below) : heft_count_ones(below);
    while (HEFT_UNLIKELY((uint8_t)trie->nodes[node].token != byte)) {
        node = trie->twins[node];
        if (node == 0)
            return NULL;
    }
    return &trie->nodes[node];
}

/* The longest that text[0, n) begins with; n ≥ 1. */
HEFT_INLINE struct heft_trie_match heft_trie_longest(struct heft_trie *trie, const uint8_t *text,
                                                     size_t n, bool counts)
{
    struct heft_trie_match best = {text[0], 1};
    struct heft_trie_place *at;

    if (n < 2)
        return best;
    at = heft_trie_start(trie, text);
    if (at->token >> 8)
        best = (struct heft_trie_match){at->token >> 8, 2};
    for (uint32_t i = 2; i < n && (at = heft_trie_step(trie, at, text[i], i, counts)) != NULL; i++)
        if (at->token >> 8)
            best = (struct heft_trie_match){at->token >> 8, i + 1};
    return best;
}

#endif
