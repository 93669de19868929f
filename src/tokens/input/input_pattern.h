/* input_pattern.h: the paths that a pattern of Python's glob.glob matches. */
#ifndef HEFT_INPUT_PATTERN_H
#define HEFT_INPUT_PATTERN_H

#include "tokens/input/input_below.h"

/* Calls `each` for every match of a pattern: * ? [a-z] [!a]; hidden names only if the part begins
 * with a dot; ** for any number of directories, as glob.glob(recursive=True) has it, but each
 * directory once, and no directories among the matches. A directory that cannot be read has no
 * matches, as in Python; below ** it is an error. */
HEFT_CHECKED bool heft_pattern_each(const char *pattern, heft_path_fn *each, void *ctx,
                                    struct heft_error *err);

/* Whether a name matches a part of a pattern, as Python's fnmatch; O(pattern × name). */
bool heft_name_matches(const char *pattern, size_t n, const char *name);

#endif
