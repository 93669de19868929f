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
#define MOST     16384
#define NOT_MADE UINT32_MAX /* no merge of self-encoding parts makes it */
#define BYTE     0          /* a single byte: self-encoding */

struct finding {
    const struct heft_vocab *v;
    uint32_t *made; /* by id: rank of its merge + 1, or one of the above */
};

static bool merges_before(const struct finding *f, uint32_t left, uint32_t right, uint32_t limit)
{
    return heft_pairs_find(f->v->pairs, left, right) < limit;
}

/* Whether two self-encoding tokens stay intact until they merge. Branch-free choice of the part to
 * split: the branch is unpredictable and a misprediction costs more. */
HEFT_WRAPS static bool stay_apart(const struct finding *f, uint32_t left, uint32_t right)
{
    const struct heft_merge *const merges = f->v->merges;
    uint32_t by_left = f->made[left], by_right = f->made[right];

    while ((by_left | by_right) != BYTE) {
        const uint32_t is_left =
            -(uint32_t)(by_left > by_right); /* mask: all ones if the left token is split, else 0 */
        const uint32_t made = by_right ^ ((by_left ^ by_right) & is_left);
        const struct heft_merge *const m = &merges[made - 1];

        left ^= (left ^ m->right) & is_left;
        right ^= (right ^ m->left) & ~is_left;
        by_left = f->made[left];
        by_right = f->made[right];
        if (merges_before(f, left, right, made + is_left))
            return false;
    }
    return true;
}

static bool begin_finding(struct finding *f, struct heft_vocab *v, struct heft_error *err)
{
    f->v = v;
    f->made = heft_alloc(v->n_ids * sizeof *f->made, err);
    v->self_encoding = heft_arena_zero(&v->mem, v->n_ids / 64 + 1, sizeof *v->self_encoding, err);
    if (!f->made || !v->self_encoding)
        return false;
    memset(f->made, 0xFF, v->n_ids * sizeof *f->made);
    for (unsigned byte = 0; byte < 256; byte++)
        f->made[v->byte_ids[byte]] = BYTE;
    return true;
}

/* In the order of ranks, so that parts are known before the tokens made of them. */
static void find_tokens(struct finding *f, struct heft_vocab *v)
{
    const uint32_t most = (uint32_t)heft_min_u64(v->n_merges, MOST);

    v->is_self_encoding = most == v->n_merges;
    for (uint32_t rank = 0; rank < most; rank++) {
        const struct heft_merge *const m = &v->merges[rank];

        if (f->made[m->id] == NOT_MADE && f->made[m->left] != NOT_MADE &&
            f->made[m->right] != NOT_MADE && stay_apart(f, m->left, m->right))
            f->made[m->id] = rank + 1;
        else
            v->is_self_encoding = false;
    }
    for (uint32_t id = 0; id < v->n_ids; id++)
        v->self_encoding[id / 64] |= (uint64_t)(f->made[id] != NOT_MADE) << id % 64;
}

bool heft_self_encoding_find(struct heft_vocab *v, struct heft_error *err)
{
    struct finding f = {0};
    const bool ok = begin_finding(&f, v, err);

    if (ok)
        find_tokens(&f, v);
    heft_free(f.made);
    return ok;
}
