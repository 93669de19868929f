/* module_tree.h: the tree of modules that the names of tensors describe, with figures for each
 * module, and with repeated modules folded.
 *
 *     model.embed.weight      →  model                     a module with several members
 *     model.layers.0.a              embed.weight           a tensor; its only parents are joined
 *     model.layers.0.b              layers.0   count 2     0 and 1 are equal
 *     model.layers.1.a                 a
 *     model.layers.1.b                 b
 *
 * Names are split at dots, or at slashes if the format has paths; a name without its format's
 * separator is split at the other one. A module with a single member is not a node: it is a part
 * of that member's text. So there are fewer than two nodes for each tensor, however deep names are.
 * Two modules are equal if the texts, dtypes and shapes below them are, in any order. */
#ifndef HEFT_MODULE_TREE_H
#define HEFT_MODULE_TREE_H

#include "core/model.h"

struct heft_module_node {
    uint32_t row;        /* the first row below the node: its text is a part of that row's name */
    uint32_t begin, end; /* the text [begin, end): components joined by the row's separator */
    uint32_t parent, first_child, next; /* HEFT_NONE: none */
    uint32_t kind;                      /* equal numbers mean equal contents */
    uint32_t count; /* equal siblings folded into this node, and itself; their indexes grow … */
    uint32_t last;  /* … evenly up to that of the node `last` */
    uint32_t tensors;
    uint64_t parameters, bytes; /* of one of the equal siblings */
    uint64_t dtypes[2];         /* set: dtype d is bit d % 64 of dtypes[d / 64] */
    char separator;
    bool is_tensor; /* `row` itself; it has no children */
    bool is_tied;   /* a tensor that is counted at an earlier name of the same view */
};

struct heft_module_tree {
    struct heft_module_node *nodes; /* the root, without a text, is the first */
    size_t n;
    uint64_t tied, tied_parameters, tied_bytes; /* tensors that are not counted a second time */
};

/* `selected`: which rows, all of them below `root`, which is cut from their names; NULL: all rows.
 * O(n log n) in the bytes of the names. Release with heft_module_tree_release, also on failure. */
HEFT_CHECKED bool heft_module_tree_build(struct heft_module_tree *tree,
                                         const struct heft_model *model, const bool *selected,
                                         const char *root, struct heft_error *err);
void heft_module_tree_release(struct heft_module_tree *tree);

/* The text of a node. */
static inline struct heft_str heft_module_text(const struct heft_module_tree *tree,
                                               const struct heft_model *model, uint32_t node)
{
    const struct heft_module_node *n = &tree->nodes[node];

    if (n->row == HEFT_NONE)
        return HEFT_STR("");
    return (struct heft_str){model->rows[n->row].name.p + n->begin, n->end - n->begin};
}

/* The index of a text: the last number in its first component, [*begin, *end) of the text; without
 * one *begin == *end, and 0. */
uint64_t heft_module_index(struct heft_str text, char separator, uint32_t *begin, uint32_t *end);

#endif
