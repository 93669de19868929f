/* torch_serial.c: the hash of an archive's record names in .data/serialization_id, as torch.save
 * computes it. torch iterates over a std::unordered_set<std::string> of the names and combines
 * their std::hash. Its wheels are built with libstdc++, whose iteration order is reproduced here:
 * MurmurHash64A with the library's seed; one linked list through all names, with the names of a
 * bucket adjacent. A new name is inserted before the others of its bucket; the first of a bucket
 * goes to the front of the list; growing rehashes all names in list order. */
#include "base/endian.h"
#include "format/torch/write/torch_write.h"

#define SEED   UINT64_C(0xc70f6907)
#define FACTOR UINT64_C(0xc6a4a7935bd1e995)
#define FRONT  (HEFT_NONE - 1) /* stands for the head of the list */

/* Bucket counts of libstdc++; the next is used when one more name than the count is inserted. */
static const uint32_t bucket_counts[] = {
    13,       29,        59,        127,       257,       541,        1109,
    2357,     5087,      10273,     20753,     42043,     85229,      172933,
    351061,   712697,    1447153,   2938679,   5967347,   12117689,   24607243,
    49969847, 101473717, 206062531, 418451333, 849749479, 1725587117, 3504151727,
};

struct name {
    uint64_t hash;
    uint32_t next; /* next name, or HEFT_NONE at the end */
};

struct set {
    struct name *names;
    /* the name before the first of the bucket, FRONT, or HEFT_NONE if the bucket is empty */
    uint32_t *buckets;
    uint32_t first, n_buckets;
};

static uint64_t mix_bits(uint64_t v)
{
    return v ^ v >> 47;
}

HEFT_WRAPS static uint64_t hash_text(struct heft_str text)
{
    const uint8_t *p = (const uint8_t *)text.p;
    uint64_t hash = SEED ^ text.n * FACTOR, tail = 0;
    size_t at = 0;

    for (; at + 8 <= text.n; at += 8)
        hash = (hash ^ mix_bits(heft_le64(p + at) * FACTOR) * FACTOR) * FACTOR;
    for (size_t i = text.n; i > at; i--)
        tail = tail << 8 | p[i - 1];
    if (at < text.n)
        hash = (hash ^ tail) * FACTOR;
    return mix_bits(mix_bits(hash) * FACTOR);
}

HEFT_WRAPS uint64_t heft_torch_combine(uint64_t seed, uint64_t value)
{
    return seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2));
}

static uint32_t bucket_of(const struct set *set, uint32_t name)
{
    return (uint32_t)(set->names[name].hash % set->n_buckets);
}

static uint32_t *link_after(struct set *set, uint32_t name)
{
    return name == FRONT ? &set->first : &set->names[name].next;
}

/* Inserts before the first name of its bucket, or at the front of the list if the bucket was
 * empty. */
static void insert_name(struct set *set, uint32_t name)
{
    const uint32_t bucket = bucket_of(set, name);
    const bool is_new = set->buckets[bucket] == HEFT_NONE;
    uint32_t *link = link_after(set, is_new ? FRONT : set->buckets[bucket]);
    const uint32_t next = *link;

    set->names[name].next = next;
    *link = name;
    if (!is_new)
        return;
    if (next != HEFT_NONE)
        set->buckets[bucket_of(set, next)] = name;
    set->buckets[bucket] = FRONT;
}

static bool grow_buckets(struct set *set, uint32_t n_buckets, struct heft_arena *scratch,
                         struct heft_error *err)
{
    uint32_t at = set->first;

    set->buckets = heft_arena_alloc(scratch, n_buckets * sizeof *set->buckets, err);
    if (!set->buckets)
        return false;
    memset(set->buckets, 0xff, n_buckets * sizeof *set->buckets);
    set->n_buckets = n_buckets;
    set->first = HEFT_NONE;
    for (uint32_t next; at != HEFT_NONE; at = next) {
        next = set->names[at].next;
        insert_name(set, at);
    }
    return true;
}

bool heft_torch_hash_names(heft_torch_name_fn *name, const void *ctx, size_t n,
                           struct heft_arena *scratch, uint64_t *out, struct heft_error *err)
{
    struct set set = {.first = HEFT_NONE};
    char room[HEFT_TORCH_NAME];
    size_t size = 0;

    if (n >= bucket_counts[HEFT_COUNT(bucket_counts) - 1])
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "%zu records in an archive", n);
    set.names = heft_arena_zero(scratch, n + 1, sizeof *set.names, err);
    if (!set.names)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (i == set.n_buckets && !grow_buckets(&set, bucket_counts[size++], scratch, err))
            return false;
        set.names[i].hash = hash_text(name(ctx, i, room));
        insert_name(&set, i);
    }
    *out = 0;
    for (uint32_t i = set.first; i != HEFT_NONE; i = set.names[i].next)
        *out = heft_torch_combine(*out, set.names[i].hash);
    return true;
}
