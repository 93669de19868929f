/* vocab_derive.c: tokens with ranks → merges. The rank is also the id.
 *
 * In tiktoken any two neighbours merge if their joined bytes are a token. Yet each token is made by
 * only one pair: its bytes merge as they would alone, since nothing outside takes part, and that
 * process has one last pair. This pair becomes the merge. A token that its own bytes do not merge
 * into is used only if it equals a pre-token. */
#include "tokens/vocab/vocab_parts.h"

#define LONGEST HEFT_LONGEST_RANKED
#define NO_RANK UINT32_MAX
#define AHEAD   8                 /* lookups that are prefetched */
#define PAIRS   ((size_t)1 << 16) /* of bytes */

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

bool heft_vocab_place_ranks(struct heft_vocab_reading *r, const struct heft_listing *list,
                            size_t room)
{
    struct heft_vocab *v = r->v;
    struct heft_vocab_asked asked[AHEAD];

    v->n_ids = list->most + 1;
    v->tokens =
        heft_arena_zero(&v->mem, (size_t)heft_max_u64(v->n_ids, room), sizeof *v->tokens, r->err);
    if (!v->tokens || !heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, list->n, r->err))
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

/* ---- merges ------------------------------------------------------------------------------ */

/* Lookups miss the cache, so that many tokens are merged by turns, each lookup one turn after its
 * prefetch. */
#define TURNS 16

/* Bytes of a token divided into parts: part i is bytes [at[i], at[i + 1]) and the token ids[i];
 * ranks[i] is that of merging it with the next. */
struct parting {
    const char *p;
    uint32_t ids[LONGEST], ranks[LONGEST];
    uint16_t at[LONGEST + 1];
    uint16_t n;
    uint16_t merged;                     /* the part that the last merge made … */
    struct heft_vocab_asked left, right; /* … joined with its neighbours */
    struct heft_merge *made;             /* where the last merge goes; NULL: no token */
};

struct derivation {
    struct heft_vocab_reading *r;
    uint32_t *pairs; /* two bytes → the rank of their token */
    struct parting partings[TURNS];
    uint32_t next; /* id of the next token */
};

static struct heft_str joined(const struct parting *t, size_t i)
{
    return (struct heft_str){t->p + t->at[i], (size_t)t->at[i + 2] - t->at[i]};
}

static bool next_token(struct derivation *d, struct parting *t)
{
    struct heft_vocab *const v = d->r->v;

    while (d->next < v->n_ids && !(v->tokens[d->next].p && v->tokens[d->next].n > 1))
        d->next++;
    t->made = d->next < v->n_ids ? &v->merges[v->n_merges++] : NULL;
    if (!t->made)
        return false;
    t->made->id = d->next;
    t->p = v->tokens[d->next].p;
    t->n = (uint16_t)v->tokens[d->next++].n;
    t->merged = UINT16_MAX;
    for (uint16_t i = 0; i < t->n; i++) {
        const uint8_t *const p = (const uint8_t *)t->p + i;

        t->at[i] = i;
        t->ids[i] = v->byte_ids[*p];
        t->ranks[i] = i + 1 < t->n ? d->pairs[p[0] << 8 | p[1]] : NO_RANK;
    }
    t->at[t->n] = t->n;
    return true;
}

static size_t lowest_rank(const struct parting *t)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < t->n; i++)
        if (t->ranks[i] < t->ranks[best])
            best = i;
    return best;
}

/* Joins part i with the next one, and asks for the ranks of what it may merge with. */
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
    t->merged = (uint16_t)i;
    if (i > 0)
        heft_vocab_ids_ask(&r->ids, joined(t, i - 1), &t->left);
    if (i + 1 < t->n)
        heft_vocab_ids_ask(&r->ids, joined(t, i), &t->right);
}

/* Takes the ranks that merge_part asked for. */
static void take_ranks(const struct heft_vocab_reading *r, struct parting *t)
{
    const size_t i = t->merged;

    if (i == UINT16_MAX)
        return;
    if (i > 0)
        t->ranks[i - 1] = heft_vocab_ids_find(&r->ids, &t->left);
    t->ranks[i] = i + 1 < t->n ? heft_vocab_ids_find(&r->ids, &t->right) : NO_RANK;
}

/* Merges once. If two parts are left or none can merge, ends the token and begins another; false:
 * there is none. */
static bool take_turn(struct derivation *d, struct parting *t)
{
    size_t best;

    take_ranks(d->r, t);
    best = lowest_rank(t);
    if (t->n > 2 && t->ranks[best] != NO_RANK) {
        merge_part(d->r, t, best);
        return true;
    }
    t->made->left = t->n == 2 ? t->ids[0] : NO_RANK;
    t->made->right = t->ids[1];
    return next_token(d, t);
}

static void merge_tokens(struct derivation *d)
{
    size_t n = 0; /* tokens under way */

    while (n < TURNS && next_token(d, &d->partings[n]))
        n++;
    while (n > 0)
        for (size_t i = 0; i < n; i++)
            if (!take_turn(d, &d->partings[i])) {
                d->partings[i] = d->partings[n - 1];
                n--;
            }
}

/* Keeps the merges; a token without one is used only as a whole. */
static bool keep_merges(struct heft_vocab *v, struct heft_error *err)
{
    const uint32_t n = v->n_merges;

    v->n_merges = 0;
    for (uint32_t i = 0; i < n; i++)
        if (v->merges[i].left != NO_RANK)
            v->merges[v->n_merges++] = v->merges[i];
        else if (!heft_vocab_add_whole(v, v->merges[i].id, err))
            return false;
    return true;
}

static void list_pairs(struct derivation *d)
{
    const struct heft_vocab *const v = d->r->v;

    memset(d->pairs, 0xFF, PAIRS * sizeof *d->pairs);
    for (uint32_t id = 0; id < v->n_ids; id++) {
        const uint8_t *const p = (const uint8_t *)v->tokens[id].p;

        if (v->tokens[id].n == 2)
            d->pairs[p[0] << 8 | p[1]] = id;
    }
}

bool heft_vocab_derive(struct heft_vocab_reading *r, const struct heft_listing *list)
{
    struct derivation *const d =
        heft_vocab_reserve(r, list->n) ? heft_calloc(1, sizeof *d, r->err) : NULL;
    bool ok = false;

    if (!d)
        return false;
    d->r = r;
    d->pairs = heft_alloc(PAIRS * sizeof *d->pairs, r->err);
    if (d->pairs) {
        list_pairs(d);
        merge_tokens(d);
        ok = keep_merges(r->v, r->err);
    }
    heft_free(d->pairs);
    heft_free(d);
    return ok;
}
