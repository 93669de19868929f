/* vocab_builtin.c: GPT-2's own vocabulary from the pairs that the build compiled in: id 256 + n is
 * what merge n makes, and the bytes of its parts lie before it. */
#include "tokens/vocab.h"

/* Bytes of the single ones, then of each merge. The ids of a merge are below its own. */
static bool add_tokens(struct heft_vocab *v, struct heft_error *err)
{
    size_t bytes = 256;
    char *to;
    uint8_t order[256];

    heft_alphabet_order(order);
    for (uint32_t id = 0; id < 256; id++) {
        v->tokens[id].n = 1;
        v->byte_ids[order[id]] = id;
    }
    for (uint32_t i = 0; i < v->n_merges; i++) {
        const uint16_t *pair = heft_builtin_merges[i];

        v->tokens[256 + i].n = v->tokens[pair[0]].n + v->tokens[pair[1]].n;
        bytes += v->tokens[256 + i].n;
    }
    to = heft_arena_alloc(&v->mem, bytes, err);
    if (!to)
        return false;
    memcpy(to, order, 256);
    for (uint32_t id = 0; id < 256; id++)
        v->tokens[id].p = to++;
    for (uint32_t i = 0; i < v->n_merges; i++) {
        const struct heft_str left = v->tokens[heft_builtin_merges[i][0]];
        const struct heft_str right = v->tokens[heft_builtin_merges[i][1]];

        v->tokens[256 + i].p = to;
        memcpy(to, left.p, left.n);
        memcpy(to + left.n, right.p, right.n);
        to += left.n + right.n;
    }
    return true;
}

bool heft_vocab_builtin(struct heft_vocab *v, struct heft_error *err)
{
    if (heft_builtin_count == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "this heft was built without GPT-2's vocabulary: name one (--vocab "
                         "FOLDER), or run scripts/samples vocab and build again");
    v->n_merges = heft_builtin_count;
    v->n_ids = 256 + v->n_merges + 1;
    v->end = v->n_ids - 1;
    v->tokens = heft_arena_zero(&v->mem, v->n_ids, sizeof *v->tokens, err);
    v->merges = heft_arena_alloc(&v->mem, v->n_merges * sizeof *v->merges, err);
    if (!v->tokens || !v->merges || !add_tokens(v, err))
        return false;
    v->tokens[v->end] = HEFT_STR(HEFT_END_OF_TEXT);
    for (uint32_t i = 0; i < v->n_merges; i++)
        v->merges[i] =
            (struct heft_merge){heft_builtin_merges[i][0], heft_builtin_merges[i][1], 256 + i};
    return heft_vocab_pairs(v, err);
}
