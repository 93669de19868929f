/* joints.h: bytes that can meet inside a token. Where two bytes cannot, every word of the vocabulary
 * may be cut between them: most characters of Chinese or Japanese stand alone in GPT-2's. */
#ifndef HEFT_JOINTS_H
#define HEFT_JOINTS_H

#include "tokens/bpe/vocab.h"

struct heft_joints {
    uint64_t bits[256][4]; /* of the left byte: which bytes can follow it */
};

void heft_joints_init(struct heft_joints *joints, const struct heft_vocab *v);

static inline bool heft_can_join(const struct heft_joints *joints, uint8_t left, uint8_t right)
{
    return joints->bits[left][right >> 6] >> (right & 63) & 1;
}

#endif
