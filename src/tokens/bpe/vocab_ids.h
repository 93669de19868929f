/* vocab_ids.h: bytes of a token → its id, while a vocabulary is read: three lookups a merge. */
#ifndef HEFT_VOCAB_IDS_H
#define HEFT_VOCAB_IDS_H

#include "tokens/bpe/vocab.h"

#define HEFT_VOCAB_PAD 8 /* readable bytes after each word: it is read eight at a time */

struct heft_vocab_slot;
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
void heft_vocab_ids_release(struct heft_vocab_ids *ids);
/* Returns the memory of the slots for other use, after the last lookup. */
struct heft_vocab_spare heft_vocab_ids_spare(const struct heft_vocab_ids *ids);

#endif
