/* word_scan.h: finds pre-tokens 64 bytes at a time: the pattern of pattern.h as arithmetic on bit
 * masks.
 *
 *     text      I ' d   s a y   2   x
 *     letter    1 0 1 0 1 1 1 0 0 0 1      one bit a byte; all bytes of a character have the bit
 *     number    0 0 0 0 0 0 0 0 1 0 0      of its class
 *     space     0 0 0 1 0 0 0 1 0 1 0
 *
 * A kernel builds the masks of ASCII bytes (kernels_….c); non-ASCII characters are added one by
 * one; the rest is portable. */
#ifndef HEFT_WORD_SCAN_H
#define HEFT_WORD_SCAN_H

#include "tokens/unicode/classes.h"
#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/kernels.h"

#define HEFT_SCAN_WINDOW 16384 /* bytes scanned at a time, a multiple of the block */
#define HEFT_SCAN_ROOM   (HEFT_SCAN_WINDOW + 18)

struct heft_scan {
    const struct heft_classes *classes;
    const struct heft_kernel *kernel;
    const struct heft_byte_adjacency *adjacency; /* NULL: pre-tokens are not split further */
};

/* Finds pre-tokens in text[at, n), valid UTF-8, where one begins at `at`. starts[0] is `at`; the
 * last entry is where the next window begins, or n. Unless `is_last`, text follows after n, and
 * only what it cannot change is returned. Fewer than 2: no pre-token ends in the window. `starts`
 * has room for HEFT_SCAN_ROOM.
 *
 * With `adjacency`, pre-tokens are also split before characters of 3 bytes and more that no token
 * joins with the byte before: runs of Chinese or Japanese are long and rarely repeat, their
 * characters do. */
size_t heft_scan_words(const struct heft_scan *scan, const uint8_t *text, size_t n, size_t at,
                       bool is_last, uint32_t *starts);

#endif
