/* merge.c: BPE by its definition: short pre-tokens by the minimum over all pairs, O(n²); longer
 * ones by a heap of pairs, O(n log n).
 *
 * The heap identifies a pair by its left symbol. An entry whose ids are no longer those of the
 * symbols is stale and is skipped. */
#include "tokens/bpe/merge.h"

struct heft_merge_symbol {
    uint32_t id;
    uint32_t next, before; /* neighbouring symbols, as indexes; UINT32_MAX: none */
};

struct heft_merge_pair {
    uint32_t rank, at; /* `at`: index of the left symbol */
    uint32_t left, right;
};

void heft_merger_release(struct heft_merger *merger)
{
    heft_free(merger->symbols);
    heft_free(merger->heap);
    *merger = (struct heft_merger){0};
}

/* ---- short pre-tokens: linear search for the best pair ----------------------------------- */

/* Key: rank of the merge of a symbol with the next one, then the symbol's position. The lowest key
 * is the next merge. */
#define PLACE_BITS 5
#define NO_KEY     UINT32_MAX

struct short_word {
    uint32_t keys[HEFT_LEAST_OF];
    uint32_t ids[HEFT_LEAST_OF + 1]; /* the entry after the last symbol has any value */
    uint8_t next[HEFT_LEAST_OF],
        before[HEFT_LEAST_OF]; /* positions; the first symbol's predecessor is itself */
};

static inline void prefetch_pair(const struct heft_vocab *v, uint32_t left, uint32_t right)
{
    HEFT_PREFETCH(&v->slots[heft_pair_home(v, heft_pair_of(left, right))]);
}

/* Sets the key of the symbol at `at` with the next one; `behind` is the symbol after these two.
 * Prefetches the entries that the merge would need next: most of the time is spent waiting for
 * memory. */
static inline void offer_short(struct short_word *w, const struct heft_pairs *pairs, size_t at,
                               uint32_t rank, size_t behind)
{
    uint32_t made;

    w->keys[at] = NO_KEY;
    if (rank == HEFT_NO_RANK)
        return;
    w->keys[at] = rank << PLACE_BITS | (uint32_t)at;
    made = heft_pairs_made(pairs, rank);
    prefetch_pair(pairs->v, w->ids[w->before[at]], made);
    prefetch_pair(pairs->v, made, w->ids[behind]);
}

static void begin_short(struct short_word *w, const struct heft_pairs *pairs, const uint8_t *word,
                        size_t n)
{
    memset(w->keys, 0xFF, sizeof w->keys);
    for (size_t i = 0; i < n; i++) {
        w->ids[i] = pairs->v->byte_ids[word[i]];
        w->next[i] = (uint8_t)(i + 1);
        w->before[i] = (uint8_t)(i ? i - 1 : 0);
    }
    w->ids[n] = 0;
    for (size_t i = 0; i + 1 < n; i++)
        offer_short(w, pairs, i, pairs->of_bytes[word[i] << 8 | word[i + 1]], i + 2);
}

/* Performs the best merge, whose left symbol is at `at`. */
static void merge_at(struct short_word *w, const struct heft_pairs *pairs, size_t n, size_t at,
                     uint32_t id)
{
    const size_t right = w->next[at], next = w->next[right], left = w->before[at];

    w->ids[at] = id;
    w->keys[at] = w->keys[right] = NO_KEY;
    w->next[at] = (uint8_t)next;
    if (next < n) {
        w->before[next] = (uint8_t)at;
        offer_short(w, pairs, at, heft_vocab_pair(pairs->v, id, w->ids[next]), w->next[next]);
    }
    if (at > 0)
        offer_short(w, pairs, left, heft_vocab_pair(pairs->v, w->ids[left], id), next);
}

size_t heft_merge_short(const struct heft_pairs *pairs, const uint8_t *word, size_t n,
                        uint32_t *ids)
{
    struct short_word w;
    size_t count = 0;

    begin_short(&w, pairs, word, n);
    for (uint32_t key; (key = pairs->kernel->least(w.keys)) != NO_KEY;)
        merge_at(&w, pairs, n, key & (HEFT_LEAST_OF - 1),
                 heft_pairs_made(pairs, key >> PLACE_BITS));
    for (size_t i = 0; i < n; i = w.next[i])
        ids[count++] = w.ids[i];
    return count;
}

