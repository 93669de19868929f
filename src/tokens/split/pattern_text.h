/* pattern_text.h: reading position in the text of a split pattern, and the parsers of its smallest
 * parts: characters, escapes and classes. */
#ifndef HEFT_PATTERN_TEXT_H
#define HEFT_PATTERN_TEXT_H

#include "tokens/split/code_ranges.h"
#include "tokens/split/splitter.h"

struct heft_pattern_text {
    struct heft_str text; /* valid UTF-8 */
    size_t at;
    enum heft_splitter_engine engine;
    enum heft_unicode unicode;
    bool ignores_case; /* inside (?i:…) */
    struct heft_error *err;
};

/* The byte at the reading position plus `more`; 0 after the end. (A byte 0 of the pattern is a
 * literal character, as every other without a meaning.) */
static inline uint8_t heft_pattern_peek(const struct heft_pattern_text *in, size_t more)
{
    return more < in->text.n - in->at ? (uint8_t)in->text.p[in->at + more] : 0;
}
static inline bool heft_pattern_starts(const struct heft_pattern_text *in, const char *with)
{
    return heft_str_starts((struct heft_str){in->text.p + in->at, in->text.n - in->at},
                           heft_str_of(with));
}
/* Whether the next byte is one of `bytes`. */
static inline bool heft_pattern_sees(const struct heft_pattern_text *in, const char *bytes)
{
    return heft_pattern_peek(in, 0) && strchr(bytes, heft_pattern_peek(in, 0));
}
static inline bool heft_pattern_at_end(const struct heft_pattern_text *in)
{
    return in->at >= in->text.n;
}
/* Skips `word` if it follows. */
static inline bool heft_pattern_skip(struct heft_pattern_text *in, const char *word)
{
    if (!heft_pattern_starts(in, word))
        return false;
    in->at += strlen(word);
    return true;
}

/* HEFT_UNSUPPORTED: the construct that begins at `offset`. Returns false. */
bool heft_pattern_unsupported(const struct heft_pattern_text *in, size_t offset,
                              const char *construct);
/* HEFT_MALFORMED. Returns false. */
bool heft_pattern_malformed(const struct heft_pattern_text *in, size_t offset, const char *what);

/* Reads a decimal number; false, without an error, if there is none. Large ones become UINT32_MAX. */
bool heft_pattern_number(struct heft_pattern_text *in, uint32_t *number);
/* Reads the character at the reading position. */
uint32_t heft_pattern_char(struct heft_pattern_text *in);
/* Reads an escape, from its backslash. *is_char: it is the one character *c; otherwise it is a
 * class, which is added to the set. */
HEFT_CHECKED bool heft_pattern_escape(struct heft_pattern_text *in, struct heft_code_ranges *set,
                                      bool *is_char, uint32_t *c);
/* Adds the characters first … last, in (?i:…) in both cases. `offset` is where they stand. */
HEFT_CHECKED bool heft_pattern_add(struct heft_pattern_text *in, struct heft_code_ranges *set,
                                   uint32_t first, uint32_t last, size_t offset);
/* Reads a class, from its bracket. `depth` is the number of groups and classes around it. */
HEFT_CHECKED bool heft_pattern_class(struct heft_pattern_text *in, struct heft_code_ranges *set,
                                     unsigned depth);

#endif
