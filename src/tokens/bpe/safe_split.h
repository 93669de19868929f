/* safe_split.h: positions at which a text may be split so that its parts encode to the ids of the
 * whole: for workers.
 *
 *     one two    before white space that follows other characters      one|_two
 *     x=1        between classes, but not between ' and a letter       x|=|1
 *     a\nb       after a single white space other than a blank         a|\n|b
 *
 * The rules hold for any text before and after. */
#ifndef HEFT_SAFE_SPLIT_H
#define HEFT_SAFE_SPLIT_H

#include "tokens/unicode/classes.h"

/* Returns the last such position that is at most `at` and less than n, in valid UTF-8; 0 if there
 * is none. Searches backwards, in time linear in the distance. */
size_t heft_safe_split_before(const struct heft_classes *classes, const uint8_t *text, size_t n,
                              size_t at);

#endif
