/* map.c: hash tables with open addressing and linear probing; table sizes are powers of two, at
 * most 3/4 full.
 *
 * Strings are hashed with SipHash-1-3 under a key drawn once in each process: names come from
 * untrusted files, and with a weaker hash a file could choose names that all collide. A slot keeps
 * 32 bits of the hash, so that growing does not touch the strings, and slots are small, because
 * look-ups in a large table wait for memory. */
#include "base/map.h"

#include <stdatomic.h>
#include <time.h>

#include "base/endian.h"

/* keys whose slots are prefetched together: enough to hide the latency of memory */
#define BATCH 64

/* ---- the hash seed ------------------------------------------------------------------------- */

/* Zero: not drawn yet. */
static atomic_uint_fast64_t drawn;

/* Derived from the load address of the process and the time of the first call; constant
 * afterwards. */
static uint64_t draw_seed(void)
{
    uint_fast64_t none = 0;
    struct timespec now = {0};
    uint64_t value;

    (void)timespec_get(&now, TIME_UTC);
    value = heft_mix((uint64_t)(uintptr_t)&drawn) ^ heft_mix((uint64_t)(uintptr_t)&now);
    value =
        heft_mix(value + (uint64_t)now.tv_sec) ^ (uint64_t)now.tv_nsec << 20 ^ (uint64_t)clock();
    value = heft_mix(value) | 1;
    if (atomic_compare_exchange_strong(&drawn, &none, value))
        return value;
    return none; /* another thread was first: use its value */
}

static inline uint64_t hash_seed(void)
{
    const uint64_t value = atomic_load_explicit(&drawn, memory_order_relaxed);

    return HEFT_LIKELY(value != 0) ? value : draw_seed();
}

uint64_t heft_map_seed(void)
{
    return hash_seed();
}

/* ---- SipHash-1-3 --------------------------------------------------------------------------- */

struct sip {
    uint64_t a, b, c, d;
};

HEFT_WRAPS static inline uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

HEFT_WRAPS static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotate_left(s->b, 13) ^ s->a;
    s->d = rotate_left(s->d, 16) ^ s->c;
    s->a = rotate_left(s->a, 32) + s->d;
    s->c += s->b;
    s->d = rotate_left(s->d, 21) ^ s->a;
    s->b = rotate_left(s->b, 17) ^ s->c;
    s->c = rotate_left(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

/* Never zero: zero marks a free slot. */
static uint32_t hash_of(struct heft_str key)
{
    const uint64_t k0 = hash_seed(), k1 = heft_mix(k0);
    const uint8_t *p = (const uint8_t *)key.p;
    struct sip s = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                    k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)(key.n & 0xff) << 56;
    size_t n = key.n;

    for (; n >= 8; n -= 8, p += 8)
        sip_word(&s, heft_le64(p));
    if (n > 0 && key.n >= 8) /* the last 8 bytes, shifted so that bytes hashed already do not
                                count again */
        last |= heft_le64(p + n - 8) >> 8 * (8 - n);
    else
        for (size_t i = 0; i < n; i++)
            last |= (uint64_t)p[i] << (8 * i);
    sip_word(&s, last);
    s.c ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return (uint32_t)((s.a ^ s.b ^ s.c ^ s.d) >> 32) | 0x80000000u;
}

/* ---- maps with string keys ----------------------------------------------------------------- */

struct heft_strmap_slot {
    uint32_t hash; /* 0 if the slot is free */
    uint32_t entry;
};

struct heft_strmap_entry {
    const char *p;
    uint32_t n;
    uint32_t value;
};

static bool entry_is(const struct heft_strmap_entry *entry, struct heft_str key)
{
    return entry->n == key.n && (key.n == 0 || memcmp(entry->p, key.p, key.n) == 0);
}

/* The slot of the key, or the free slot for it. The table always has a free slot. */
static struct heft_strmap_slot *strmap_slot(const struct heft_strmap *map, struct heft_str key,
                                            uint32_t hash)
{
    const size_t mask = map->cap - 1;
    size_t at = hash & mask;

    while (map->slots[at].hash != 0) {
        struct heft_strmap_slot *slot = &map->slots[at];

        if (slot->hash == hash && entry_is(&map->entries[slot->entry], key))
            return slot;
        at = (at + 1) & mask;
    }
    return &map->slots[at];
}

static bool strmap_resize(struct heft_strmap *map, size_t cap, struct heft_error *err)
{
    struct heft_strmap_slot *slots = heft_calloc(cap, sizeof *slots, err);

    if (!slots)
        return false;
    for (size_t i = 0; i < map->cap; i++) {
        const struct heft_strmap_slot *old = &map->slots[i];
        size_t at = old->hash & (cap - 1);

        if (old->hash == 0)
            continue;
        while (slots[at].hash != 0)
            at = (at + 1) & (cap - 1);
        slots[at] = *old;
    }
    heft_free(map->slots);
    map->slots = slots;
    map->cap = cap;
    return true;
}

