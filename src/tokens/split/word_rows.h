/* word_rows.h: the automaton arranged for speed: words are the matches, and the gaps between them,
 * one after the other.
 *
 * Where a match ends for certain, the symbol after it begins the next one: such a transition leads
 * at once to where the start state goes on that symbol, and says that a word ends. So the scanner
 * reads each character once, and for ASCII one entry of a table depends on the entry before. A match
 * that ended earlier than where the automaton died, and a gap, are rare; there the scanner stops and
 * looks. */
#ifndef HEFT_WORD_ROWS_H
#define HEFT_WORD_ROWS_H

#include "tokens/split/automaton.h"

#define HEFT_ROWS_WORD 1 /* a word ends before this symbol, and the next one begins */
#define HEFT_ROWS_MARK 2 /* a word may end before this symbol */

/* An entry. The row is alone in its half, so that the load of the next entry depends on nothing but
 * a load. Row 0 without flags: dead, and no match ends before this symbol. */
struct heft_row_entry {
    uint16_t row; /* the next state times 128: index of its row in `ascii` */
    uint16_t flags;
};

#define HEFT_ROWS_STATES 511 /* most states */

struct heft_word_rows {
    struct heft_row_entry *ascii; /* states × 128; NULL: there are none */
    struct heft_row_entry *wide;  /* states × symbols */
};

/* Makes the rows of an automaton of at most HEFT_ROWS_STATES states. */
HEFT_CHECKED bool heft_word_rows_init(struct heft_word_rows *rows,
                                      const struct heft_automaton *automaton,
                                      const struct heft_symbol_table *symbols,
                                      struct heft_error *err);
void heft_word_rows_release(struct heft_word_rows *rows);

struct heft_splitter;
/* As heft_pretokens_scan. */
size_t heft_word_rows_scan(const struct heft_splitter *splitter, const uint8_t *text, size_t n,
                           size_t at, bool is_last, uint32_t *starts, size_t room);

#endif
