/* token_trie.h: the longest token that a text begins with: a bitmap trie, built lazily.
 *
 *     starts   65536 nodes, by the first two bytes (heft_le16)
 *     place    node: bitmap of byte % 64 of its children; index of the first child
 *     nodes    children of a node, in the order of their bits; of bytes with the same bit only one is
 *              there, the others are its twins (a list)
 *     items    tokens, in the order in which they were added
 *     next     lists of tokens that have no node of their own yet, at the node they have reached
 *
 * Children are created when a search first reaches their parent: most texts need few nodes, and
 * those used together lie together. Any number of threads may search. Codes are the caller's, from
 * 256 to 2^24 - 1; codes below 256 are the single bytes. */
#ifndef HEFT_TOKEN_TRIE_H
#define HEFT_TOKEN_TRIE_H

#include <stdatomic.h>

#include "base/endian.h"
#include "base/mem.h"
#include "io/pool.h"

#define HEFT_TRIE_WAITING (UINT32_C(1) << 31)

struct heft_trie_place {
    uint64_t more;
    uint32_t token; /* code << 8 | byte; code of the token that ends here, 0: none */
    /* index of the first child; WAITING and an item: children not created yet */
    _Atomic uint32_t first;
};
struct heft_trie {
    const struct heft_str *words; /* bytes of all tokens, by word */
    struct heft_lock *lock;       /* held while children are created */
    struct heft_trie_place *starts;
    struct heft_trie_place *nodes; /* nodes[0] is not a node: index 0 means none */
    uint32_t *twins;               /* by node: another node with the same bit; 0: none */
    struct heft_trie_item *items;  /* items[0] is not an item: index 0 means none */
    uint32_t *next;                /* by item: the next of its list; 0: none */
    uint32_t n_nodes, n_items;
    size_t cap_nodes, cap_items;
};
struct heft_trie_match {
    uint32_t code;
    uint32_t length; /* length in bytes */
};

/* Allocates room for `tokens` tokens and `nodes` nodes. A token needs at most one node for each
 * byte after the second that no earlier token has. words[] and the lock must outlive the trie. */
HEFT_CHECKED bool heft_trie_init(struct heft_trie *trie, const struct heft_str *words,
                                 struct heft_lock *lock, size_t tokens, size_t nodes,
                                 struct heft_error *err);
/* Adds the token words[word], of at least two bytes. All tokens are added before the first search;
 * no two have the same bytes. */
void heft_trie_add(struct heft_trie *trie, uint32_t word, uint32_t code);
void heft_trie_release(struct heft_trie *trie);
/* Creates the children of a node that is `depth` bytes deep and has waiting items; returns the
 * first child. */
uint32_t heft_trie_unfold(struct heft_trie *trie, struct heft_trie_place *place, size_t depth);

static inline struct heft_trie_place *heft_trie_start(const struct heft_trie *trie,
                                                      const uint8_t *text)
{
    return &trie->starts[heft_le16(text)];
}

/* Returns the child of a node `depth` bytes deep for a byte; NULL if there is none. counts: true in
 * functions marked HEFT_COUNTING. */
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

/* Returns the longest token that text[0, n) begins with; n ≥ 1. */
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
