/* vocab_ids.h: the bytes of tokens → their ids, while a vocabulary is read: it asks three times for
 * each merge. */
#ifndef HEFT_VOCAB_IDS_H
#define HEFT_VOCAB_IDS_H

#include "tokens/bpe/vocab.h"

#define HEFT_VOCAB_PAD 8 /* bytes behind each word that may be read: it is taken in eights */

struct heft_vocab_slot;
struct heft_vocab_ids {
    const struct heft_str *tokens; /* by id: slots know their words by them */
    struct heft_vocab_slot *slots;
    unsigned bits; /* log2 of how many */
    uint64_t keys[6];
    struct heft_strmap longer; /* words of more than 16 bytes */
};
/* A word, and where it would be. */
struct heft_vocab_asked {
    struct heft_str word;
    uint64_t low; /* its first 8 bytes */
    uint64_t hash;
};

/* For so many words, before any; slots are in `mem`. tokens[id] is set when an id is added. */
HEFT_CHECKED bool heft_vocab_ids_reserve(struct heft_vocab_ids *ids, struct heft_arena *mem,
                                         const struct heft_str *tokens, size_t count,
                                         struct heft_error *err);
/* tokens[id] → id; where its bytes are there already, *found is their id, else HEFT_MAP_NONE. */
HEFT_CHECKED bool heft_vocab_ids_add(struct heft_vocab_ids *ids, uint32_t id, uint32_t *found,
                                     struct heft_error *err);
/* Many: what is asked is on its way until it is added or got. */
void heft_vocab_ids_ask(const struct heft_vocab_ids *ids, struct heft_str word,
                        struct heft_vocab_asked *asked);
HEFT_CHECKED bool heft_vocab_ids_put(struct heft_vocab_ids *ids,
                                     const struct heft_vocab_asked *asked, uint32_t id,
                                     uint32_t *found, struct heft_error *err);
uint32_t heft_vocab_ids_find(const struct heft_vocab_ids *ids,
                             const struct heft_vocab_asked *asked);
/* HEFT_MAP_NONE: no token has these bytes. */
uint32_t heft_vocab_ids_get(const struct heft_vocab_ids *ids, struct heft_str word);
void heft_vocab_ids_release(struct heft_vocab_ids *ids);
/* What the slots have, for other use once no word is looked for any more. */
struct heft_vocab_spare heft_vocab_ids_spare(const struct heft_vocab_ids *ids);

#endif
