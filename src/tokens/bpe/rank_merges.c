/* rank_merges.c: tokens with ranks → merges. The rank is also the id.
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
#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/bpe/self_encoding.h"

#define LONGEST HEFT_LONGEST_RANKED
#define NO_RANK HEFT_MAP_NONE

/* ---- merging the bytes of a token -------------------------------------------------------- */

/* Bytes of a token divided into parts: part i is bytes [at[i], at[i + 1]) and the token ids[i];
 * ranks[i] is that of merging it with the next. */
struct parting {
    const char *p;
    uint32_t ids[LONGEST], ranks[LONGEST];
    uint16_t at[LONGEST + 1];
    uint16_t n;
};

static uint32_t joined_rank(const struct heft_ranked *r, const struct parting *t, size_t i)
{
    const struct heft_str joined = {t->p + t->at[i], (size_t)t->at[i + 2] - t->at[i]};

    return heft_vocab_ids_seek(&r->ids, joined);
}

static void begin_parting(const struct heft_ranked *r, struct parting *t, struct heft_str token)
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
static void merge_part(const struct heft_ranked *r, struct parting *t, size_t i)
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

size_t heft_ranked_merge_token(const struct heft_ranked *r, uint32_t id, size_t least,
                               uint32_t *left, uint32_t *right)
{
    struct parting t;

    t.ids[0] = NO_RANK;
    begin_parting(r, &t, r->v->tokens[id]);
    while (t.n > least) {
        const size_t best = lowest_rank(&t);

        if (t.ranks[best] == NO_RANK)
            break;
        merge_part(r, &t, best);
    }
    *left = t.ids[0];
    *right = t.n > 1 ? t.ids[1] : 0;
    return t.n;
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
    const struct heft_ranked *ranked;
    struct heft_vocab *v; /* gets the merges */
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
    const struct heft_ranked *const r = d->ranked;
    size_t n = 0;

    for (; n < BATCH && d->next < d->v->n_ids; d->next++)
        if (heft_ranked_has(r, d->next) && d->v->tokens[d->next].n > 1) {
            d->searched[n].id = d->next;
            ask_splits(&r->ids, d->v->tokens[d->next], &d->searched[n++]);
        }
    return n;
}

/* Keeps the places where two tokens of lower ranks meet; with too many, none. */
static void take_splits(const struct derivation *d, struct searched *s)
{
    const unsigned n = s->n <= SPLITS ? s->n : 0;

    s->n = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t left = heft_vocab_ids_find(&d->ranked->ids, &s->splits[i].left);
        const uint32_t right = heft_vocab_ids_find(&d->ranked->ids, &s->splits[i].right);

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
static bool derive_merge(struct derivation *d, const struct searched *s, struct heft_error *err)
{
    struct heft_merge merge = {.id = s->id};
    const bool is_found = find_pair(d, s, &merge);

    if (!is_found && heft_ranked_merge_token(d->ranked, s->id, 2, &merge.left, &merge.right) > 2)
        return heft_vocab_add_whole(d->v, s->id, err);
    if (is_found || heft_self_encoding_stay_apart(&d->self, merge.left, merge.right))
        heft_self_encoding_add(&d->self, &merge, d->v->n_merges);
    else
        d->is_all = false;
    heft_vocab_pairs_add(d->v, merge);
    return true;
}

static bool derive_merges(struct derivation *d, struct heft_error *err)
{
    for (size_t n; (n = ask_batch(d)) > 0;) {
        for (size_t i = 0; i < n; i++)
            take_splits(d, &d->searched[i]);
        for (size_t i = 0; i < n; i++)
            if (!derive_merge(d, &d->searched[i], err))
                return false;
    }
    heft_vocab_pairs_end(d->v);
    heft_self_encoding_end(&d->self, d->v, d->is_all);
    return true;
}

bool heft_ranked_derive(const struct heft_ranked *ranked, struct heft_vocab *to,
                        struct heft_error *err)
{
    const size_t most = ranked->n_longer + 1;
    struct derivation *const d = heft_calloc(1, sizeof *d, err);
    bool ok = d && heft_vocab_room(to, 0, most, 0, err);

    if (ok) {
        d->ranked = ranked;
        d->v = to;
        d->is_all = true;
        to->merges = heft_arena_alloc(&to->mem, most * sizeof *to->merges, err);
    }
    ok = ok && to->merges && heft_vocab_pairs_begin(to, most, err) &&
         heft_self_encoding_begin(&d->self, to, to->n_ids, err) && derive_merges(d, err);
    if (d)
        heft_self_encoding_release(&d->self);
    heft_free(d);
    return ok;
}
