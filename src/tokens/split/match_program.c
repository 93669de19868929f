/* match_program.c: the program of a syntax tree.
 *
 * A possessive repetition of one character of a set, X++, is X+(?!X): after the longest run, and
 * only there, no X follows. So it needs no instruction of its own. */
#include "tokens/split/match_program.h"

struct emitter {
    struct heft_match_program *program;
    struct heft_syntax_tree *tree;
    struct heft_error *err;
};

static bool emit(struct emitter *e, struct heft_match_instruction instruction)
{
    struct heft_match_program *const program = e->program;

    if (program->n == HEFT_PROGRAM_MAX)
        return heft_fail(e->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern has more than %d parts after its repetitions are written "
                         "out",
                         HEFT_PROGRAM_MAX);
    if (!heft_grow(&program->code, &program->cap, program->n, 1, sizeof *program->code, e->err))
        return false;
    program->code[program->n++] = instruction;
    return true;
}

/* Index of the next instruction. */
static uint16_t here(const struct emitter *e)
{
    return (uint16_t)e->program->n;
}

static bool emit_node(struct emitter *e, uint32_t index);

/* Continues at the next instruction, or at a place that patch_fork enters; a lazy one prefers that
 * place. */
static bool emit_fork(struct emitter *e, bool is_lazy)
{
    const uint16_t next = (uint16_t)(e->program->n + 1);
    const struct heft_match_instruction fork = {
        .op = HEFT_OP_FORK, .first = is_lazy ? 0 : next, .second = is_lazy ? next : 0};

    return emit(e, fork);
}

static void patch_fork(struct emitter *e, uint16_t at, bool is_lazy, uint16_t to)
{
    if (is_lazy)
        e->program->code[at].first = to;
    else
        e->program->code[at].second = to;
}

static bool emit_choice(struct emitter *e, const struct heft_syntax_node *node)
{
    uint16_t last_jump = 0; /* the jumps to the end are linked through `first` */
    uint32_t child = node->child;

    for (; e->tree->nodes[child].next; child = e->tree->nodes[child].next) {
        const uint16_t fork = here(e);
        const struct heft_match_instruction jump = {.op = HEFT_OP_JUMP, .first = last_jump};

        if (!emit_fork(e, false) || !emit_node(e, child))
            return false;
        last_jump = here(e);
        if (!emit(e, jump))
            return false;
        patch_fork(e, fork, false, here(e));
    }
    if (!emit_node(e, child))
        return false;
    while (last_jump) {
        const uint16_t before = e->program->code[last_jump].first;

        e->program->code[last_jump].first = here(e);
        last_jump = before;
    }
    return true;
}

/* The child as often as it likes: a fork, the child, a jump back; after a child that has been
 * emitted, at `again`, one fork. */
static bool emit_loop(struct emitter *e, const struct heft_syntax_node *repeat, bool has_again,
                      uint16_t again)
{
    const uint16_t fork = here(e);
    const struct heft_match_instruction jump = {.op = HEFT_OP_JUMP, .first = fork};

    if (!emit_fork(e, repeat->is_lazy))
        return false;
    if (has_again) {
        patch_fork(e, fork, !repeat->is_lazy, again);
        patch_fork(e, fork, repeat->is_lazy, here(e));
        return true;
    }
    if (!emit_node(e, repeat->child) || !emit(e, jump))
        return false;
    patch_fork(e, fork, repeat->is_lazy, here(e));
    return true;
}

/* The child up to `more` times: each time is optional after the one before. */
static bool emit_optional(struct emitter *e, const struct heft_syntax_node *repeat, uint32_t more,
                          uint16_t *after_last)
{
    uint16_t last_fork = 0; /* forks to the end are linked, as in emit_choice */
    bool is_first = true;

    for (; more; more--) {
        const uint16_t fork = here(e);

        if (!emit_fork(e, repeat->is_lazy))
            return false;
        patch_fork(e, fork, repeat->is_lazy, is_first ? fork : last_fork);
        last_fork = fork;
        is_first = false;
        if (!emit_node(e, repeat->child))
            return false;
    }
    *after_last = here(e);
    if (repeat->is_possessive) /* after all of them, the check that no more follow is skipped */
        if (!emit(e, (struct heft_match_instruction){.op = HEFT_OP_JUMP}))
            return false;
    while (!is_first) {
        struct heft_match_instruction *const fork = &e->program->code[last_fork];
        const uint16_t before = repeat->is_lazy ? fork->first : fork->second;

        patch_fork(e, last_fork, repeat->is_lazy, here(e));
        is_first = before == last_fork;
        last_fork = before;
    }
    return true;
}

/* (?!X) after a possessive repetition of X. */
static bool emit_no_more(struct emitter *e, const struct heft_syntax_node *repeat)
{
    const struct heft_syntax_node *const child = &e->tree->nodes[repeat->child];
    struct heft_code_ranges others = {0};
    uint32_t set;

    if (!heft_code_ranges_unite(&others, &e->tree->sets[child->set], e->err) ||
        !heft_code_ranges_negate(&others, e->err)) {
        heft_code_ranges_release(&others);
        return false;
    }
    return heft_syntax_tree_intern(e->tree, &others, &set, e->err) &&
           emit(e, (struct heft_match_instruction){
                       .op = HEFT_OP_AHEAD, .at_end = true, .set = (uint16_t)set});
}

static bool emit_repeat(struct emitter *e, const struct heft_syntax_node *repeat)
{
    uint16_t last_begin = here(e), after_last = 0;

    for (uint32_t i = 0; i < repeat->min; i++) {
        last_begin = here(e);
        if (!emit_node(e, repeat->child))
            return false;
        if (here(e) == last_begin) /* empty, however often it is repeated */
            return true;
    }
    if (repeat->max == HEFT_REPEAT_MAX)
        return emit_loop(e, repeat, repeat->min > 0, last_begin) &&
               (!repeat->is_possessive || emit_no_more(e, repeat));
    if (repeat->max == repeat->min)
        return true;
    if (!emit_optional(e, repeat, repeat->max - repeat->min, &after_last))
        return false;
    if (!repeat->is_possessive)
        return true;
    if (!emit_no_more(e, repeat))
        return false;
    e->program->code[after_last].first = here(e);
    return true;
}

static bool emit_node(struct emitter *e, uint32_t index)
{
    const struct heft_syntax_node node = e->tree->nodes[index];
    struct heft_match_instruction instruction = {.op = node.kind == HEFT_SYNTAX_SET ? HEFT_OP_SET
                                                                                    : HEFT_OP_AHEAD,
                                                 .set = (uint16_t)node.set,
                                                 .at_end = node.at_end};

    switch (node.kind) {
    case HEFT_SYNTAX_CHOICE:
        return emit_choice(e, &node);
    case HEFT_SYNTAX_REPEAT:
        return emit_repeat(e, &node);
    case HEFT_SYNTAX_LIST:
        for (uint32_t child = node.child; child; child = e->tree->nodes[child].next)
            if (!emit_node(e, child))
                return false;
        return true;
    default:
        return emit(e, instruction);
    }
}

bool heft_match_program_make(struct heft_match_program *program, struct heft_syntax_tree *tree,
                             struct heft_error *err)
{
    struct emitter e = {program, tree, err};

    *program = (struct heft_match_program){0};
    return emit_node(&e, tree->root) &&
           emit(&e, (struct heft_match_instruction){.op = HEFT_OP_MATCH});
}

void heft_match_program_release(struct heft_match_program *program)
{
    heft_free(program->code);
    *program = (struct heft_match_program){0};
}
