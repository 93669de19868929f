/* pattern.h: text → pre-tokens (named `word` in the code), by GPT-2's pattern. Merges never cross
 * their ends.
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * The last pre-token of an unfinished text is incomplete: what follows may extend it, or split its
 * white space differently. */
#ifndef HEFT_PATTERN_H
#define HEFT_PATTERN_H

#include "tokens/unicode/classes.h"
#include "tokens/bpe/kernels.h"

#define HEFT_GPT2_PATTERN                                                                          \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* readable bytes that must follow the text */
#define HEFT_SPLIT_PAD 8

/* Returns the end of the pre-token that begins at `at` (below n) in valid UTF-8. */
size_t heft_split_word(const struct heft_classes *classes, const uint8_t *text, size_t n,
                       size_t at);
/* Returns the end of the run of characters of a class that begins at `at`. *last is the offset of
 * its last character; unchanged if the run is empty. */
size_t heft_run_end(const struct heft_classes *classes, const uint8_t *text, size_t n, size_t at,
                    unsigned class, size_t *last);
/* The same for a long run: skips ASCII many bytes at a time. */
size_t heft_long_run_end(const struct heft_kernel *kernel, const struct heft_classes *classes,
                         const uint8_t *text, size_t n, size_t at, unsigned class, size_t *last);

#endif
