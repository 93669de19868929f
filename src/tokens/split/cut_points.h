/* cut_points.h: pairs of characters between which a text may be cut.
 *
 * Between x and y is surely an end of a match if, from every state in which the automaton may be
 * after x, y is fatal and a match ends before it: whatever stands before x and after y, each attempt
 * that reaches the place ends there; and it ends there as well if the text does. */
#ifndef HEFT_CUT_POINTS_H
#define HEFT_CUT_POINTS_H

#include "tokens/split/automaton.h"

#define HEFT_CUT_SURE 1 /* a match ends or begins between the two */
#define HEFT_CUT_GAP  2 /* no match contains or touches either of them */

struct heft_cut_points {
    uint8_t *pairs; /* symbols × symbols: bits; NULL: no place is known */
    size_t n_symbols;
};

/* begins_match[symbol]: a match begins at each character of the symbol, whatever follows. */
HEFT_CHECKED bool heft_cut_points_init(struct heft_cut_points *cuts,
                                       const struct heft_automaton *automaton,
                                       const bool *begins_match, struct heft_error *err);
void heft_cut_points_release(struct heft_cut_points *cuts);

static inline unsigned heft_cut_between(const struct heft_cut_points *cuts, unsigned before,
                                        unsigned after)
{
    return cuts->pairs ? cuts->pairs[before * cuts->n_symbols + after] : 0;
}

#endif
