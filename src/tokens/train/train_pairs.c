/* train_pairs.c: hash table of pairs with linear probing and deletion without tombstones (Knuth,
 * TAOCP vol. 3, 6.4, algorithm R), and a binary heap over it. */
#include "tokens/train/train_pairs.h"

#include "tokens/train/train.h"

#define FIRST_BITS 8
#define IDLE       65536 /* bytes of unused lists below which the pool is not compacted */

/* ---- hash table of pairs ----------------------------------------------------------------- */

HEFT_WRAPS static size_t home_of(const struct heft_train_pairs *t, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - t->bits));
}

/* Returns the pair with that key, or the free slot for it. */
static struct heft_train_pair *slot_of(const struct heft_train_pairs *t, uint64_t key)
{
    const size_t mask = ((size_t)1 << t->bits) - 1;
    size_t i = home_of(t, key);

    while (t->slots[i].key != key && t->slots[i].key != UINT64_MAX)
        i = (i + 1) & mask;
    return &t->slots[i];
}

struct heft_train_pair *heft_train_pairs_find(const struct heft_train_pairs *t, uint64_t key)
{
    struct heft_train_pair *pair = slot_of(t, key);

    return pair->key == key ? pair : NULL;
}

bool heft_train_pairs_set_bits(struct heft_train_pairs *t, unsigned bits, struct heft_error *err)
{
    struct heft_train_pair *old = t->slots;
    const size_t n = old ? (size_t)1 << t->bits : 0, wanted = (size_t)1 << bits;
    struct heft_train_pair *slots = heft_alloc(wanted * sizeof *slots, err);

    if (!slots)
        return false;
    for (size_t i = 0; i < wanted; i++)
        slots[i].key = UINT64_MAX;
    t->slots = slots;
    t->bits = bits;
    for (size_t i = 0; i < n; i++)
        if (old[i].key != UINT64_MAX)
            *slot_of(t, old[i].key) = old[i];
    heft_free(old);
    return true;
}

/* At most two thirds of the slots are used. */
static bool is_crowded(const struct heft_train_pairs *t, unsigned bits)
{
    return (t->n + 1) * 3 > (size_t)2 << bits;
}

bool heft_train_pairs_is_full(const struct heft_train_pairs *t)
{
    return t->bits >= t->most_bits && is_crowded(t, t->bits);
}

struct heft_train_pair *heft_train_pairs_add(struct heft_train_pairs *t, uint64_t key,
                                             struct heft_error *err)
{
    struct heft_train_pair *pair;

    if (is_crowded(t, t->bits) && !heft_train_pairs_set_bits(t, t->bits + 1, err))
        return NULL;
    pair = slot_of(t, key);
    *pair = (struct heft_train_pair){.key = key};
    t->n++;
    return pair;
}

/* Capacity of a list in bytes. */
static uint32_t room_of(const struct heft_train_pool *pool, uint64_t list)
{
    uint32_t room;

    memcpy(&room, pool->p + list - 1 - sizeof room, sizeof room);
    return room;
}

/* Number of slots from one to another, in the direction of probing. */
static size_t slots_between(size_t from, size_t to, size_t mask)
{
    return (to + mask + 1 - from) & mask;
}

/* Moves later pairs of the cluster up, so that each can be reached from its home slot. */
void heft_train_pairs_drop(struct heft_train_pairs *t, struct heft_train_pair *pair)
{
    const size_t mask = ((size_t)1 << t->bits) - 1;
    size_t hole = (size_t)(pair - t->slots);

    if (pair->list)
        t->pool.live -= (size_t)heft_train_pair_cost(room_of(&t->pool, pair->list));
    t->n--;
    for (size_t i = (hole + 1) & mask; t->slots[i].key != UINT64_MAX; i = (i + 1) & mask) {
        if (slots_between(home_of(t, t->slots[i].key), i, mask) < slots_between(hole, i, mask))
            continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole].key = UINT64_MAX;
}

void heft_train_pairs_lessen(struct heft_train_pairs *t, uint64_t key, uint64_t count)
{
    struct heft_train_pair *pair = heft_train_pairs_find(t, key);

    if (!pair)
        return;
    pair->count -= count;
    if (!heft_train_pairs_want(t, pair->count, key))
        heft_train_pairs_drop(t, pair);
}

