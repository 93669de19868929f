/* byte_adjacency.c: pairs of bytes that meet inside a token: the last byte of a merge's left part
 * and the first byte of its right part. */
#include "tokens/bpe/byte_adjacency.h"

void heft_byte_adjacency_init(struct heft_byte_adjacency *adjacency, const struct heft_vocab *v)
{
    *adjacency = (struct heft_byte_adjacency){0};
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const struct heft_str left = v->tokens[v->merges[rank].left];
        const struct heft_str right = v->tokens[v->merges[rank].right];
        const uint8_t first = (uint8_t)right.p[0];

        adjacency->bits[(uint8_t)left.p[left.n - 1]][first >> 6] |= UINT64_C(1) << (first & 63);
    }
}
