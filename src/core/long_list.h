/* long_list.h: lists of values that are too long to be built when a file is opened, such as the
 * vocabulary of a GGUF: the tree has the first items, the reader makes all of them on demand.
 *
 *     list  ─► first_child ─► … 8 items       more = 151928: what is not in the tree
 *     heft_long_list_whole(list) ─► a list of 151936 items in an arena of the caller */
#ifndef HEFT_LONG_LIST_H
#define HEFT_LONG_LIST_H

#include "core/model.h"
#include "core/tree.h"

struct heft_long_list;

/* Makes the whole list in `mem`, also of the lists inside it; *out: its value. HEFT_LIMIT if it has
 * more than limits.nodes. Must be thread-safe. */
typedef bool heft_long_list_fn(const struct heft_model *model, const struct heft_long_list *list,
                               struct heft_arena *mem, const struct heft_value **out,
                               struct heft_error *err);

/* A list with value.more > 0. Each of them is made with heft_long_list_add. */
struct heft_long_list {
    struct heft_node node; /* first member, so that a value can be cast to its list */
    heft_long_list_fn *read;
    uint32_t source, type; /* for read: the source, the type of the items, … */
    uint64_t at, count;    /* … the offset of the first item, the number of all */
};

/* Adds an empty list to `in` as heft_tree_list does; the caller fills the rest. */
HEFT_CHECKED struct heft_long_list *heft_long_list_add(struct heft_arena *mem, struct heft_node *in,
                                                       struct heft_str key, struct heft_error *err);
/* The whole list; `list` itself if it is in the tree. */
HEFT_CHECKED bool heft_long_list_whole(const struct heft_model *model,
                                       const struct heft_value *list, struct heft_arena *mem,
                                       const struct heft_value **out, struct heft_error *err);
/* Whether two lists are equal, of which at least one is long; keys and classes are not compared. */
HEFT_CHECKED bool heft_long_list_equal(const struct heft_model *a, const struct heft_value *x,
                                       const struct heft_model *b, const struct heft_value *y,
                                       bool *is_equal, struct heft_error *err);

#endif
