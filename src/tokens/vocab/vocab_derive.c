/* vocab_derive.c: tokens with ranks → merges. The rank is also the id.
 *
 * In tiktoken any two neighbours merge if their joined bytes are a token. Yet each token is made by
 * only one pair: its bytes merge as they would alone, since nothing outside takes part, and that
 * process has one last pair. This pair becomes the merge. A token that its own bytes do not merge
 * into is used only if it equals a pre-token. */
#include "tokens/vocab/vocab_parts.h"

#define LONGEST HEFT_LONGEST_RANKED
#define NO_RANK UINT32_MAX

/* ---- tokens ------------------------------------------------------------------------------ */

bool heft_vocab_place_ranks(struct heft_vocab_reading *r, const struct heft_listing *list,
                            size_t room)
{
    struct heft_vocab *v = r->v;
    uint32_t found;

    v->n_ids = list->most + 1;
    v->tokens = heft_arena_zero(&v->mem, heft_max_u64(v->n_ids, room), sizeof *v->tokens, r->err);
    if (!v->tokens || !heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, list->n, r->err))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct heft_listed *item = &list->items[i];

        if (v->tokens[item->id].p)
            return heft_fail(r->err, HEFT_MALFORMED, item->where,
                             "rank %" PRIu32 " belongs to another token already", item->id);
        v->tokens[item->id] = item->word;
        if (item->word.n == 0)
            continue;
        if (!heft_vocab_ids_add(&r->ids, item->id, &found, r->err))
            return false;
        if (found != HEFT_MAP_NONE)
            return heft_fail(r->err, HEFT_MALFORMED, item->where,
                             "a token has rank %" PRIu32 " and rank %" PRIu32, found, item->id);
    }
    return heft_vocab_place_bytes(r);
}

/* ---- merges ------------------------------------------------------------------------------ */

/* Bytes of a token divided into parts: part i is bytes [at[i], at[i + 1]); ranks[i] is that of
 * merging it with the next. */
struct parting {
    const char *p;
    uint32_t ranks[LONGEST];
    uint16_t at[LONGEST + 1];
    size_t n;
};

static uint32_t rank_of(const struct heft_vocab_reading *r, const struct parting *parts, size_t i)
{
    if (i + 2 > parts->n)
        return NO_RANK;
    return heft_vocab_ids_get(&r->ids, (struct heft_str){parts->p + parts->at[i],
                                                         (size_t)parts->at[i + 2] - parts->at[i]});
}

static size_t lowest_rank(const struct parting *parts)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < parts->n; i++)
        if (parts->ranks[i] < parts->ranks[best])
            best = i;
    return best;
}

/* Merges until two parts are left, or none can merge. */
static void part_token(const struct heft_vocab_reading *r, struct heft_str token,
                       struct parting *parts)
{
    parts->p = token.p;
    parts->n = token.n;
    for (size_t i = 0; i <= token.n; i++)
        parts->at[i] = (uint16_t)i;
    for (size_t i = 0; i < token.n; i++)
        parts->ranks[i] = rank_of(r, parts, i);
    while (parts->n > 2) {
        const size_t best = lowest_rank(parts);

        if (parts->ranks[best] == NO_RANK)
            return;
        parts->n--;
        memmove(parts->at + best + 1, parts->at + best + 2,
                (parts->n - best) * sizeof parts->at[0]);
        memmove(parts->ranks + best, parts->ranks + best + 1,
                (parts->n - best) * sizeof parts->ranks[0]);
        parts->ranks[best] = rank_of(r, parts, best);
        if (best > 0)
            parts->ranks[best - 1] = rank_of(r, parts, best - 1);
    }
}

static bool add_merge(struct heft_vocab_reading *r, uint32_t id)
{
    struct heft_vocab *v = r->v;
    const struct heft_str token = v->tokens[id];
    struct parting parts;

    part_token(r, token, &parts);
    if (parts.n > 2)
        return heft_vocab_add_whole(v, id, r->err);
    v->merges[v->n_merges++] =
        (struct heft_merge){heft_vocab_ids_get(&r->ids, (struct heft_str){token.p, parts.at[1]}),
                            heft_vocab_ids_get(&r->ids, (struct heft_str){token.p + parts.at[1],
                                                                          token.n - parts.at[1]}),
                            id};
    return true;
}

bool heft_vocab_derive(struct heft_vocab_reading *r, const struct heft_listing *list)
{
    struct heft_vocab *const v = r->v;

    if (!heft_vocab_reserve(r, list->n))
        return false;
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (v->tokens[id].p && v->tokens[id].n > 1 && !add_merge(r, id))
            return false;
    return true;
}
