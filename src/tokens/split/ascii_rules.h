/* ascii_rules.h: split patterns that divide ASCII alike, and differ in four settings.
 *
 *     [^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * Most vocabularies since GPT-4's have such a pattern. The settings are guessed from a few matches,
 * and proved: the automaton of the pattern and that of the same rules for ASCII alone go through all
 * pairs of states together. */
#ifndef HEFT_ASCII_RULES_H
#define HEFT_ASCII_RULES_H

#include "base/mem.h"

/* What belongs to the punctuation before it. */
enum heft_ascii_tail { HEFT_TAIL_NONE, HEFT_TAIL_LINES, HEFT_TAIL_LINES_AND_SLASHES };
/* 's, 't, 're, 've, 'm, 'll and 'd, in small letters or capitals */
enum heft_ascii_contraction {
    HEFT_CONTRACTION_NONE,
    HEFT_CONTRACTION_ALONE,   /* a word */
    HEFT_CONTRACTION_ATTACHED /* part of the word of letters before it */
};
struct heft_ascii_rules {
    bool is_known;  /* the others say how the pattern divides ASCII */
    bool is_cased;  /* a capital after a small letter begins a word */
    uint8_t digits; /* most digits of a word: 1 to 3; 0: any number */
    enum heft_ascii_tail tail;
    enum heft_ascii_contraction contraction;
};

struct heft_buf;
struct heft_splitter;
/* Finds the rules of a splitter whose symbols and automaton are made; not known is no failure. */
HEFT_CHECKED bool heft_ascii_rules_find(struct heft_ascii_rules *rules,
                                        const struct heft_splitter *splitter,
                                        struct heft_error *err);
/* Appends the pattern of the rules, for ASCII. */
void heft_ascii_rules_pattern(const struct heft_ascii_rules *rules, struct heft_buf *out);

#endif
