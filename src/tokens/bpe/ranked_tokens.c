/* ranked_tokens.c: the tables of tokens with ranks, and their merges on demand. */
#include "tokens/bpe/ranked_tokens.h"

#include "tokens/bpe/byte_adjacency.h"

static void add_token(struct heft_ranked *ranked, uint8_t *neighbours, uint32_t id)
{
    const struct heft_str token = ranked->v->tokens[id];
    const uint8_t *const p = (const uint8_t *)token.p;

    ranked->is_ranked[id / 64] |= UINT64_C(1) << id % 64;
    if (token.n < 2)
        return;
    ranked->n_longer++;
    if (token.n == 2)
        ranked->of_bytes[p[0] << 8 | p[1]] = id;
    for (size_t i = 1; i < token.n; i++)
        neighbours[p[i - 1] << 8 | p[i]] = 1;
}

static void set_adjacency(struct heft_byte_adjacency *adjacency, const uint8_t *neighbours)
{
    for (unsigned left = 0; left < 256; left++)
        for (unsigned right = 0; right < 256; right++)
            adjacency->bits[left][right >> 6] |= (uint64_t)neighbours[left << 8 | right]
                                                 << (right & 63);
}

/* Sets what one pass over the tokens finds. All bytes that are neighbours in a token meet in a merge,
 * or its bytes do not merge into it. */
static bool add_tokens(struct heft_ranked *ranked, struct heft_byte_adjacency *adjacency,
                       struct heft_error *err)
{
    const struct heft_vocab *const v = ranked->v;
    uint8_t *const neighbours = heft_calloc(256, 256, err);

    if (!neighbours)
        return false;
    memset(ranked->of_bytes, 0xFF, 256 * 256 * sizeof *ranked->of_bytes);
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (v->tokens[id].n > 0)
            add_token(ranked, neighbours, id);
    set_adjacency(adjacency, neighbours);
    heft_free(neighbours);
    return true;
}

bool heft_ranked_init(struct heft_vocab *v, struct heft_vocab_ids *ids, size_t n_ids,
                      struct heft_error *err)
{
    struct heft_ranked *const ranked = heft_arena_zero(&v->mem, 1, sizeof *ranked, err);

    if (!ranked)
        return false;
    v->ranked = ranked;
    ranked->v = v;
    ranked->ids = *ids;
    *ids = (struct heft_vocab_ids){0};
    ranked->of_bytes = heft_arena_alloc(&v->mem, 256 * 256 * sizeof *ranked->of_bytes, err);
    ranked->is_ranked = heft_arena_zero(&v->mem, n_ids / 64 + 1, sizeof *ranked->is_ranked, err);
    ranked->reached = heft_calloc(v->n_ids / 32 + 1, sizeof *ranked->reached, err);
    ranked->lock = heft_lock_new(err);
    v->adjacency = heft_arena_zero(&v->mem, 1, sizeof *v->adjacency, err);
    v->self_encoding = ranked->is_ranked;
    return ranked->of_bytes && ranked->is_ranked && ranked->reached && ranked->lock &&
           v->adjacency && add_tokens(ranked, v->adjacency, err);
}

void heft_ranked_free(struct heft_ranked *ranked)
{
    if (!ranked)
        return;
    heft_vocab_close(ranked->merged);
    heft_vocab_ids_release(&ranked->ids);
    heft_free((void *)ranked->reached);
    heft_lock_free(ranked->lock);
}

bool heft_ranked_look(struct heft_ranked *ranked, uint32_t id)
{
    uint32_t left, right;
    const bool is_reached = heft_ranked_merge_token(ranked, id, 1, &left, &right) == 1;
    const uint64_t bits = HEFT_RANKED_SEEN | (is_reached ? HEFT_RANKED_REACHED : 0);

    atomic_fetch_or_explicit(&ranked->reached[id / 32], bits << id % 32 * 2, memory_order_relaxed);
    return is_reached;
}

/* The same tokens, for merges. */
static struct heft_vocab *derive_merged(const struct heft_ranked *ranked, struct heft_error *err)
{
    struct heft_vocab *const merged = heft_calloc(1, sizeof *merged, err);

    if (!merged)
        return NULL;
    memcpy(merged->byte_ids, ranked->v->byte_ids, sizeof merged->byte_ids);
    merged->n_ids = ranked->v->n_ids;
    merged->tokens = ranked->v->tokens;
    merged->longest = ranked->v->longest;
    merged->end = HEFT_NO_TOKEN;
    if (heft_ranked_derive(ranked, merged, err))
        return merged;
    heft_vocab_close(merged);
    return NULL;
}

const struct heft_vocab *heft_vocab_merged(const struct heft_vocab *v, struct heft_error *err)
{
    struct heft_ranked *const ranked = v->ranked;
    const struct heft_vocab *merged;

    if (!ranked)
        return v;
    heft_lock_take(ranked->lock);
    if (!ranked->merged)
        ranked->merged = derive_merged(ranked, err);
    merged = ranked->merged;
    heft_lock_drop(ranked->lock);
    return merged;
}
