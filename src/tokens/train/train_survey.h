/* train_survey.h: the pairs of the cells, counted and placed anew, within the bounds of memory.
 *
 * A place is told by the block of cells that it is in: a block of one cell where the words are few, of 64
 * else. A pair's blocks ascend; each is the distance from the one before, in few bytes. */
#ifndef HEFT_TRAIN_SURVEY_H
#define HEFT_TRAIN_SURVEY_H

#include "tokens/train/train_number.h"
#include "tokens/train/train_pairs.h"

struct heft_train_task;
struct heft_train_survey {
    struct heft_train_pairs pairs;
    uint64_t min_frequency;
    size_t most_pairs;   /* that are kept, with places */
    uint64_t most_bytes; /* of their lists */
    unsigned shift;      /* from places to blocks: 0 or 6 */
};

HEFT_CHECKED bool heft_train_survey_begin(struct heft_train_survey *survey,
                                          const struct heft_train_task *task,
                                          struct heft_error *err);
/* Where all pairs that were kept are gone: those that rank first now, for so many merges as are wanted if there is
 * room. */
HEFT_CHECKED bool heft_train_survey_pairs(struct heft_train_survey *survey, uint32_t wanted,
                                          struct heft_error *err);
/* Whether readers of vocabularies, ours among them, would refuse the text of what it merges to. */
bool heft_train_survey_is_too_long(const struct heft_train_cells *cells, uint64_t key);

/* Bytes that the block of a place takes in a list that ends in *last. */
static inline size_t heft_train_survey_step(const struct heft_train_survey *s, uint32_t *last,
                                            uint32_t place)
{
    const uint32_t block = (place >> s->shift) + 1, step = block - *last;

    *last = block;
    return step == 0 ? 0 : heft_train_number_width(step);
}
/* Puts it there; there is room. */
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
