/* safe_split.h: positions at which a text may be split so that its parts encode to the ids of the
 * whole: for workers.
 *
 *     one two    before white space that follows other characters      one|_two
 *     x=1        between classes, but not between ' and a letter       x|=|1
 *     a\nb       after a single white space other than a blank         a|\n|b
 *
 * The rules hold for any text before and after. */
#ifndef HEFT_SAFE_SPLIT_H
#define HEFT_SAFE_SPLIT_H

#include "tokens/bpe/vocab_text.h"
#include "tokens/unicode/classes.h"

/* Returns the last such position that is at most `at` and less than n, in valid UTF-8; 0 if there
 * is none. Searches backwards, in time linear in the distance. */
size_t heft_safe_split_before(const struct heft_classes *classes, const uint8_t *text, size_t n,
                              size_t at);

/* Safe positions for a vocabulary: its split pattern, its added tokens and its normalization must all
 * allow them. */
struct heft_safe_split {
    struct heft_classes classes;            /* for GPT-2's pattern */
    const struct heft_pretokens *pretokens; /* NULL: GPT-2's pattern */
    struct heft_pretokens *own;
    const struct heft_added_search *searches[2];
    bool is_nfc;
};
/* unicode, special: as in heft_encoder_options. The vocabulary must live as long. */
HEFT_CHECKED bool heft_safe_split_init(struct heft_safe_split *s, const struct heft_vocab *v,
                                       const char *unicode, bool special, struct heft_error *err);
void heft_safe_split_release(struct heft_safe_split *s);
size_t heft_safe_split_find(const struct heft_safe_split *s, const uint8_t *text, size_t n,
                            size_t at);

#endif
