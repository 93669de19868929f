/* word_rows.c: tables and scanner of words. */
#include "tokens/split/word_rows.h"

#include "base/endian.h"
#include "tokens/split/splitter.h"
#include "tokens/split/splitter_tables.h"

#define ROW   128 /* entries */
#define START (HEFT_AUTOMATON_START * ROW)

#define SHORT      128  /* bytes that are worth being read in two parts */
#define LONG       8192 /* bytes that are read in two parts at a time */
#define LEAST_SPAN 128  /* bytes that are read by rows at a time, where a kernel cannot go on */
#define SLACK      8    /* entries beyond one a byte: the last character, a gap */

static struct heft_row_entry entry_of(const struct heft_automaton *automaton, unsigned state,
                                      unsigned symbol)
{
    const unsigned step = heft_automaton_step(automaton, state, symbol);
    const unsigned begin = heft_automaton_step(automaton, HEFT_AUTOMATON_START, symbol);
    const unsigned ends = step & HEFT_STEP_ENDS;

    if (HEFT_STEP_TO(step) != HEFT_AUTOMATON_DEAD)
        return (struct heft_row_entry){(uint16_t)(HEFT_STEP_TO(step) * ROW),
                                       ends ? HEFT_ROWS_MARK : 0};
    if (!ends || HEFT_STEP_TO(begin) == HEFT_AUTOMATON_DEAD)
        return (struct heft_row_entry){0, ends ? HEFT_ROWS_MARK : 0};
    return (struct heft_row_entry){(uint16_t)(HEFT_STEP_TO(begin) * ROW),
                                   HEFT_ROWS_MARK | HEFT_ROWS_WORD};
}

