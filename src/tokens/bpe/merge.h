/* merge.h: the bytes of one word → ids: of all neighbouring pairs the one of the lowest rank merges
 * first, until none can. */
#ifndef HEFT_MERGE_H
#define HEFT_MERGE_H

#include "tokens/bpe/pairs.h"

/* Room that merging needs; grows with the longest word it has met. */
struct heft_merger {
    struct heft_merge_symbol *symbols;
    struct heft_merge_pair *heap;
    size_t cap_symbols, cap_heap;
};
void heft_merger_release(struct heft_merger *merger);

#define HEFT_MERGE_SHORT                                                                           \
    HEFT_LEAST_OF /* bytes: up to them, looking is quicker than what is linear */
/* ids gets at most n of them. Returns how many. */
size_t heft_merge_short(const struct heft_pairs *pairs, const uint8_t *word, size_t n,
                        uint32_t *ids);
/* A word of any length. ids gets at most n of them; *count is how many. */
HEFT_CHECKED bool heft_merge_word(struct heft_merger *merger, const struct heft_pairs *pairs,
                                  const uint8_t *word, size_t n, uint32_t *ids, size_t *count,
                                  struct heft_error *err);

#endif
