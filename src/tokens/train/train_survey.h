/* train_survey.h: counts the pairs of all cells anew and lists their positions, within the limit of
 * memory.
 *
 * A position is a block of cells: of one cell if there are few, else of 64. The blocks of a pair
 * ascend; the list is delta-encoded. */
#ifndef HEFT_TRAIN_SURVEY_H
#define HEFT_TRAIN_SURVEY_H

#include "tokens/train/train_number.h"
#include "tokens/train/train_pairs.h"

struct heft_train_task;
struct heft_train_survey {
    struct heft_train_pairs pairs;
    uint64_t min_frequency;
    size_t most_pairs;   /* limit of pairs with lists */
    uint64_t most_bytes; /* limit of their lists, in bytes */
    unsigned shift;      /* log2 of the cells of a block: 0 or 6 */
};

HEFT_CHECKED bool heft_train_survey_begin(struct heft_train_survey *survey,
                                          const struct heft_train_task *task,
                                          struct heft_error *err);
/* Fills the empty table with the most frequent pairs, if possible enough for `wanted` merges. */
HEFT_CHECKED bool heft_train_survey_pairs(struct heft_train_survey *survey, uint32_t wanted,
                                          struct heft_error *err);
/* Whether the merged symbol would be longer than readers of vocabularies accept, heft's own
 * included. */
bool heft_train_survey_is_too_long(const struct heft_train_cells *cells, uint64_t key);

/* Bytes that the block of a cell takes at the end of a list; *last is the last block + 1. */
static inline size_t heft_train_survey_step(const struct heft_train_survey *s, uint32_t *last,
                                            uint32_t place)
{
    const uint32_t block = (place >> s->shift) + 1, step = block - *last;

    *last = block;
    return step == 0 ? 0 : heft_train_number_width(step);
}
/* Appends the block; there is room. */
static inline void heft_train_survey_put(const struct heft_train_survey *s,
                                         struct heft_train_pair *pair, uint32_t place)
{
    const uint32_t block = (place >> s->shift) + 1, step = block - pair->last;

    pair->last = block;
    if (step > 0)
        pair->n +=
            (uint32_t)heft_train_number_put(heft_train_pairs_list(&s->pairs, pair) + pair->n, step);
}

#endif