bool heft_word_rows_init(struct heft_word_rows *rows, const struct heft_automaton *automaton,
                         const struct heft_symbol_table *symbols, struct heft_error *err)
{
    const size_t n = automaton->n_states, n_symbols = automaton->n_symbols;

    *rows = (struct heft_word_rows){0};
    if (n > HEFT_ROWS_STATES)
        return true;
    rows->wide = heft_calloc(n * n_symbols, sizeof *rows->wide, err);
    rows->ascii = rows->wide ? heft_calloc(n * ROW, sizeof *rows->ascii, err) : NULL;
    if (!rows->ascii)
        return false;
    for (unsigned state = 0; state < n; state++) {
        for (unsigned symbol = 0; symbol < n_symbols; symbol++)
            rows->wide[state * n_symbols + symbol] = entry_of(automaton, state, symbol);
        for (unsigned c = 0; c < ROW; c++)
            rows->ascii[state * ROW + c] =
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
    size_t row;      /* that of the state */
    size_t n;        /* of the text */
    bool is_last;
    bool is_open; /* text that follows decides whether a match begins */
};

/* Notes the word that ends before the character at `at`, if one does, and goes to the next row.
 * False: the automaton is dead. */
HEFT_INLINE bool take_entry(struct scan *s, const struct heft_row_entry *entry, size_t at)
{
    const unsigned flags = entry->flags;

    s->row = entry->row;
    s->last = flags & HEFT_ROWS_MARK ? at : s->last;
    if (HEFT_UNLIKELY(s->row == 0))
        return false;
    s->starts[s->n_starts] = (uint32_t)at;
    s->n_starts += flags & HEFT_ROWS_WORD;
    return true;
}

/* Reads a character of any width. */
HEFT_INLINE bool read_character(struct scan *s)
{
    const struct heft_splitter *const splitter = s->splitter;
    unsigned width;
    const unsigned symbol = heft_symbol_at(&splitter->symbols, s->text + s->at, &width);
    const size_t state = s->row / ROW;

    if (!take_entry(s, &splitter->rows.wide[state * splitter->automaton.n_symbols + symbol], s->at))
        return false;
    s->at += width;
    return true;
}

HEFT_INLINE bool read_ascii(struct scan *s, const struct heft_row_entry *ascii, size_t at)
{
    return take_entry(s, &(ascii + s->text[at])[s->row], at);
}

static bool has_four_ascii(const uint8_t *p)
{
    return (heft_le32(p) & UINT32_C(0x80808080)) == 0;
}

/* Reads text up to `stop`, which it may pass by a part of a character, or until the automaton dies
 * without a match before the symbol: false. */
static bool read_words(struct scan *scan, size_t stop)
{
    struct scan s = *scan; /* in registers */
    const struct heft_row_entry *const ascii = s.splitter->rows.ascii;
    bool is_live = true;

    while (is_live && s.at < stop) {
        for (; is_live && stop - s.at >= 4 && has_four_ascii(s.text + s.at); s.at += 4)
            is_live = read_ascii(&s, ascii, s.at) && read_ascii(&s, ascii, s.at + 1) &&
                      read_ascii(&s, ascii, s.at + 2) && read_ascii(&s, ascii, s.at + 3);
        if (is_live && s.at < stop)
            is_live = read_character(&s);
    }
    *scan = s;
    return is_live;
}

/* Finds the end of a gap: where the next match begins. */
static HEFT_NOINLINE size_t gap_end(struct scan *s, size_t at)
{
    enum heft_splitter_result result = HEFT_SPLITTER_NONE;

    while (result == HEFT_SPLITTER_NONE) {
        size_t unused;

        at += heft_utf8_width(s->text[at]);
        if (at >= s->n) {
            s->is_open = !s->is_last;
            return s->n;
        }
        result = heft_splitter_match(s->splitter, s->text, s->n, at, s->is_last, &unused);
    }
    s->is_open = result == HEFT_SPLITTER_OPEN;
    return at;
}

/* Ends a word where its match ended last, and continues there; without a match, after the gap. */
HEFT_INLINE void go_back(struct scan *s)
{
    if (HEFT_UNLIKELY(s->last == s->starts[s->n_starts - 1]))
        s->last = gap_end(s, s->last);
    s->at = s->last;
    s->row = START;
    if (HEFT_LIKELY(!s->is_open))
        s->starts[s->n_starts++] = (uint32_t)s->last;
}

/* Reads text up to `stop`, which it may pass by a part of a character. */
static void read_until(struct scan *s, size_t stop)
{
    while (s->at < stop && !s->is_open)
        if (!read_words(s, stop))
            go_back(s);
}

/* The same while there is room: each character ends one word at most, but after going back more of
 * them follow. */
static void read_with_room(struct scan *s, size_t stop, size_t room)
{
    while (s->at < stop && s->n_starts < room && !s->is_open)
        if (!read_words(s, s->at + heft_min_size(room - s->n_starts, stop - s->at)))
            go_back(s);
}

/* Reads the next character if it or one of the three after it is not ASCII. */
HEFT_INLINE bool read_wide(struct scan *s)
{
    if (HEFT_LIKELY(has_four_ascii(s->text + s->at)))
        return false;
    if (!read_character(s))
        go_back(s);
    return true;
}

HEFT_INLINE bool read_one_of_each(struct scan *a, struct scan *b,
                                  const struct heft_row_entry *ascii)
{
    return read_ascii(a, ascii, a->at) && (a->at++, read_ascii(b, ascii, b->at)) && (b->at++, true);
}

/* Reads two parts of a text at the same time, while both have four characters before their stops:
 * the processor overlaps the loads of one with those of the other. */
static void read_in_turns(struct scan *one, size_t stop_one, struct scan *two, size_t stop_two)
{
    const struct heft_row_entry *const ascii = one->splitter->rows.ascii;
    struct scan a = *one, b = *two;

    while (a.at + 4 <= stop_one && b.at + 4 <= stop_two && !b.is_open) {
        if (read_wide(&a) || read_wide(&b))
            continue;
        if (read_one_of_each(&a, &b, ascii) && read_one_of_each(&a, &b, ascii) &&
            read_one_of_each(&a, &b, ascii) && read_one_of_each(&a, &b, ascii))
            continue;
        if (a.row == 0)
            go_back(&a);
        else
            go_back(&b);
    }
    *one = a;
    *two = b;
}

/* The last place in text[from, to) before which surely a word ends; 0: there is none. */
static size_t find_cut(const struct heft_splitter *splitter, const uint8_t *text, size_t from,
                       size_t to)
{
    unsigned width;

    for (; to > from + 1; to--) {
        const uint8_t x = text[to - 1], y = text[to];

        if (x < 0x80 && y < 0x80 &&
            heft_cut_between(&splitter->cuts, heft_symbol_at(&splitter->symbols, &x, &width),
                             heft_symbol_at(&splitter->symbols, &y, &width)) &
                HEFT_CUT_SURE)
            return to;
    }
    return 0;
}

/* Reads text up to `stop` in two parts, if there is a place between words near the middle. Each
 * part has an entry of `starts` for each byte from the last word on; then they are joined. */
static void read_in_halves(struct scan *s, size_t stop)
{
    const size_t length = stop - s->at;
    const size_t cut = find_cut(s->splitter, s->text, s->at + length / 4, s->at + length / 2);
    struct scan second = *s;

    if (cut) {
        second.starts = s->starts + s->n_starts + (cut - s->starts[s->n_starts - 1]);
        second.at = second.last = cut;
        second.starts[0] = (uint32_t)cut;
        second.n_starts = 1;
        second.row = START;
        read_in_turns(s, cut, &second, stop);
        read_until(s, cut);
        if (s->starts[s->n_starts - 1] < cut) /* otherwise a gap ended there */
            s->starts[s->n_starts++] = (uint32_t)cut;
        memmove(s->starts + s->n_starts, second.starts + 1,
                (second.n_starts - 1) * sizeof *s->starts);
        s->n_starts += second.n_starts - 1;
        s->at = second.at;
        s->last = second.last;
        s->row = second.row;
        s->is_open = second.is_open;
    }
    read_until(s, stop);
}

/* Ends the last word of the text. */
static void end_text(struct scan *s)
{
    if (s->splitter->automaton.ends[s->row / ROW])
        s->last = s->n;
    go_back(s);
}

/* End of the text that is read in two parts; 0: too short, or not room for an entry a byte. */
static size_t halves_end(const struct scan *s, size_t n, size_t room)
{
    const size_t begin = s->starts[s->n_starts - 1]; /* of the last word */
    const size_t most = room - s->n_starts;
    size_t stop = s->at + heft_min_size(n - s->at, LONG);

    if (most < SLACK || s->at - begin > most - SLACK)
        return 0;
    stop = heft_min_size(stop, begin + most - SLACK);
    return stop - s->at < SHORT ? 0 : stop;
}

static size_t scan_rows(const struct heft_splitter *splitter, const uint8_t *text, size_t n,
                        size_t at, bool is_last, uint32_t *starts, size_t room)
{
    struct scan s = {splitter, text, starts, 1, at, at, START, n, is_last, false};

    starts[0] = (uint32_t)at;
    while (s.at < n && s.n_starts < room && !s.is_open) {
        const size_t stop = halves_end(&s, n, room);

        if (stop)
            read_in_halves(&s, stop);
        else
            read_with_room(&s, n, room);
        if (s.at == n && s.n_starts < room && is_last && s.starts[s.n_starts - 1] < n)
            end_text(&s);
    }
    return s.n_starts;
}

/* Words of ASCII are found by a kernel, the others by rows: a few of them, and more if the kernel
 * finds little between them. */
static size_t scan_both(const struct heft_splitter *splitter, const uint8_t *text, size_t n,
                        size_t at, bool is_last, uint32_t *starts, size_t room)
{
    size_t count = 1, span = LEAST_SPAN;

    starts[0] = (uint32_t)at;
    while (at < n && count < room) {
        const size_t found = splitter->words->scan(&splitter->rules, text, n, at,
                                                   starts + count - 1, room - count + 1);
        const size_t from = starts[count + found - 2];
        size_t end, more;

        span = from - at > span ? LEAST_SPAN : span;
        count += found - 1;
        end = n - from > span ? heft_utf8_begin(text, from + span) : n;
        more = scan_rows(splitter, text, end, from, is_last && end == n, starts + count - 1,
                         room - count + 1);
        if (more < 2 && end == n)
            break;
        span *= 2;
        count += more - 1;
        at = starts[count - 1];
    }
    return count;
}

size_t heft_word_rows_scan(const struct heft_splitter *splitter, const uint8_t *text, size_t n,
                           size_t at, bool is_last, uint32_t *starts, size_t room)
{
    return splitter->words && n - at >= HEFT_ASCII_BLOCK
               ? scan_both(splitter, text, n, at, is_last, starts, room)
               : scan_rows(splitter, text, n, at, is_last, starts, room);
}
