/* automaton.h: program → deterministic automaton (DFA) with the priorities of a backtracking
 * matcher, by the subset construction.
 *
 * A state is the ordered list of instructions at which the matcher may be. On a symbol, the list is
 * followed through forks and look-aheads, which are decided because the symbol is known, up to the
 * first MATCH: what comes after it has lower priority than a match that ends before this symbol. The
 * instructions that take the symbol are the next state. The end of the text is a symbol, too, which
 * nothing takes. */
#ifndef HEFT_AUTOMATON_H
#define HEFT_AUTOMATON_H

#include "tokens/split/match_program.h"
#include "tokens/split/symbols.h"

#define HEFT_AUTOMATON_STATES 4096
#define HEFT_AUTOMATON_DEAD   0 /* no instruction is left */
#define HEFT_AUTOMATON_START  1

/* A transition: the next state, and whether a match ends before the symbol. */
#define HEFT_STEP_ENDS     UINT16_C(1)
#define HEFT_STEP_TO(step) ((unsigned)(step) >> 1)

struct heft_automaton {
    uint16_t *steps; /* n_states × n_symbols */
    uint8_t *ends;   /* of a state: a match ends at the end of the text */
    size_t n_states, n_symbols;
};

/* Release it also after a failure. */
HEFT_CHECKED bool heft_automaton_make(struct heft_automaton *automaton,
                                      const struct heft_match_program *program,
                                      const struct heft_code_ranges *sets, size_t n_sets,
                                      const struct heft_symbol_table *symbols,
                                      struct heft_error *err);
void heft_automaton_release(struct heft_automaton *automaton);

static inline unsigned heft_automaton_step(const struct heft_automaton *automaton, unsigned state,
                                           unsigned symbol)
{
    return automaton->steps[state * automaton->n_symbols + symbol];
}

#endif
