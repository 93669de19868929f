/* splitter.h: a split pattern (regular expression), compiled to an automaton.
 *
 *     text of the pattern → syntax tree → leftmost-first DFA over classes of code points
 *
 * The automaton sees one character of look-ahead, or the end of the text: that decides (?!\S), $
 * and \s+(?!\S). It never goes back, so time is linear in the text. A construct that has no such
 * automaton (back-references, look-behind, longer look-ahead) is HEFT_UNSUPPORTED, named in the
 * error, with its offset in the pattern; a pattern of more than 16 KiB or 4096 states is
 * HEFT_LIMIT. */
#ifndef HEFT_SPLITTER_H
#define HEFT_SPLITTER_H

#include "base/mem.h"

/* The same text means different things in the two programs: in tokenizers (Oniguruma) {1,3}+
 * repeats the group and $ matches at the end of each line; in tiktoken (fancy-regex) {1,3}+ is
 * possessive and $ matches at the end of the text. */
enum heft_splitter_engine { HEFT_ENGINE_TIKTOKEN, HEFT_ENGINE_TOKENIZERS };

struct heft_splitter; /* never changes: threads share it */
/* unicode: "16.0" or "17.0"; NULL: "16.0". HEFT_UNSUPPORTED for other versions. */
struct heft_splitter *heft_splitter_compile(struct heft_str pattern,
                                            enum heft_splitter_engine engine, const char *unicode,
                                            struct heft_error *err);
void heft_splitter_free(struct heft_splitter *splitter);
/* Whether a match begins at every character. If not, *stranger is one at which none begins. */
bool heft_splitter_is_total(const struct heft_splitter *splitter, uint32_t *stranger);

enum heft_splitter_result {
    HEFT_SPLITTER_NONE,  /* no match begins here */
    HEFT_SPLITTER_MATCH, /* it ends at *end */
    HEFT_SPLITTER_OPEN   /* more text must follow to decide it; never if is_last */
};
/* Matches at `at` (below n) in valid UTF-8 of complete characters. is_last: the text ends at n. */
enum heft_splitter_result heft_splitter_match(const struct heft_splitter *splitter,
                                              const uint8_t *text, size_t n, size_t at,
                                              bool is_last, size_t *end);

#endif
