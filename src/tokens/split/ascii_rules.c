/* ascii_rules.c: guesses the rules of a pattern, and proves them. */
#include "tokens/split/ascii_rules.h"

#include "base/text.h"
#include "tokens/split/splitter.h"
#include "tokens/split/splitter_tables.h"

#define MOST_STATES 128 /* of either automaton; those of the rules have about 60 */
#define CHARACTERS  128

/* ---- guessing ---------------------------------------------------------------------------- */

static size_t match_length(const struct heft_splitter *splitter, const char *text)
{
    size_t end = 0;

    return heft_splitter_match(splitter, (const uint8_t *)text, strlen(text), 0, true, &end) ==
                   HEFT_SPLITTER_MATCH
               ? end
               : 0;
}

static void guess_rules(struct heft_ascii_rules *rules, const struct heft_splitter *splitter)
{
    const size_t digits = match_length(splitter, "1111 ");
    const size_t tail = match_length(splitter, ";\n/ ");

    rules->is_cased = match_length(splitter, "aBa ") == 1;
    rules->digits = digits < 4 ? (uint8_t)digits : 0;
    rules->tail = tail == 2   ? HEFT_TAIL_LINES
                  : tail == 3 ? HEFT_TAIL_LINES_AND_SLASHES
                              : HEFT_TAIL_NONE;
    rules->contraction = match_length(splitter, "'ss ") == 2    ? HEFT_CONTRACTION_ALONE
                         : match_length(splitter, "a'ss ") == 3 ? HEFT_CONTRACTION_ATTACHED
                                                                : HEFT_CONTRACTION_NONE;
}

/* ---- proving ----------------------------------------------------------------------------- */

#define CASED  "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BEFORE "[^\\r\\nA-Za-z0-9]?"

void heft_ascii_rules_pattern(const struct heft_ascii_rules *rules, struct heft_buf *out)
{
    static const char *const TAILS[] = {"", "[\\r\\n]*", "[\\r\\n/]*"};
    const char *const attached = rules->contraction == HEFT_CONTRACTION_ATTACHED ? CASED "?" : "";

    if (rules->contraction == HEFT_CONTRACTION_ALONE)
        heft_buf_printf(out, CASED "|");
    if (rules->is_cased)
        heft_buf_printf(out, BEFORE "[A-Z]*[a-z]+%s|" BEFORE "[A-Z]+[a-z]*%s", attached, attached);
    else
        heft_buf_printf(out, BEFORE "[A-Za-z]+%s", attached);
    if (rules->digits)
        heft_buf_printf(out, "|[0-9]{1,%u}", (unsigned)rules->digits);
    else
        heft_buf_printf(out, "|[0-9]+");
    heft_buf_printf(out, "| ?[^\\sA-Za-z0-9]+%s|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
                    TAILS[rules->tail]);
}

/* Pairs of states that the two automata may be in after the same characters, and whether the last
 * ends of matches that they noted are at the same place. */
struct pairs {
    const struct heft_splitter *a, *b;
    bool seen[MOST_STATES][MOST_STATES][2];
    uint8_t stack[MOST_STATES * MOST_STATES * 2][3];
    size_t n;
};

static void push_pair(struct pairs *p, unsigned a, unsigned b, bool is_same)
{
    if (p->seen[a][b][is_same])
        return;
    p->seen[a][b][is_same] = true;
    p->stack[p->n][0] = (uint8_t)a;
    p->stack[p->n][1] = (uint8_t)b;
    p->stack[p->n++][2] = is_same;
}

/* Goes on by one character. False: the automata do not find the same match. */
static bool follow_steps(struct pairs *p, unsigned a, unsigned b, bool is_same)
{
    const unsigned ends = (a & HEFT_STEP_ENDS) + (b & HEFT_STEP_ENDS);
    const bool a_dies = HEFT_STEP_TO(a) == HEFT_AUTOMATON_DEAD;
    const bool b_dies = HEFT_STEP_TO(b) == HEFT_AUTOMATON_DEAD;

    if (ends)
        is_same = ends == 2;
    if (a_dies || b_dies)
        return a_dies && b_dies && is_same;
    push_pair(p, HEFT_STEP_TO(a), HEFT_STEP_TO(b), is_same);
    return true;
}

/* Follows both automata on all characters of ASCII, until they die: that is where a match ends. A
 * possessive pattern notes fewer ends on the way. */
static bool matches_are_equal(struct pairs *p)
{
    push_pair(p, HEFT_AUTOMATON_START, HEFT_AUTOMATON_START, true);
    while (p->n) {
        const uint8_t *const top = p->stack[--p->n];
        const unsigned from_a = top[0], from_b = top[1];
        const bool is_same = top[2];

        for (uint32_t c = 0; c < CHARACTERS; c++)
            if (!follow_steps(p,
                              heft_automaton_step(&p->a->automaton, from_a,
                                                  heft_symbol_of(&p->a->symbols, c)),
                              heft_automaton_step(&p->b->automaton, from_b,
                                                  heft_symbol_of(&p->b->symbols, c)),
                              is_same))
                return false;
    }
    return true;
}

static bool compare_automata(const struct heft_splitter *a, const struct heft_splitter *b,
                             bool *is_equal, struct heft_error *err)
{
    struct pairs *const p = heft_calloc(1, sizeof *p, err);

    if (!p)
        return false;
    p->a = a;
    p->b = b;
    *is_equal = b->automaton.n_states <= MOST_STATES && matches_are_equal(p);
    heft_free(p);
    return true;
}

bool heft_ascii_rules_find(struct heft_ascii_rules *rules, const struct heft_splitter *splitter,
                           struct heft_error *err)
{
    struct heft_splitter *of_rules;
    struct heft_buf pattern = {0};
    bool ok;

    *rules = (struct heft_ascii_rules){0};
    if (splitter->automaton.n_states > MOST_STATES)
        return true;
    guess_rules(rules, splitter);
    heft_ascii_rules_pattern(rules, &pattern);
    of_rules = heft_buf_ok(&pattern, err)
                   ? heft_splitter_compile_plain((struct heft_str){pattern.p, pattern.n}, err)
                   : NULL;
    ok = of_rules && compare_automata(splitter, of_rules, &rules->is_known, err);
    heft_splitter_free(of_rules);
    heft_buf_release(&pattern);
    return ok;
}
