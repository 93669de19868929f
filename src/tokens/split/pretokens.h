/* pretokens.h: a chain of pre-tokenizers: text → pre-tokens. Each step divides every piece of the
 * step before; the last pieces are the pre-tokens. */
#ifndef HEFT_PRETOKENS_H
#define HEFT_PRETOKENS_H

#include "tokens/split/splitter.h"

/* What becomes of a match, as in the tokenizers library. Without `invert`, text between matches is
 * a piece of its own; with it, matches and the text between them change places. */
enum heft_pretokens_behavior {
    HEFT_BEHAVIOR_ISOLATED,
    HEFT_BEHAVIOR_REMOVED,
    HEFT_BEHAVIOR_MERGED_WITH_PREVIOUS,
    HEFT_BEHAVIOR_MERGED_WITH_NEXT,
    HEFT_BEHAVIOR_CONTIGUOUS
};
struct heft_pretokens_step {
    struct heft_str pattern;
    bool is_literal; /* the pattern is text to be found, not a regular expression */
    enum heft_splitter_engine engine;
    enum heft_pretokens_behavior behavior;
    bool invert;
};

struct heft_pretokens; /* never changes: threads share it */
/* The steps may go after the call. Errors as in heft_splitter_compile; HEFT_LIMIT for more than
 * HEFT_PRETOKENS_STEPS steps. */
#define HEFT_PRETOKENS_STEPS 32
struct heft_pretokens *heft_pretokens_new(const struct heft_pretokens_step *steps, size_t n,
                                          const char *unicode, struct heft_error *err);
void heft_pretokens_free(struct heft_pretokens *p);

/* What a scan remembers about the place where the next one begins: the end of the piece of each step
 * that contains it, as a distance; 0: a piece begins there, or what follows is found again. Zeroed
 * where a text begins. */
struct heft_pretokens_place {
    uint32_t left[HEFT_PRETOKENS_STEPS];
};

#define HEFT_PRETOKEN_DROPPED (UINT32_C(1) << 31)
/* Finds pre-tokens in text[at, n), valid UTF-8 of complete characters, where one begins at `at`, and
 * *place is zeroed or from the scan that ended there. n is below 2^31. Writes at most `room` (2 or
 * more; many are faster) entries: starts[0] is `at`; the last entry is where the next call begins.
 * The text between two entries is a pre-token, or, if the first one has the bit
 * HEFT_PRETOKEN_DROPPED, belongs to none (removed by a step). Unless is_last, text follows after n,
 * and only what it cannot change is returned. Returns the number of entries; fewer than 2: no
 * pre-token is decided yet; come again with the same place and more text. is_last: at least 2 while
 * at < n. */
size_t heft_pretokens_scan(const struct heft_pretokens *p, const uint8_t *text, size_t n, size_t at,
                           bool is_last, struct heft_pretokens_place *place, uint32_t *starts,
                           size_t room);
/* Whether the n (1 or more) bytes of valid UTF-8 are exactly one pre-token. */
bool heft_pretokens_is_one(const struct heft_pretokens *p, const uint8_t *text, size_t n);
/* Returns the last position that is at most `at` and less than n at which the text may be split so
 * that its parts have the pre-tokens of the whole, whatever stands before and after; 0 if there is
 * none. Searches backwards, in time linear in the distance. */
size_t heft_pretokens_cut_before(const struct heft_pretokens *p, const uint8_t *text, size_t n,
                                 size_t at);

#endif
