/* word_rows.c: tables and scanner of patterns that match everywhere. */
#include "tokens/split/word_rows.h"

#include "tokens/split/splitter_tables.h"

#define START (HEFT_AUTOMATON_START << 8)

static uint16_t entry_of(const struct heft_automaton *automaton, unsigned state, unsigned symbol)
{
    const unsigned step = heft_automaton_step(automaton, state, symbol);
    const unsigned begin = heft_automaton_step(automaton, HEFT_AUTOMATON_START, symbol);
    const unsigned ends = step & HEFT_STEP_ENDS;

    if (HEFT_STEP_TO(step) != HEFT_AUTOMATON_DEAD)
        return (uint16_t)(HEFT_STEP_TO(step) << 8 | (ends ? HEFT_ROWS_MARK : 0));
    return ends ? (uint16_t)(HEFT_STEP_TO(begin) << 8 | HEFT_ROWS_MARK | HEFT_ROWS_WORD) : 0;
}

bool heft_word_rows_init(struct heft_word_rows *rows, const struct heft_automaton *automaton,
                         const struct heft_symbol_table *symbols, struct heft_error *err)
{
    const size_t n = automaton->n_states, n_symbols = automaton->n_symbols;

    *rows = (struct heft_word_rows){0};
    if (n > 256)
        return true;
    rows->wide = heft_calloc(n * n_symbols, sizeof *rows->wide, err);
    rows->ascii = rows->wide ? heft_calloc(n * 128, sizeof *rows->ascii, err) : NULL;
    if (!rows->ascii)
        return false;
    for (unsigned state = 0; state < n; state++) {
        for (unsigned symbol = 0; symbol < n_symbols; symbol++)
            rows->wide[state * n_symbols + symbol] = entry_of(automaton, state, symbol);
        for (unsigned c = 0; c < 128; c++)
            rows->ascii[state * 128 + c] =
                rows->wide[state * n_symbols + heft_symbol_of(symbols, c)];
    }
    return true;
}

void heft_word_rows_release(struct heft_word_rows *rows)
{
    heft_free(rows->ascii);
    heft_free(rows->wide);
}

/* A scan in progress. */
struct scan {
    const struct heft_splitter *splitter;
    const uint8_t *text;
    uint32_t *starts;
    size_t n_starts;
    size_t at, last; /* reading position; latest end of a match that began at the last start */
    unsigned entry;  /* the last one */
};

/* Reads text up to `stop`, which it may pass by a part of a character, or until the automaton dies
 * without a match before the symbol: false. */
static bool read_words(struct scan *s, size_t stop)
{
    const struct heft_word_rows *const rows = &s->splitter->rows;
    const uint8_t *const text = s->text;
    uint32_t *const starts = s->starts;
    size_t at = s->at, last = s->last, n_starts = s->n_starts;
    unsigned entry = s->entry, width = 1;

    for (; at < stop; at += width) {
        if (HEFT_LIKELY(text[at] < 0x80)) {
            entry = rows->ascii[(entry >> 8) * 128 + text[at]];
            width = 1;
        } else {
            const unsigned symbol = heft_symbol_at(&s->splitter->symbols, text + at, &width);

            entry = rows->wide[(entry >> 8) * s->splitter->automaton.n_symbols + symbol];
        }
        if (HEFT_UNLIKELY(entry == 0))
            break;
        last = entry & HEFT_ROWS_MARK ? at : last;
        starts[n_starts] = (uint32_t)at;
        n_starts += entry & HEFT_ROWS_WORD;
    }
    s->at = at;
    s->last = last;
    s->n_starts = n_starts;
    s->entry = entry;
    return entry != 0;
}

/* Ends a word where its match ended last, and continues there. */
static void go_back(struct scan *s)
{
    s->starts[s->n_starts++] = (uint32_t)s->last;
    s->at = s->last;
    s->entry = START;
}

size_t heft_word_rows_scan(const struct heft_splitter *splitter, const uint8_t *text, size_t n,
                           size_t at, bool is_last, uint32_t *starts, size_t room)
{
    struct scan s = {splitter, text, starts, 1, at, at, START};

    starts[0] = (uint32_t)at;
    while (s.at < n && s.n_starts < room) { /* each character ends one word at most */
        const size_t stop = n - s.at > room - s.n_starts ? s.at + (room - s.n_starts) : n;

        if (!read_words(&s, stop)) {
            go_back(&s);
            continue;
        }
        if (s.at < n || s.n_starts == room || !is_last)
            continue;
        if (splitter->automaton.ends[s.entry >> 8])
            s.last = n;
        go_back(&s);
    }
    return s.n_starts;
}
