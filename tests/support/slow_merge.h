/* slow_merge.h: byte pair encoding by its definition: merges the leftmost pair of the lowest rank
 * until no pair can merge; O(n^2). Reference for tests and fuzz targets of the fast
 * implementations. */
#ifndef SLOW_MERGE_H
#define SLOW_MERGE_H

#include <string.h>

#include "tokens/bpe/vocab.h"

/* Writes the ids of a word; `ids` has space for n. Returns their number. */
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
