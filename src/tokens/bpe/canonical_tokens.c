/* canonical_tokens.c: builds the canonical tokens from the merges, in the order of their ranks, and
 * the trie of them. */
#include "tokens/bpe/canonical_tokens.h"

#include "io/pool.h"

#define NONE       HEFT_CANONICAL_NONE
#define BYTES      HEFT_CANONICAL_BYTES
#define MOST_TRIE  ((size_t)4 << 20) /* bytes of all tokens in total */
#define MOST_NODES ((size_t)1 << 20)
#define KEPT_BITS  15

/* ---- compatible tokens ------------------------------------------------------------------- */

/* Returns the code of the merge of two tokens; NONE if they do not merge. */
static uint32_t merged_code(const struct heft_canonical *l, uint32_t left, uint32_t right)
{
    const uint32_t rank = heft_pairs_find(l->pairs, l->tokens[left].id, l->tokens[right].id);

    return rank != HEFT_NO_RANK ? rank + BYTES : NONE;
}

/* Splits both tokens back into their parts, the later merge first. False if the two parts that meet
 * at the boundary merge earlier than `limit`, the merge that has just been undone. Of two equal
 * merges the left one happens first. Pairs of two bytes are checked by heft_canonical_bytes_stay.
 */
static bool is_kept(const struct heft_canonical *l, uint32_t left, uint32_t right, uint32_t limit)
{
    while (left >= BYTES || right >= BYTES) {
        if (merged_code(l, left, right) < limit)
            return false;
        if (left >= BYTES && left > right) {
            limit = left;
            left = l->tokens[left].right;
        } else {
            limit = right + 1;
            right = l->tokens[right].left;
        }
    }
    return true;
}

HEFT_WRAPS static size_t place_of(uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - KEPT_BITS));
}

bool heft_canonical_check_parts(const struct heft_canonical *l, uint32_t left, uint32_t right)
{
    const uint64_t key = ((uint64_t)left << 32 | right) << 1; /* no overflow: codes have 25 bits */
    _Atomic uint64_t *kept = &l->kept[place_of(key)];
    uint64_t known = atomic_load_explicit(kept, memory_order_relaxed);

    if ((known & ~UINT64_C(1)) != key) {
        known = key | is_kept(l, left, right, NONE);
        atomic_store_explicit(kept, known, memory_order_relaxed);
    }
    return known & 1;
}

uint32_t heft_canonical_shorten(struct heft_canonical *l, uint32_t code)
{
    const struct heft_canonical_token *token = &l->tokens[code];
    const uint8_t *const bytes = (const uint8_t *)l->pairs->v->tokens[token->id].p;

    return code < BYTES ? NONE
                        : heft_trie_longest(&l->trie, bytes, (size_t)token->length - 1, false).code;
}

/* ---- building the canonical tokens ------------------------------------------------------- */

struct filling {
    struct heft_canonical *canonical;
    uint32_t *codes; /* for each id, the code of its token */
};

/* Allocates the tables. A token adds at most as many nodes to the trie as its right part has bytes:
 * its left part is there already. *is_usable is false if the vocabulary is too large for them. */
static bool reserve_tables(struct filling *f, struct heft_lock *lock, bool *is_usable,
                           struct heft_error *err)
{
    struct heft_canonical *const l = f->canonical;
    const struct heft_vocab *v = l->pairs->v;
    size_t bytes = 0, nodes = 0;

    for (uint32_t rank = 0; rank < v->n_merges && bytes <= MOST_TRIE; rank++) {
        bytes += v->tokens[v->merges[rank].id].n;
        nodes += v->tokens[v->merges[rank].right].n;
    }
    *is_usable = bytes <= MOST_TRIE && nodes <= MOST_NODES;
    if (!*is_usable)
        return true;
    f->codes = heft_alloc(v->n_ids * sizeof *f->codes, err);
    l->tokens = heft_calloc(BYTES + (size_t)v->n_merges, sizeof *l->tokens, err);
    l->first_merges = heft_alloc((size_t)BYTES * BYTES * sizeof *l->first_merges, err);
    l->kept = heft_calloc((size_t)1 << KEPT_BITS, sizeof *l->kept, err);
    if (!f->codes || !l->tokens || !l->first_merges || !l->kept)
        return false;
    return heft_trie_init(&l->trie, v->tokens, lock, v->n_merges, nodes, err);
}

#define WANTED (NONE - 1) /* in codes[]: an earlier merge had it as a part */

/* Whether the merge happens in an encoding: no earlier merge takes `left` or `right` apart. A token
 * known to encode to itself does so by one of the merges that make it; add_merge skips the others.
 */
static bool is_made(const struct heft_canonical *l, uint32_t left, uint32_t right, uint32_t code)
{
    const struct heft_vocab *const v = l->pairs->v;

    if (heft_vocab_is_self_encoding(v, v->merges[code - BYTES].id) ||
        (left < BYTES && right < BYTES))
        return true;
    return heft_canonical_bytes_stay(
               l, heft_canonical_boundary_rank(l, left, &l->tokens[right].first, 1), right) &&
           is_kept(l, left, right, code);
}

