/* tree.h: trees of values made node by node, in an arena: what a file says of itself.
 *
 *     struct heft_node *header = heft_tree_dict(mem, root, HEFT_STR("header"), err);
 *     … heft_tree_number(mem, header, HEFT_STR("num_shards"), 2, err)
 *
 * Children stand in the order in which they are added; adding takes constant time. `in` is a dict,
 * or a list (then `key` is not looked at: children are numbered), or NULL for a root. Keys and
 * texts are copied; keys are UTF-8. */
#ifndef HEFT_TREE_H
#define HEFT_TREE_H

#include "base/error.h"
#include "base/mem.h"
#include "heft/types.h"

struct heft_node {
    struct heft_value value; /* first, so that a root is a value */
    struct heft_node *last;  /* child */
    uint64_t n;              /* children */
};

HEFT_CHECKED struct heft_node *heft_tree_dict(struct heft_arena *mem, struct heft_node *in,
                                              struct heft_str key, struct heft_error *err);
HEFT_CHECKED struct heft_node *heft_tree_list(struct heft_arena *mem, struct heft_node *in,
                                              struct heft_str key, struct heft_error *err);
/* The dict or list of this key in `in`, a dict; made where there is none. Looks through the members. */
HEFT_CHECKED struct heft_node *heft_tree_shared(struct heft_arena *mem, struct heft_node *in,
                                                struct heft_str key, enum heft_value_kind kind,
                                                struct heft_error *err);
HEFT_CHECKED bool heft_tree_null(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_tree_bool(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 bool value, struct heft_error *err);
HEFT_CHECKED bool heft_tree_number(struct heft_arena *mem, struct heft_node *in,
                                   struct heft_str key, int64_t value, struct heft_error *err);
HEFT_CHECKED bool heft_tree_real(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 double value, struct heft_error *err);
/* UTF-8; what is not becomes bytes. */
HEFT_CHECKED bool heft_tree_text(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 struct heft_str value, struct heft_error *err);
#endif
