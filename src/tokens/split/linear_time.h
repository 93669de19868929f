/* linear_time.h: proof that a text is divided in time linear in its length.
 *
 * An attempt to match may read on after the last place where a match can end, and the next attempt
 * begins at that place: the text between is read again. Two attempts that read the same text
 * without an end are two states of the automaton that go side by side; if they can do so for ever,
 * the pair of states is in a cycle. Such patterns are refused, with one exception: both attempts
 * stay in the same state. Then the second one need not read on, if the first one is remembered:
 * dead runs. */
#ifndef HEFT_LINEAR_TIME_H
#define HEFT_LINEAR_TIME_H

#include "tokens/split/automaton.h"

#define HEFT_DEAD_RUNS 8

/* Stretches of text in which an attempt stayed in one state, and after whose begin no match ended. */
struct heft_dead_runs {
    struct heft_dead_run {
        unsigned state;
        size_t from, to;
    } runs[HEFT_DEAD_RUNS];
    unsigned n;
};

/* Refuses patterns that may need quadratic time. *needs_runs: dead runs must be remembered. */
HEFT_CHECKED bool heft_linear_time_check(const struct heft_automaton *automaton, bool *needs_runs,
                                         struct heft_error *err);

/* Whether a run of the state contains the place. */
bool heft_dead_runs_hold(const struct heft_dead_runs *runs, unsigned state, size_t at);
void heft_dead_runs_add(struct heft_dead_runs *runs, struct heft_dead_run run);

#endif
