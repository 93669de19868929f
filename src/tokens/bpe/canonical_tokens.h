/* canonical_tokens.h: canonical tokens, and which two of them are compatible: tables of the
 * long-word encoder.
 *
 * A token is canonical if BPE encodes its bytes to just that token. Two canonical tokens are
 * compatible if BPE encodes the bytes of both to just these two. A sequence of canonical tokens is
 * the encoding of its bytes if and only if every two neighbours are compatible: a merge across a
 * boundary depends on nothing but the two tokens there.
 *
 * This is the theory of BPE by backtracking over non-overlapping tokens (H. van Antwerpen, A.
 * Neubeck: "So many tokens, so little time", 2024; the Rust crate bpe); long_word.h is the search.
 * It requires that the parts of a merge are made by earlier merges. Vocabularies for which that
 * does not hold have no such tables.
 *
 * Two tables speed up the check of compatibility, by more than a tenth on DNA each: `first_merges`
 * rejects a token by the two bytes after it, `kept` caches results. A filter by rank, a table of
 * the next shorter tokens, and large pages gained less on any text in use. */
#ifndef HEFT_CANONICAL_TOKENS_H
#define HEFT_CANONICAL_TOKENS_H

#include "tokens/bpe/pairs.h"
#include "tokens/bpe/token_trie.h"

#define HEFT_CANONICAL_BYTES  256               /* lower codes are single bytes */
#define HEFT_CANONICAL_NONE   (UINT32_MAX >> 1) /* higher than all codes */
#define HEFT_CANONICAL_ALWAYS UINT32_MAX        /* a boundary rank, higher than NONE */

/* Token. Its code is the byte's value for a single byte, else 256 + the rank of its merge. */
struct heft_canonical_token {
    uint32_t left, right; /* codes of its parts */
    uint32_t id;
    uint32_t by_left,
        by_right;        /* codes of the first merge that involves its first byte, its last byte */
    uint16_t length;     /* length in bytes */
    uint8_t first, last; /* its first and its last byte */
};
/* Tables of a vocabulary, shared by all threads. Threads fill `kept` and the trie's nodes as they
 * need them; the contents do not depend on the order. */
struct heft_canonical {
    const struct heft_pairs *pairs;
    struct heft_canonical_token *tokens; /* indexed by code */
    uint32_t longest;                    /* length of the longest token in bytes */
    struct heft_trie trie;
    /* By the next two bytes (heft_le16): the earliest merge of the first of them with a byte before
     * it, or NONE. */
    uint32_t *first_merges;
    /* cache of pairs of codes, with one bit for compatible; 0: free */
    _Atomic uint64_t *kept;
};

/* Builds the tables at the first call, or returns those of an earlier one. *canonical is NULL if
 * the vocabulary is not supported. They live as long as `pairs`. */
HEFT_CHECKED bool heft_canonical_of(const struct heft_pairs *pairs,
                                    struct heft_canonical **canonical, struct heft_error *err);

/* Returns the longest token that is a proper prefix of `code`; NONE for a single byte. */
uint32_t heft_canonical_shorten(struct heft_canonical *canonical, uint32_t code);

/* Slow path of heft_canonical_compatible: whether no parts adjacent at the boundary merge before
 * both tokens are complete. Not for two single bytes. */
bool heft_canonical_check_parts(const struct heft_canonical *canonical, uint32_t left,
                                uint32_t right);

/* Code of the merge of the token's last byte with text[0], if it happens before the last byte is
 * merged into the token; else ALWAYS. Unless the token on the right takes text[0] earlier, the two
 * bytes merge. */
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

/* Whether the first byte of `right` is merged into `right` before the boundary rank. Checked first
 * because most incompatible pairs fail here. */
static inline bool heft_canonical_bytes_stay(const struct heft_canonical *canonical,
                                             uint32_t boundary, uint32_t right)
{
    return boundary > canonical->tokens[right].by_left;
}

/* Whether `right` is compatible with `left`. `boundary` is heft_canonical_boundary_rank of `left`
 * and the text of `right`. */
static inline bool heft_canonical_compatible(const struct heft_canonical *canonical, uint32_t left,
                                             uint32_t boundary, uint32_t right)
{
    return heft_canonical_bytes_stay(canonical, boundary, right) &&
           ((left | right) < HEFT_CANONICAL_BYTES ||
            heft_canonical_check_parts(canonical, left, right));
}

/* Whether any token can follow at the boundary, judged by the next two bytes. */
static inline bool heft_canonical_may_follow(const struct heft_canonical *canonical,
                                             uint32_t boundary, const uint8_t *text, size_t n)
{
    return boundary > (n < 2 ? HEFT_CANONICAL_NONE : canonical->first_merges[heft_le16(text)]);
}

#endif
