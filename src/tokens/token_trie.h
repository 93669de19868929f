/* token_trie.h: which tokens of a vocabulary a text begins with, the longest above all.
 *
 *     starts   65536 places, by the first two bytes
 *     place    bits: by which bytes tokens go on, byte % 64; the first of the nodes behind
 *     nodes    a place's, in the order of its bits; of bytes with the same bit one, the others being
 *              its twins
 *
 * Nodes that are tried together lie together. Codes are the caller's, 256 and more and below 2^24;
 * those below 256 are the bytes themselves. */
#ifndef HEFT_TOKEN_TRIE_H
#define HEFT_TOKEN_TRIE_H

#include "base/mem.h"

struct heft_trie_place {
    uint64_t more;
    uint32_t token; /* code << 8 | byte; code: of the token that ends here, 0: none */
    uint32_t first;
};
struct heft_trie {
    struct heft_trie_place *starts;
    struct heft_trie_place *nodes; /* [0]: none */
    uint32_t *twins;               /* of a node: another one with the same bit; 0: none */
};
struct heft_trie_match {
    uint32_t code;
    uint32_t length; /* in bytes */
};

/* Tokens are added, then settled, then looked for. */
struct heft_trie_made;
struct heft_trie_slot;
struct heft_trie_builder {
    struct heft_trie *trie;
    struct heft_trie_made *made; /* nodes in the order in which they were made */
    uint32_t n_made;
    struct heft_trie_slot *slots; /* node and byte → node: a hash table */
    unsigned slot_bits;
};

/* nodes: how many there will be at most. */
HEFT_CHECKED bool heft_trie_begin(struct heft_trie_builder *b, struct heft_trie *trie, size_t nodes,
                                  struct heft_error *err);
/* Of two bytes at least. False: one of the same bytes is there. */
bool heft_trie_add(struct heft_trie_builder *b, struct heft_str token, uint32_t code);
HEFT_CHECKED bool heft_trie_settle(struct heft_trie_builder *b, struct heft_error *err);
void heft_trie_builder_release(struct heft_trie_builder *b);
void heft_trie_release(struct heft_trie *trie);

/* How many bits of a number are 1. */
static inline unsigned heft_count_bits(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

static inline const struct heft_trie_place *heft_trie_start(const struct heft_trie *trie,
                                                            const uint8_t *text)
{
    return &trie->starts[text[0] << 8 | text[1]];
}

/* Where tokens go on from a place by a byte; NULL: none does. */
static inline const struct heft_trie_place *
heft_trie_step(const struct heft_trie *trie, const struct heft_trie_place *from, uint8_t byte)
{
    const uint64_t bit = UINT64_C(1) << (byte & 63), below = from->more & (bit - 1);
    uint32_t node;

    if (HEFT_LIKELY((from->more & bit) == 0))
        return NULL;
    node = from->first + (below ? heft_count_bits(below) : 0);
    while (HEFT_UNLIKELY((uint8_t)trie->nodes[node].token != byte)) {
        node = trie->twins[node];
        if (node == 0)
            return NULL;
    }
    return &trie->nodes[node];
}

/* The longest that text[0, n) begins with; n ≥ 1. */
static inline struct heft_trie_match heft_trie_longest(const struct heft_trie *trie,
                                                       const uint8_t *text, size_t n)
{
    struct heft_trie_match best = {text[0], 1};
    const struct heft_trie_place *at;

    if (n < 2)
        return best;
    at = heft_trie_start(trie, text);
    if (at->token >> 8)
        best = (struct heft_trie_match){at->token >> 8, 2};
    for (uint32_t i = 2; i < n && (at = heft_trie_step(trie, at, text[i])) != NULL; i++)
        if (at->token >> 8)
            best = (struct heft_trie_match){at->token >> 8, i + 1};
    return best;
}

#endif
