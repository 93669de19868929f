/* vocab.h: vocabulary: the bytes of each id, and the merges of pairs of ids.
 *
 *     vocab.c           merges → tables; public functions
 *     ../vocab/         files → tokens and merges
 *
 * The rank of a merge is its index in the list. In a pre-token the pair of the lowest rank merges
 * first. */
#ifndef HEFT_VOCAB_H
#define HEFT_VOCAB_H

#include "base/map.h"
#include "heft/tokens.h"
#include "tokens/prepare/added_tokens.h"
#include "tokens/split/pretokens.h"

#define HEFT_END_OF_TEXT "<|endoftext|>"
#define HEFT_ID_BITS     20
#define HEFT_MOST_IDS                                                                              \
    (1U << HEFT_ID_BITS) /* four times that of the largest published vocabularies */
#define HEFT_MOST_MERGES (HEFT_MOST_IDS - 257)
#define HEFT_NO_RANK     UINT32_MAX
#define HEFT_NO_SLOT     UINT64_MAX
#define HEFT_LONGEST     4096 /* bytes of a token: published ones have 128 at most */

struct heft_merge {
    uint32_t left, right, id;
};

/* Features that the files of a vocabulary ask for and heft does not apply: heft_vocab_note. */
enum heft_vocab_remark {
    HEFT_REMARK_PREFIX,
    HEFT_REMARK_BOS,
    HEFT_REMARK_EOS,
    HEFT_REMARK_CLASS,
    HEFT_REMARK_ADDED,
    HEFT_REMARK_ADDED_FILE,
    HEFT_REMARK_TRUNCATION,
    HEFT_REMARK_PADDING,
    HEFT_REMARK_POST,
    HEFT_REMARK_REPEATS,
    HEFT_REMARK_DECODER, /* this and later ones concern decoding, earlier ones encoding */
    HEFT_REMARKS
};

struct heft_special {
    struct heft_str text; /* followed by a NUL */
    uint32_t id;
};

struct heft_pairs;
struct heft_byte_adjacency;
struct heft_ranked;
struct heft_vocab {
    struct heft_arena mem;
    uint32_t byte_ids[256];
    uint32_t n_ids, n_merges;
    uint32_t end;            /* id of <|endoftext|>; may be no token (n_ids or higher, or a hole) */
    uint32_t text_ids;       /* 1 + the highest id that text encodes to */
    struct heft_str *tokens; /* n_ids of them; p is NULL if the id is not used */
    struct heft_merge *merges;
    /* hash table: pair << HEFT_ID_BITS | rank, compact for the cache; NO_SLOT: free */
    uint64_t *slots;
    unsigned slot_bits;
    struct heft_pairs *pairs; /* lookup tables that all encoders share */
    struct heft_byte_adjacency *adjacency;
    struct heft_ranked
        *ranked;      /* tokens with ranks, instead of merges and pairs; NULL: it has merges */
    uint32_t longest; /* length of the longest token in bytes */
    /* Bitmap of tokens known to encode to themselves; NULL if is_self_encoding holds for all. */
    uint64_t *self_encoding;
    bool is_self_encoding; /* all tokens that merges make are known to encode to themselves */
    /* Tokens that merging does not reach but that are used if they equal a pre-token, if the
     * vocabulary asks for it (ignore_merges): bytes → id. */
    struct heft_strmap wholes;
    struct heft_special *specials; /* by id, each once; on the heap */
    size_t n_specials, cap_specials;
    const char *unicode; /* default version of Unicode, for its character classes */
    /* How a text becomes pre-tokens. `family` names the split pattern for people: "gpt2", "llama3",
     * "tokenizer.json". Without steps it is GPT-2's, by word_scan.h. */
    const char *family;
    struct heft_pretokens_step *steps;
    size_t n_steps;
    struct heft_pretokens *pretokens; /* the steps, compiled for the default version; NULL: none */
    bool is_nfc;                      /* the text between added tokens is normalized first */
    struct heft_added_token *added; /* special and others, in the order of the file; on the heap */
    size_t n_added, cap_added;
    /* [special tokens, too][in normalized text]; NULL: none, or those of [false] suffice */
    struct heft_added_search *searches[2][2];
    struct heft_error refusal; /* why text cannot be encoded, only ids decoded; HEFT_OK: it can */
    const char *doubt;         /* reason to doubt the pattern that the caller chose, or NULL */
    const char *variants; /* names of vocabularies with the same ranks and other special tokens */
    const char *remarks[HEFT_REMARKS]; /* by remark; NULL: does not apply */
};