static struct heft_canonical_token joined_token(const struct heft_canonical *l, uint32_t left,
                                                uint32_t right, uint32_t code)
{
    const struct heft_canonical_token *a = &l->tokens[left], *b = &l->tokens[right];

    return (struct heft_canonical_token){
        .left = left,
        .right = right,
        .id = l->pairs->v->merges[code - BYTES].id,
        .by_left = left < BYTES ? code : a->by_left,
        .by_right = right < BYTES ? code : b->by_right,
        .length = (uint16_t)(a->length + b->length),
        .first = a->first,
        .last = b->last,
    };
}

/* Adds the token that a merge makes. A merge that never happens, because earlier ones take its
 * parts apart, adds none. False: the order of merges is not supported. */
static bool add_merge(struct filling *f, uint32_t rank)
{
    struct heft_canonical *const l = f->canonical;
    const struct heft_merge *merge = &l->pairs->v->merges[rank];
    const uint32_t left = f->codes[merge->left], right = f->codes[merge->right];
    const uint32_t code = BYTES + rank;

    if (left >= WANTED)
        f->codes[merge->left] = WANTED;
    if (right >= WANTED)
        f->codes[merge->right] = WANTED;
    if (left >= WANTED || right >= WANTED)
        return true;
    if (left < BYTES) {
        uint32_t *join = &l->first_merges[(uint32_t)l->tokens[right].first << 8 | left];
        *join = code < *join ? code : *join;
    }
    if (!is_made(l, left, right, code))
        return true;
    if (f->codes[merge->id] != NONE)
        return false;
    f->codes[merge->id] = code;
    l->tokens[code] = joined_token(l, left, right, code);
    if (l->tokens[code].length > l->longest)
        l->longest = l->tokens[code].length;
    heft_trie_add(&l->trie, merge->id, code);
    return true;
}

static bool add_bytes(struct filling *f)
{
    const uint32_t *const ids = f->canonical->pairs->v->byte_ids;
    bool is_usable = true;

    for (uint32_t byte = 0; byte < BYTES; byte++) {
        const uint8_t b = (uint8_t)byte;

        is_usable = is_usable && f->codes[ids[byte]] == NONE;
        f->codes[ids[byte]] = byte;
        f->canonical->tokens[byte] =
            (struct heft_canonical_token){byte, byte, ids[byte], NONE, NONE, 1, b, b};
    }
    for (uint32_t i = 0; i < BYTES * BYTES; i++)
        f->canonical->first_merges[i] = NONE;
    f->canonical->longest = 1;
    return is_usable;
}

static bool add_all_merges(struct filling *f)
{
    const struct heft_vocab *v = f->canonical->pairs->v;
    bool is_usable;

    for (uint32_t id = 0; id < v->n_ids; id++)
        f->codes[id] = NONE;
    is_usable = add_bytes(f);
    for (uint32_t rank = 0; rank < v->n_merges && is_usable; rank++)
        is_usable = add_merge(f, rank);
    return is_usable;
}

/* ---- public API -------------------------------------------------------------------------- */

struct heft_canonical_lazy {
    struct heft_lock *lock;
    bool is_made, is_usable;
    struct heft_canonical canonical;
};

struct heft_canonical_lazy *heft_canonical_lazy_new(struct heft_error *err)
{
    struct heft_canonical_lazy *lazy = heft_calloc(1, sizeof *lazy, err);

    if (lazy && (lazy->lock = heft_lock_new(err)) != NULL)
        return lazy;
    heft_canonical_lazy_free(lazy);
    return NULL;
}

static void release_tables(struct heft_canonical *l)
{
    heft_trie_release(&l->trie);
    heft_free(l->tokens);
    heft_free(l->first_merges);
    heft_free(l->kept);
    *l = (struct heft_canonical){0};
}

void heft_canonical_lazy_free(struct heft_canonical_lazy *lazy)
{
    if (!lazy)
        return;
    release_tables(&lazy->canonical);
    heft_lock_free(lazy->lock);
    heft_free(lazy);
}

static bool build_tables(struct heft_canonical_lazy *lazy, const struct heft_pairs *pairs,
                         struct heft_error *err)
{
    struct filling f = {.canonical = &lazy->canonical};
    bool ok;

    lazy->canonical = (struct heft_canonical){.pairs = pairs};
    ok = reserve_tables(&f, lazy->lock, &lazy->is_usable, err);
    lazy->is_usable = ok && lazy->is_usable && add_all_merges(&f);
    heft_free(f.codes);
    if (!lazy->is_usable)
        release_tables(&lazy->canonical);
    return ok;
}

bool heft_canonical_of(const struct heft_pairs *pairs, struct heft_canonical **canonical,
                       struct heft_error *err)
{
    struct heft_canonical_lazy *const lazy = pairs->canonical;
    bool ok;

    heft_lock_take(lazy->lock);
    ok = lazy->is_made = lazy->is_made || build_tables(lazy, pairs, err);
    *canonical = lazy->is_usable ? &lazy->canonical : NULL;
    heft_lock_drop(lazy->lock);
    return ok;
}
