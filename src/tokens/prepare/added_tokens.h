/* added_tokens.h: added tokens, which are found in a text before it is split (specials and others),
 * as the tokenizers library finds them: the leftmost, of those the longest. */
#ifndef HEFT_ADDED_TOKENS_H
#define HEFT_ADDED_TOKENS_H

#include "tokens/prepare/text_sink.h"

struct heft_added_token {
    struct heft_str text; /* 1 to 4096 bytes; must live as long as the search */
    uint32_t id;
    bool is_special;
    bool is_normalized;  /* looked for in the normalized text */
    bool strips_left;    /* takes the white space before it (lstrip) */
    bool strips_right;   /* takes the white space after it (rstrip) */
    bool is_single_word; /* only where no \w stands beside it */
};

struct heft_added_search; /* automaton; never changes: threads share it */
/* Builds a search for n tokens. Of two with the same text the first counts. */
struct heft_added_search *heft_added_search_new(const struct heft_added_token *tokens, size_t n,
                                                struct heft_error *err);
void heft_added_search_free(struct heft_added_search *s);
size_t
heft_added_search_longest(const struct heft_added_search *s); /* bytes of the longest token */
/* Whether a text may be split at `at` (between two characters): no token goes across it or depends
 * on the text at the other side, whatever stands before and after. Depends on no more than the
 * longest token's length at each side. May be false more often than necessary. */
bool heft_added_search_is_cut(const struct heft_added_search *s, const uint8_t *text, size_t n,
                              size_t at);

/* Stage: passes the text between tokens on to `next`, and cuts it with the id of each token. Keeps
 * no more text than the longest token, and runs of white space that a token may strip: HEFT_LIMIT
 * for more than 64 MiB. */
struct heft_added_stage;
struct heft_added_stage *heft_added_stage_new(const struct heft_added_search *s,
                                              struct heft_text_sink next, struct heft_error *err);
void heft_added_stage_free(struct heft_added_stage *s);
struct heft_text_sink heft_added_stage_sink(struct heft_added_stage *s);
/* Drops an unfinished text. */
void heft_added_stage_reset(struct heft_added_stage *s);

#endif
