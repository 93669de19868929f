/* safe_split.h: where a text may be cut so that the ids of the parts are those of the whole: for workers.
 *
 *     one two    before white space that follows something else        one|_two
 *     x=1        between classes, but not ' and a letter               x|=|1
 *     a\nb       behind a lone white space other than a blank          a|\n|b
 *
 * Which holds for every text that has these characters there, whatever is around them. */
#ifndef HEFT_SAFE_SPLIT_H
#define HEFT_SAFE_SPLIT_H

#include "tokens/unicode/classes.h"

/* The greatest such place at or before `at`, and below n, of n bytes of valid UTF-8; 0: there is
 * none. Takes time in proportion to how far back it is. */
size_t heft_safe_split_before(const struct heft_classes *classes, const uint8_t *text, size_t n,
                              size_t at);

#endif
