/* tree.h: builds trees of values in an arena, node by node: for information about a file.
 *
 *     struct heft_node *header = heft_tree_dict(mem, root, HEFT_STR("header"), err);
 *     … heft_tree_number(mem, header, HEFT_STR("num_shards"), 2, err)
 *
 * Children keep the order in which they are added, in constant time each. `in` is a dict, a list
 * (whose children are numbered; `key` is ignored), or NULL for a root. Keys and texts are copied;
 * keys are UTF-8. */
#ifndef HEFT_TREE_H
#define HEFT_TREE_H

#include "base/error.h"
#include "base/mem.h"
#include "heft/types.h"

struct heft_node {
    struct heft_value value; /* first member, so that a root can be cast to a value */
    struct heft_node *last;  /* last child */
    uint64_t n;              /* number of children */
};

HEFT_CHECKED struct heft_node *heft_tree_dict(struct heft_arena *mem, struct heft_node *in,
                                              struct heft_str key, struct heft_error *err);
HEFT_CHECKED struct heft_node *heft_tree_list(struct heft_arena *mem, struct heft_node *in,
                                              struct heft_str key, struct heft_error *err);
/* The dict or list with this key in the dict `in`, which is created if it is missing. Linear in
 * the number of members. */
HEFT_CHECKED struct heft_node *heft_tree_shared(struct heft_arena *mem, struct heft_node *in,
                                                struct heft_str key, enum heft_value_kind kind,
                                                struct heft_error *err);
HEFT_CHECKED bool heft_tree_null(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_tree_bool(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 bool value, struct heft_error *err);
HEFT_CHECKED bool heft_tree_number(struct heft_arena *mem, struct heft_node *in,
                                   struct heft_str key, int64_t value, struct heft_error *err);
/* An integer; one of 2^63 or more becomes HEFT_VALUE_BIGINT. */
HEFT_CHECKED bool heft_tree_unsigned(struct heft_arena *mem, struct heft_node *in,
                                     struct heft_str key, uint64_t value, struct heft_error *err);
HEFT_CHECKED bool heft_tree_real(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 double value, struct heft_error *err);
/* Adds a text; one that is not valid UTF-8 becomes HEFT_VALUE_BYTES. */
HEFT_CHECKED bool heft_tree_text(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 struct heft_str value, struct heft_error *err);
/* Adds a zeroed node whose memory the caller has allocated as part of a larger struct. */
HEFT_CHECKED bool heft_tree_add(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                enum heft_value_kind kind, struct heft_node *node,
                                struct heft_error *err);
#endif
