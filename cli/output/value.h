/* value.h: values that are not tensors, as JSON and as a tree for people. No recursion: files
 * choose the depth. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include "output/output.h"

#include <heft/heft.h>

/* Natural JSON: dicts are objects, lists, tuples and sets arrays. What JSON lacks: NaN and
 * infinities are strings, so are integers beyond 64 bits; bytes {"bytes":n}, a tensor
 * {"tensor":name}, a named global {"global":name}, an unknown object {"class":name,"args":…}.
 * False where memory ran out. */
bool json_value(struct out *out, const struct heft_value *value);

/* A line a value, indented by its depth and `indent` columns. Without `all` long strings, lists
 * and trees are cut, and say so. False where memory ran out. */
bool print_values(struct out *out, const struct heft_value *root, size_t indent, bool all);

/* Calls each() for every value below root that is bytes, with its dotted path. */
bool each_blob(const struct heft_value *root,
               void (*each)(void *ctx, const char *path, size_t path_len, uint64_t bytes),
               void *ctx);

/* The member of a dict by its key; NULL where there is none, or no dict. */
const struct heft_value *value_member(const struct heft_value *of, const char *key);

#endif