bool heft_train_pairs_clear(struct heft_train_pairs *t, struct heft_error *err)
{
    heft_free(t->slots);
    heft_free(t->pool.p);
    t->slots = NULL;
    t->pool = (struct heft_train_pool){0};
    t->n = t->n_heap = 0;
    return heft_train_pairs_set_bits(t, FIRST_BITS, err);
}

void heft_train_pairs_release(struct heft_train_pairs *t)
{
    heft_free(t->slots);
    heft_free(t->pool.p);
    heft_free(t->heap);
    *t = (struct heft_train_pairs){0};
}

/* ---- lists of occurrences ---------------------------------------------------------------- */

/* Moves the lists in use to the front of the pool. The key before each list names its pair. */
static void compact_lists(struct heft_train_pairs *t)
{
    struct heft_train_pool *pool = &t->pool;
    size_t to = 0;

    for (size_t at = 0, size; at < pool->n; at += size) {
        uint64_t key;
        struct heft_train_pair *pair;

        memcpy(&key, pool->p + at, sizeof key);
        size = (size_t)heft_train_pair_cost(room_of(pool, at + HEFT_TRAIN_LIST_HEAD + 1));
        pair = heft_train_pairs_find(t, key);
        if (!pair || pair->list != at + HEFT_TRAIN_LIST_HEAD + 1)
            continue;
        pair->list = to + HEFT_TRAIN_LIST_HEAD + 1;
        memmove(pool->p + to, pool->p + at, size);
        to += size;
    }
    pool->n = to;
}

bool heft_train_pairs_give_list(struct heft_train_pairs *t, struct heft_train_pair *pair,
                                struct heft_error *err)
{
    struct heft_train_pool *pool = &t->pool;
    const size_t size = (size_t)heft_train_pair_cost(pair->n);

    if (pool->n + size > t->most_pool || pool->n - pool->live > pool->live / 2 + IDLE)
        compact_lists(t);
    if (!heft_grow(&pool->p, &pool->cap, pool->n, size, 1, err))
        return false;
    memcpy(pool->p + pool->n, &pair->key, sizeof pair->key);
    memcpy(pool->p + pool->n + sizeof pair->key, &pair->n, sizeof pair->n);
    pair->list = pool->n + HEFT_TRAIN_LIST_HEAD + 1;
    pair->n = pair->last = 0;
    pool->n += size;
    pool->live += size;
    return true;
}

/* ---- order of pairs ---------------------------------------------------------------------- */

static int compare_text(const struct heft_train_pairs *t, uint32_t a, uint32_t b)
{
    const struct heft_train_symbol *s = t->cells->symbols, *x = &s[a], *y = &s[b];
    char left[HEFT_TRAIN_LONGEST], right[HEFT_TRAIN_LONGEST];

    if (x->prefix != y->prefix)
        return x->prefix > y->prefix ? 1 : -1;
    if (a == b || (x->n <= 8 && y->n <= 8))
        return (x->n > y->n) - (x->n < y->n);
    heft_train_text(t->cells, a, left);
    heft_train_text(t->cells, b, right);
    return heft_str_cmp((struct heft_str){left, x->n}, (struct heft_str){right, y->n});
}

static bool is_before(const struct heft_train_pairs *t, const struct heft_train_ranked *a,
                      const struct heft_train_ranked *b)
{
    int order;

    if (a->count != b->count)
        return a->count > b->count;
    if (!t->largest_text_first)
        return a->key < b->key;
    order = compare_text(t, (uint32_t)(a->key >> 32), (uint32_t)(b->key >> 32));
    if (order == 0)
        order = compare_text(t, (uint32_t)a->key, (uint32_t)b->key);
    return order > 0;
}

bool heft_train_pairs_want(const struct heft_train_pairs *t, uint64_t count, uint64_t key)
{
    const struct heft_train_ranked pair = {count, key};

    if (count != t->least.count)
        return count > t->least.count;
    return t->least.key == UINT64_MAX || !is_before(t, &t->least, &pair);
}

/* ---- the heap ---------------------------------------------------------------------------- */