/* ---- long pre-tokens: a heap of pairs ---------------------------------------------------- */

static bool ranks_before(const struct heft_merge_pair *a, const struct heft_merge_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void sift_up(struct heft_merge_pair *heap, size_t i)
{
    const struct heft_merge_pair pair = heap[i];

    for (; i > 0 && ranks_before(&pair, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = pair;
}

static void sift_down(struct heft_merge_pair *heap, size_t n, size_t i)
{
    const struct heft_merge_pair pair = heap[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && ranks_before(&heap[child + 1], &heap[child]);
        if (!ranks_before(&heap[child], &pair))
            break;
        heap[i] = heap[child];
    }
    heap[i] = pair;
}

struct merging {
    const struct heft_pairs *pairs;
    struct heft_merge_symbol *symbols;
    struct heft_merge_pair *heap;
    size_t n_heap;
};

/* Pushes the pair whose left symbol is `at`, if it can merge. */
static void offer_pair(struct merging *m, uint32_t at)
{
    const struct heft_merge_symbol *left = &m->symbols[at];
    const uint32_t right = left->next == UINT32_MAX ? 0 : m->symbols[left->next].id;
    uint32_t rank;

    if (left->next == UINT32_MAX)
        return;
    rank = heft_pairs_find(m->pairs, left->id, right);
    if (rank == HEFT_NO_RANK)
        return;
    m->heap[m->n_heap] = (struct heft_merge_pair){rank, at, left->id, right};
    sift_up(m->heap, m->n_heap++);
}

static struct heft_merge_pair take_best(struct merging *m)
{
    const struct heft_merge_pair best = m->heap[0];

    m->heap[0] = m->heap[--m->n_heap];
    if (m->n_heap)
        sift_down(m->heap, m->n_heap, 0);
    return best;
}

static void merge_best(struct merging *m)
{
    const struct heft_merge_pair pair = take_best(m);
    struct heft_merge_symbol *left = &m->symbols[pair.at], *right;

    if (left->id != pair.left || left->next == UINT32_MAX ||
        m->symbols[left->next].id != pair.right)
        return;
    right = &m->symbols[left->next];
    left->id = heft_pairs_made(m->pairs, pair.rank);
    left->next = right->next;
    right->id = UINT32_MAX; /* no pair has it from now on */
    if (left->next != UINT32_MAX)
        m->symbols[left->next].before = pair.at;
    offer_pair(m, pair.at);
    if (left->before != UINT32_MAX)
        offer_pair(m, left->before);
}

/* Each merge removes one symbol and pushes at most two pairs: 3n pairs in total. */
static bool reserve_symbols(struct heft_merger *merger, size_t n, struct heft_error *err)
{
    if (n >= UINT32_MAX / 4)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a pre-token of 1 GiB or more");
    return heft_grow(&merger->symbols, &merger->cap_symbols, 0, n, sizeof *merger->symbols, err) &&
           heft_grow(&merger->heap, &merger->cap_heap, 0, 3 * n, sizeof *merger->heap, err);
}

static size_t merge_long(struct heft_merger *merger, const struct heft_pairs *pairs,
                         const uint8_t *word, size_t n, uint32_t *ids)
{
    struct merging m = {.pairs = pairs, .symbols = merger->symbols, .heap = merger->heap};
    size_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        m.symbols[i] = (struct heft_merge_symbol){
            pairs->v->byte_ids[word[i]], i + 1 < n ? i + 1 : UINT32_MAX, i ? i - 1 : UINT32_MAX};
    for (uint32_t i = 0; i < n; i++)
        offer_pair(&m, i);
    while (m.n_heap)
        merge_best(&m);
    for (uint32_t i = 0; i != UINT32_MAX; i = m.symbols[i].next)
        ids[count++] = m.symbols[i].id;
    return count;
}

bool heft_merge_word(struct heft_merger *merger, const struct heft_pairs *pairs,
                     const uint8_t *word, size_t n, uint32_t *ids, size_t *count,
                     struct heft_error *err)
{
    if (n > HEFT_MERGE_SHORT && !reserve_symbols(merger, n, err))
        return false;
    *count = n <= HEFT_MERGE_SHORT ? heft_merge_short(pairs, word, n, ids)
                                   : merge_long(merger, pairs, word, n, ids);
    return true;
}
