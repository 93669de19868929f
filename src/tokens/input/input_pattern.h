/* input_pattern.h: the paths that a pattern of Python's glob.glob matches, and what is in a folder, as the
 * system lists it. */
#ifndef HEFT_INPUT_PATTERN_H
#define HEFT_INPUT_PATTERN_H

#include "base/error.h"

/* The path is there until it returns. */
typedef bool heft_path_fn(void *ctx, const char *path, struct heft_error *err);

/* Every entry of a folder, its path in front. Where the folder cannot be read, *is_closed. */
HEFT_CHECKED bool heft_folder_each(const char *folder, heft_path_fn *each, void *ctx,
                                   bool *is_closed, struct heft_error *err);

/* What a pattern matches: * ? [a-z] [!a]; names with a dot in front only where it has one; ** for any
 * number of folders, as glob.glob(recursive=True) has it, but each folder once, and no folder among the
 * matches. Folders that cannot be read have nothing that matches, as in Python; those of ** fail. */
HEFT_CHECKED bool heft_pattern_each(const char *pattern, heft_path_fn *each, void *ctx,
                                    struct heft_error *err);

/* One name against one part of a pattern, as Python's fnmatch; at most pattern × name steps. */
bool heft_name_matches(const char *pattern, size_t n, const char *name);

#endif
