/* train_gather.c: merges the tables of all threads into one, or into a temporary file of sixteen
 * parts if any thread's table did not fit into memory (train_spill.c). */
#include "tokens/train/train.h"

static bool add_word(void *ctx, struct heft_str word, uint64_t count, struct heft_error *err)
{
    return heft_counts_add(ctx, word, count, err);
}

static void add_sizes(struct heft_words *words, const struct heft_counts *counts)
{
    words->n += counts->n;
    words->n_text += counts->n_text;
}

/* Merges one part of all tables into a run of `words`. */
static bool fold_part(struct heft_words *words, struct heft_counts *const *tables, size_t n,
                      unsigned part, struct heft_error *err)
{
    struct heft_counts counts = {.most = UINT64_MAX};
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++)
        ok = heft_spill_each(&tables[i]->spill, part, add_word, &counts, err);
    add_sizes(words, &counts);
    ok = ok && heft_spill_put(&words->counts.spill, &counts, err);
    heft_counts_release(&counts);
    return ok;
}

static bool fold_tables(struct heft_words *words, struct heft_counts *const *tables, size_t n,
                        struct heft_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!heft_counts_flush(tables[i], err))
            return false;
    for (unsigned part = 0; part < HEFT_SPILL_PARTS; part++)
        if (!fold_part(words, tables, n, part, err))
            return false;
    for (size_t i = 0; i < n; i++)
        heft_counts_release(tables[i]);
    return true;
}

bool heft_words_gather(struct heft_words *words, struct heft_counts *const *tables, size_t n,
                       uint64_t most, struct heft_error *err)
{
    bool has_file = false;

    for (size_t i = 0; i < n; i++)
        has_file |= tables[i]->spill.has_file;
    tables[0]->most = most;
    for (size_t i = 1; i < n && !has_file; i++) {
        if (!heft_counts_each(tables[i], add_word, tables[0], err))
            return false;
        heft_counts_release(tables[i]);
        has_file = tables[0]->spill.has_file;
    }
    if (has_file)
        return fold_tables(words, tables, n, err);
    words->counts = *tables[0];
    *tables[0] = (struct heft_counts){0};
    add_sizes(words, &words->counts);
    return true;
}

bool heft_words_each(const struct heft_words *words, heft_count_fn *each, void *ctx,
                     struct heft_error *err)
{
    const struct heft_spill *spill = &words->counts.spill;

    for (unsigned part = 0; spill->has_file && part < HEFT_SPILL_PARTS; part++)
        if (!heft_spill_each(spill, part, each, ctx, err))
            return false;
    return heft_counts_each(&words->counts, each, ctx, err);
}
