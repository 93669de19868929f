/* long_word.h: encodes words of any length, as they come, in linear time and bounded memory.
 *
 * BPE by backtracking over non-overlapping tokens (van Antwerpen and Neubeck; canonical_tokens.h has the tables):
 *
 *     text      u n b e l i e v …
 *     path      un|bel|iev…       at each place the longest token that fits the one before it; a
 *                                 shorter one, or one place back, where none does
 *
 * Of the rows of live tokens that fit just one ends at each place: the encoding of the text up to there.
 * So a place from which no row goes on to the end is marked dead and never begun from again: O(n · L) for
 * n bytes and tokens of at most L, in practice a few steps a token.
 *
 * Streaming is what the paper does not have: the tokens before a place are final once every token that
 * begins before the end of the text, and might end behind it, comes from there. They are handed over, and
 * the text before them is forgotten: a word of 64 MB takes 15 MB of memory.
 *
 * Vocabularies that have no live tokens merge by a heap, O(n log n); what cannot be cut is bounded. */
#ifndef HEFT_LONG_WORD_H
#define HEFT_LONG_WORD_H

#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/canonical_tokens.h"
#include "tokens/bpe/merge.h"

#define HEFT_LONG_WHOLE 16384 /* bytes of which the ids come at once */

struct heft_long {
    const struct heft_pairs *pairs;
    const struct heft_byte_adjacency *adjacency;
    struct heft_merger *merger;
    /* What is known of the vocabulary, asked for when the first long word comes. */
    bool is_ready;
    struct heft_canonical *canonical; /* NULL: it has none */
    /* The word. */
    uint8_t *text;
    uint32_t before; /* the token before text[0] */
    size_t n, cap_text, wanted;
    uint64_t *dead; /* bits: places from which no row of tokens goes on */
    size_t cap_dead;
    uint32_t *reached; /* the token that ends at a place */
    size_t cap_reached;
    /* What the last call made certain: the end of what is in `room`. */
    const uint32_t *ids;
    size_t n_ids;
    uint32_t *room;
    size_t cap_room;
};

void heft_long_init(struct heft_long *l, const struct heft_pairs *pairs,
                    const struct heft_byte_adjacency *adjacency, struct heft_merger *merger);
void heft_long_release(struct heft_long *l);
/* Forgets a word that was begun. */
void heft_long_begin(struct heft_long *l);
/* The word goes on with these bytes, and ends. Ids that have become certain are in
 * l->ids until the next call. HEFT_LIMIT where the vocabulary does not let it be encoded in parts. */
HEFT_CHECKED bool heft_long_feed(struct heft_long *l, const uint8_t *bytes, size_t n,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_long_end(struct heft_long *l, struct heft_error *err);
/* A word of up to HEFT_LONG_WHOLE bytes: begin, feed and end. */
HEFT_CHECKED bool heft_long_whole(struct heft_long *l, const uint8_t *word, size_t n,
                                  struct heft_error *err);

#endif
