/* map.h: hash tables from strings or integers to 32-bit indexes. Open addressing, seeded in each
 * process against chosen collisions; insertion takes constant time on average. A zeroed table is
 * valid and empty; release frees it. Keys are borrowed: the caller keeps them alive. */
#ifndef HEFT_MAP_H
#define HEFT_MAP_H

#include "base/mem.h"

#define HEFT_MAP_NONE UINT32_MAX

/* Slots are small: they refer to a list of the keys in order of insertion. */
struct heft_strmap_slot;
struct heft_strmap_entry;
struct heft_strmap {
    struct heft_strmap_slot *slots;
    struct heft_strmap_entry *entries;
    size_t count, cap, entries_cap;
};
/* Adds key → value. If the key exists already, the map is unchanged and *found is its value (else
 * HEFT_MAP_NONE). False only if out of memory. */
HEFT_CHECKED bool heft_strmap_add(struct heft_strmap *map, struct heft_str key, uint32_t value,
                                  uint32_t *found, struct heft_error *err);
/* Adds n keys, the i-th with the value first + i; three times as fast as n single additions for
 * long columns. The keys are `stride` bytes apart (a member of an array's structs). Stops at the
 * first key that exists already: *twice is its index (else n), *found its value. */
HEFT_CHECKED bool heft_strmap_add_column(struct heft_strmap *map, const struct heft_str *keys,
                                         size_t stride, size_t n, uint32_t first, size_t *twice,
                                         uint32_t *found, struct heft_error *err);
/* Sets key → value, replacing an older value. */
HEFT_CHECKED bool heft_strmap_set(struct heft_strmap *map, struct heft_str key, uint32_t value,
                                  struct heft_error *err);
uint32_t heft_strmap_get(const struct heft_strmap *map, struct heft_str key);
HEFT_CHECKED bool heft_strmap_reserve(struct heft_strmap *map, size_t count,
                                      struct heft_error *err);
void heft_strmap_release(struct heft_strmap *map);

/* Bit mixer: a bijection in which every bit of x affects all bits of the result. */
HEFT_WRAPS static inline uint64_t heft_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A random number, drawn once in each process, for other hashes of data from untrusted files. */
uint64_t heft_map_seed(void);

/* Filter in front of a map, which takes a quarter of the map's time: remembers a 64-bit mark of
 * each text. Equal texts have equal marks. Reserve first. */
struct heft_differ {
    uint64_t *marks; /* 0 if free */
    size_t cap;
};
HEFT_CHECKED bool heft_differ_reserve(struct heft_differ *differ, size_t count,
                                      struct heft_error *err);
/* True: the text differs from all texts shown before. False: it may be equal to one; ask a map. */
bool heft_differ_show(struct heft_differ *differ, struct heft_str text);
void heft_differ_release(struct heft_differ *differ);

/* Keys that count up from zero, as those of a pickle's memo do, are stored in a plain array; other
 * keys in slots. */
struct heft_u32map_slot;
struct heft_u32map {
    struct heft_u32map_slot *slots;
    size_t count, cap;
    uint32_t *dense;
    size_t dense_cap;
    size_t sparse; /* number of keys in slots */
};
HEFT_CHECKED bool heft_u32map_set(struct heft_u32map *map, uint32_t key, uint32_t value,
                                  struct heft_error *err);
uint32_t heft_u32map_get(const struct heft_u32map *map, uint32_t key);
void heft_u32map_release(struct heft_u32map *map);

#endif
