/* rules_apply_index.c: which names of mappings may take a row, without trying all of them.
 *
 *     layers.{L}.wq.weight     by its prefix, "layers."
 *     {p*}.query.weight        by its suffix, ".query.weight"
 *     {p*}                     by the empty suffix: always
 *
 * A name is looked up once for each length of a prefix or suffix that occurs. */
#include <stdlib.h>

#include "rules/rules_apply.h"

const struct heft_pattern *heft_taker_pattern(const struct heft_stage *stage,
                                              const struct heft_taker *taker)
{
    const struct heft_remap *const mapping = &stage->mappings[taker->mapping];

    return taker->is_equal ? &mapping->equal[taker->pattern] : &mapping->left[taker->pattern];
}

static size_t count_takers(const struct heft_stage *stage)
{
    size_t n = 0;

    for (uint32_t i = 0; i < stage->n_mappings; i++)
        n += (size_t)stage->mappings[i].n_left + stage->mappings[i].n_equal;
    return n;
}

static void list_takers(struct heft_taker_index *index, const struct heft_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_mappings; i++) {
        const struct heft_remap *const mapping = &stage->mappings[i];

        for (uint32_t k = 0; k < mapping->n_left; k++)
            index->list[index->n++] = (struct heft_taker){i, k, false};
        for (uint32_t k = 0; k < mapping->n_equal; k++)
            index->list[index->n++] = (struct heft_taker){i, k, true};
    }
}

static int by_length(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static size_t sort_lengths(size_t *lengths, size_t n)
{
    size_t kept = 0;

    qsort(lengths, n, sizeof *lengths, by_length);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || lengths[kept - 1] != lengths[i])
            lengths[kept++] = lengths[i];
    return kept;
}

/* Links taker i in front of those with the same text; called from the last one to the first. */
static bool link_taker(struct heft_taker_index *index, const struct heft_pattern *pattern, size_t i,
                       struct heft_error *err)
{
    const bool has_prefix = pattern->name.prefix.n > 0;
    const struct heft_str text = has_prefix ? pattern->name.prefix : pattern->name.suffix;
    struct heft_strmap *const map = has_prefix ? &index->prefixes : &index->suffixes;

    index->next[i] = heft_strmap_get(map, text);
    if (has_prefix)
        index->prefix_lengths[index->n_prefix_lengths++] = text.n;
    else
        index->suffix_lengths[index->n_suffix_lengths++] = text.n;
    return heft_strmap_set(map, text, (uint32_t)i, err);
}

bool heft_taker_index_make(struct heft_taker_index *index, const struct heft_stage *stage,
                           struct heft_arena *mem, struct heft_error *err)
{
    const size_t n = count_takers(stage);
    bool ok;

    index->list = heft_arena_zero(mem, n + 1, sizeof *index->list, err);
    index->next = heft_arena_zero(mem, n + 1, sizeof *index->next, err);
    index->found = heft_arena_zero(mem, n + 1, sizeof *index->found, err);
    index->prefix_lengths = heft_arena_zero(mem, n + 1, sizeof *index->prefix_lengths, err);
    index->suffix_lengths = heft_arena_zero(mem, n + 1, sizeof *index->suffix_lengths, err);
    ok = index->list && index->next && index->found && index->prefix_lengths &&
         index->suffix_lengths;
    if (!ok)
        return false;
    list_takers(index, stage);
    for (size_t i = n; ok && i > 0; i--)
        ok = link_taker(index, heft_taker_pattern(stage, &index->list[i - 1]), i - 1, err);
    index->n_prefix_lengths = sort_lengths(index->prefix_lengths, index->n_prefix_lengths);
    index->n_suffix_lengths = sort_lengths(index->suffix_lengths, index->n_suffix_lengths);
    return ok;
}

/* Whether both fixed texts suit, without sharing a character. */
static bool may_take(const struct heft_template *t, struct heft_str name)
{
    if (t->n_pieces == 1 && !t->pieces[0].is_slot)
        return heft_str_eq(t->prefix, name);
    return name.n >= t->prefix.n + t->suffix.n && heft_str_starts(name, t->prefix) &&
           heft_str_eq((struct heft_str){name.p + name.n - t->suffix.n, t->suffix.n}, t->suffix);
}

static void take_chain(struct heft_taker_index *index, const struct heft_stage *stage,
                       const struct heft_strmap *map, struct heft_str text, struct heft_str name)
{
    for (uint32_t i = heft_strmap_get(map, text); i != HEFT_MAP_NONE; i = index->next[i])
        if (may_take(&heft_taker_pattern(stage, &index->list[i])->name, name))
            index->found[index->n_found++] = i;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void heft_taker_index_find(struct heft_taker_index *index, const struct heft_stage *stage,
                           struct heft_str name)
{
    bool ascend = true;

    index->n_found = 0;
    for (size_t i = 0; i < index->n_prefix_lengths && index->prefix_lengths[i] <= name.n; i++)
        take_chain(index, stage, &index->prefixes,
                   (struct heft_str){name.p, index->prefix_lengths[i]}, name);
    for (size_t i = 0; i < index->n_suffix_lengths && index->suffix_lengths[i] <= name.n; i++)
        take_chain(
            index, stage, &index->suffixes,
            (struct heft_str){name.p + name.n - index->suffix_lengths[i], index->suffix_lengths[i]},
            name);
    for (size_t i = 1; i < index->n_found; i++)
        ascend = ascend && index->found[i - 1] < index->found[i];
    if (!ascend)
        qsort(index->found, index->n_found, sizeof *index->found, by_number);
}

void heft_taker_index_release(struct heft_taker_index *index)
{
    heft_strmap_release(&index->prefixes);
    heft_strmap_release(&index->suffixes);
}