bool heft_strmap_reserve(struct heft_strmap *map, size_t count, struct heft_error *err)
{
    size_t cap = map->cap ? map->cap : 16;

    if (count > UINT32_MAX / 2)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "a table of %zu names is too large",
                         count);
    while (cap - cap / 4 < count)
        cap *= 2;
    if (cap != map->cap && !strmap_resize(map, cap, err))
        return false;
    return count <= map->entries_cap || heft_grow(&map->entries, &map->entries_cap, map->count,
                                                  count - map->count, sizeof *map->entries, err);
}

/* Makes room for one more entry and finds the key's slot. */
static struct heft_strmap_slot *strmap_place(struct heft_strmap *map, struct heft_str key,
                                             uint32_t hash, struct heft_error *err)
{
    if (key.n > UINT32_MAX) {
        heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a name has %zu bytes, the limit is 2^32 - 1",
                  key.n);
        return NULL;
    }
    if (HEFT_UNLIKELY(map->count >= map->cap - map->cap / 4 || map->count >= map->entries_cap) &&
        !heft_strmap_reserve(map, map->count + 1, err))
        return NULL;
    return strmap_slot(map, key, hash);
}

static void strmap_fill(struct heft_strmap *map, struct heft_strmap_slot *slot, struct heft_str key,
                        uint32_t hash, uint32_t value)
{
    const uint32_t entry = (uint32_t)map->count++; /* below 2^31, see heft_strmap_reserve */

    *slot = (struct heft_strmap_slot){hash, entry};
    map->entries[entry] = (struct heft_strmap_entry){key.p, (uint32_t)key.n, value};
}

static bool strmap_add_hashed(struct heft_strmap *map, struct heft_str key, uint32_t hash,
                              uint32_t value, uint32_t *found, struct heft_error *err)
{
    struct heft_strmap_slot *slot = strmap_place(map, key, hash, err);

    if (!slot)
        return false;
    *found = slot->hash ? map->entries[slot->entry].value : HEFT_MAP_NONE;
    if (slot->hash == 0)
        strmap_fill(map, slot, key, hash, value);
    return true;
}

bool heft_strmap_add(struct heft_strmap *map, struct heft_str key, uint32_t value, uint32_t *found,
                     struct heft_error *err)
{
    return strmap_add_hashed(map, key, hash_of(key), value, found, err);
}

bool heft_strmap_add_column(struct heft_strmap *map, const struct heft_str *keys, size_t stride,
                            size_t n, uint32_t first, size_t *twice, uint32_t *found,
                            struct heft_error *err)
{
    const uint8_t *column = (const uint8_t *)keys;
    uint32_t hashes[BATCH];
    struct heft_str batch[BATCH];

    *twice = n;
    *found = HEFT_MAP_NONE;
    if (n > UINT32_MAX || !heft_strmap_reserve(map, map->count + n, err))
        return n > UINT32_MAX &&
               heft_strmap_reserve(map, n, err); /* heft_strmap_reserve refuses it */
    for (size_t i = 0; i < n; i += BATCH) {
        const size_t many = n - i < BATCH ? n - i : BATCH;

        for (size_t k = 0; k < many; k++) {
            memcpy(&batch[k], column + (i + k) * stride, sizeof batch[k]);
            hashes[k] = hash_of(batch[k]);
            HEFT_PREFETCH(&map->slots[hashes[k] & (map->cap - 1)]);
        }
        for (size_t k = 0; k < many; k++) {
            if (!strmap_add_hashed(map, batch[k], hashes[k], first + (uint32_t)(i + k), found, err))
                return false;
            if (*found == HEFT_MAP_NONE)
                continue;
            *twice = i + k;
            return true;
        }
    }
    return true;
}

bool heft_strmap_set(struct heft_strmap *map, struct heft_str key, uint32_t value,
                     struct heft_error *err)
{
    const uint32_t hash = hash_of(key);
    struct heft_strmap_slot *slot = strmap_place(map, key, hash, err);

    if (!slot)
        return false;
    if (slot->hash == 0)
        strmap_fill(map, slot, key, hash, value);
    else
        map->entries[slot->entry].value = value;
    return true;
}

uint32_t heft_strmap_get(const struct heft_strmap *map, struct heft_str key)
{
    const struct heft_strmap_slot *slot;

    if (map->count == 0)
        return HEFT_MAP_NONE;
    slot = strmap_slot(map, key, hash_of(key));
    return slot->hash ? map->entries[slot->entry].value : HEFT_MAP_NONE;
}

void heft_strmap_release(struct heft_strmap *map)
{
    heft_free(map->slots);
    heft_free(map->entries);
    *map = (struct heft_strmap){0};
}

/* ---- sets of similar texts ----------------------------------------------------------------- */

/* A longer probe sequence means that a file chose its marks to collide: the text is then looked up
 * in the map, whose hash is keyed. */
#define MOST_PROBES 16

