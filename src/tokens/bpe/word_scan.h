/* word_scan.h: where words begin, 64 bytes at a time: the pattern of pattern.h as arithmetic on bits.
 *
 *     text    I ' d   s a y   2   x
 *     letter  1 0 1 0 1 1 1 0 0 0 1      a bit a byte; a character of several bytes has its class
 *     number  0 0 0 0 0 0 0 0 1 0 0      in all of them
 *     space   0 0 0 1 0 0 0 1 0 1 0
 *
 * A kernel makes the masks of a block of ASCII bytes (kernels_….c); characters beyond ASCII are put
 * in one by one; the rest is the same for all machines. */
#ifndef HEFT_WORD_SCAN_H
#define HEFT_WORD_SCAN_H

#include "tokens/unicode/classes.h"
#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/kernels.h"

#define HEFT_SCAN_WINDOW 16384 /* bytes looked at in one go, a multiple of the block */
#define HEFT_SCAN_ROOM   (HEFT_SCAN_WINDOW + 18)

struct heft_scan {
    const struct heft_classes *classes;
    const struct heft_kernel *kernel;
    const struct heft_byte_adjacency *adjacency; /* NULL: words are not cut further */
};

/* With joints, words are also cut before letters of 3 bytes and more that cannot have merged with
 * what is before them: what Chinese and Japanese write is long and never the same, its letters are.
 *
 * Begins of words in text[at, n), valid UTF-8, where a word begins at `at`: the first is `at`, and
 * the last is where the next window shall begin, or n. Without is_last the text goes on behind n,
 * and only what nothing there can change is told. Fewer than 2: no word ends within the window.
 * starts has room for HEFT_SCAN_ROOM. */
size_t heft_scan_words(const struct heft_scan *scan, const uint8_t *text, size_t n, size_t at,
                       bool is_last, uint32_t *starts);

#endif
