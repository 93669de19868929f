/* map.h: hash tables from strings or integers to 32-bit indexes. Open addressing, seeded per
 * process against chosen collisions, linear in what is put in. Zeroed is valid and empty; release
 * frees. Keys are borrowed: the caller keeps them alive. */
#ifndef HEFT_MAP_H
#define HEFT_MAP_H

#include "base/mem.h"

#define HEFT_MAP_NONE UINT32_MAX

/* Small slots point into a list of the keys in the order they came. */
struct heft_strmap_slot;
struct heft_strmap_entry;
struct heft_strmap {
    struct heft_strmap_slot *slots;
    struct heft_strmap_entry *entries;
    size_t count, cap, entries_cap;
};
/* Puts key → value; where the key is there already, leaves it and gives its value in *found (else
 * HEFT_MAP_NONE). False only on lack of memory. */
HEFT_CHECKED bool heft_strmap_add(struct heft_strmap *map, struct heft_str key, uint32_t value,
                                  uint32_t *found, struct heft_error *err);
/* Adds n keys, the i-th with the value first + i: for long columns, where it takes a third of the
 * time of so many adds. The keys stand `stride` bytes apart (a member of an array's structs). Stops
 * at the first that is there already: its number in *twice (else n), its value in *found. */
HEFT_CHECKED bool heft_strmap_add_column(struct heft_strmap *map, const struct heft_str *keys,
                                         size_t stride, size_t n, uint32_t first, size_t *twice,
                                         uint32_t *found, struct heft_error *err);
/* Sets key → value, replacing. */
HEFT_CHECKED bool heft_strmap_set(struct heft_strmap *map, struct heft_str key, uint32_t value,
                                  struct heft_error *err);
uint32_t heft_strmap_get(const struct heft_strmap *map, struct heft_str key);
HEFT_CHECKED bool heft_strmap_reserve(struct heft_strmap *map, size_t count,
                                      struct heft_error *err);
void heft_strmap_release(struct heft_strmap *map);

/* Spreads each bit of x over all: no two give the same. */
static inline uint64_t heft_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A number that no file can know, drawn once a process: for whoever else hashes what a file says. */
uint64_t heft_map_seed(void);

/* A filter before a map, at a quarter of its time: remembers a mark of each text it is shown, by
 * which equal texts never differ. Reserve first. */
struct heft_differ {
    uint64_t *marks; /* 0: free */
    size_t cap;
};
HEFT_CHECKED bool heft_differ_reserve(struct heft_differ *differ, size_t count,
                                      struct heft_error *err);
/* True: none of the texts shown before is this one. False: one may be, ask a map. */
bool heft_differ_show(struct heft_differ *differ, struct heft_str text);
void heft_differ_release(struct heft_differ *differ);

/* Keys that count up from zero, as a pickle's memo does, live in a plain array; others in slots. */
struct heft_u32map_slot;
struct heft_u32map {
    struct heft_u32map_slot *slots;
    size_t count, cap;
    uint32_t *dense;
    size_t dense_cap;
    size_t sparse; /* keys in slots */
};
HEFT_CHECKED bool heft_u32map_set(struct heft_u32map *map, uint32_t key, uint32_t value,
                                  struct heft_error *err);
uint32_t heft_u32map_get(const struct heft_u32map *map, uint32_t key);
void heft_u32map_release(struct heft_u32map *map);

#endif