/* Sifts an item down from index i. */
static void sink_down(struct heft_train_pairs *t, size_t i, struct heft_train_ranked item)
{
    for (size_t k = 2 * i + 1; k < t->n_heap; k = 2 * i + 1) {
        if (k + 1 < t->n_heap && is_before(t, &t->heap[k + 1], &t->heap[k]))
            k++;
        if (!is_before(t, &t->heap[k], &item))
            break;
        t->heap[i] = t->heap[k];
        i = k;
    }
    t->heap[i] = item;
}

/* Builds the heap from all pairs. */
static bool build_heap(struct heft_train_pairs *t, struct heft_error *err)
{
    heft_free(t->heap); /* may have been longer */
    t->heap = NULL;
    t->cap_heap = t->n_heap = 0;
    if (!heft_grow(&t->heap, &t->cap_heap, 0, t->n, sizeof *t->heap, err))
        return false;
    for (size_t i = 0; i < (size_t)1 << t->bits; i++)
        if (t->slots[i].key != UINT64_MAX)
            t->heap[t->n_heap++] = (struct heft_train_ranked){t->slots[i].count, t->slots[i].key};
    for (size_t i = t->n_heap / 2; i > 0; i--)
        sink_down(t, i - 1, t->heap[i - 1]);
    return true;
}

bool heft_train_pairs_push(struct heft_train_pairs *t, const struct heft_train_pair *pair,
                           struct heft_error *err)
{
    const struct heft_train_ranked item = {pair->count, pair->key};
    size_t i;

    if (t->n_heap / 2 > t->n)
        return build_heap(t, err);
    if (!heft_grow(&t->heap, &t->cap_heap, t->n_heap, 1, sizeof *t->heap, err))
        return false;
    i = t->n_heap++;
    for (; i > 0 && is_before(t, &item, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = item;
    return true;
}

struct heft_train_pair *heft_train_pairs_next(struct heft_train_pairs *t)
{
    while (t->n_heap > 0) {
        struct heft_train_ranked top = t->heap[0];
        struct heft_train_pair *pair = heft_train_pairs_find(t, top.key);

        if (pair && pair->count == top.count)
            return pair;
        if (pair)
            top.count = pair->count;
        else
            top = t->heap[--t->n_heap];
        if (t->n_heap > 0)
            sink_down(t, 0, top);
    }
    return NULL;
}

/* ---- dropping rare pairs ----------------------------------------------------------------- */

/* Drops the pairs that rank too low. The pair that moves into a freed slot is looked at next. */
static uint64_t drop_unwanted(struct heft_train_pairs *t)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < (size_t)1 << t->bits;) {
        struct heft_train_pair *pair = &t->slots[i];

        if (pair->key != UINT64_MAX && !heft_train_pairs_want(t, pair->count, pair->key)) {
            heft_train_pairs_drop(t, pair);
            continue;
        }
        i++;
    }
    for (size_t i = 0; i < (size_t)1 << t->bits; i++)
        if (t->slots[i].key != UINT64_MAX)
            bytes += heft_train_pair_cost(t->slots[i].n);
    return bytes;
}

/* Moves the `most` first pairs to the end of the heap, the very first one last; returns how many
 * are left in the heap. */
static size_t choose_first(struct heft_train_pairs *t, size_t most, uint64_t most_bytes)
{
    const size_t n = t->n_heap;
    uint64_t bytes = 0;

    while (t->n_heap > 0) {
        const struct heft_train_ranked top = t->heap[0];

        bytes += heft_train_pair_cost(heft_train_pairs_find(t, top.key)->n);
        if (n - t->n_heap > 0 && (n - t->n_heap == most || bytes > most_bytes))
            break;
        t->n_heap--;
        if (t->n_heap > 0)
            sink_down(t, 0, t->heap[t->n_heap]);
        t->heap[t->n_heap] = top;
    }
    return t->n_heap;
}

bool heft_train_pairs_thin(struct heft_train_pairs *t, size_t most, uint64_t most_bytes,
                           struct heft_error *err)
{
    const uint64_t bytes = drop_unwanted(t);
    const size_t n = t->n;
    size_t left;

    if (!build_heap(t, err))
        return false;
    if (n <= most && bytes <= most_bytes)
        return true;
    left = choose_first(t, most, most_bytes);
    for (size_t i = 0; i < left; i++)
        heft_train_pairs_drop(t, heft_train_pairs_find(t, t->heap[i].key));
    t->least = t->heap[left];
    return build_heap(t, err);
}
