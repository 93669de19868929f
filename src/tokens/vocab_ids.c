/* vocab_ids.c: open addressing, at most half full. Words of up to 16 bytes, nearly all of them, are
 * hashed by a sum of products of their four parts with keys that are drawn for each table: two words
 * that a file may choose get the same 32 bits once in 2^32 (multiply-shift of vectors). */
#include "tokens/vocab_ids.h"

#include <assert.h>

#include "base/endian.h"
#include "tokens/vocab.h"

#define SHORT   16
#define ID_BITS 21 /* of a slot: an id and 1; 0: free. Above them what is left of the hash. */
#define ID_MASK ((UINT32_C(1) << ID_BITS) - 1)
static_assert(HEFT_MOST_IDS < ID_MASK, "an id and 1 fit");

static uint64_t next_key(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

bool heft_vocab_ids_reserve(struct heft_vocab_ids *ids, const struct heft_str *tokens, size_t count,
                            struct heft_error *err)
{
    uint64_t state = heft_map_seed();

    ids->tokens = tokens;
    for (size_t i = 0; i < HEFT_COUNT(ids->keys); i++)
        ids->keys[i] = next_key(&state);
    for (ids->bits = 4; (size_t)1 << ids->bits < 2 * count; ids->bits++)
        ;
    ids->slots = heft_calloc((size_t)1 << ids->bits, sizeof *ids->slots, err);
    return ids->slots != NULL;
}

/* Up to 8 bytes as a number; two words of the same length never give the same. */
static inline uint64_t load(const uint8_t *p, size_t n)
{
    if (n >= 4)
        return heft_le32(p) | (uint64_t)heft_le32(p + n - 4) << 32;
    return n ? p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16 : 0;
}

/* A word of up to SHORT bytes. */
struct key {
    uint64_t low, high;
    size_t n;
};

static inline struct key key_of(struct heft_str word)
{
    const uint8_t *const p = (const uint8_t *)word.p;

    if (word.n < 8)
        return (struct key){load(p, word.n), 0, word.n};
    return (struct key){heft_le64(p), heft_le64(p + word.n - 8), word.n};
}

static inline uint64_t hash_of(const struct heft_vocab_ids *ids, struct key key)
{
    const uint64_t *const k = ids->keys;

    return k[0] + (key.low & UINT32_MAX) * k[1] + (key.low >> 32) * k[2] +
           (key.high & UINT32_MAX) * k[3] + (key.high >> 32) * k[4] + key.n * k[5];
}

static inline bool is_key(struct heft_str token, struct key key)
{
    const struct key other = token.n == key.n ? key_of(token) : (struct key){.n = SIZE_MAX};

    return ((other.low ^ key.low) | (other.high ^ key.high) | (other.n ^ key.n)) == 0;
}

static inline uint32_t mark_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32) << ID_BITS;
}

/* The slot of a word, or the free one where it would be. */
static inline uint32_t *slot_of(const struct heft_vocab_ids *ids, struct key key, uint64_t hash)
{
    const size_t mask = ((size_t)1 << ids->bits) - 1;

    for (size_t i = (size_t)(hash >> (64 - ids->bits));; i = (i + 1) & mask) {
        const uint32_t slot = ids->slots[i];

        if (slot == 0 ||
            ((slot & ~ID_MASK) == mark_of(hash) && is_key(ids->tokens[(slot & ID_MASK) - 1], key)))
            return &ids->slots[i];
    }
}

static uint32_t id_in(uint32_t slot)
{
    return slot ? (slot & ID_MASK) - 1 : HEFT_MAP_NONE;
}

bool heft_vocab_ids_add(struct heft_vocab_ids *ids, uint32_t id, uint32_t *found,
                        struct heft_error *err)
{
    const struct heft_str word = ids->tokens[id];
    struct key key;
    uint32_t *slot;

    if (word.n > SHORT)
        return heft_strmap_add(&ids->longer, word, id, found, err);
    key = key_of(word);
    slot = slot_of(ids, key, hash_of(ids, key));
    *found = id_in(*slot);
    if (*slot == 0)
        *slot = mark_of(hash_of(ids, key)) | (id + 1);
    return true;
}

uint32_t heft_vocab_ids_get(const struct heft_vocab_ids *ids, struct heft_str word)
{
    struct key key;

    if (word.n > SHORT)
        return heft_strmap_get(&ids->longer, word);
    key = key_of(word);
    return id_in(*slot_of(ids, key, hash_of(ids, key)));
}

void heft_vocab_ids_release(struct heft_vocab_ids *ids)
{
    heft_strmap_release(&ids->longer);
    heft_free(ids->slots);
    *ids = (struct heft_vocab_ids){0};
}
