/* words.h: words that were met before, and their ids.
 *
 *     line of 64 bytes   [word of up to 15 bytes, their number][ids, how many of them] twice
 *
 * An entry's last 16 bytes go to the output as they are, and the output moves on by what they count:
 * 7 ids of 2 bytes, or 3 of 4 where the vocabulary needs them. Words that are longer, or have more
 * ids, are kept apart, up to 256 bytes. Both tables begin small, as a short text would not pay for more;
 * they are bounded, and forget; what they hold never changes the ids, only the time. */
#ifndef HEFT_WORDS_H
#define HEFT_WORDS_H

#include "tokens/bpe/long_word.h"

#define HEFT_WORD_KEY  15 /* bytes of a word in a line: the sixteenth holds their number */
#define HEFT_WORD_ROOM 16 /* bytes behind a word, and behind the ids, that may be touched */

struct heft_word_line;
struct heft_long_word;
struct heft_words {
    const struct heft_vocab *v;
    struct heft_merger merger;
    struct heft_long longer;
    void *lines_block, *longs_block; /* in which they are, aligned */
    struct heft_word_line *lines;
    unsigned line_bits, most_line_bits;
    size_t n_new;   /* words that were merged for a line, until the lines have grown */
    unsigned width; /* log2 of the bytes of an id: 1 or 2 */
    struct heft_long_word *longs;
    unsigned long_bits, most_long_bits;
    size_t n_new_longs; /* since they have grown */
    uint8_t *store;     /* of long words: bytes, then ids */
    size_t store_used, store_cap;
    uint32_t *ids;  /* of the word being merged; room for HEFT_LONG_WHOLE */
    size_t by_heap; /* bytes of long words so far, as long as merging them is by the heap */
};

/* cache: bytes that it may take; width: log2 of the bytes of an id. The vocabulary's own tokens are known from the start. */
HEFT_CHECKED bool heft_words_init(struct heft_words *words, const struct heft_vocab *v,
                                  size_t cache, unsigned width, struct heft_error *err);
void heft_words_release(struct heft_words *words);
/* The words between starts[0], starts[1] … starts[n]; ids go to `out`, which has room for as many as
 * the words have bytes, and HEFT_WORD_ROOM more. Returns where they end, NULL on failure. */
HEFT_CHECKED uint8_t *heft_words_encode(struct heft_words *words, const uint8_t *text,
                                        const uint32_t *starts, size_t n, uint8_t *out,
                                        struct heft_error *err);
/* One word, of up to HEFT_LONG_WHOLE bytes. */
HEFT_CHECKED uint8_t *heft_words_one(struct heft_words *words, const uint8_t *word, size_t n,
                                     uint8_t *out, struct heft_error *err);
/* Ids, each as wide as the vocabulary needs. Returns where they end. */
uint8_t *heft_words_put(const struct heft_words *words, const uint32_t *ids, size_t count,
                        uint8_t *out);

#endif