/* Returns the byte that a character of the vocabulary files stands for; -1: none. */
int heft_alphabet_byte(uint32_t c);
/* Fills in the bytes in the order of their ids in GPT-2. */
void heft_alphabet_order(uint8_t order[256]);

/* Fails with HEFT_UNSUPPORTED if the vocabulary can only decode. */
HEFT_CHECKED bool heft_vocab_can_encode(const struct heft_vocab *v, struct heft_error *err);
/* Adds a token that is used if it equals a pre-token, without merging. */
HEFT_CHECKED bool heft_vocab_add_whole(struct heft_vocab *v, uint32_t id, struct heft_error *err);
/* Adds a special token. The text, which is followed by a NUL, must live as long as the vocabulary. */
HEFT_CHECKED bool heft_vocab_add_special(struct heft_vocab *v, struct heft_str text, uint32_t id,
                                         struct heft_error *err);
/* Adds a token that is looked for in texts. Its text must live as long as the vocabulary. */
HEFT_CHECKED bool heft_vocab_add_token(struct heft_vocab *v, const struct heft_added_token *token,
                                       struct heft_error *err);
/* Adds <|endoftext|> to the special tokens, and sorts them. Call once, when v->end is known. */
HEFT_CHECKED bool heft_vocab_settle_specials(struct heft_vocab *v, struct heft_error *err);
/* Allocates tables for `ids` ids and `merges` merges, and `bytes` bytes of tokens. */
HEFT_CHECKED bool heft_vocab_room(struct heft_vocab *v, size_t ids, size_t merges, size_t bytes,
                                  struct heft_error *err);
/* Memory of the vocabulary that is free for other use. */
struct heft_vocab_spare {
    void *p;
    size_t n;
};
/* Builds the tables of pairs of merges as they are found: first empty tables for at most `merges`
 * merges; then each merge is appended, whose pair does not occur yet; then the end. */
HEFT_CHECKED bool heft_vocab_pairs_begin(struct heft_vocab *v, size_t merges,
                                         struct heft_error *err);
void heft_vocab_pairs_add(struct heft_vocab *v, struct heft_merge merge);
void heft_vocab_pairs_end(struct heft_vocab *v);
/* Builds the tables of pairs of all merges. HEFT_MALFORMED if a pair occurs twice. */
HEFT_CHECKED bool heft_vocab_pairs(struct heft_vocab *v, struct heft_vocab_spare spare,
                                   struct heft_error *err);

static inline bool heft_vocab_is_self_encoding(const struct heft_vocab *v, uint32_t id)
{
    return v->self_encoding ? v->self_encoding[id / 64] >> id % 64 & 1
                            : v->is_self_encoding && id != v->end;
}
static inline uint64_t heft_pair_of(uint32_t left, uint32_t right)
{
    return (uint64_t)left << HEFT_ID_BITS | right;
}
HEFT_WRAPS static inline size_t heft_pair_home(const struct heft_vocab *v, uint64_t pair)
{
    return (size_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> (64 - v->slot_bits));
}
/* Returns the slot of a pair, or the free slot for it. */
static inline uint64_t *heft_pair_slot(const struct heft_vocab *v, uint64_t pair)
{
    const size_t mask = ((size_t)1 << v->slot_bits) - 1;
    size_t i = heft_pair_home(v, pair);

    while (v->slots[i] >> HEFT_ID_BITS != pair && v->slots[i] != HEFT_NO_SLOT)
        i = (i + 1) & mask;
    return &v->slots[i];
}
/* Returns the rank of the merge of two ids, or NO_RANK. */
static inline uint32_t heft_vocab_pair(const struct heft_vocab *v, uint32_t left, uint32_t right)
{
    const uint64_t slot = *heft_pair_slot(v, heft_pair_of(left, right));

    return slot == HEFT_NO_SLOT ? HEFT_NO_RANK : (uint32_t)slot & (HEFT_MOST_IDS - 1);
}

#endif
