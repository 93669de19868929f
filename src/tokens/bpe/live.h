/* live.h: the tokens that merging can lead to, and which of them may be neighbours.
 *
 *     text      u n b e l i e v …
 *     begins    u, un, unb?, …      tokens that begin here: a trie, its first two bytes a table
 *
 * Let a token be live if its own bytes merge into it, and two live tokens fit if the bytes of both
 * merge into just the two. A row of live tokens is the encoding of its bytes if and only if all
 * neighbours in it fit: a merge across a border depends on the two tokens there, and each comes about
 * inside as if it were alone.
 *
 * That needs merges whose parts come from earlier merges (ranks that rise). Vocabularies of which
 * that is not so have no such tables. */
#ifndef HEFT_LIVE_H
#define HEFT_LIVE_H

#include "tokens/bpe/pairs.h"
#include "tokens/bpe/token_trie.h"

#define HEFT_LIVE_BYTES  256               /* codes below it are single bytes */
#define HEFT_LIVE_NONE   (UINT32_MAX >> 1) /* above all codes */
#define HEFT_LIVE_ALWAYS UINT32_MAX        /* a border: above NONE */
#define HEFT_LIVE_NEVER  255               /* above all ages */

/* A token's code: a byte's is the byte, else 256 and its merge's rank. */
struct heft_live_token {
    uint32_t left, right; /* codes */
    uint32_t id;
    uint32_t by_left, by_right; /* the merge that its first byte comes into first, and its last */
    uint16_t length;            /* in bytes */
    uint8_t first, last;        /* bytes */
};
/* Made once for a vocabulary, for any number of threads. What is learnt from texts is the same whoever
 * learns it. */
struct heft_live {
    const struct heft_pairs *pairs;
    struct heft_live_token *tokens; /* by code */
    uint32_t longest;
    uint8_t *ages; /* by a pair's hash: the age of the first merge there; NEVER: there is none */
    unsigned ages_shift;
    unsigned age_shift; /* code >> age_shift: its age */
    void *block;        /* in which the tables are, for few and large pages */
    /* By two bytes as they stand (heft_le16): the first merge of the left one with what begins so. */
    uint32_t *joins;
    struct heft_trie trie;
    /* By code: the longest that its bytes begin with, but itself, and 1; 0: unknown. */
    _Atomic uint32_t *shorter;
    _Atomic uint64_t
        *kept; /* pairs of codes and whether they fit, as far as remembered; 0: none, as
                               two bytes are not asked for */
};

/* *live: NULL where the vocabulary cannot be read so. It dies with the pairs. */
HEFT_CHECKED bool heft_live_of(const struct heft_pairs *pairs, struct heft_live **live,
                               struct heft_error *err);

/* The longest token but `code` itself that its bytes begin with; NONE: it is a byte. */
uint32_t heft_live_find_shorter(struct heft_live *live, uint32_t code);
static inline uint32_t heft_live_shorten(struct heft_live *live, uint32_t code)
{
    const uint32_t known = atomic_load_explicit(&live->shorter[code], memory_order_relaxed);

    return HEFT_LIKELY(known) ? known - 1 : heft_live_find_shorter(live, code);
}

/* Whether the parts of the two that meet at the border, but the bytes, all stay apart until they are
 * in the tokens: the slow way. */
bool heft_live_asks(const struct heft_live *live, uint32_t left, uint32_t right);

/* Two codes do not merge before this: some of a merge's rank, kept where a guess of the processor
 * depends on it. Few that do not merge have a merge's place. */
static inline uint8_t *heft_live_age(const struct heft_live *live, uint32_t left, uint32_t right)
{
    return &live->ages[(left * UINT32_C(0x9E3779B1) + right * UINT32_C(0x85EBCA6B)) >>
                       live->ages_shift];
}

/* Until when the last byte of a token stays apart from the first one behind it, text[0]: if it is in no
 * larger token before this merge, they merge. ALWAYS: it stays apart for good. */
static inline uint32_t heft_live_border(const struct heft_live *live, uint32_t code,
                                        const uint8_t *text, size_t n)
{
    const struct heft_live_token *const token = &live->tokens[code];
    uint32_t rank;

    if (n == 0)
        return HEFT_LIVE_ALWAYS;
    rank = live->pairs->of_bytes[token->last << 8 | text[0]];
    return rank >= token->by_right - HEFT_LIVE_BYTES ? HEFT_LIVE_ALWAYS : rank + HEFT_LIVE_BYTES;
}

/* Whether the byte behind the border is in a larger token in time, where `right` begins there: what is
 * asked first, because most that do not fit fail here. */
static inline bool heft_live_meets(const struct heft_live *live, uint32_t border, uint32_t right)
{
    return border > live->tokens[right].by_left;
}

/* Takes the younger of the two apart: its part at the border stays. The age until which the two of
 * before had been beside each other. */
static inline uint32_t heft_live_part(const struct heft_live *live, uint32_t *left, uint32_t *right)
{
    uint32_t made;

    if (*left > *right) { /* no choice of values: what is read next is guessed, not waited for */
        made = *left;
        *left = live->tokens[made].right;
    } else {
        made = *right;
        *right = live->tokens[made].left;
    }
    return made >> live->age_shift;
}

/* Whether parts of the two, or they before the age of `limit`, may merge with one another: false is
 * certain. What two bytes do is asked elsewhere. */
static inline bool heft_live_doubts(const struct heft_live *live, uint32_t left, uint32_t right,
                                    uint32_t limit)
{
    bool is_doubtful = false;

    for (; (left | right) >= HEFT_LIVE_BYTES; limit = heft_live_part(live, &left, &right))
        is_doubtful |= *heft_live_age(live, left, right) <= limit;
    return is_doubtful;
}

/* Whether `right` may follow `left`, `border` being the one between them. Both are taken apart, the
 * younger merge first; where no part of the one can have merged with a part of the other before that,
 * the order need not be asked. */
static inline bool heft_live_fits(const struct heft_live *live, uint32_t left, uint32_t border,
                                  uint32_t right)
{
    if (!heft_live_meets(live, border, right))
        return false;
    return HEFT_LIKELY(!heft_live_doubts(live, left, right, HEFT_LIVE_NEVER - 1)) ||
           heft_live_asks(live, left, right);
}

/* False: nothing that these bytes begin with can follow. They are read as if the text ended there. */
static inline bool heft_live_goes_on(const struct heft_live *live, uint32_t border,
                                     const uint8_t *text, size_t n)
{
    return border > (n < 2 ? HEFT_LIVE_NONE : live->joins[heft_le16(text)]);
}

#endif
