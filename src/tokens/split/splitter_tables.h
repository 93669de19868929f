/* splitter_tables.h: the tables of a compiled split pattern. */
#ifndef HEFT_SPLITTER_TABLES_H
#define HEFT_SPLITTER_TABLES_H

#include "tokens/split/cut_points.h"
#include "tokens/split/word_rows.h"

struct heft_splitter {
    struct heft_symbol_table symbols;
    struct heft_automaton automaton;
    struct heft_word_rows rows;
    struct heft_cut_points cuts;
    bool may_begin[128]; /* whether a match may begin with this ASCII character */
    bool is_total;
    uint32_t stranger; /* if not: a character at which no match begins */
};

#endif
