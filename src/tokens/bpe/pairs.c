/* pairs.c: builds the filter and the table of byte pairs. */
#include "tokens/bpe/pairs.h"

#define BITS_EACH 10 /* bits a merge, at least: fewer than a tenth of the other pairs pass */

/* Enters a merge of two single bytes; other tokens of one byte are skipped. */
static void put_of_bytes(struct heft_pairs *pairs, uint32_t rank)
{
    const struct heft_vocab *v = pairs->v;
    const struct heft_merge *merge = &v->merges[rank];
    const uint8_t a = (uint8_t)v->tokens[merge->left].p[0];
    const uint8_t b = (uint8_t)v->tokens[merge->right].p[0];

    if (v->byte_ids[a] == merge->left && v->byte_ids[b] == merge->right)
        pairs->of_bytes[a << 8 | b] = rank;
}

bool heft_pairs_begin(struct heft_pairs *pairs, const struct heft_vocab *v, size_t merges,
                      struct heft_error *err)
{
    *pairs = (struct heft_pairs){.v = v, .kernel = heft_scan_kernel(), .bits = 10};
    while ((uint64_t)1 << pairs->bits < (uint64_t)merges * BITS_EACH)
        pairs->bits++;
    pairs->filter = heft_calloc((size_t)1 << (pairs->bits - 6), sizeof *pairs->filter, err);
    pairs->of_bytes = heft_alloc(256 * 256 * sizeof *pairs->of_bytes, err);
    pairs->canonical = heft_canonical_lazy_new(err);
    if (!pairs->filter || !pairs->of_bytes || !pairs->canonical)
        return false;
    memset(pairs->of_bytes, 0xFF, 256 * 256 * sizeof *pairs->of_bytes);
    return true;
}

void heft_pairs_add(struct heft_pairs *pairs, uint32_t rank)
{
    const struct heft_vocab *const v = pairs->v;
    const struct heft_merge *const merge = &v->merges[rank];
    const size_t bit = heft_pairs_bit(pairs, merge->left, merge->right);

    if (rank == 0) {
        pairs->first_made = merge->id;
        pairs->is_counted = true;
    }
    pairs->is_counted &= merge->id == pairs->first_made + rank;
    pairs->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    if (v->tokens[merge->left].n == 1 && v->tokens[merge->right].n == 1)
        put_of_bytes(pairs, rank);
}

bool heft_pairs_init(struct heft_pairs *pairs, const struct heft_vocab *v, struct heft_error *err)
{
    if (!heft_pairs_begin(pairs, v, v->n_merges, err))
        return false;
    for (uint32_t rank = 0; rank < v->n_merges; rank++)
        heft_pairs_add(pairs, rank);
    return true;
}

void heft_pairs_release(struct heft_pairs *pairs)
{
    heft_free(pairs->filter);
    heft_free(pairs->of_bytes);
    heft_canonical_lazy_free(pairs->canonical);
    *pairs = (struct heft_pairs){0};
}
