/* cut_points.c: fills the table of pairs from the transitions. */
#include "tokens/split/cut_points.h"

#define WORK_MAX (UINT32_C(1) << 24) /* transitions to be looked at */

/* Whether all states of the list die on the symbol with a match that ends before it. */
static bool all_end(const struct heft_automaton *a, const uint16_t *states, size_t n,
                    unsigned symbol)
{
    for (size_t i = 0; i < n; i++)
        if (heft_automaton_step(a, states[i], symbol) != HEFT_STEP_ENDS || !a->ends[states[i]])
            return false;
    return true;
}

/* Lists the states after the symbol `before`. `seen` is zeroed. */
static size_t list_states_after(const struct heft_automaton *a, unsigned before, uint8_t *seen,
                                uint16_t *states)
{
    size_t n = 0;

    for (unsigned state = HEFT_AUTOMATON_START; state < a->n_states; state++) {
        const unsigned to = HEFT_STEP_TO(heft_automaton_step(a, state, before));

        if (to != HEFT_AUTOMATON_DEAD && !seen[to]) {
            seen[to] = true;
            states[n++] = (uint16_t)to;
        }
    }
    return n;
}

static void fill_pairs(struct heft_cut_points *cuts, const struct heft_automaton *a,
                       const bool *begins_match, unsigned before, const uint16_t *states, size_t n)
{
    const bool is_begin =
        HEFT_STEP_TO(heft_automaton_step(a, HEFT_AUTOMATON_START, before)) != HEFT_AUTOMATON_DEAD;

    for (unsigned after = 0; after < a->n_symbols; after++) {
        const bool may_begin = HEFT_STEP_TO(heft_automaton_step(a, HEFT_AUTOMATON_START, after)) !=
                               HEFT_AUTOMATON_DEAD;
        uint8_t *const pair = &cuts->pairs[before * cuts->n_symbols + after];

        if ((is_begin || begins_match[after]) && all_end(a, states, n, after))
            *pair |= HEFT_CUT_SURE;
        if (n == 0 && !may_begin)
            *pair |= HEFT_CUT_GAP;
    }
}

bool heft_cut_points_init(struct heft_cut_points *cuts, const struct heft_automaton *automaton,
                          const bool *begins_match, struct heft_error *err)
{
    const size_t n = automaton->n_symbols, n_states = automaton->n_states;
    const bool is_large = n * n * n_states > WORK_MAX;
    uint8_t *const seen = heft_calloc(n_states, 1, err);
    uint16_t *const states = seen ? heft_calloc(n_states, sizeof *states, err) : NULL;
    bool is_done;

    *cuts = (struct heft_cut_points){.n_symbols = n};
    if (states && !is_large)
        cuts->pairs = heft_calloc(n * n, 1, err);
    for (unsigned before = 0; cuts->pairs && before < n; before++) {
        memset(seen, 0, n_states);
        fill_pairs(cuts, automaton, begins_match, before, states,
                   list_states_after(automaton, before, seen, states));
    }
    is_done = cuts->pairs || (states && is_large);
    heft_free(seen);
    heft_free(states);
    return is_done;
}

void heft_cut_points_release(struct heft_cut_points *cuts)
{
    heft_free(cuts->pairs);
}
