/* byte_adjacency.h: bytes that can meet inside a token. Where two bytes cannot, every word of the vocabulary
 * may be cut between them: most characters of Chinese or Japanese stand alone in GPT-2's. */
#ifndef HEFT_BYTE_ADJACENCY_H
#define HEFT_BYTE_ADJACENCY_H

#include "tokens/bpe/vocab.h"

struct heft_byte_adjacency {
    uint64_t bits[256][4]; /* of the left byte: which bytes can follow it */
};

void heft_byte_adjacency_init(struct heft_byte_adjacency *adjacency, const struct heft_vocab *v);

static inline bool heft_bytes_adjoin(const struct heft_byte_adjacency *adjacency, uint8_t left,
                                     uint8_t right)
{
    return adjacency->bits[left][right >> 6] >> (right & 63) & 1;
}

#endif
