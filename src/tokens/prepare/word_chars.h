/* word_chars.h: white space and word characters, \s and \w of Rust's regex library with Unicode
 * 16.0. */
#ifndef HEFT_WORD_CHARS_H
#define HEFT_WORD_CHARS_H

#include "base/base.h"

#define HEFT_WORD_RANGES 796
struct heft_word_range {
    uint32_t first, last;
};
/* Sorted ranges of the characters of \w: Alphabetic, M, Nd, Pc and the two joiners. */
extern const struct heft_word_range heft_word_ranges[HEFT_WORD_RANGES];

bool heft_is_word_char(uint32_t c);
bool heft_is_white_space(uint32_t c);

#endif
