/* byte_adjacency.h: which two bytes can be neighbours inside a token of the vocabulary. Every
 * pre-token may be split between two bytes that cannot: in GPT-2's vocabulary most Chinese and
 * Japanese characters are tokens of their own. */
#ifndef HEFT_BYTE_ADJACENCY_H
#define HEFT_BYTE_ADJACENCY_H

#include "tokens/bpe/vocab.h"

struct heft_byte_adjacency {
    uint64_t bits[256][4]; /* [left byte]: a bit for each byte that can follow it */
};

void heft_byte_adjacency_init(struct heft_byte_adjacency *adjacency, const struct heft_vocab *v);

static inline bool heft_bytes_adjoin(const struct heft_byte_adjacency *adjacency, uint8_t left,
                                     uint8_t right)
{
    return adjacency->bits[left][right >> 6] >> (right & 63) & 1;
}

#endif
