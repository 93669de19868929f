/* vocab_ids.h: the bytes of tokens → their ids, while a vocabulary is read: it asks three times for
 * each merge. */
#ifndef HEFT_VOCAB_IDS_H
#define HEFT_VOCAB_IDS_H

#include "base/map.h"

struct heft_vocab_ids {
    const struct heft_str *tokens; /* by id: slots know their words by them */
    uint32_t *slots;
    unsigned bits; /* log2 of how many */
    uint64_t keys[6];
    struct heft_strmap longer; /* words of more than 16 bytes */
};

/* For so many words, before any. tokens[id] is set when an id is added. */
HEFT_CHECKED bool heft_vocab_ids_reserve(struct heft_vocab_ids *ids, const struct heft_str *tokens,
                                         size_t count, struct heft_error *err);
/* tokens[id] → id; where its bytes are there already, *found is their id, else HEFT_MAP_NONE. */
HEFT_CHECKED bool heft_vocab_ids_add(struct heft_vocab_ids *ids, uint32_t id, uint32_t *found,
                                     struct heft_error *err);
/* HEFT_MAP_NONE: no token has these bytes. */
uint32_t heft_vocab_ids_get(const struct heft_vocab_ids *ids, struct heft_str word);
void heft_vocab_ids_release(struct heft_vocab_ids *ids);

#endif
