/* vocab_ids.h: bytes of a token → its id, while a vocabulary is read: three lookups a merge. */
#ifndef HEFT_VOCAB_IDS_H
#define HEFT_VOCAB_IDS_H

#include "base/endian.h"
#include "tokens/bpe/vocab.h"

#define HEFT_VOCAB_PAD 8 /* readable bytes after each word: it is read eight at a time */

#define HEFT_VOCAB_SHORT 8 /* bytes of a word that a slot has room for */

struct heft_vocab_slot {
    uint64_t low;
    uint32_t next_id; /* 0 in a free slot */
    uint32_t mark;
};
struct heft_vocab_ids {
    const struct heft_str *tokens; /* by id: the bytes that slots are compared with */
    struct heft_vocab_slot *slots;
    unsigned bits;    /* log2 of the number of slots */
    uint64_t *filter; /* Bloom filter with one hash: 4 bits a slot; NULL: none */
    uint64_t keys[6];
    struct heft_strmap longer; /* words of more than 16 bytes */
};
/* A word, and the slot where its search begins. */
struct heft_vocab_asked {
    struct heft_str word;
    uint64_t low; /* its first 8 bytes */
    uint64_t hash;
};

/* Bits by which the filter's number of bits exceeds that of slots. */
#define HEFT_VOCAB_FILTER 2

static inline size_t heft_vocab_ids_home(const struct heft_vocab_ids *ids, uint64_t hash)
{
    return (size_t)(hash >> (64 - ids->bits));
}

HEFT_WRAPS static inline void heft_vocab_ids_hash(const struct heft_vocab_ids *ids,
                                                  struct heft_str word,
                                                  struct heft_vocab_asked *asked)
{
    const uint8_t *const p = (const uint8_t *)word.p;
    const uint64_t *const k = ids->keys;

    asked->word = word;
    asked->low = 0;
    if (HEFT_LIKELY(word.n - 1 < HEFT_VOCAB_SHORT))
        asked->low = heft_le64(p) & UINT64_MAX >> (64 - 8 * word.n);
    else if (word.n > 0)
        asked->low = heft_le64(p);
    asked->hash =
        k[0] + (asked->low & UINT32_MAX) * k[1] + (asked->low >> 32) * k[2] + word.n * k[5];
    if (HEFT_UNLIKELY(word.n > HEFT_VOCAB_SHORT)) {
        const uint64_t high = heft_le64(p + word.n - 8);

        asked->hash += (high & UINT32_MAX) * k[3] + (high >> 32) * k[4];
    }
}

static inline size_t heft_vocab_ids_bit(const struct heft_vocab_ids *ids,
                                        const struct heft_vocab_asked *asked)
{
    return (size_t)(asked->hash >> (64 - ids->bits - HEFT_VOCAB_FILTER));
}

/* As heft_vocab_ids_ask, if the filter has the word's bit; else false: no token has these bytes. */
static inline bool heft_vocab_ids_try(const struct heft_vocab_ids *ids, struct heft_str word,
                                      struct heft_vocab_asked *asked)
{
    size_t bit;

    heft_vocab_ids_hash(ids, word, asked);
    bit = heft_vocab_ids_bit(ids, asked);
    if (HEFT_LIKELY(!(ids->filter[bit / 64] >> bit % 64 & 1)))
        return false;
    HEFT_PREFETCH(&ids->slots[heft_vocab_ids_home(ids, asked->hash)]);
    return true;
}

/* As heft_vocab_ids_find, for a word of at most HEFT_VOCAB_SHORT bytes. */
static inline uint32_t heft_vocab_ids_find_short(const struct heft_vocab_ids *ids,
                                                 const struct heft_vocab_asked *asked)
{
    const size_t mask = ((size_t)1 << ids->bits) - 1;

    for (size_t i = heft_vocab_ids_home(ids, asked->hash);; i = (i + 1) & mask) {
        const struct heft_vocab_slot *const slot = &ids->slots[i];

        if (slot->low == asked->low && slot->mark == asked->word.n)
            return slot->next_id - 1;
        if (slot->next_id == 0)
            return HEFT_MAP_NONE;
    }
}

/* Allocates an empty table for n words in `mem`. tokens[id] is set before an id is added. */
HEFT_CHECKED bool heft_vocab_ids_reserve(struct heft_vocab_ids *ids, struct heft_arena *mem,
                                         const struct heft_str *tokens, size_t count,
                                         struct heft_error *err);
/* Adds a filter to the empty table: most words that are not there need no lookup. */
HEFT_CHECKED bool heft_vocab_ids_filter(struct heft_vocab_ids *ids, struct heft_arena *mem,
                                        struct heft_error *err);
/* Whether the filter has the word's bit; true of all words that are there. */
bool heft_vocab_ids_may_have(const struct heft_vocab_ids *ids, struct heft_str word);
/* Adds tokens[id] → id. *found is the id that has the same bytes already, else HEFT_MAP_NONE. */
HEFT_CHECKED bool heft_vocab_ids_add(struct heft_vocab_ids *ids, uint32_t id, uint32_t *found,
                                     struct heft_error *err);
/* Batches of lookups: prefetches the slot; `add` or `get` follows. */
void heft_vocab_ids_ask(const struct heft_vocab_ids *ids, struct heft_str word,
                        struct heft_vocab_asked *asked);
HEFT_CHECKED bool heft_vocab_ids_put(struct heft_vocab_ids *ids,
                                     const struct heft_vocab_asked *asked, uint32_t id,
                                     uint32_t *found, struct heft_error *err);
uint32_t heft_vocab_ids_find(const struct heft_vocab_ids *ids,
                             const struct heft_vocab_asked *asked);
/* Returns HEFT_MAP_NONE if no token has these bytes. */
uint32_t heft_vocab_ids_get(const struct heft_vocab_ids *ids, struct heft_str word);
/* The same by the filter, for words most of which no token has. */
uint32_t heft_vocab_ids_seek(const struct heft_vocab_ids *ids, struct heft_str word);
void heft_vocab_ids_release(struct heft_vocab_ids *ids);
/* Returns the memory of the slots for other use, after the last lookup. */
struct heft_vocab_spare heft_vocab_ids_spare(const struct heft_vocab_ids *ids);

#endif
