/* syntax_tree.h: the text of a split pattern → its syntax tree.
 *
 *     ' ?\p{L}+|\s+(?!\S)'        CHOICE ─ LIST ─ REPEAT{0,1} ─ SET(blank)
 *                                        │      └ REPEAT{1,} ─ SET(\p{L})
 *                                        └ LIST ─ REPEAT{1,} ─ SET(\s)
 *                                               └ AHEAD(\s or end)
 *
 * Sets of characters are made complete here: escapes, ranges, negation, nested classes, &&, and both
 * cases in (?i:…). Every set occurs once in the list of sets. */
#ifndef HEFT_SYNTAX_TREE_H
#define HEFT_SYNTAX_TREE_H

#include "tokens/split/code_ranges.h"
#include "tokens/split/splitter.h"

#define HEFT_SYNTAX_BYTES UINT32_C(16384) /* longest pattern */
#define HEFT_SYNTAX_DEPTH 50              /* groups and classes within each other */
#define HEFT_SYNTAX_SETS  1024
#define HEFT_REPEAT_MAX   UINT32_MAX /* no upper bound */

enum heft_syntax_kind {
    HEFT_SYNTAX_LIST,   /* children one after the other; none: the empty text */
    HEFT_SYNTAX_CHOICE, /* the first child that leads to a match */
    HEFT_SYNTAX_REPEAT, /* the child, min to max times */
    HEFT_SYNTAX_SET,    /* one character of the set */
    HEFT_SYNTAX_AHEAD   /* the next character is in the set, or at_end: there is none */
};

struct heft_syntax_node {
    enum heft_syntax_kind kind;
    uint32_t child, next; /* indices of nodes; 0: none */
    uint32_t set;         /* index of a set */
    uint32_t min, max;
    bool is_lazy, is_possessive, at_end;
    bool can_be_empty; /* it matches the empty text */
};

struct heft_syntax_tree {
    struct heft_syntax_node *nodes; /* nodes[0] is unused */
    size_t n_nodes, nodes_cap;
    struct heft_code_ranges *sets;
    size_t n_sets, sets_cap;
    uint32_t root;
};

/* Release the tree also after a failure. Offsets of errors are those of the pattern. */
HEFT_CHECKED bool heft_syntax_tree_parse(struct heft_syntax_tree *tree, struct heft_str pattern,
                                         enum heft_splitter_engine engine,
                                         enum heft_unicode unicode, struct heft_error *err);
void heft_syntax_tree_release(struct heft_syntax_tree *tree);
/* Index of the set in tree->sets, which takes it over, also after a failure. */
HEFT_CHECKED bool heft_syntax_tree_intern(struct heft_syntax_tree *tree,
                                          struct heft_code_ranges *set, uint32_t *index,
                                          struct heft_error *err);

#endif
