/* vocab_builtin.c: GPT-2's vocabulary, compiled in: merge n makes id 256 + n; the bytes of the
 * tokens are concatenated. */
#include "tokens/vocab/vocab_open.h"

/* Uses the compiled-in bytes without a copy. */
static void add_tokens(struct heft_vocab *v)
{
    const char *p = (const char *)heft_builtin_bytes;

    for (uint32_t id = 0; id < v->end; id++) {
        v->tokens[id] = (struct heft_str){p, heft_builtin_lengths[id]};
        p += heft_builtin_lengths[id];
    }
    for (uint32_t id = 0; id < 256; id++)
        v->byte_ids[heft_builtin_bytes[id]] = id;
    v->tokens[v->end] = HEFT_STR(HEFT_END_OF_TEXT);
}

bool heft_vocab_builtin(struct heft_vocab *v, struct heft_error *err)
{
    if (heft_builtin_count == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "this build has no GPT-2 vocabulary: give the path of one, or run "
                         "scripts/samples vocab and rebuild");
    v->n_merges = heft_builtin_count;
    v->n_ids = 256 + v->n_merges + 1;
    v->end = v->n_ids - 1;
    v->unicode = "17.0";
    v->family = "gpt2";
    if (!heft_vocab_room(v, v->n_ids, v->n_merges, 0, err))
        return false;
    v->tokens = heft_arena_alloc(&v->mem, v->n_ids * sizeof *v->tokens, err);
    v->merges = heft_arena_alloc(&v->mem, v->n_merges * sizeof *v->merges, err);
    if (!v->tokens || !v->merges)
        return false;
    add_tokens(v);
    for (uint32_t i = 0; i < v->n_merges; i++)
        v->merges[i] =
            (struct heft_merge){heft_builtin_merges[i][0], heft_builtin_merges[i][1], 256 + i};
    v->is_self_encoding = true; /* verified for GPT-2's vocabulary by scripts/builtin-vocab */
    return heft_vocab_pairs(v, (struct heft_vocab_spare){0}, err);
}
