/* split.c: splits a state dict into shards as huggingface_hub does, given sizes and storage
 * numbers. Greedy, in order. An item above the limit gets a shard of its own, which is closed at
 * once; items of one storage stay in one shard, and only the first of them counts.
 *
 * While items are assigned, a shard is identified by a ticket; it gets its number when it is
 * closed. The shard of an oversize item is closed, and numbered, before the open one. */
#include "base/require_arg.h"
#include "base/mem.h"
#include "core/model.h"

struct splitter {
    const uint64_t *sizes;
    uint64_t limit, filled, total;
    uint32_t *shards;
    uint32_t *number; /* ticket → final number of the shard */
    uint32_t tickets, closed,
        /* tickets and closed: counters; open: ticket of the open shard, HEFT_NONE before the
         * first */
        open;
};

static uint32_t new_ticket(struct splitter *s)
{
    return s->tickets++;
}

static void close_shard(struct splitter *s, uint32_t ticket)
{
    s->number[ticket] = s->closed++;
}

static bool place_item(struct splitter *s, size_t i, struct heft_error *err)
{
    const uint64_t size = s->sizes[i];

    if (!heft_add(s->total, size, &s->total))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the sum of the sizes is 2^64 bytes or more");
    if (size > s->limit) {
        s->shards[i] = new_ticket(s);
        close_shard(s, s->shards[i]);
        return true;
    }
    if (s->open != HEFT_NONE && size > s->limit - s->filled) {
        close_shard(s, s->open);
        s->open = HEFT_NONE;
    }
    if (s->open == HEFT_NONE) {
        s->open = new_ticket(s);
        s->filled = 0;
    }
    s->shards[i] = s->open;
    s->filled += size;
    return true;
}

struct first_seen {
    uint64_t storage;
    size_t index;
};

HEFT_WRAPS static size_t home_of(uint64_t storage, size_t mask)
{
    return (size_t)(storage * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
}

/* Hash table with open addressing: storage number → first item with it. */
static size_t first_of(struct first_seen *table, size_t mask, uint64_t storage, size_t index)
{
    size_t at = home_of(storage, mask);

    while (table[at].index != SIZE_MAX && table[at].storage != storage)
        at = (at + 1) & mask;
    if (table[at].index == SIZE_MAX)
        table[at] = (struct first_seen){storage, index};
    return table[at].index;
}

/* first[i]: first item that shares the storage of item i; i itself if there is none. */
static bool find_firsts(size_t n, const uint64_t *storages, size_t *first, struct heft_error *err)
{
    struct first_seen *table;
    size_t cap = 16;

    while (cap < 2 * n)
        cap *= 2;
    table = heft_calloc(cap, sizeof *table, err);
    if (!table)
        return false;
    for (size_t i = 0; i < cap; i++)
        table[i].index = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        first[i] = storages[i] == UINT64_MAX ? i : first_of(table, cap - 1, storages[i], i);
    heft_free(table);
    return true;
}

/* Counting sort by (shard, late): the items of a shard in order, then the later items of shared
 * storages, grouped by storage in the order in which storages were first seen. */
static void put_in_order(size_t n, const uint32_t *shards, const size_t *first, uint32_t n_shards,
                         size_t *begin, size_t *chain, size_t *order)
{
    memset(begin, 0, (2 * (size_t)n_shards + 1) * sizeof *begin);
    for (size_t i = 0; i < n; i++)
        begin[2 * (size_t)shards[i] + (first[i] != i) + 1]++;
    for (size_t k = 1; k <= 2 * (size_t)n_shards; k++)
        begin[k] += begin[k - 1];
    for (size_t i = 0; i < n; i++)
        chain[i] = SIZE_MAX;
    for (size_t left = n; left > 0; left--) { /* chain[f]: next item of the same storage */
        const size_t i = left - 1;

        if (first[i] != i) {
            chain[i] = chain[first[i]];
            chain[first[i]] = i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (first[i] != i)
            continue;
        order[begin[2 * (size_t)shards[i]]++] = i;
        for (size_t late = chain[i]; late != SIZE_MAX; late = chain[late])
            order[begin[2 * (size_t)shards[i] + 1]++] = late;
    }
}

static bool assign_shards(struct splitter *s, size_t n, const size_t *first, struct heft_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (first[i] == i && !place_item(s, i, err))
            return false;
    if (s->open != HEFT_NONE)
        close_shard(s, s->open);
    for (size_t i = 0; i < n; i++)
        if (first[i] == i)
            s->shards[i] = s->number[s->shards[i]];
    for (size_t i = 0; i < n; i++)
        s->shards[i] = s->shards[first[i]];
    return true;
}

bool heft_split(size_t n, const uint64_t *sizes, const uint64_t *storages, uint64_t max_shard_size,
                uint32_t *shards, size_t *order, uint32_t *n_shards, uint64_t *total_size,
                struct heft_error *err)
{
    if (!heft_require_arg((n == 0 || (sizes && storages && shards && order)) && n_shards &&
                              total_size,
                          "an argument", err))
        return false;
    struct splitter s = {
        .sizes = sizes, .limit = max_shard_size, .shards = shards, .open = HEFT_NONE};
    struct heft_arena mem = {0};
    size_t *first, *begin, *chain;
    bool ok;

    if (n >= HEFT_NONE)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "%zu items, the limit is 2^32", n);
    first = heft_arena_zero(&mem, n + 1, sizeof *first, err);
    chain = first ? heft_arena_zero(&mem, n + 1, sizeof *chain, err) : NULL;
    begin = chain ? heft_arena_zero(&mem, 2 * n + 3, sizeof *begin, err) : NULL;
    s.number = begin ? heft_arena_zero(&mem, n + 1, sizeof *s.number, err) : NULL;
    ok = s.number && find_firsts(n, storages, first, err) && assign_shards(&s, n, first, err);
    if (ok) {
        put_in_order(n, shards, first, s.closed, begin, chain, order);
        *n_shards = s.closed;
        *total_size = s.total;
    }
    heft_arena_release(&mem);
    return ok;
}
