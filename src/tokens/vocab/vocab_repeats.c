/* vocab_repeats.c: merges that list a pair several times. tokenizers and encode.py read the list into a
 * dictionary, in which the last place counts:
 *
 *     a b   c d   a b   →   c d   a b
 *
 * No published vocabulary has such a list, so that the pairs are sorted only after one was found. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "tokens/vocab/vocab_parts.h"

#define RANK (HEFT_MOST_IDS - 1)

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Marks merges with a later one of the same pair by HEFT_NO_TOKEN; returns their number. keys: of n
 * numbers. */
static uint32_t mark_repeated(struct heft_merge *merges, uint32_t n, uint64_t *keys)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        keys[i] = heft_pair_of(merges[i].left, merges[i].right) << HEFT_ID_BITS | i;
    qsort(keys, n, sizeof *keys, by_number);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (keys[i] >> HEFT_ID_BITS == keys[i + 1] >> HEFT_ID_BITS) {
            merges[keys[i] & RANK].id = HEFT_NO_TOKEN;
            count++;
        }
    return count;
}

/* Drops repeated merges from the n of the list, and notes their number. */
static bool drop_repeated(struct heft_vocab_reading *r, uint32_t n)
{
    struct heft_vocab *const v = r->v;
    uint64_t *const keys = heft_alloc(n * sizeof *keys, r->err);
    uint32_t count;

    if (!keys)
        return false;
    count = mark_repeated(v->merges, n, keys);
    heft_free(keys);
    v->n_merges = 0;
    for (uint32_t i = 0; i < n; i++)
        if (v->merges[i].id != HEFT_NO_TOKEN)
            v->merges[v->n_merges++] = v->merges[i];
    v->remarks[HEFT_REMARK_REPEATS] =
        heft_arena_printf(&v->mem, r->err,
                          "merges that the list repeats later: %" PRIu32
                          "; of each pair the last place counts, as in tokenizers",
                          count);
    return v->remarks[HEFT_REMARK_REPEATS] != NULL;
}

bool heft_vocab_validate_listed(struct heft_vocab_reading *r)
{
    const uint32_t n = r->v->n_merges;

    if (heft_vocab_validate(r))
        return true;
    if (r->err->code != HEFT_MALFORMED)
        return false;
    heft_error_begin(r->err);
    return drop_repeated(r, n) && heft_vocab_validate(r);
}
