/* splitter_tables.h: the tables of a compiled split pattern. */
#ifndef HEFT_SPLITTER_TABLES_H
#define HEFT_SPLITTER_TABLES_H

#include "tokens/split/ascii_words.h"
#include "tokens/split/cut_points.h"
#include "tokens/split/linear_time.h"
#include "tokens/split/word_rows.h"

struct heft_splitter {
    struct heft_symbol_table symbols;
    struct heft_automaton automaton;
    struct heft_word_rows rows;
    struct heft_cut_points cuts;
    struct heft_ascii_rules rules;         /* if `words` is set */
    const struct heft_ascii_kernel *words; /* of ASCII; NULL: there is no faster way than rows */
    bool may_begin[128];                   /* whether a match may begin with this ASCII character */
    bool needs_runs; /* to match in linear time, attempts remember dead runs */
    bool is_total;
    uint32_t stranger; /* if not: a character at which no match begins */
};

/* As heft_splitter_match, for a splitter that needs runs: `runs` has those of earlier attempts in
 * the same text[…, n). */
enum heft_splitter_result heft_splitter_match_again(const struct heft_splitter *splitter,
                                                    const uint8_t *text, size_t n, size_t at,
                                                    bool is_last, size_t *end,
                                                    struct heft_dead_runs *runs);

/* Compiles the symbols and the automaton alone, under tiktoken's rules. */
struct heft_splitter *heft_splitter_compile_plain(struct heft_str pattern, struct heft_error *err);

#endif
