/* joints.c: from the merges: two bytes meet in a token where two of its parts did. */
#include "tokens/bpe/joints.h"

void heft_joints_init(struct heft_joints *joints, const struct heft_vocab *v)
{
    *joints = (struct heft_joints){0};
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const struct heft_str left = v->tokens[v->merges[rank].left];
        const struct heft_str right = v->tokens[v->merges[rank].right];
        const uint8_t first = (uint8_t)right.p[0];

        joints->bits[(uint8_t)left.p[left.n - 1]][first >> 6] |= UINT64_C(1) << (first & 63);
    }
}
