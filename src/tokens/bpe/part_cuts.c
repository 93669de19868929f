/* part_cuts.c: the filter of the bytes around the places where merges meet. */
#include "tokens/bpe/part_cuts.h"

#include "tokens/bpe/ranked_tokens.h"

#define SIDE      HEFT_CUT_SIDE
#define BITS_EACH 16   /* bits of the filter for a merge, at least */
#define LEAST     0xE0 /* first byte of characters of 3 bytes and more */

/* The bytes around a place with only `left` before it and `right` after it. */
static uint64_t narrow(uint64_t around, size_t left, size_t right)
{
    const uint64_t from = UINT64_MAX << 8 * (SIDE - left);

    return around & from & UINT64_MAX >> (64 - 8 * (SIDE + right));
}

bool heft_part_cuts_has_shorter(const struct heft_part_cuts *cuts, uint64_t around)
{
    for (size_t left = 1; left <= SIDE; left++)
        for (size_t right = 1; right <= SIDE; right++)
            if (left + right < 2 * SIDE && heft_part_cuts_has(cuts, narrow(around, left, right)))
                return true;
    return false;
}

static void add_place(struct heft_part_cuts *cuts, struct heft_str left, struct heft_str right)
{
    const size_t before = heft_min_size(left.n, SIDE), after = heft_min_size(right.n, SIDE);
    const uint8_t last = (uint8_t)left.p[left.n - 1], first = (uint8_t)right.p[0];
    uint8_t around[8] = {0};
    size_t bit;

    memcpy(around + SIDE - before, left.p + left.n - before, before);
    memcpy(around + SIDE, right.p, after);
    bit = heft_part_cuts_bit(cuts, heft_le64(around));
    cuts->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    if (before + after < 2 * SIDE)
        cuts->shorter.bits[last][first >> 6] |= UINT64_C(1) << (first & 63);
}

static bool meets_wide(const struct heft_vocab *v, uint32_t rank)
{
    return (uint8_t)v->tokens[v->merges[rank].right].p[0] >= LEAST;
}

/* The places where the parts of merges meet. */
static size_t add_merges(struct heft_part_cuts *cuts, const struct heft_vocab *v)
{
    size_t n = 0;

    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        if (!meets_wide(v, rank))
            continue;
        if (cuts->filter)
            add_place(cuts, v->tokens[v->merges[rank].left], v->tokens[v->merges[rank].right]);
        n++;
    }
    return n;
}

/* Bytes of eight that are at least LEAST: their highest bits. */
HEFT_WRAPS static uint64_t wide_bytes(uint64_t eight)
{
    return eight & eight << 1 & eight << 2 & UINT64_C(0x8080808080808080);
}

/* All places in a token: at each of them some merge meets, whose parts have these bytes or fewer. */
static size_t add_token(struct heft_part_cuts *cuts, struct heft_str token)
{
    const uint8_t *const p = (const uint8_t *)token.p;
    size_t n = 0;

    for (size_t at = 1; at < token.n; at += 8) {
        uint64_t wide = wide_bytes(heft_le64(p + at));

        if (token.n - at < 8)
            wide &= (UINT64_C(1) << 8 * (token.n - at)) - 1;
        for (; wide; wide &= wide - 1, n++) {
            const size_t i = at + heft_lowest_bit(wide) / 8;

            if (cuts->filter)
                add_place(cuts, (struct heft_str){token.p, i},
                          (struct heft_str){token.p + i, token.n - i});
        }
    }
    return n;
}

/* Adds all places, or counts them, as long as there is no filter. */
static size_t add_places(struct heft_part_cuts *cuts, const struct heft_vocab *v)
{
    size_t n = 0;

    if (!v->ranked)
        return add_merges(cuts, v);
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (heft_ranked_has(v->ranked, id))
            n += add_token(cuts, v->tokens[id]);
    return n;
}

bool heft_part_cuts_init(struct heft_part_cuts *cuts, const struct heft_vocab *v,
                         struct heft_error *err)
{
    size_t n;

    *cuts = (struct heft_part_cuts){.bits = 10};
    n = add_places(cuts, v);
    while ((uint64_t)1 << cuts->bits < (uint64_t)n * BITS_EACH)
        cuts->bits++;
    cuts->filter = heft_calloc((size_t)1 << (cuts->bits - 6), sizeof *cuts->filter, err);
    if (!cuts->filter)
        return false;
    add_places(cuts, v);
    return true;
}

void heft_part_cuts_release(struct heft_part_cuts *cuts)
{
    heft_free(cuts->filter);
    *cuts = (struct heft_part_cuts){0};
}
