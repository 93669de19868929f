/* value.h: prints values that are not tensors, as JSON or as a tree for people. No recursion: the
 * depth is untrusted. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include "output/output.h"

#include <heft/heft.h>

/* Plain JSON: dicts are objects; lists, tuples and sets are arrays. Values that JSON lacks: NaN,
 * infinities and integers of more than 64 bits are strings; bytes are {"bytes":n}, a tensor
 * {"tensor":name}, a global {"global":name}, an unknown object {"class":name,"args":…}. False if
 * memory runs out. */
bool json_value(struct out *out, const struct heft_value *value);

/* Prints one line per value, indented by its depth and `indent` columns. Unless `all`, long
 * strings, lists and trees are truncated and marked. False if memory runs out. */
bool print_values(struct out *out, const struct heft_value *root, size_t indent, bool all);

/* Calls each() for every bytes value below root, with its dotted path. */
bool each_blob(const struct heft_value *root,
               void (*each)(void *ctx, const char *path, size_t path_len, uint64_t bytes),
               void *ctx);

/* Member of a dict by its key; NULL if there is none, or `of` is not a dict. */
const struct heft_value *value_member(const struct heft_value *of, const char *key);

#endif
