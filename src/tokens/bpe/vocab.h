/* vocab.h: a vocabulary: which bytes each id stands for, and which pairs of ids merge into which.
 *
 *     vocab.c           merges → tables; the public questions
 *     ../vocab/         files → tokens and merges
 *
 * A merge's rank is its place in the list: of all pairs in a word the one of the lowest rank merges
 * first. */
#ifndef HEFT_VOCAB_H
#define HEFT_VOCAB_H

#include "base/map.h"
#include "heft/tokens.h"

#define HEFT_END_OF_TEXT "<|endoftext|>"
#define HEFT_ID_BITS     20
#define HEFT_MOST_IDS    (1U << HEFT_ID_BITS) /* the largest vocabularies have a quarter of it */
#define HEFT_MOST_MERGES (HEFT_MOST_IDS - 257)
#define HEFT_NO_RANK     UINT32_MAX
#define HEFT_NO_SLOT     UINT64_MAX
#define HEFT_LONGEST     4096 /* bytes of a token: real ones have 128 */

struct heft_merge {
    uint32_t left, right, id;
};

/* What files of a vocabulary ask for that is not done: heft_vocab_note. */
enum heft_vocab_remark {
    HEFT_REMARK_PREFIX,
    HEFT_REMARK_BOS,
    HEFT_REMARK_EOS,
    HEFT_REMARK_CLASS,
    HEFT_REMARK_ADDED,
    HEFT_REMARK_ADDED_FILE,
    HEFT_REMARK_TRUNCATION,
    HEFT_REMARK_PADDING,
    HEFT_REMARK_DECODER, /* from here on: to ids that are decoded, before it: to texts */
    HEFT_REMARKS
};

struct heft_pairs;
struct heft_byte_adjacency;
struct heft_vocab {
    struct heft_arena mem;
    uint32_t byte_ids[256];
    uint32_t n_ids, n_merges;
    uint32_t end;            /* of text; may be no token: n_ids and above, or a hole */
    uint32_t text_ids;       /* one more than the highest id that texts encode to */
    struct heft_str *tokens; /* n_ids; p is NULL where an id stands for nothing */
    struct heft_merge *merges;
    uint64_t *slots; /* pair << HEFT_ID_BITS | rank, small for the cache; NO_SLOT: free */
    unsigned slot_bits;
    struct heft_pairs *pairs; /* what encoders ask first, the same for all of them */
    struct heft_byte_adjacency *adjacency;
    uint32_t longest; /* bytes of the longest token */
    /* Tokens of which it is known that they encode to themselves, a bit each; NULL where is_self_encoding
     * says all there is. */
    uint64_t *self_encoding;
    bool is_self_encoding; /* all that merges make is known to encode to itself */
    /* Words that are tokens though merging does not lead there, where the vocabulary wants such
     * words taken whole: bytes → id. */
    struct heft_strmap wholes;
    const char *unicode; /* whose classes its texts are cut by, where no other is asked for */
    struct heft_error
        refusal;       /* why texts cannot be encoded, only ids decoded; HEFT_OK: they can */
    const char *doubt; /* what speaks against the pattern that the caller said, or NULL */
    const char *remarks[HEFT_REMARKS]; /* NULL: nothing of that kind */
};

/* The byte that a character of the vocabulary files stands for; -1: none. */
int heft_alphabet_byte(uint32_t c);
/* The bytes in the order in which GPT-2 numbers them. */
void heft_alphabet_order(uint8_t order[256]);

/* HEFT_UNSUPPORTED where ids of the vocabulary are decoded, and no more. */
HEFT_CHECKED bool heft_vocab_can_encode(const struct heft_vocab *v, struct heft_error *err);
/* A word that is a token and to be taken whole. */
HEFT_CHECKED bool heft_vocab_add_whole(struct heft_vocab *v, uint32_t id, struct heft_error *err);
/* Room for the tables of so many ids and merges, and `bytes` of tokens. */
HEFT_CHECKED bool heft_vocab_room(struct heft_vocab *v, size_t ids, size_t merges, size_t bytes,
                                  struct heft_error *err);
/* Memory of the vocabulary that was used for something else. */
struct heft_vocab_spare {
    void *p;
    size_t n;
};
/* Makes the tables of pairs: HEFT_MALFORMED where a pair merges twice. */
HEFT_CHECKED bool heft_vocab_pairs(struct heft_vocab *v, struct heft_vocab_spare spare,
                                   struct heft_error *err);

/* log2 of the bytes of an id that texts encode to: 1 where all are below 65536, else 2. */
static inline unsigned heft_vocab_width(const struct heft_vocab *v)
{
    return v->text_ids <= 65536 ? 1 : 2;
}
static inline bool heft_vocab_is_self_encoding(const struct heft_vocab *v, uint32_t id)
{
    return v->self_encoding ? v->self_encoding[id / 64] >> id % 64 & 1
                            : v->is_self_encoding && id != v->end;
}
static inline uint64_t heft_pair_of(uint32_t left, uint32_t right)
{
    return (uint64_t)left << HEFT_ID_BITS | right;
}
static inline size_t heft_pair_home(const struct heft_vocab *v, uint64_t pair)
{
    return (size_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> (64 - v->slot_bits));
}
/* Where a pair is, or the free slot where it would be. */
static inline uint64_t *heft_pair_slot(const struct heft_vocab *v, uint64_t pair)
{
    const size_t mask = ((size_t)1 << v->slot_bits) - 1;
    size_t i = heft_pair_home(v, pair);

    while (v->slots[i] >> HEFT_ID_BITS != pair && v->slots[i] != HEFT_NO_SLOT)
        i = (i + 1) & mask;
    return &v->slots[i];
}
/* The rank of the merge of two ids, or NO_RANK. */
static inline uint32_t heft_vocab_pair(const struct heft_vocab *v, uint32_t left, uint32_t right)
{
    const uint64_t slot = *heft_pair_slot(v, heft_pair_of(left, right));

    return slot == HEFT_NO_SLOT ? HEFT_NO_RANK : (uint32_t)slot & (HEFT_MOST_IDS - 1);
}

#endif
