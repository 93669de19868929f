/* match_program.h: syntax tree → program of a backtracking matcher, from which the automaton is
 * made: Thompson's construction with priorities. */
#ifndef HEFT_MATCH_PROGRAM_H
#define HEFT_MATCH_PROGRAM_H

#include "tokens/split/syntax_tree.h"

#define HEFT_PROGRAM_MAX 8192 /* instructions */

enum heft_match_op {
    HEFT_OP_SET,   /* the next character is in the set: takes it */
    HEFT_OP_AHEAD, /* the next character is in the set, or at_end: there is none; takes nothing */
    HEFT_OP_FORK,  /* continues at `first`; if that fails, at `second` */
    HEFT_OP_JUMP,  /* to `first` */
    HEFT_OP_MATCH
};

/* SET and AHEAD continue at the next instruction. */
struct heft_match_instruction {
    enum heft_match_op op;
    bool at_end;
    uint16_t set, first, second;
};

struct heft_match_program {
    struct heft_match_instruction *code;
    size_t n, cap;
};

/* Adds sets to the tree: complements for possessive repetitions. Release the program also after a
 * failure. */
HEFT_CHECKED bool heft_match_program_make(struct heft_match_program *program,
                                          struct heft_syntax_tree *tree, struct heft_error *err);
void heft_match_program_release(struct heft_match_program *program);

#endif
