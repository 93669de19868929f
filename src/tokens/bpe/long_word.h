/* long_word.h: encodes pre-tokens of any length incrementally, in linear time and bounded memory.
 *
 * BPE by backtracking over non-overlapping tokens (van Antwerpen and Neubeck; canonical_tokens.h
 * has the reference and the tables):
 *
 *     text      u n b e l i e v …
 *     path      un|bel|iev…       at each position the longest compatible token; if there is none, a
 *                                 shorter one, or one position back
 *
 * For each position exactly one sequence of compatible tokens ends there: the encoding of the text
 * up to it. A position from which no sequence continues is marked dead and never tried again: O(n ·
 * L) for n bytes and tokens of at most L bytes, in practice a few steps a token.
 *
 * The streaming is not in the paper: tokens before a position are final if every token that begins
 * later and might end after the text is reached through that position. Final tokens are handed over
 * and their bytes dropped: a pre-token of 64 MB takes 15 MB of memory.
 *
 * Vocabularies without canonical tokens (merges in another order) merge by a heap, O(n log n); a
 * pre-token that cannot be split is bounded by 1 MiB. */
#ifndef HEFT_LONG_WORD_H
#define HEFT_LONG_WORD_H

#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/canonical_tokens.h"
#include "tokens/bpe/merge.h"

#define HEFT_LONG_WHOLE 16384 /* bytes of a pre-token whose ids are returned at once */

struct heft_long {
    const struct heft_vocab *ranked; /* has the pairs; NULL: they are set */
    const struct heft_pairs *pairs;
    const struct heft_byte_adjacency *adjacency;
    struct heft_merger *merger;
    /* Set with the first long pre-token, which builds the tables of the vocabulary. */
    bool is_ready;
    struct heft_canonical *canonical; /* NULL: not supported, merges by the heap */
    /* Text whose tokens are not final yet. */
    uint8_t *text;
    uint32_t before; /* the token before text[0] */
    size_t n, cap_text, wanted;
    uint64_t *dead; /* bits: positions from which no compatible tokens continue */
    size_t cap_dead;
    uint32_t *reached; /* by position: the compatible token that ends there */
    size_t cap_reached;
    /* Final ids of the last call: the end of `room`. */
    const uint32_t *ids;
    size_t n_ids;
    uint32_t *room;
    size_t cap_room;
};

void heft_long_init(struct heft_long *l, const struct heft_pairs *pairs,
                    const struct heft_byte_adjacency *adjacency, struct heft_merger *merger);
/* The same for a vocabulary, whose merges are derived with the first long pre-token if it has ranks. */
void heft_long_init_of(struct heft_long *l, const struct heft_vocab *v, struct heft_merger *merger);
void heft_long_release(struct heft_long *l);
/* Starts a new pre-token and drops an unfinished one. */
void heft_long_begin(struct heft_long *l);
/* Appends bytes; finishes the pre-token. Final ids are in l->ids until the next call. HEFT_LIMIT if
 * a part that cannot be split is too long. */
HEFT_CHECKED bool heft_long_feed(struct heft_long *l, const uint8_t *bytes, size_t n,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_long_end(struct heft_long *l, struct heft_error *err);
/* Encodes a pre-token of at most HEFT_LONG_WHOLE bytes: begin, feed and end. */
HEFT_CHECKED bool heft_long_whole(struct heft_long *l, const uint8_t *word, size_t n,
                                  struct heft_error *err);

#endif
