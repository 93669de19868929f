/* linear_time.c: the graph of pairs of states, and the test for cycles by Kahn's topological sort.
 */
#include "tokens/split/linear_time.h"

#define PAIRS_MAX (UINT32_C(1) << 18)
#define PASSES    64

struct pairs {
    const struct heft_automaton *a;
    struct heft_error *err;
    uint8_t *endless;  /* of a state: it has a path without end on which no match ends */
    uint32_t *numbers; /* of such a state: its number, from 0 on */
    uint32_t *degree;  /* of a pair (number × states + other state): edges to it */
    uint8_t *reached;
    uint32_t *queue;
    size_t n_endless, n_queue;
    bool
        looping[HEFT_AUTOMATON_STATES]; /* pairs of a state with itself that is its own successor */
};

/* The next state if no match ends before the symbol; otherwise dead. */
static unsigned next_without_end(const struct heft_automaton *a, unsigned state, unsigned symbol)
{
    const unsigned step = heft_automaton_step(a, state, symbol);

    return step & HEFT_STEP_ENDS ? HEFT_AUTOMATON_DEAD : HEFT_STEP_TO(step);
}

static bool leads_on(const struct pairs *p, unsigned state)
{
    for (unsigned symbol = 0; symbol < p->a->n_symbols; symbol++)
        if (p->endless[next_without_end(p->a, state, symbol)])
            return true;
    return false;
}

/* Removes states that lead to none of the others, until all lead on. (After many passes a state too
 * many does no harm.) */
static void find_endless(struct pairs *p)
{
    bool is_changed = true;

    memset(p->endless, true, p->a->n_states);
    p->endless[HEFT_AUTOMATON_DEAD] = false;
    for (unsigned pass = 0; is_changed && pass < PASSES; pass++) {
        is_changed = false;
        for (size_t state = p->a->n_states; state > 1; state--)
            if (p->endless[state - 1] && !leads_on(p, (unsigned)state - 1)) {
                p->endless[state - 1] = false;
                is_changed = true;
            }
    }
    for (size_t state = 0; state < p->a->n_states; state++)
        if (p->endless[state])
            p->numbers[state] = (uint32_t)p->n_endless++;
}

static void reach(struct pairs *p, unsigned first, unsigned second)
{
    const size_t pair = p->numbers[first] * p->a->n_states + second;

    if (p->reached[pair])
        return;
    p->reached[pair] = true;
    p->queue[p->n_queue++] = (uint32_t)pair;
}

/* An edge of the graph: both states go on without an end. Runs of one state are no edges. */
static bool is_edge(struct pairs *p, unsigned first, unsigned second, unsigned symbol)
{
    const unsigned next = next_without_end(p->a, first, symbol);

    if (next_without_end(p->a, second, symbol) == HEFT_AUTOMATON_DEAD)
        return false;
    if (first == second && next == first) {
        p->looping[first] = true;
        return false;
    }
    return true;
}

/* Calls of one pair: visits its successors. While reaching: counts the edges to them; while
 * sorting: removes these. */
static void visit_successors(struct pairs *p, unsigned first, unsigned second, bool is_sorting)
{
    for (unsigned symbol = 0; symbol < p->a->n_symbols; symbol++) {
        const unsigned next = next_without_end(p->a, first, symbol);
        const unsigned other = HEFT_STEP_TO(heft_automaton_step(p->a, second, symbol));
        const size_t pair = p->numbers[next] * p->a->n_states + other;

        if (!p->endless[next] || other == HEFT_AUTOMATON_DEAD)
            continue;
        if (!is_sorting) {
            reach(p, next, other);
            p->degree[pair] += is_edge(p, first, second, symbol);
        } else if (is_edge(p, first, second, symbol) && --p->degree[pair] == 0)
            p->queue[p->n_queue++] = (uint32_t)pair;
    }
}

/* Whether the graph has a cycle. */
static bool has_cycle(struct pairs *p, const uint16_t *states)
{
    const size_t n = p->a->n_states;
    size_t n_reached, n_sorted = 0;

    for (size_t i = 0; i < p->n_endless; i++)
        reach(p, states[i], HEFT_AUTOMATON_START);
    for (size_t i = 0; i < p->n_queue; i++)
        visit_successors(p, states[p->queue[i] / n], (unsigned)(p->queue[i] % n), false);
    n_reached = p->n_queue;
    p->n_queue = 0;
    for (size_t pair = 0; pair < p->n_endless * n; pair++)
        if (p->reached[pair] && p->degree[pair] == 0)
            p->queue[p->n_queue++] = (uint32_t)pair;
    for (; n_sorted < p->n_queue; n_sorted++)
        visit_successors(p, states[p->queue[n_sorted] / n], (unsigned)(p->queue[n_sorted] % n),
                         true);
    return n_sorted < n_reached;
}

static bool check_pairs(struct pairs *p, uint16_t *states, bool *needs_runs)
{
    const size_t n = p->a->n_states;
    unsigned n_looping = 0;

    for (size_t state = 0; state < n; state++)
        if (p->endless[state])
            states[p->numbers[state]] = (uint16_t)state;
    if (p->n_endless * n > PAIRS_MAX)
        return heft_fail(p->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern is too complex for an automaton");
    if (has_cycle(p, states))
        return heft_fail(p->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "split pattern may read the same text again and again, in time quadratic "
                         "in its length");
    for (size_t state = 0; state < n; state++)
        n_looping += p->looping[state];
    *needs_runs = n_looping > 0;
    return n_looping <= HEFT_DEAD_RUNS ||
           heft_fail(p->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "split pattern has %u repetitions that may lead nowhere, the limit is %d",
                     n_looping, HEFT_DEAD_RUNS);
}

static bool allocate(struct pairs *p)
{
    const size_t n = p->n_endless * p->a->n_states;

    if (n > PAIRS_MAX)
        return true; /* check_pairs refuses */
    p->degree = heft_calloc(n + 1, sizeof *p->degree, p->err);
    p->reached = p->degree ? heft_calloc(n + 1, 1, p->err) : NULL;
    p->queue = p->reached ? heft_calloc(n + 1, sizeof *p->queue, p->err) : NULL;
    return p->queue;
}

bool heft_linear_time_check(const struct heft_automaton *automaton, bool *needs_runs,
                            struct heft_error *err)
{
    struct pairs p = {.a = automaton, .err = err};
    uint16_t *states = NULL;
    bool ok;

    *needs_runs = false;
    p.endless = heft_calloc(automaton->n_states, 1, err);
    p.numbers = p.endless ? heft_calloc(automaton->n_states, sizeof *p.numbers, err) : NULL;
    states = p.numbers ? heft_calloc(automaton->n_states, sizeof *states, err) : NULL;
    if (states)
        find_endless(&p);
    ok = states && allocate(&p) && check_pairs(&p, states, needs_runs);
    heft_free(p.endless);
    heft_free(p.numbers);
    heft_free(p.degree);
    heft_free(p.reached);
    heft_free(p.queue);
    heft_free(states);
    return ok;
}

bool heft_dead_runs_hold(const struct heft_dead_runs *runs, unsigned state, size_t at)
{
    for (unsigned i = 0; i < runs->n; i++)
        if (runs->runs[i].state == state)
            return runs->runs[i].from <= at && at <= runs->runs[i].to;
    return false;
}

void heft_dead_runs_add(struct heft_dead_runs *runs, struct heft_dead_run run)
{
    unsigned i = 0;

    while (i < runs->n && runs->runs[i].state != run.state)
        i++;
    if (i == HEFT_DEAD_RUNS)
        return;
    runs->runs[i] = run;
    runs->n += i == runs->n;
}
