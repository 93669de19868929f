/* splitter.c: compiles split patterns, and matches them one at a time. */
#include "tokens/split/splitter.h"

#include "tokens/split/splitter_tables.h"

static bool find_unicode(const char *unicode, enum heft_unicode *version, struct heft_error *err)
{
    *version = unicode && strcmp(unicode, "17.0") == 0 ? HEFT_UNICODE_17 : HEFT_UNICODE_16;
    return !unicode || strcmp(unicode, "16.0") == 0 || *version == HEFT_UNICODE_17 ||
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "split patterns know Unicode 16.0 and 17.0, not %.20s", unicode);
}

/* Whether from a state the automaton may die, or the text end, with no match ended since. `visited`
 * has the states from which it cannot; the state is not one of them. */
static bool may_fail(const struct heft_automaton *a, unsigned from, uint8_t *visited,
                     uint16_t *stack)
{
    size_t n = 1;

    stack[0] = (uint16_t)from;
    visited[from] = true;
    while (n) {
        const unsigned state = stack[--n];

        if (state == HEFT_AUTOMATON_DEAD || !a->ends[state])
            return true;
        for (unsigned symbol = 0; symbol < a->n_symbols; symbol++) {
            const unsigned step = heft_automaton_step(a, state, symbol);

            if (step & HEFT_STEP_ENDS || visited[HEFT_STEP_TO(step)])
                continue;
            visited[HEFT_STEP_TO(step)] = true;
            stack[n++] = (uint16_t)HEFT_STEP_TO(step);
        }
    }
    return false;
}

/* Decides for each symbol whether a match begins at it, whatever follows. */
static void find_strangers(struct heft_splitter *s, bool *begins_match, uint8_t *visited,
                           uint16_t *stack)
{
    const struct heft_automaton *const a = &s->automaton;

    s->is_total = true;
    for (unsigned symbol = (unsigned)a->n_symbols; symbol > 0; symbol--) {
        const unsigned to = HEFT_STEP_TO(heft_automaton_step(a, HEFT_AUTOMATON_START, symbol - 1));

        memset(visited, 0, a->n_states);
        begins_match[symbol - 1] = !may_fail(a, to, visited, stack);
        if (begins_match[symbol - 1])
            continue;
        s->is_total = false;
        s->stranger = s->symbols.example[symbol - 1];
    }
}

static bool make_automaton(struct heft_splitter *s, struct heft_syntax_tree *tree,
                           struct heft_error *err)
{
    struct heft_match_program program = {0};
    struct heft_symbol_partition partition = {0};
    const bool ok =
        heft_match_program_make(&program, tree, err) &&
        heft_symbols_divide(&partition, tree->sets, tree->n_sets, err) &&
        heft_symbol_table_init(&s->symbols, &partition, err) &&
        heft_automaton_make(&s->automaton, &program, tree->sets, tree->n_sets, &s->symbols, err);

    heft_match_program_release(&program);
    heft_symbols_release(&partition);
    return ok;
}

static bool finish_tables(struct heft_splitter *s, struct heft_error *err)
{
    const size_t n = s->automaton.n_states;
    uint8_t *const visited = heft_calloc(n, 1, err);
    uint16_t *const stack = visited ? heft_calloc(n, sizeof *stack, err) : NULL;
    bool begins_match[HEFT_SYMBOLS_MAX];
    bool ok = stack != NULL;

    for (unsigned c = 0; c < 128; c++)
        s->may_begin[c] = HEFT_STEP_TO(heft_automaton_step(&s->automaton, HEFT_AUTOMATON_START,
                                                           heft_symbol_of(&s->symbols, c)));
    if (ok)
        find_strangers(s, begins_match, visited, stack);
    ok = ok && heft_linear_time_check(&s->automaton, &s->needs_runs, err) &&
         heft_cut_points_init(&s->cuts, &s->automaton, begins_match, err) &&
         (s->needs_runs || heft_word_rows_init(&s->rows, &s->automaton, &s->symbols, err));
    heft_free(visited);
    heft_free(stack);
    return ok;
}

/* Finds out whether words of ASCII can be found by a kernel. */
static bool find_rules(struct heft_splitter *s, struct heft_error *err)
{
    const struct heft_ascii_kernel *const kernel = heft_ascii_kernel();

    if (!kernel || !s->rows.ascii)
        return true;
    if (!heft_ascii_rules_find(&s->rules, s, err))
        return false;
    s->words = s->rules.is_known ? kernel : NULL;
    return true;
}

struct heft_splitter *heft_splitter_compile_plain(struct heft_str pattern, struct heft_error *err)
{
    struct heft_splitter *const s = heft_calloc(1, sizeof *s, err);
    struct heft_syntax_tree tree = {0};
    const bool ok =
        s && heft_syntax_tree_parse(&tree, pattern, HEFT_ENGINE_TIKTOKEN, HEFT_UNICODE_16, err) &&
        make_automaton(s, &tree, err);

