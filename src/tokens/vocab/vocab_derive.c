/* vocab_derive.c: tokens with ranks → merges. The rank is also the id.
 *
 * In tiktoken any two neighbours merge if their joined bytes are a token. Yet each token is made by
 * only one pair: its bytes merge as they would alone, since nothing outside takes part, and that
 * process has one last pair. This pair becomes the merge. A token that its own bytes do not merge
 * into is used only if it equals a pre-token.
 *
 * The last pair of nearly every token is found without merging: of the places where two tokens of
 * lower ranks meet, the one where both stay intact until they merge (self_encoding.h). Merges of lower
 * ranks come first, so those of higher ranks need not be known yet. The others are merged: tokens
 * whose parts have higher ranks, those with many such places, and those without a pair. */
#include "io/pages.h"
#include "tokens/bpe/self_encoding.h"
#include "tokens/vocab/vocab_parts.h"

#define LONGEST    HEFT_LONGEST_RANKED
#define NO_RANK    HEFT_MAP_NONE
#define AHEAD      8  /* lookups that are prefetched */
#define BYTES_EACH 48 /* about those of the table of ids for a token */

/* ---- tokens ------------------------------------------------------------------------------ */

static bool place_rank(struct heft_vocab_reading *r, const struct heft_listed *item,
                       const struct heft_vocab_asked *asked)
{
    struct heft_vocab *const v = r->v;
    uint32_t found;

    if (v->tokens[item->id].p)
        return heft_fail(r->err, HEFT_MALFORMED, item->where,
                         "rank %" PRIu32 " belongs to another token already", item->id);
    v->tokens[item->id] = item->word;
    if (item->word.n == 0)
        return true;
    if (!heft_vocab_ids_put(&r->ids, asked, item->id, &found, r->err))
        return false;
    return found == HEFT_MAP_NONE ||
           heft_fail(r->err, HEFT_MALFORMED, item->where,
                     "a token has rank %" PRIu32 " and rank %" PRIu32, found, item->id);
}

/* The table of ids is in memory of its own, which is released after the derivation. */
static bool reserve_ids(struct heft_vocab_reading *r, const struct heft_listing *list)
{
    struct heft_vocab *const v = r->v;

    r->room = (size_t)heft_max_u64(v->n_ids, r->room);
    if (!heft_vocab_room(v, r->room, list->n, 0, r->err) ||
        !heft_pages_reserve(&r->scratch, list->n * BYTES_EACH, r->err))
        return false;
    v->tokens = heft_arena_zero(&v->mem, r->room, sizeof *v->tokens, r->err);
    return v->tokens && heft_vocab_ids_reserve(&r->ids, &r->scratch, v->tokens, list->n, r->err) &&
           heft_vocab_ids_filter(&r->ids, &r->scratch, r->err);
}

bool heft_vocab_place_ranks(struct heft_vocab_reading *r, const struct heft_listing *list,
                            size_t room)
{
    struct heft_vocab_asked asked[AHEAD];

    r->v->n_ids = list->most + 1;
    r->room = room;
    if (!reserve_ids(r, list))
        return false;
    for (size_t i = 0; i < heft_min_size(list->n, AHEAD); i++)
        heft_vocab_ids_ask(&r->ids, list->items[i].word, &asked[i]);
    for (size_t i = 0; i < list->n; i++) {
        if (!place_rank(r, &list->items[i], &asked[i % AHEAD]))
            return false;
        if (i + AHEAD < list->n)
            heft_vocab_ids_ask(&r->ids, list->items[i + AHEAD].word, &asked[i % AHEAD]);
    }
    return heft_vocab_place_bytes(r);
}

/* ---- merging the bytes of a token -------------------------------------------------------- */

/* Bytes of a token divided into parts: part i is bytes [at[i], at[i + 1]) and the token ids[i];
 * ranks[i] is that of merging it with the next. */
struct parting {
    const char *p;
    uint32_t ids[LONGEST], ranks[LONGEST];
    uint16_t at[LONGEST + 1];
    uint16_t n;
};

static uint32_t joined_rank(const struct heft_vocab_reading *r, const struct parting *t, size_t i)
{
    const struct heft_str joined = {t->p + t->at[i], (size_t)t->at[i + 2] - t->at[i]};

    return heft_vocab_ids_get(&r->ids, joined);
}

static void begin_parting(const struct heft_vocab_reading *r, struct parting *t,
                          struct heft_str token)
{
    t->p = token.p;
    t->n = (uint16_t)token.n;
    for (uint16_t i = 0; i <= t->n; i++)
        t->at[i] = i;
    for (uint16_t i = 0; i < t->n; i++) {
        t->ids[i] = r->v->byte_ids[(uint8_t)t->p[i]];
        t->ranks[i] = i + 1 < t->n ? joined_rank(r, t, i) : NO_RANK;
    }
}

static size_t lowest_rank(const struct parting *t)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < t->n; i++)
        if (t->ranks[i] < t->ranks[best])
            best = i;
    return best;
}

/* Joins part i with the next one. */
static void merge_part(const struct heft_vocab_reading *r, struct parting *t, size_t i)
{
    t->ids[i] = t->ranks[i];
    t->n--;
    for (size_t k = i + 1; k < t->n; k++) {
        t->ids[k] = t->ids[k + 1];
        t->ranks[k] = t->ranks[k + 1];
        t->at[k] = t->at[k + 1];
    }
    t->at[t->n] = t->at[t->n + 1];
    if (i > 0)
        t->ranks[i - 1] = joined_rank(r, t, i - 1);
    t->ranks[i] = i + 1 < t->n ? joined_rank(r, t, i) : NO_RANK;
}

