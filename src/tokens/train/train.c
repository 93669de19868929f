/* train.c: public API of training: counted pre-tokens → cells → merges → files. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/train/train.h"
#include "tokens/bpe/vocab.h"

#define CELL_MEMORY  3 /* bytes a cell, including its share of the pairs */
#define LEAST_MEMORY (1 << 16)
#define MOST_CELLS   (UINT32_MAX - 128)
#define LEAST_BYTES  257       /* initial ids: 256 bytes and <|endoftext|> */
#define MOST_SYMBOLS (1 << 24) /* symbol numbers are stored in three cells */

struct training {
    struct heft_words words;
    struct heft_train_task task;
};

/* ---- public API -----------------------------------------------------------------------------  */

static bool check_options(const struct heft_train_options *o, struct heft_error *err)
{
    if (o->style != HEFT_TRAIN_BYTES && o->style != HEFT_TRAIN_SUBWORD_NMT)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "unknown style of training %u",
                         (unsigned)o->style);
    if (o->style == HEFT_TRAIN_BYTES && o->vocab_size < LEAST_BYTES)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a vocabulary of %" PRIu32
                         " ids; the 256 bytes and <|endoftext|> need 257",
                         o->vocab_size);
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
    task->most_symbols = is_bytes ? o->vocab_size - 1 : task->cells.n_symbols + o->vocab_size;
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
                        const struct heft_train_options *o, struct heft_train_report *report,
                        struct heft_error *err)
{
    t->task.memory = o->memory ? o->memory : HEFT_TRAIN_MEMORY;
    if (!check_options(o, err) || !heft_train_read(paths, n, o, &t->words, report, err) ||
        !check_size(t, err) || !learn_merges(t, o, err) ||
        !heft_train_write(&t->task.cells, output, o, err))
        return false;
    report->merges = count_merges(&t->task.cells);
    report->ids = o->style == HEFT_TRAIN_BYTES ? t->task.cells.n_symbols + 1 : 0;
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

    heft_train_cells_release(&t.task.cells);
    heft_counts_release(&t.words.counts);
    return ok;
}