    heft_syntax_tree_release(&tree);
    if (ok)
        return s;
    heft_splitter_free(s);
    return NULL;
}

struct heft_splitter *heft_splitter_compile(struct heft_str pattern,
                                            enum heft_splitter_engine engine, const char *unicode,
                                            struct heft_error *err)
{
    struct heft_splitter *const s = heft_calloc(1, sizeof *s, err);
    struct heft_syntax_tree tree = {0};
    enum heft_unicode version;
    const bool ok = s && find_unicode(unicode, &version, err) &&
                    heft_syntax_tree_parse(&tree, pattern, engine, version, err) &&
                    make_automaton(s, &tree, err) && finish_tables(s, err) && find_rules(s, err);

    heft_syntax_tree_release(&tree);
    if (ok)
        return s;
    heft_splitter_free(s);
    return NULL;
}

void heft_splitter_free(struct heft_splitter *splitter)
{
    if (!splitter)
        return;
    heft_symbol_table_release(&splitter->symbols);
    heft_automaton_release(&splitter->automaton);
    heft_word_rows_release(&splitter->rows);
    heft_cut_points_release(&splitter->cuts);
    heft_free(splitter);
}

bool heft_splitter_is_total(const struct heft_splitter *splitter, uint32_t *stranger)
{
    *stranger = splitter->stranger;
    return splitter->is_total;
}

enum heft_splitter_result heft_splitter_match(const struct heft_splitter *splitter,
                                              const uint8_t *text, size_t n, size_t at,
                                              bool is_last, size_t *end)
{
    const struct heft_automaton *const automaton = &splitter->automaton;
    unsigned state = HEFT_AUTOMATON_START, width;
    size_t last = at;

    for (size_t i = at; state != HEFT_AUTOMATON_DEAD && i < n; i += width) {
        const unsigned symbol = heft_symbol_at(&splitter->symbols, text + i, &width);
        const unsigned step = heft_automaton_step(automaton, state, symbol);

        last = step & HEFT_STEP_ENDS ? i : last;
        state = HEFT_STEP_TO(step);
    }
    if (state != HEFT_AUTOMATON_DEAD && !is_last)
        return HEFT_SPLITTER_OPEN;
    if (state != HEFT_AUTOMATON_DEAD && automaton->ends[state])
        last = n;
    *end = last;
    return last > at ? HEFT_SPLITTER_MATCH : HEFT_SPLITTER_NONE;
}

/* A match in progress that remembers where it stayed in one state. */
struct careful_match {
    const struct heft_splitter *splitter;
    struct heft_dead_runs *runs;
    struct heft_dead_run run, kept[HEFT_DEAD_RUNS]; /* the present one; those before it */
    unsigned n_kept;
    size_t last;
};

/* Goes on to the state after the character at `at`. False: no match ends from there on. */
static bool enter_state(struct careful_match *m, unsigned step, size_t at, size_t next)
{
    const unsigned to = HEFT_STEP_TO(step);

    if (step & HEFT_STEP_ENDS) {
        m->last = at;
        m->n_kept = 0;
        m->run.from = next; /* whoever is in this state before the character finds the end, too */
    }
    m->run.to = at;
    if (to == m->run.state)
        return true;
    if (m->run.to > m->run.from && m->n_kept < HEFT_DEAD_RUNS)
        m->kept[m->n_kept++] = m->run;
    m->run = (struct heft_dead_run){to, next, next};
    return to != HEFT_AUTOMATON_DEAD && !heft_dead_runs_hold(m->runs, to, next);
}

enum heft_splitter_result heft_splitter_match_again(const struct heft_splitter *splitter,
                                                    const uint8_t *text, size_t n, size_t at,
                                                    bool is_last, size_t *end,
                                                    struct heft_dead_runs *runs)
{
    struct careful_match m = {
        .splitter = splitter, .runs = runs, .run = {HEFT_AUTOMATON_START, at, at}, .last = at};
    bool is_live = true;
    unsigned width;

    for (size_t i = at; is_live && i < n; i += width) {
        const unsigned symbol = heft_symbol_at(&splitter->symbols, text + i, &width);

        is_live = enter_state(&m, heft_automaton_step(&splitter->automaton, m.run.state, symbol), i,
                              i + width);
    }
    if (is_live && !is_last)
        return HEFT_SPLITTER_OPEN;
    if (is_live) {
        const bool ends = splitter->automaton.ends[m.run.state];

        enter_state(&m, ends ? HEFT_STEP_ENDS : 0, n, n);
    }
    for (unsigned i = 0; i < m.n_kept; i++)
        heft_dead_runs_add(runs, m.kept[i]);
    *end = m.last;
    return m.last > at ? HEFT_SPLITTER_MATCH : HEFT_SPLITTER_NONE;
}
