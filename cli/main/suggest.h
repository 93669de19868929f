/* suggest.h: "did you mean …". */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "main/options.h"

/* How many letters to insert, drop or change to get from a to b; limit + 1 where it is more than
 * limit (at most 8). Time: (2·limit + 1) × length. */
unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit);

enum { MAX_NEAR = 3 };
/* The tensors whose names are nearest to `name`, best first. Returns how many. */
size_t near_tensors(const struct heft_checkpoint *c, const char *name, size_t near[MAX_NEAR]);

/* What to write instead of an option that the verb does not have: one of these, or none. */
struct suggestion {
    const char *option;  /* the verb's own, without the dashes */
    const char *instead; /* "--cast '*=F16'" */
    const char *verb;    /* which has an option of that name */
};
struct suggestion suggest_option(const struct verb *verb, const char *name, size_t n);

#endif
