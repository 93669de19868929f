/* self_encoding.c: a token made of two self-encoding parts is self-encoding, too, if no merge
 * across their boundary happens before the merges inside them:
 *
 *     left            right
 *     ( a ( b c ))    (( d e ) f )        (bc|de), (c|de), (c|d): does one happen too early?
 *
 * Splits the parts at the boundary again, the later merge first. A pair that is adjacent there must
 * not merge before the merge just undone. Of two equal merges the left one happens first. */
#include "tokens/bpe/self_encoding.h"

/* Merges that are checked, from the first one: each takes 40 ns, and the first third of GPT-2's
 * makes most pre-tokens. Merging the others when they occur costs no more than checking them here.
 */
#define MOST 16384
#define BYTE 0 /* a single byte: self-encoding */

/* Branch-free choice of the part to split: the branch is unpredictable and a misprediction costs
 * more. */
HEFT_WRAPS bool heft_self_encoding_stay_apart(const struct heft_self_encoding *s, uint32_t left,
                                              uint32_t right)
{
    const struct heft_self_token *a = &s->tokens[left], *b = &s->tokens[right];

    if (a->made == HEFT_NOT_MADE || b->made == HEFT_NOT_MADE)
        return false;
    while ((a->made | b->made) != BYTE) {
        const bool is_left = a->made > b->made;
        const struct heft_self_token *const split = is_left ? a : b;
        const uint32_t limit = split->made - is_left; /* its rank, if the left token is split */

        left = is_left ? split->right : left;
        right = is_left ? right : split->left;
        a = &s->tokens[left];
        b = &s->tokens[right];
        if (heft_pairs_find(s->pairs, left, right) < limit)
            return false;
    }
    return true;
}

bool heft_self_encoding_begin(struct heft_self_encoding *s, struct heft_vocab *v, size_t n_ids,
                              struct heft_error *err)
{
    *s = (struct heft_self_encoding){.pairs = v->pairs, .n_ids = n_ids};
    s->tokens = heft_alloc(n_ids * sizeof *s->tokens, err);
    v->self_encoding = heft_arena_zero(&v->mem, n_ids / 64 + 1, sizeof *v->self_encoding, err);
    if (!s->tokens || !v->self_encoding)
        return false;
    memset(s->tokens, 0xFF, n_ids * sizeof *s->tokens);
    for (unsigned byte = 0; byte < 256; byte++)
        s->tokens[v->byte_ids[byte]].made = BYTE;
    return true;
}

void heft_self_encoding_end(struct heft_self_encoding *s, struct heft_vocab *v, bool is_all)
{
    v->is_self_encoding = is_all;
    for (size_t id = 0; id < s->n_ids; id++)
        v->self_encoding[id / 64] |= (uint64_t)(s->tokens[id].made != HEFT_NOT_MADE) << id % 64;
}

void heft_self_encoding_release(struct heft_self_encoding *s)
{
    heft_free(s->tokens);
    *s = (struct heft_self_encoding){0};
}

/* In the order of ranks, so that parts are known before the tokens made of them. */
static void find_tokens(struct heft_self_encoding *s, struct heft_vocab *v)
{
    const uint32_t most = (uint32_t)heft_min_u64(v->n_merges, MOST);
    bool is_all = most == v->n_merges;

    for (uint32_t rank = 0; rank < most; rank++) {
        const struct heft_merge *const m = &v->merges[rank];

        if (s->tokens[m->id].made == HEFT_NOT_MADE &&
            heft_self_encoding_stay_apart(s, m->left, m->right))
            heft_self_encoding_add(s, m, rank);
        else
            is_all = false;
    }
    heft_self_encoding_end(s, v, is_all);
}

bool heft_self_encoding_find(struct heft_vocab *v, struct heft_error *err)
{
    struct heft_self_encoding s;
    const bool ok = heft_self_encoding_begin(&s, v, v->n_ids, err);

    if (ok)
        find_tokens(&s, v);
    heft_self_encoding_release(&s);
    return ok;
}
