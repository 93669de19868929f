/* merge.h: byte pair encoding of one pre-token: merges the adjacent pair of the lowest rank until
 * none can merge. */
#ifndef HEFT_MERGE_H
#define HEFT_MERGE_H

#include "tokens/bpe/pairs.h"
#include "tokens/bpe/ranked_tokens.h"

/* Scratch memory; grows with the longest pre-token. */
struct heft_merger {
    struct heft_merge_symbol *symbols;
    struct heft_merge_pair *heap;
    size_t cap_symbols, cap_heap;
};
void heft_merger_release(struct heft_merger *merger);

#define HEFT_MERGE_SHORT HEFT_LEAST_OF /* bytes: up to this length the quadratic method is faster */
/* Encodes a short pre-token; `ids` has room for n. Returns the count. */
size_t heft_merge_short(const struct heft_pairs *pairs, const uint8_t *word, size_t n,
                        uint32_t *ids);
/* Encodes a pre-token of any length; `ids` has room for n. */
HEFT_CHECKED bool heft_merge_word(struct heft_merger *merger, const struct heft_pairs *pairs,
                                  const uint8_t *word, size_t n, uint32_t *ids, size_t *count,
                                  struct heft_error *err);
/* The same for a vocabulary with ranks. The pre-token is followed by HEFT_VOCAB_PAD readable bytes. */
size_t heft_merge_short_ranked(const struct heft_ranked *ranked, const uint8_t *word, size_t n,
                               uint32_t *ids);
HEFT_CHECKED bool heft_merge_word_ranked(struct heft_merger *merger,
                                         const struct heft_ranked *ranked, const uint8_t *word,
                                         size_t n, uint32_t *ids, size_t *count,
                                         struct heft_error *err);

#endif
