/* words.h: cache of pre-tokens and their ids.
 *
 *     line of 64 bytes   two entries of [up to 15 bytes, their length][ids, their count]
 *
 * The last 16 bytes of an entry are copied to the output, which advances by the count: 7 ids of 2
 * bytes, or 3 of 4 bytes if the vocabulary needs them. More ids are in a store, and the entry says
 * where. Longer pre-tokens, up to 256 bytes, have a table of their own, and are in the store with
 * their ids. Both tables start small, are bounded, and evict; their contents change the time, never
 * the ids. */
#ifndef HEFT_WORDS_H
#define HEFT_WORDS_H

#include "tokens/bpe/long_word.h"

#define HEFT_WORD_KEY 15 /* bytes of a pre-token in a line; the sixteenth is its length */
#define HEFT_WORD_ROOM                                                                             \
    16 /* bytes after a pre-token, and after the ids, that may be read or overwritten */

struct heft_word_line;
struct heft_long_word;
struct heft_words {
    const struct heft_vocab *v;
    bool has_wholes; /* heft_vocab_has_wholes */
    struct heft_merger merger;
    struct heft_long longer;
    void *lines_block, *longs_block; /* allocations that hold the aligned tables */
    struct heft_word_line *lines;
    unsigned line_bits, most_line_bits;
    size_t n_new;   /* pre-tokens merged for a line, until the lines have grown */
    unsigned width; /* log2 of the size of an id in bytes: 1 or 2 */
    struct heft_long_word *longs;
    unsigned long_bits, most_long_bits;
    size_t n_new_longs; /* long pre-tokens entered since the table last grew */
    uint8_t *store;     /* ids of pre-tokens that have many, bytes and ids of long ones */
    size_t store_used, store_cap;
    uint32_t *ids;  /* ids of the pre-token being merged; room for HEFT_LONG_WHOLE */
    size_t by_heap; /* bytes of long pre-tokens merged by the heap so far */
};

/* Creates the cache with the tokens of the vocabulary in it. cache: its limit in bytes; width: log2
 * of the size of an id in bytes. */
HEFT_CHECKED bool heft_words_init(struct heft_words *words, const struct heft_vocab *v,
                                  size_t cache, unsigned width, struct heft_error *err);
void heft_words_release(struct heft_words *words);
/* Encodes the n pre-tokens between starts[0], starts[1] … starts[n]. `out` has room for one id a
 * byte and HEFT_WORD_ROOM more. Returns the end of the ids, NULL on failure. */
HEFT_CHECKED uint8_t *heft_words_encode(struct heft_words *words, const uint8_t *text,
                                        const uint32_t *starts, size_t n, uint8_t *out,
                                        struct heft_error *err);
/* Encodes one pre-token of at most HEFT_LONG_WHOLE bytes. */
HEFT_CHECKED uint8_t *heft_words_one(struct heft_words *words, const uint8_t *word, size_t n,
                                     uint8_t *out, struct heft_error *err);
/* Whether a pre-token of these bytes is a token that merging does not reach. */
bool heft_words_is_whole(const struct heft_words *words, const uint8_t *word, size_t n);
/* Encodes a part of a pre-token of at most HEFT_LONG_WHOLE bytes that is such a token if it stands
 * alone: it is merged, and not cached. */
HEFT_CHECKED uint8_t *heft_words_part(struct heft_words *words, const uint8_t *part, size_t n,
                                      uint8_t *out, struct heft_error *err);
/* Writes ids in the width of the vocabulary; returns their end. */
uint8_t *heft_words_put(const struct heft_words *words, const uint32_t *ids, size_t count,
                        uint8_t *out);

#endif
