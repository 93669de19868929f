/* merge.c: BPE by its definition: short pre-tokens by the minimum over all pairs, O(n²); longer
 * ones by a heap of pairs, O(n log n). A pair is looked up by its two ids or, if the vocabulary has
 * ranks, by its bytes; symbols are numbered by their first bytes.
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

static inline void begin_short(struct short_word *w, const struct heft_pairs *pairs,
                               const uint8_t *word, size_t n)
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
static inline void merge_at(struct short_word *w, const struct heft_pairs *pairs, size_t n,
                            size_t at, uint32_t id)
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

/* ---- short pre-tokens by ranks ----------------------------------------------------------- */

/* As above, but the places of symbols are bits of a number, and the keys have 64 bits: compilers look
 * for the least of such numbers one by one, as they were written. Reading several at a time would wait
 * for the last one to be written. */
struct ranked_word {
    const struct heft_ranked *ranked;
    const uint8_t *word;
    size_t n;
    uint64_t keys[HEFT_MERGE_SHORT + 3]; /* NO_RANK in place of a rank: there is no merge */
    uint32_t ids[HEFT_MERGE_SHORT];
    uint64_t begins; /* a bit for each byte that begins a symbol, and for the end */
};

HEFT_INLINE uint64_t key_of(uint32_t rank, size_t at)
{
    return (uint64_t)rank << PLACE_BITS | at;
}

HEFT_INLINE uint64_t less_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The least of the keys, which are read four at a time. */
HEFT_INLINE uint64_t least_key(const struct ranked_word *w)
{
    uint64_t one = w->keys[0], two = w->keys[1], three = w->keys[2], four = w->keys[3];

    for (size_t i = 4; i < w->n; i += 4) {
        one = less_of(one, w->keys[i]);
        two = less_of(two, w->keys[i + 1]);
        three = less_of(three, w->keys[i + 2]);
        four = less_of(four, w->keys[i + 3]);
    }
    return less_of(less_of(one, two), less_of(three, four));
}

HEFT_INLINE size_t begin_after(uint64_t begins, size_t at)
{
    return heft_lowest_bit(begins & UINT64_MAX << 1 << at);
}

/* The bits of begins before `at`. */
HEFT_INLINE uint64_t begins_before(uint64_t begins, size_t at)
{
    return begins & ((UINT64_C(1) << at) - 1);
}

/* A look-up of the rank of merging two symbols, whose bytes are word[from, to), in two steps: two
 * look-ups wait for memory at the same time. */
struct query {
    bool may_merge;
    struct heft_vocab_asked asked;
};

HEFT_INLINE struct heft_str bytes_of(const struct ranked_word *w, size_t from, size_t to)
{
    return (struct heft_str){(const char *)w->word + from, to - from};
}

HEFT_INLINE void begin_query(const struct ranked_word *w, struct query *q, size_t from, size_t to)
{
    q->may_merge = heft_vocab_ids_try(&w->ranked->ids, bytes_of(w, from, to), &q->asked);
}

HEFT_INLINE uint32_t end_query(const struct ranked_word *w, const struct query *q)
{
    if (HEFT_LIKELY(!q->may_merge))
        return HEFT_NO_RANK;
    return HEFT_LIKELY(q->asked.word.n <= HEFT_VOCAB_SHORT)
               ? heft_vocab_ids_find_short(&w->ranked->ids, &q->asked)
               : heft_vocab_ids_find(&w->ranked->ids, &q->asked);
}

HEFT_INLINE void prefetch_bytes(const struct ranked_word *w, size_t from, size_t to)
{
    const struct heft_vocab_ids *const ids = &w->ranked->ids;
    struct heft_vocab_asked asked;

    heft_vocab_ids_hash(ids, bytes_of(w, from, to), &asked);
    HEFT_PREFETCH(&ids->filter[heft_vocab_ids_bit(ids, &asked) / 64]);
    HEFT_PREFETCH(&ids->slots[heft_vocab_ids_home(ids, asked.hash)]);
}

/* Sets the key of the symbol at `at` with the next one, as offer_short. */
HEFT_INLINE void offer_ranked(struct ranked_word *w, size_t at, uint32_t rank, size_t behind)
{
    const uint64_t before = begins_before(w->begins, at);

    w->keys[at] = key_of(rank, at);
    if (rank == HEFT_NO_RANK)
        return;
    if (before)
        prefetch_bytes(w, heft_highest_bit(before), behind);
    if (behind < w->n)
        prefetch_bytes(w, at, begin_after(w->begins, behind));
}

HEFT_INLINE void begin_ranked(struct ranked_word *w, const struct heft_ranked *ranked,
                              const uint8_t *word, size_t n)
{
    w->ranked = ranked;
    w->word = word;
    w->n = n;
    w->begins = (UINT64_C(2) << n) - 1;
    for (size_t i = 0; i < n; i++)
        w->ids[i] = ranked->v->byte_ids[word[i]];
    for (size_t i = 0; i + 1 < n; i++)
        w->keys[i] = key_of(ranked->of_bytes[word[i] << 8 | word[i + 1]], i);
    for (size_t i = 0; i < 4; i++)
        w->keys[n - 1 + i] = UINT64_MAX; /* of the last symbol, and what least_key reads after it */
    for (size_t i = 0; i + 2 < n; i++)
        prefetch_bytes(w, i, i + 3);
}

