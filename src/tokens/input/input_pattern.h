/* input_pattern.h: the paths that a pattern of Python's glob.glob matches. */
#ifndef HEFT_INPUT_PATTERN_H
#define HEFT_INPUT_PATTERN_H

#include "tokens/input/input_below.h"

/* What a pattern matches: * ? [a-z] [!a]; names with a dot in front only where it has one; ** for any
 * number of folders, as glob.glob(recursive=True) has it, but each folder once, and no folder among the
 * matches. Folders that cannot be read have nothing that matches, as in Python; those of ** fail. */
HEFT_CHECKED bool heft_pattern_each(const char *pattern, heft_path_fn *each, void *ctx,
                                    struct heft_error *err);

/* One name against one part of a pattern, as Python's fnmatch; at most pattern × name steps. */
bool heft_name_matches(const char *pattern, size_t n, const char *name);

#endif
