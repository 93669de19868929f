/* automaton.c: subset construction with ordered lists. Hostile patterns are stopped by limits of the
 * number of states, the length of their lists, and the number of instructions that are followed. */
#include "tokens/split/automaton.h"

#define LISTS_MAX (UINT32_C(1) << 20) /* instructions in all lists */
#define WORK_MAX  (UINT32_C(1) << 26) /* instructions followed: less than a second */
#define BUCKETS   8192                /* of the hash table of states: a power of 2 */

struct construction {
    struct heft_automaton *automaton;
    const struct heft_match_program *program;
    const struct heft_symbol_table *symbols;
    struct heft_error *err;
    uint8_t *members; /* sets × symbols: whether the set has the symbol */
    uint16_t *lists;  /* those of all states, one after the other */
    size_t n_lists, lists_cap;
    uint32_t *list_of; /* HEFT_AUTOMATON_STATES + 1: begins of the lists */
    uint16_t *buckets; /* state; 0: none */
    uint32_t *visited; /* of an instruction: the last symbol step in which it was followed */
    uint32_t *taken;   /* the same for the next list */
    uint16_t *stack, *next;
    uint32_t stamp;
    size_t n_next, work;
};

static bool has_symbol(const struct construction *c, unsigned set, unsigned symbol)
{
    return c->members[set * c->symbols->n_symbols + symbol];
}

static bool is_end(const struct construction *c, unsigned symbol)
{
    return symbol == c->symbols->n_symbols;
}

/* Appends the instruction to the next list, or the one to which it jumps. */
static void take_next(struct construction *c, uint16_t at)
{
    while (c->program->code[at].op == HEFT_OP_JUMP)
        at = c->program->code[at].first;
    if (c->taken[at] == c->stamp)
        return;
    c->taken[at] = c->stamp;
    c->next[c->n_next++] = at;
}

/* Follows one instruction and those to which it leads. True: a match ends. */
static bool follow(struct construction *c, uint16_t from, unsigned symbol)
{
    size_t n_stack = 1;

    c->stack[0] = from;
    while (n_stack) {
        const uint16_t at = c->stack[--n_stack];
        const struct heft_match_instruction *const code = &c->program->code[at];

        c->work++;
        if (c->visited[at] == c->stamp)
            continue;
        c->visited[at] = c->stamp;
        if (code->op == HEFT_OP_MATCH)
            return true;
        if (code->op == HEFT_OP_FORK)
            c->stack[n_stack++] = code->second;
        if (code->op == HEFT_OP_FORK || code->op == HEFT_OP_JUMP)
            c->stack[n_stack++] = code->first;
        else if (code->op == HEFT_OP_AHEAD &&
                 (is_end(c, symbol) ? code->at_end : has_symbol(c, code->set, symbol)))
            c->stack[n_stack++] = (uint16_t)(at + 1);
        else if (code->op == HEFT_OP_SET && !is_end(c, symbol) && has_symbol(c, code->set, symbol))
            take_next(c, (uint16_t)(at + 1));
    }
    return false;
}

