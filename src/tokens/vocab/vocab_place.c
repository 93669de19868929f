/* vocab_place.c: tokens listed with their ranks → tokens of the vocabulary (ranked_tokens.h). The rank
 * is also the id. */
#include "io/pages.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/vocab/vocab_parts.h"

#define AHEAD      8  /* lookups that are prefetched */
#define BYTES_EACH 48 /* about those of the table of ids for a token */

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

bool heft_vocab_reserve_ranks(struct heft_vocab_reading *r, size_t n, size_t room)
{
    struct heft_vocab *const v = r->v;

    if (!heft_pages_reserve(&v->mem, room * sizeof *v->tokens + n * BYTES_EACH, r->err))
        return false;
    v->tokens = heft_arena_zero(&v->mem, room, sizeof *v->tokens, r->err);
    return v->tokens && heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, n, r->err) &&
           heft_vocab_ids_filter(&r->ids, &v->mem, r->err);
}

bool heft_vocab_settle_ranks(struct heft_vocab_reading *r, size_t room)
{
    return heft_vocab_place_bytes(r) && heft_ranked_init(r->v, &r->ids, room, r->err);
}

bool heft_vocab_place_ranks(struct heft_vocab_reading *r, const struct heft_listing *list,
                            size_t room)
{
    struct heft_vocab_asked asked[AHEAD];

    r->v->n_ids = list->most + 1;
    room = (size_t)heft_max_u64(r->v->n_ids, room);
    if (!heft_vocab_reserve_ranks(r, list->n, room))
        return false;
    for (size_t i = 0; i < heft_min_size(list->n, AHEAD); i++)
        heft_vocab_ids_ask(&r->ids, list->items[i].word, &asked[i]);
    for (size_t i = 0; i < list->n; i++) {
        if (!place_rank(r, &list->items[i], &asked[i % AHEAD]))
            return false;
        if (i + AHEAD < list->n)
            heft_vocab_ids_ask(&r->ids, list->items[i + AHEAD].word, &asked[i % AHEAD]);
    }
    return heft_vocab_settle_ranks(r, room);
}
