/* canonical_tokens.h: the tokens that merging can lead to, and which of them may be neighbours.
 *
 * The tables of BPE by backtracking over non-overlapping tokens (H. van Antwerpen, A. Neubeck: "So many
 * tokens, so little time", 2024; the Rust crate bpe), which long_word.h carries out.
 *
 * A token is live if its own bytes merge into it, and two live tokens fit if the bytes of both merge into
 * just the two. A row of live tokens is the encoding of its bytes if and only if all neighbours in it fit:
 * a merge across a boundary depends on the two tokens there, and each comes about inside as if it were alone.
 * That needs merges whose parts come from earlier merges (ranks that rise); a vocabulary of which that is
 * not so has no such tables.
 *
 * Two tables make the check of neighbours cheap, each worth more than a tenth on DNA: `first_merges` rejects a
 * token by the two bytes behind it, `kept` remembers answers. Filters by rank, a table of shorter tokens
 * and large pages were measured, too, and gained less on any text in use. */
#ifndef HEFT_CANONICAL_TOKENS_H
#define HEFT_CANONICAL_TOKENS_H

#include "tokens/bpe/pairs.h"
#include "tokens/bpe/token_trie.h"

#define HEFT_CANONICAL_BYTES  256               /* codes below it are single bytes */
#define HEFT_CANONICAL_NONE   (UINT32_MAX >> 1) /* above all codes */
#define HEFT_CANONICAL_ALWAYS UINT32_MAX        /* a boundary: above NONE */

/* A token's code: a byte's is the byte, else 256 and its merge's rank. */
struct heft_canonical_token {
    uint32_t left, right; /* codes */
    uint32_t id;
    uint32_t by_left, by_right; /* the merge that its first byte comes into first, and its last */
    uint16_t length;            /* in bytes */
    uint8_t first, last;        /* bytes */
};
/* Made once for a vocabulary, for any number of threads. What is learnt from texts is the same whoever
 * learns it. */
struct heft_canonical {
    const struct heft_pairs *pairs;
    struct heft_canonical_token *tokens; /* by code */
    uint32_t longest;                    /* bytes of the longest token */
    struct heft_trie trie;
    /* By two bytes as they stand (heft_le16): the first merge of the left one with what begins so. */
    uint32_t *first_merges;
    /* Cache: a pair of codes, and whether they fit; 0: free, as two bytes are not asked for. */
    _Atomic uint64_t *kept;
};

/* *canonical: NULL where the vocabulary cannot be read so. It dies with the pairs. */
HEFT_CHECKED bool heft_canonical_of(const struct heft_pairs *pairs,
                                    struct heft_canonical **canonical, struct heft_error *err);

/* The longest token but `code` itself that its bytes begin with; NONE: it is a byte. */
uint32_t heft_canonical_shorten(struct heft_canonical *canonical, uint32_t code);

/* Slow path of heft_canonical_compatible: whether no pair of parts at the boundary merges before both tokens are
 * complete; two bytes are judged by the boundary alone. */
bool heft_canonical_check_parts(const struct heft_canonical *canonical, uint32_t left,
                                uint32_t right);

/* Until when the last byte of a token stays apart from the first one behind it, text[0]: if it is in no
 * larger token before this merge, they merge. ALWAYS: it stays apart for good. */
static inline uint32_t heft_canonical_boundary_rank(const struct heft_canonical *canonical,
                                                    uint32_t code, const uint8_t *text, size_t n)
{
    const struct heft_canonical_token *const token = &canonical->tokens[code];
    uint32_t rank;

    if (n == 0)
        return HEFT_CANONICAL_ALWAYS;
    rank = canonical->pairs->of_bytes[token->last << 8 | text[0]];
    return rank >= token->by_right - HEFT_CANONICAL_BYTES ? HEFT_CANONICAL_ALWAYS
                                                          : rank + HEFT_CANONICAL_BYTES;
}

/* Whether the byte behind the boundary is in a larger token in time, where `right` begins there: what is
 * asked first, because most that do not fit fail here. */
static inline bool heft_canonical_bytes_stay(const struct heft_canonical *canonical,
                                             uint32_t boundary, uint32_t right)
{
    return boundary > canonical->tokens[right].by_left;
}

/* Whether `right` may follow `left`, `boundary` being the one between them. */
static inline bool heft_canonical_compatible(const struct heft_canonical *canonical, uint32_t left,
                                             uint32_t boundary, uint32_t right)
{
    return heft_canonical_bytes_stay(canonical, boundary, right) &&
           ((left | right) < HEFT_CANONICAL_BYTES ||
            heft_canonical_check_parts(canonical, left, right));
}

/* False: nothing that these bytes begin with can follow. They are read as if the text ended there. */
static inline bool heft_canonical_may_follow(const struct heft_canonical *canonical,
                                             uint32_t boundary, const uint8_t *text, size_t n)
{
    return boundary > (n < 2 ? HEFT_CANONICAL_NONE : canonical->first_merges[heft_le16(text)]);
}

#endif
