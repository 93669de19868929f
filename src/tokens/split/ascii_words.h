/* ascii_words.h: words of ASCII text, 64 bytes at a time, by arithmetic on bit masks.
 *
 *     text      x = f ( " a b " ) ;        a bit for each byte
 *     letter    1 0 1 0 0 1 1 0 0 0
 *     begin     1 1 1 1 0 1 0 1 0 0
 *
 * A block begins where a word begins, so nothing is carried from one to the next. Of the begins in
 * a block only those count that no byte after it can change; the last one of them begins the next
 * block. */
#ifndef HEFT_ASCII_WORDS_H
#define HEFT_ASCII_WORDS_H

#include "tokens/split/ascii_rules.h"

#define HEFT_ASCII_BLOCK 64
#define HEFT_ASCII_SPARE 16 /* entries of `starts` after those of a block that may be overwritten */

struct heft_ascii_kernel {
    /* Finds words in text[at, n), one of which begins at `at` = starts[0]; returns the number of
     * entries. The last one is where the search goes on. It stops before a word of a block and more,
     * before characters beyond ASCII, near the end of the text, or when entries for a block no
     * longer fit into `room`. */
    size_t (*scan)(const struct heft_ascii_rules *rules, const uint8_t *text, size_t n, size_t at,
                   uint32_t *starts, size_t room);
};

/* Returns the fastest kernel of this processor; NULL: it has none that is worth it. By index, for
 * tests, also the portable one; NULL past the last. */
const struct heft_ascii_kernel *heft_ascii_kernel(void);
const struct heft_ascii_kernel *heft_ascii_kernel_at(size_t index);
extern const struct heft_ascii_kernel heft_ascii_kernel_plain;

#endif
