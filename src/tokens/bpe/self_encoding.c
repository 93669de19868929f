/* self_encoding.c: a token of two parts that encode to themselves does so if no merge across their border
 * comes before those inside of them:
 *
 *     left            right
 *     ( a ( b c ))    (( d e ) f )        (bc|de), (c|de), (c|d): each before what it would disturb?
 *
 * The parts at the border are taken apart, the younger merge first. A pair that stands there may only
 * merge later than the last that was taken apart, in which one of the two was used up. Of two equal
 * merges the left one is older. */
#include "tokens/bpe/self_encoding.h"

/* Of so many merges, the first: it takes 40 ns each, and a third of GPT-2's make most words. To merge
 * the others when they are met takes no longer than to find out here. */
#define MOST     16384
#define NOT_MADE UINT32_MAX /* by one merge, whose parts encode to themselves */
#define BYTE     0          /* encodes to itself */

struct finding {
    const struct heft_vocab *v;
    uint32_t *made; /* by id: the merge and 1, or one of the above */
};

static bool merges_before(const struct finding *f, uint32_t left, uint32_t right, uint32_t limit)
{
    return heft_pairs_find(f->v->pairs, left, right) < limit;
}

/* Whether two tokens that encode to themselves stay beside each other until they merge. Which of them
 * is taken apart is chosen by numbers: it cannot be foreseen, and a wrong guess is dear. */
static bool stay(const struct finding *f, uint32_t left, uint32_t right)
{
    const struct heft_merge *const merges = f->v->merges;
    uint32_t by_left = f->made[left], by_right = f->made[right];

    while ((by_left | by_right) != BYTE) {
        const uint32_t is_left = -(uint32_t)(by_left > by_right); /* all bits, or none */
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

static bool begin(struct finding *f, struct heft_vocab *v, struct heft_error *err)
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

/* One after the other, so that parts are known before what is made of them. */
static void find(struct finding *f, struct heft_vocab *v)
{
    const uint32_t most = (uint32_t)heft_min_u64(v->n_merges, MOST);

    v->is_self_encoding = most == v->n_merges;
    for (uint32_t rank = 0; rank < most; rank++) {
        const struct heft_merge *const m = &v->merges[rank];

        if (f->made[m->id] == NOT_MADE && f->made[m->left] != NOT_MADE &&
            f->made[m->right] != NOT_MADE && stay(f, m->left, m->right))
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
    const bool ok = begin(&f, v, err);

    if (ok)
        find(&f, v);
    heft_free(f.made);
    return ok;
}
