/* added_search.h: the search for added tokens, as the stage uses it. */
#ifndef HEFT_ADDED_SEARCH_H
#define HEFT_ADDED_SEARCH_H

#include "tokens/prepare/added_tokens.h"

#define HEFT_ADDED_LONGEST 4096 /* bytes of a token */

struct heft_added_match {
    uint32_t id;
    size_t n; /* bytes; 0: no token begins here */
    bool strips_left, strips_right, is_single_word;
    bool is_open; /* the text ends within a longer token: what follows may decide otherwise */
};

bool heft_added_search_has_left(const struct heft_added_search *s);
bool heft_added_search_has_word(const struct heft_added_search *s);
/* Returns the next place at which a token may begin; n if there is none. */
size_t heft_added_search_next(const struct heft_added_search *s, const uint8_t *text, size_t n,
                              size_t at);
/* The longest token at the begin of a text. */
struct heft_added_match heft_added_search_at(const struct heft_added_search *s, const uint8_t *text,
                                             size_t n);

#endif