bool heft_differ_reserve(struct heft_differ *differ, size_t count, struct heft_error *err)
{
    size_t cap = 16;

    while (cap / 2 < count)
        cap *= 2;
    differ->marks = heft_calloc(cap, sizeof *differ->marks, err);
    differ->cap = cap;
    return differ->marks != NULL;
}

HEFT_WRAPS static uint64_t mark_of(struct heft_str text)
{
    const uint8_t *p = (const uint8_t *)text.p;
    uint64_t mark = text.n, word = 0;
    size_t i = 0;

    for (; text.n - i > 8; i += 8) {
        mark = (mark ^ heft_le64(p + i)) * UINT64_C(0x9e3779b97f4a7c15);
        mark ^= mark >> 32;
    }
    if (text.n >= 8)
        word = heft_le64(p + text.n - 8);
    else
        for (; i < text.n; i++)
            word = word << 8 | p[i];
    return heft_mix(mark ^ word) | 1;
}

bool heft_differ_show(struct heft_differ *differ, struct heft_str text)
{
    const uint64_t mark = mark_of(text);
    size_t at = (size_t)(mark >> 32) & (differ->cap - 1);

    for (int probes = 0; differ->marks[at] != 0; probes++) {
        if (differ->marks[at] == mark || probes == MOST_PROBES)
            return false;
        at = (at + 1) & (differ->cap - 1);
    }
    differ->marks[at] = mark;
    return true;
}

void heft_differ_release(struct heft_differ *differ)
{
    heft_free(differ->marks);
    *differ = (struct heft_differ){0};
}

/* ---- maps with integer keys ---------------------------------------------------------------- */

/* Values are stored inverted, so that zeroed memory is free: HEFT_MAP_NONE is not a valid value. */
struct heft_u32map_slot {
    uint32_t key, inverted;
};

static struct heft_u32map_slot *u32map_slot(const struct heft_u32map_slot *slots, size_t cap,
                                            uint32_t key)
{
    size_t at = (size_t)heft_mix(key ^ hash_seed()) & (cap - 1);

    while (slots[at].inverted != 0 && slots[at].key != key)
        at = (at + 1) & (cap - 1);
    return (struct heft_u32map_slot *)&slots[at];
}

static bool u32map_grow_slots(struct heft_u32map *map, struct heft_error *err)
{
    const size_t cap = map->cap ? 2 * map->cap : 16;
    struct heft_u32map_slot *slots = heft_calloc(cap, sizeof *slots, err);

    if (!slots)
        return false;
    for (size_t i = 0; i < map->cap; i++)
        if (map->slots[i].inverted != 0)
            *u32map_slot(slots, cap, map->slots[i].key) = map->slots[i];
    heft_free(map->slots);
    map->slots = slots;
    map->cap = cap;
    return true;
}

/* The array grows to hold `key` only while its size stays proportional to the number of keys in the
 * map. */
static bool u32map_grow_dense(struct heft_u32map *map, uint32_t key, struct heft_error *err)
{
    const size_t old = map->dense_cap;

    if (!heft_grow(&map->dense, &map->dense_cap, old, (size_t)key - old + 1, sizeof *map->dense,
                   err))
        return false;
    memset(map->dense + old, 0, (map->dense_cap - old) * sizeof *map->dense);
    return true;
}

static bool u32map_set_sparse(struct heft_u32map *map, uint32_t key, uint32_t value,
                              struct heft_error *err)
{
    struct heft_u32map_slot *slot;

    if (map->sparse + 1 > map->cap - map->cap / 4 && !u32map_grow_slots(map, err))
        return false;
    slot = u32map_slot(map->slots, map->cap, key);
    if (slot->inverted == 0) {
        map->count++;
        map->sparse++;
    }
    *slot = (struct heft_u32map_slot){key, ~value};
    return true;
}

static uint32_t u32map_get_sparse(const struct heft_u32map *map, uint32_t key)
{
    return map->sparse ? ~u32map_slot(map->slots, map->cap, key)->inverted : HEFT_MAP_NONE;
}

bool heft_u32map_set(struct heft_u32map *map, uint32_t key, uint32_t value, struct heft_error *err)
{
    if (key >= map->dense_cap) {
        if (key / 2 > map->count + 32)
            return u32map_set_sparse(map, key, value, err);
        if (!u32map_grow_dense(map, key, err))
            return false;
    }
    /* A key that went to the slots before the array reached it stays there. */
    if (HEFT_UNLIKELY(map->sparse != 0) && u32map_get_sparse(map, key) != HEFT_MAP_NONE)
        return u32map_set_sparse(map, key, value, err);
    map->count += map->dense[key] == 0;
    map->dense[key] = ~value;
    return true;
}

uint32_t heft_u32map_get(const struct heft_u32map *map, uint32_t key)
{
    if (HEFT_LIKELY(key < map->dense_cap && map->dense[key] != 0))
        return ~map->dense[key];
    return u32map_get_sparse(map, key);
}

void heft_u32map_release(struct heft_u32map *map)
{
    heft_free(map->slots);
    heft_free(map->dense);
    *map = (struct heft_u32map){0};
}