HEFT_WRAPS static uint32_t hash_list(const uint16_t *list, size_t n)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ list[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static bool add_state(struct construction *c, uint32_t *bucket, uint16_t *state)
{
    struct heft_automaton *const a = c->automaton;

    if (a->n_states == HEFT_AUTOMATON_STATES)
        return heft_fail(c->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern needs more than %d states", HEFT_AUTOMATON_STATES);
    if (c->n_next > LISTS_MAX - c->n_lists || c->work > WORK_MAX)
        return heft_fail(c->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern is too complex for an automaton");
    if (!heft_grow(&c->lists, &c->lists_cap, c->n_lists, c->n_next, sizeof *c->lists, c->err))
        return false;
    if (c->n_next)
        memcpy(c->lists + c->n_lists, c->next, c->n_next * sizeof *c->lists);
    c->n_lists += c->n_next;
    *state = (uint16_t)a->n_states++;
    c->list_of[a->n_states] = (uint32_t)c->n_lists;
    c->buckets[*bucket] = *state;
    return true;
}

/* The state of the next list. */
static bool find_state(struct construction *c, uint16_t *state)
{
    uint32_t bucket = hash_list(c->next, c->n_next) % BUCKETS;

    *state = HEFT_AUTOMATON_DEAD;
    if (c->n_next == 0)
        return true;
    for (; c->buckets[bucket]; bucket = (bucket + 1) % BUCKETS) {
        const uint16_t other = c->buckets[bucket];
        const uint16_t *const list = c->lists + c->list_of[other];

        if (c->list_of[other + 1] - c->list_of[other] == c->n_next &&
            memcmp(list, c->next, c->n_next * sizeof *list) == 0) {
            *state = other;
            return true;
        }
    }
    return add_state(c, &bucket, state);
}

/* The transition of a state on a symbol, without its state. Returns whether a match ends. */
static bool follow_list(struct construction *c, size_t state, unsigned symbol)
{
    bool ends = false;

    c->stamp++;
    c->n_next = 0;
    for (uint32_t i = c->list_of[state]; !ends && i < c->list_of[state + 1]; i++)
        ends = follow(c, c->lists[i], symbol);
    return ends;
}

static bool fill_row(struct construction *c, size_t state)
{
    struct heft_automaton *const a = c->automaton;

    if (c->work > WORK_MAX)
        return heft_fail(c->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "split pattern is too complex for an automaton");
    for (unsigned symbol = 0; symbol < a->n_symbols; symbol++) {
        const bool ends = follow_list(c, state, symbol);
        uint16_t to;

        if (!find_state(c, &to))
            return false;
        a->steps[state * a->n_symbols + symbol] = (uint16_t)(to << 1 | (ends ? HEFT_STEP_ENDS : 0));
    }
    a->ends[state] = follow_list(c, state, (unsigned)a->n_symbols);
    return true;
}

/* Refuses patterns that match the empty text somewhere. */
static bool check_start(const struct construction *c)
{
    const struct heft_automaton *const a = c->automaton;
    bool is_empty = a->ends[HEFT_AUTOMATON_START];

    for (unsigned symbol = 0; symbol < a->n_symbols; symbol++)
        is_empty |= heft_automaton_step(a, HEFT_AUTOMATON_START, symbol) & HEFT_STEP_ENDS;
    return !is_empty || heft_fail(c->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                                  "split pattern matches the empty text, which divides nothing");
}

static bool construct(struct construction *c)
{
    struct heft_automaton *const a = c->automaton;
    uint16_t start;
    size_t cap = 0; /* states for which `steps` has room */

    a->n_states = 1;
    a->n_symbols = c->symbols->n_symbols;
    take_next(c, 0);
    if (!find_state(c, &start))
        return false;
    for (size_t state = HEFT_AUTOMATON_DEAD; state < a->n_states; state++)
        if (!heft_grow(&a->steps, &cap, state, 1, a->n_symbols * sizeof *a->steps, c->err) ||
            !fill_row(c, state))
            return false;
    return check_start(c);
}

static bool fill_members(struct construction *c, const struct heft_code_ranges *sets, size_t n_sets)
{
    const unsigned n = c->symbols->n_symbols;

    c->members = heft_calloc(n_sets ? n_sets : 1, n, c->err);
    if (!c->members)
        return false;
    for (size_t set = 0; set < n_sets; set++)
        for (unsigned symbol = 0; symbol < n; symbol++)
            c->members[set * n + symbol] =
                heft_code_ranges_hold(&sets[set], c->symbols->example[symbol]);
    return true;
}

static bool allocate(struct construction *c)
{
    const size_t n = c->program->n;

    c->list_of = heft_calloc(HEFT_AUTOMATON_STATES + 1, sizeof *c->list_of, c->err);
    c->buckets = c->list_of ? heft_calloc(BUCKETS, sizeof *c->buckets, c->err) : NULL;
    c->visited = c->buckets ? heft_calloc(n, sizeof *c->visited, c->err) : NULL;
    c->taken = c->visited ? heft_calloc(n, sizeof *c->taken, c->err) : NULL;
    c->stack = c->taken ? heft_calloc(2 * n + 1, sizeof *c->stack, c->err) : NULL;
    c->next = c->stack ? heft_calloc(n, sizeof *c->next, c->err) : NULL;
    c->automaton->ends = c->next ? heft_calloc(HEFT_AUTOMATON_STATES, 1, c->err) : NULL;
    c->stamp = 1;
    return c->automaton->ends;
}

bool heft_automaton_make(struct heft_automaton *automaton, const struct heft_match_program *program,
                         const struct heft_code_ranges *sets, size_t n_sets,
                         const struct heft_symbol_table *symbols, struct heft_error *err)
{
    struct construction c = {
        .automaton = automaton, .program = program, .symbols = symbols, .err = err};
    bool ok;

    *automaton = (struct heft_automaton){0};
    ok = allocate(&c) && fill_members(&c, sets, n_sets) && construct(&c);
    heft_free(c.members);
    heft_free(c.lists);
    heft_free(c.list_of);
    heft_free(c.buckets);
    heft_free(c.visited);
    heft_free(c.taken);
    heft_free(c.stack);
    heft_free(c.next);
    return ok;
}

void heft_automaton_release(struct heft_automaton *automaton)
{
    heft_free(automaton->steps);
    heft_free(automaton->ends);
    *automaton = (struct heft_automaton){0};
}
