/* pairs.c: the bits of the pairs that merge. */
#include "tokens/pairs.h"

#define BITS_EACH 10 /* bits for a merge, at least: fewer than one in ten pairs passes by chance */

/* Of merges of two bytes: ids of one byte are those that byte_ids has. */
static void fill_of_bytes(struct heft_pairs *pairs)
{
    const struct heft_vocab *v = pairs->v;

    memset(pairs->of_bytes, 0xFF, 256 * 256 * sizeof *pairs->of_bytes);
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const struct heft_str left = v->tokens[v->merges[rank].left];
        const struct heft_str right = v->tokens[v->merges[rank].right];
        const uint8_t a = (uint8_t)left.p[0], b = (uint8_t)right.p[0];

        if (left.n == 1 && right.n == 1 && v->byte_ids[a] == v->merges[rank].left &&
            v->byte_ids[b] == v->merges[rank].right)
            pairs->of_bytes[a << 8 | b] = rank;
    }
}

bool heft_pairs_init(struct heft_pairs *pairs, const struct heft_vocab *v, struct heft_error *err)
{
    *pairs = (struct heft_pairs){.v = v, .kernel = heft_scan_kernel(), .bits = 10};
    while ((uint64_t)1 << pairs->bits < (uint64_t)v->n_merges * BITS_EACH)
        pairs->bits++;
    pairs->filter = heft_calloc((size_t)1 << (pairs->bits - 6), sizeof *pairs->filter, err);
    pairs->of_bytes = heft_alloc(256 * 256 * sizeof *pairs->of_bytes, err);
    if (!pairs->filter || !pairs->of_bytes)
        return false;
    fill_of_bytes(pairs);
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const size_t bit = heft_pairs_bit(pairs, v->merges[rank].left, v->merges[rank].right);

        pairs->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return true;
}

void heft_pairs_release(struct heft_pairs *pairs)
{
    heft_free(pairs->filter);
    heft_free(pairs->of_bytes);
    *pairs = (struct heft_pairs){0};
}
