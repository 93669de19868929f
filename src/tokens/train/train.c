/* train.c: public API of training: counted pre-tokens → cells → merges → files. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/train/train.h"
#include "tokens/bpe/vocab.h"

#define CELL_MEMORY  3 /* bytes a cell, including its share of the pairs */
#define LEAST_MEMORY (1 << 16)
#define MOST_CELLS   (UINT32_MAX - 128)
#define BYTES        256
#define MOST_SYMBOLS (1 << 24) /* symbol numbers are stored in three cells */

struct training {
    struct heft_train_pattern pattern;
    struct heft_words words;
    struct heft_train_task task;
};

/* ---- public API -----------------------------------------------------------------------------  */

static bool check_options(struct heft_train_options *o, struct heft_error *err)
{
    if (o->style != HEFT_TRAIN_BYTES && o->style != HEFT_TRAIN_SUBWORD_NMT)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "unknown style of training %u",
                         (unsigned)o->style);
    if (!heft_train_check_specials(o, err))
        return false;
    if (o->style == HEFT_TRAIN_BYTES && o->vocab_size < BYTES + o->n_specials)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a vocabulary of %" PRIu32
                         " ids; the 256 bytes and the special tokens need %zu",
                         o->vocab_size, BYTES + o->n_specials);
    if (o->vocab_size >= HEFT_MOST_IDS)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%" PRIu32 " %s; fewer than %u are allowed", o->vocab_size,
                         o->style == HEFT_TRAIN_BYTES ? "ids" : "merges", HEFT_MOST_IDS);
    return true;
}

static bool check_size(const struct training *t, struct heft_error *err)
{
    const uint64_t n = t->words.n_text, memory = t->task.memory;

    if (t->words.n == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the inputs contain no text");
    if (n > MOST_CELLS || n * CELL_MEMORY + LEAST_MEMORY > memory)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "distinct pre-tokens have %" PRIu64 " bytes; at most %" PRIu64
                         " fit into %" PRIu64 " bytes of memory",
                         n, heft_min_u64(memory / CELL_MEMORY, MOST_CELLS), memory);
    return true;
}

static bool learn_merges(struct training *t, const struct heft_train_options *o,
                         struct heft_error *err)
{
    struct heft_train_task *task = &t->task;
    const bool is_bytes = o->style == HEFT_TRAIN_BYTES;

    if (!heft_train_spread(&task->cells, &t->words, o->style, err))
        return false;
    heft_counts_release(&t->words.counts);
    task->most_symbols =
        is_bytes ? o->vocab_size - (uint32_t)o->n_specials : task->cells.n_symbols + o->vocab_size;
    if (task->most_symbols > MOST_SYMBOLS)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%" PRIu32 " characters and %" PRIu32
                         " merges; at most %u together are supported",
                         task->cells.n_symbols, o->vocab_size, MOST_SYMBOLS);
    task->min_frequency = o->min_frequency ? o->min_frequency : 2;
    task->largest_text_first = !is_bytes;
    return heft_train_merge(task, err);
}

static uint32_t count_merges(const struct heft_train_cells *cells)
{
    uint32_t n = cells->n_symbols;

    for (uint32_t i = 0; i < cells->n_symbols; i++)
        n -= cells->symbols[i].left == HEFT_TRAIN_LEAF;
    return n;
}

static bool train_files(struct training *t, const char *const *paths, size_t n, const char *output,
                        struct heft_train_options *o, struct heft_train_report *report,
                        struct heft_error *err)
{
    t->task.memory = o->memory ? o->memory : HEFT_TRAIN_MEMORY;
    if (!check_options(o, err) || !heft_train_pattern_of(&t->pattern, o, err) ||
        !heft_train_read(paths, n, o, &t->pattern, &t->words, report, err) || !check_size(t, err) ||
        !learn_merges(t, o, err) || !heft_train_check_symbols(&t->task.cells, o, err) ||
        !heft_train_write(&t->task.cells, output, o, &t->pattern, err))
        return false;
    report->merges = count_merges(&t->task.cells);
    report->ids =
        o->style == HEFT_TRAIN_BYTES ? t->task.cells.n_symbols + (uint32_t)o->n_specials : 0;
    return true;
}

bool heft_train(const char *const *paths, size_t n, const char *output,
                const struct heft_train_options *options, struct heft_train_report *report,
                struct heft_error *err)
{
    struct heft_train_options o;
    struct heft_train_report found = {0};
    struct training t = {0};
    const bool ok = HEFT_TAKE(heft_train_options, &o, options, err) &&
                    heft_require_paths(paths, n, err) &&
                    heft_require_arg(output != NULL, "a name to write to", err) &&
                    train_files(&t, paths, n, output, &o, &found, err);

    if (report)
        HEFT_FILL(heft_train_report, report, &found);

    heft_train_pattern_release(&t.pattern);
    heft_train_cells_release(&t.task.cells);
    heft_counts_release(&t.words.counts);
    return ok;
}
