/* suggest.h: suggestions for "did you mean …". */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "main/options.h"

/* Levenshtein distance of a and b, or limit + 1 if it exceeds limit (at most 8). Time: O(limit ×
 * length), by a diagonal band. */
unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit);

enum { MAX_NEAR = 3 };
/* Finds the tensors whose names are nearest to `name`, best first. Returns their number. */
size_t near_tensors(const struct heft_checkpoint *c, const char *name, size_t near[MAX_NEAR]);

/* Replacement for an option that the verb does not have. At most one member is set. */
struct suggestion {
    const char *option;  /* option of the verb, without dashes */
    const char *instead; /* option that has the wanted effect, such as "--cast '*=F16'" */
    const char *verb;    /* another verb that has this option */
};
struct suggestion suggest_option(const struct verb *verb, const char *name, size_t n);

#endif
