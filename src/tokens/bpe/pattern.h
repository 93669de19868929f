/* pattern.h: text → pre-tokens, the words within which bytes merge.
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * Of a text that goes on, the last word is not certain: what follows may belong to it, or change
 * where its white space is cut. */
#ifndef HEFT_PATTERN_H
#define HEFT_PATTERN_H

#include "tokens/unicode/classes.h"
#include "tokens/bpe/kernels.h"

/* Behind the text that is split there must be so many readable bytes. */
#define HEFT_SPLIT_PAD 8

/* The end of the word that begins at `at` (below n) of a text of valid UTF-8. */
size_t heft_split_word(const struct heft_classes *classes, const uint8_t *text, size_t n,
                       size_t at);
/* The end of the run of characters of that class which begins at `at`; *last is where its last one
 * begins, untouched where there is none. */
size_t heft_run_end(const struct heft_classes *classes, const uint8_t *text, size_t n, size_t at,
                    unsigned class, size_t *last);
/* The same of one that is expected to be long: what is ASCII, many bytes at a time. */
size_t heft_long_run_end(const struct heft_kernel *kernel, const struct heft_classes *classes,
                         const uint8_t *text, size_t n, size_t at, unsigned class, size_t *last);

#endif
