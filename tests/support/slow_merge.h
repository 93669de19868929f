/* slow_merge.h: what merging a word means, step by step: the best pair of all, the first of its kind,
 * becomes one, until there is none. For tests and fuzz targets of what is faster. */
#ifndef SLOW_MERGE_H
#define SLOW_MERGE_H

#include <string.h>

#include "tokens/bpe/vocab.h"

/* ids has room for n; gives how many there are. */
static inline size_t merge_slowly(const struct heft_vocab *v, const uint8_t *word, size_t n,
                                  uint32_t *ids)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = v->byte_ids[word[i]];
    for (;;) {
        uint32_t best = HEFT_NO_RANK;
        size_t at = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t rank = heft_vocab_pair(v, ids[i], ids[i + 1]);

            if (rank < best) {
                best = rank;
                at = i;
            }
        }
        if (best == HEFT_NO_RANK)
            return n;
        ids[at] = v->merges[best].id;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

#endif