/* Merges the bytes of a token until two parts are left. False: none can merge before. */
static bool merge_bytes(const struct heft_vocab_reading *r, struct heft_str token, uint32_t *left,
                        uint32_t *right)
{
    struct parting t;

    begin_parting(r, &t, token);
    while (t.n > 2) {
        const size_t best = lowest_rank(&t);

        if (t.ranks[best] == NO_RANK)
            return false;
        merge_part(r, &t, best);
    }
    *left = t.ids[0];
    *right = t.ids[1];
    return true;
}

/* ---- finding the last pair without merging ----------------------------------------------- */

/* Tokens whose lookups are under way together: most of the time is spent waiting for memory. */
#define BATCH  32
#define SPLITS 6 /* places that are tried in a token; with more it is merged */

struct split {
    struct heft_vocab_asked left, right;
    uint32_t left_id, right_id;
};
struct searched {
    uint32_t id;
    unsigned n; /* splits; SPLITS + 1: too many */
    struct split splits[SPLITS];
};
struct derivation {
    struct heft_vocab_reading *r;
    struct heft_self_encoding self;
    struct searched searched[BATCH];
    uint32_t next; /* id of the next token */
    bool is_all;   /* all tokens with a merge are self-encoding */
};

/* Lists the places in a token where two tokens may meet. */
static void ask_splits(const struct heft_vocab_ids *ids, struct heft_str token, struct searched *s)
{
    s->n = 0;
    for (size_t i = token.n - 1; i > 0 && s->n <= SPLITS; i--) {
        const struct heft_str left = {token.p, i}, right = {token.p + i, token.n - i};

        if (!heft_vocab_ids_may_have(ids, right) || !heft_vocab_ids_may_have(ids, left))
            continue;
        if (s->n < SPLITS) {
            heft_vocab_ids_ask(ids, left, &s->splits[s->n].left);
            heft_vocab_ids_ask(ids, right, &s->splits[s->n].right);
        }
        s->n++;
    }
}

static size_t ask_batch(struct derivation *d)
{
    const struct heft_vocab *const v = d->r->v;
    size_t n = 0;

    for (; n < BATCH && d->next < v->n_ids; d->next++)
        if (v->tokens[d->next].p && v->tokens[d->next].n > 1) {
            d->searched[n].id = d->next;
            ask_splits(&d->r->ids, v->tokens[d->next], &d->searched[n++]);
        }
    return n;
}

/* Keeps the places where two tokens of lower ranks meet; with too many, none. */
static void take_splits(const struct derivation *d, struct searched *s)
{
    const unsigned n = s->n <= SPLITS ? s->n : 0;

    s->n = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t left = heft_vocab_ids_find(&d->r->ids, &s->splits[i].left);
        const uint32_t right = heft_vocab_ids_find(&d->r->ids, &s->splits[i].right);

        if (left >= s->id || right >= s->id)
            continue;
        HEFT_PREFETCH(&d->self.tokens[left]);
        HEFT_PREFETCH(&d->self.tokens[right]);
        s->splits[s->n].left_id = left;
        s->splits[s->n++].right_id = right;
    }
}

/* The pair of self-encoding tokens of lower ranks that stay intact until they merge: there is one at
 * most. */
static bool find_pair(const struct derivation *d, const struct searched *s,
                      struct heft_merge *merge)
{
    for (unsigned i = 0; i < s->n; i++) {
        merge->left = s->splits[i].left_id;
        merge->right = s->splits[i].right_id;
        if (heft_self_encoding_stay_apart(&d->self, merge->left, merge->right))
            return true;
    }
    return false;
}

/* A token without a merge is used only as a whole. */
static bool derive_merge(struct derivation *d, const struct searched *s)
{
    struct heft_vocab *const v = d->r->v;
    struct heft_merge merge = {.id = s->id};
    const bool is_found = find_pair(d, s, &merge);

    if (!is_found && !merge_bytes(d->r, v->tokens[s->id], &merge.left, &merge.right))
        return heft_vocab_add_whole(v, s->id, d->r->err);
    if (is_found || heft_self_encoding_stay_apart(&d->self, merge.left, merge.right))
        heft_self_encoding_add(&d->self, &merge, v->n_merges);
    else
        d->is_all = false;
    heft_vocab_pairs_add(v, merge);
    return true;
}

static bool derive_merges(struct derivation *d)
{
    for (size_t n; (n = ask_batch(d)) > 0;) {
        for (size_t i = 0; i < n; i++)
            take_splits(d, &d->searched[i]);
        for (size_t i = 0; i < n; i++)
            if (!derive_merge(d, &d->searched[i]))
                return false;
    }
    heft_vocab_pairs_end(d->r->v);
    heft_self_encoding_end(&d->self, d->r->v, d->is_all);
    return true;
}

bool heft_vocab_derive(struct heft_vocab_reading *r, const struct heft_listing *list)
{
    struct derivation *const d =
        heft_vocab_reserve(r, list->n) ? heft_calloc(1, sizeof *d, r->err) : NULL;
    bool ok;

    if (!d)
        return false;
    d->r = r;
    d->is_all = true;
    ok = heft_vocab_pairs_begin(r->v, list->n, r->err) &&
         heft_self_encoding_begin(&d->self, r->v, r->room, r->err) && derive_merges(d);
    heft_self_encoding_release(&d->self);
    heft_free(d);
    return ok;
}
