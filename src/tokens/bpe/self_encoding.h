/* self_encoding.h: tokens that encode to themselves. A pre-token that equals one needs no merging.
 * Other tokens may be unreachable: earlier merges take their bytes apart. */
#ifndef HEFT_SELF_ENCODING_H
#define HEFT_SELF_ENCODING_H

#include "tokens/bpe/pairs.h"

#define HEFT_NOT_MADE UINT32_MAX /* no merge of self-encoding parts makes it */

/* A token: its merge, in one place, because the search waits for memory. */
struct heft_self_token {
    uint32_t made; /* rank of its merge + 1; 0: a single byte; or HEFT_NOT_MADE */
    uint32_t left, right, unused;
};
struct heft_self_encoding {
    const struct heft_pairs *pairs;
    struct heft_self_token *tokens; /* by id */
    size_t n_ids;
};

/* Fills v->self_encoding and v->is_self_encoding. The pairs of the vocabulary must be built. */
HEFT_CHECKED bool heft_self_encoding_find(struct heft_vocab *v, struct heft_error *err);

/* The same in steps, while merges are found in the order of their ranks: the single bytes are known
 * at the beginning, and each merge whose parts stay apart adds the token that it makes. n_ids: the
 * ids that the vocabulary may have in the end. */
HEFT_CHECKED bool heft_self_encoding_begin(struct heft_self_encoding *s, struct heft_vocab *v,
                                           size_t n_ids, struct heft_error *err);
/* Whether two tokens are self-encoding and stay intact until they merge with each other. */
bool heft_self_encoding_stay_apart(const struct heft_self_encoding *s, uint32_t left,
                                   uint32_t right);
static inline void heft_self_encoding_add(struct heft_self_encoding *s,
                                          const struct heft_merge *merge, uint32_t rank)
{
    s->tokens[merge->id] =
        (struct heft_self_token){.made = rank + 1, .left = merge->left, .right = merge->right};
}
/* Fills in the vocabulary. is_all: every merge added its token. */
void heft_self_encoding_end(struct heft_self_encoding *s, struct heft_vocab *v, bool is_all);
void heft_self_encoding_release(struct heft_self_encoding *s);

#endif