/* As merge_at. */
HEFT_INLINE void merge_ranked_at(struct ranked_word *w, size_t at, uint32_t id)
{
    const size_t right = begin_after(w->begins, at), next = begin_after(w->begins, right);
    const size_t behind = next < w->n ? begin_after(w->begins, next) : next;
    const uint64_t before = begins_before(w->begins, at);
    const size_t left = before ? heft_highest_bit(before) : 0;
    struct query one, two;

    w->ids[at] = id;
    w->keys[at] = w->keys[right] = UINT64_MAX;
    w->begins &= ~(UINT64_C(1) << right);
    if (next < w->n)
        begin_query(w, &one, at, behind);
    if (before)
        begin_query(w, &two, left, next);
    if (next < w->n)
        offer_ranked(w, at, end_query(w, &one), behind);
    if (before)
        offer_ranked(w, left, end_query(w, &two), next);
}

size_t heft_merge_short_ranked(const struct heft_ranked *ranked, const uint8_t *word, size_t n,
                               uint32_t *ids)
{
    struct ranked_word w;
    size_t count = 0;

    begin_ranked(&w, ranked, word, n);
    for (uint64_t key; (key = least_key(&w)) < key_of(HEFT_NO_RANK, 0);)
        merge_ranked_at(&w, key & (HEFT_MERGE_SHORT - 1), (uint32_t)(key >> PLACE_BITS));
    for (size_t i = 0; i < n; i = begin_after(w.begins, i))
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

/* Where pairs are looked up: the tables of merges, or if NULL those of ranks and the pre-token. */
struct rule {
    const struct heft_pairs *pairs;
    const struct heft_ranked *ranked;
    const uint8_t *word;
};

struct merging {
    struct rule rule;
    size_t n; /* bytes of the pre-token */
    struct heft_merge_symbol *symbols;
    struct heft_merge_pair *heap;
    size_t n_heap;
};

/* Returns the rank of the pair whose left symbol is `at`. Most pairs do not merge. */
static uint32_t rank_of_any(const struct merging *m, uint32_t at)
{
    const struct heft_merge_symbol *const left = &m->symbols[at], *right = &m->symbols[left->next];
    const size_t end = right->next == UINT32_MAX ? m->n : right->next;

    if (m->rule.pairs)
        return heft_pairs_find(m->rule.pairs, left->id, right->id);
    return end - at > HEFT_LONGEST_RANKED
               ? HEFT_NO_RANK
               : heft_ranked_find(m->rule.ranked, m->rule.word + at, end - at);
}

/* Pushes the pair whose left symbol is `at`, if it can merge. */
static void offer_pair(struct merging *m, uint32_t at)
{
    const struct heft_merge_symbol *left = &m->symbols[at];
    uint32_t rank;

    if (left->next == UINT32_MAX)
        return;
    rank = rank_of_any(m, at);
    if (rank == HEFT_NO_RANK)
        return;
    m->heap[m->n_heap] = (struct heft_merge_pair){rank, at, left->id, m->symbols[left->next].id};
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
    left->id = m->rule.pairs ? heft_pairs_made(m->rule.pairs, pair.rank) : pair.rank;
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

static size_t merge_long(struct heft_merger *merger, const struct rule *rule, size_t n,
                         uint32_t *ids)
{
    struct merging m = {.rule = *rule, .n = n, .symbols = merger->symbols, .heap = merger->heap};
    const uint32_t *const byte_ids = (rule->pairs ? rule->pairs->v : rule->ranked->v)->byte_ids;
    size_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        m.symbols[i] = (struct heft_merge_symbol){
            byte_ids[rule->word[i]], i + 1 < n ? i + 1 : UINT32_MAX, i ? i - 1 : UINT32_MAX};
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
    const struct rule rule = {pairs, NULL, word};

    if (n > HEFT_MERGE_SHORT && !reserve_symbols(merger, n, err))
        return false;
    *count = n <= HEFT_MERGE_SHORT ? heft_merge_short(pairs, word, n, ids)
                                   : merge_long(merger, &rule, n, ids);
    return true;
}

bool heft_merge_word_ranked(struct heft_merger *merger, const struct heft_ranked *ranked,
                            const uint8_t *word, size_t n, uint32_t *ids, size_t *count,
                            struct heft_error *err)
{
    const struct rule rule = {NULL, ranked, word};

    if (n > HEFT_MERGE_SHORT && !reserve_symbols(merger, n, err))
        return false;
    *count = n <= HEFT_MERGE_SHORT ? heft_merge_short_ranked(ranked, word, n, ids)
                                   : merge_long(merger, &rule, n, ids);
    return true;
}
