/* vocab_ids.c: hash table with open addressing, at most half full. Words of up to 16 bytes, nearly
 * all of them, are hashed as four u32 by multiply-shift with keys drawn at random for each table:
 * two words chosen by a file collide with probability 2^-32.
 *
 *     slot   [first 8 bytes of the word][id + 1][its length, or the other bits of its hash]
 *
 * Words of up to 8 bytes are compared in the slot; longer ones by their token. */
#include "tokens/bpe/vocab_ids.h"

#define SHORT HEFT_VOCAB_SHORT
#define LONG  16
#define MARK                                                                                       \
    UINT32_C(16) /* flag in the mark of a longer word; the mark of a short one is its length */

HEFT_WRAPS static uint64_t next_key(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

bool heft_vocab_ids_reserve(struct heft_vocab_ids *ids, struct heft_arena *mem,
                            const struct heft_str *tokens, size_t count, struct heft_error *err)
{
    uint64_t state = heft_map_seed();

    ids->tokens = tokens;
    for (size_t i = 0; i < HEFT_COUNT(ids->keys); i++)
        ids->keys[i] = next_key(&state);
    for (ids->bits = 4; (size_t)1 << ids->bits < 2 * count; ids->bits++)
        ;
    ids->slots = heft_arena_zero(mem, (size_t)1 << ids->bits, sizeof *ids->slots, err);
    return ids->slots != NULL;
}

bool heft_vocab_ids_filter(struct heft_vocab_ids *ids, struct heft_arena *mem,
                           struct heft_error *err)
{
    ids->filter = heft_arena_zero(mem, (size_t)1 << (ids->bits + HEFT_VOCAB_FILTER - 6),
                                  sizeof *ids->filter, err);
    return ids->filter != NULL;
}

/* ---- asking ------------------------------------------------------------------------------ */

bool heft_vocab_ids_may_have(const struct heft_vocab_ids *ids, struct heft_str word)
{
    struct heft_vocab_asked asked;
    size_t bit;

    heft_vocab_ids_hash(ids, word, &asked);
    bit = heft_vocab_ids_bit(ids, &asked);
    return ids->filter[bit / 64] >> bit % 64 & 1;
}

void heft_vocab_ids_ask(const struct heft_vocab_ids *ids, struct heft_str word,
                        struct heft_vocab_asked *asked)
{
    heft_vocab_ids_hash(ids, word, asked);
    HEFT_PREFETCH(&ids->slots[heft_vocab_ids_home(ids, asked->hash)]);
}

/* ---- the hash table ---------------------------------------------------------------------- */

static inline uint32_t mark_of(const struct heft_vocab_asked *asked)
{
    return asked->word.n <= SHORT ? (uint32_t)asked->word.n : (uint32_t)(asked->hash >> 16) | MARK;
}

/* Compares a word of more than SHORT bytes, whose first bytes equal the slot's, with its token. */
static bool is_token(const struct heft_vocab_ids *ids, const struct heft_vocab_slot *slot,
                     const struct heft_vocab_asked *asked)
{
    const struct heft_str token = ids->tokens[slot->next_id - 1];
    const size_t n = asked->word.n;

    return token.n == n && heft_le64((const uint8_t *)token.p + n - 8) ==
                               heft_le64((const uint8_t *)asked->word.p + n - 8);
}

/* Returns the slot of a word, or the free slot for it. */
static inline struct heft_vocab_slot *slot_of(const struct heft_vocab_ids *ids,
                                              const struct heft_vocab_asked *asked)
{
    const size_t mask = ((size_t)1 << ids->bits) - 1;
    const uint32_t mark = mark_of(asked);

    for (size_t i = heft_vocab_ids_home(ids, asked->hash);; i = (i + 1) & mask) {
        struct heft_vocab_slot *const slot = &ids->slots[i];

        if (slot->next_id == 0 || (slot->low == asked->low && slot->mark == mark &&
                                   (mark <= SHORT || is_token(ids, slot, asked))))
            return slot;
    }
}

static uint32_t id_in(const struct heft_vocab_slot *slot)
{
    return slot->next_id ? slot->next_id - 1 : HEFT_MAP_NONE;
}

bool heft_vocab_ids_put(struct heft_vocab_ids *ids, const struct heft_vocab_asked *asked,
                        uint32_t id, uint32_t *found, struct heft_error *err)
{
    struct heft_vocab_slot *slot;

    if (ids->filter)
        ids->filter[heft_vocab_ids_bit(ids, asked) / 64] |= UINT64_C(1)
                                                            << heft_vocab_ids_bit(ids, asked) % 64;
    if (asked->word.n > LONG)
        return heft_strmap_add(&ids->longer, asked->word, id, found, err);
    slot = slot_of(ids, asked);
    *found = id_in(slot);
    if (slot->next_id == 0)
        *slot = (struct heft_vocab_slot){asked->low, id + 1, mark_of(asked)};
    return true;
}

uint32_t heft_vocab_ids_find(const struct heft_vocab_ids *ids, const struct heft_vocab_asked *asked)
{
    return asked->word.n > LONG ? heft_strmap_get(&ids->longer, asked->word)
                                : id_in(slot_of(ids, asked));
}

bool heft_vocab_ids_add(struct heft_vocab_ids *ids, uint32_t id, uint32_t *found,
                        struct heft_error *err)
{
    struct heft_vocab_asked asked;

    heft_vocab_ids_hash(ids, ids->tokens[id], &asked);
    return heft_vocab_ids_put(ids, &asked, id, found, err);
}

uint32_t heft_vocab_ids_get(const struct heft_vocab_ids *ids, struct heft_str word)
{
    struct heft_vocab_asked asked;

    heft_vocab_ids_hash(ids, word, &asked);
    return heft_vocab_ids_find(ids, &asked);
}

uint32_t heft_vocab_ids_seek(const struct heft_vocab_ids *ids, struct heft_str word)
{
    struct heft_vocab_asked asked;

    return heft_vocab_ids_try(ids, word, &asked) ? heft_vocab_ids_find(ids, &asked) : HEFT_MAP_NONE;
}

void heft_vocab_ids_release(struct heft_vocab_ids *ids)
{
    heft_strmap_release(&ids->longer);
    *ids = (struct heft_vocab_ids){0};
}

struct heft_vocab_spare heft_vocab_ids_spare(const struct heft_vocab_ids *ids)
{
    return (struct heft_vocab_spare){ids->slots, sizeof *ids->slots << ids->bits};
}
