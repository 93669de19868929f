/* train.c: the public door to training: words and their counts → cells → merges → files. */
#include "tokens/train.h"

#include "base/map.h"
#include "base/given.h"
#include "tokens/utf8.h"
#include "tokens/vocab.h"

#define BYTES       256
#define WORD_END    "</w>"
#define MOST_CHARS  0x110000
#define CELL_MEMORY 28  /* bytes a cell, with the pairs it is in; measured */
#define LEAST_BYTES 257 /* ids: the bytes and <|endoftext|> */

struct training {
    struct heft_arena mem;
    struct heft_counts counts;
    struct heft_train_task task;
    uint32_t *plain,
        *final; /* subword-nmt: symbol + 1 of a character, within a word and at its end */
    size_t cap_symbols;
    uint64_t memory;
};

/* ---- cells: bytes ------------------------------------------------------------------------ */

static bool add_symbol(struct training *t, const char *text, size_t n, struct heft_error *err)
{
    const char *const copy = heft_arena_text(&t->mem, (struct heft_str){text, n}, err);

    if (!copy || !heft_grow(&t->task.symbols, &t->cap_symbols, t->task.n_symbols, 1,
                            sizeof *t->task.symbols, err))
        return false;
    t->task.symbols[t->task.n_symbols++] =
        (struct heft_train_symbol){.text = copy, .n = (uint32_t)n, .cells = 1};
    return true;
}

static bool make_cells(struct training *t, uint64_t symbols, struct heft_error *err)
{
    const uint64_t n = symbols + t->counts.n + 1;

    if (n >= HEFT_TRAIN_GAP - 1 || n * CELL_MEMORY > t->memory)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "different words have %" PRIu64 " bytes; %" PRIu64
                         " are allowed in %" PRIu64 " bytes of memory",
                         symbols, t->memory / CELL_MEMORY, t->memory);
    t->task.cells = heft_calloc((size_t)n, sizeof *t->task.cells, err);
    if (!t->task.cells)
        return false;
    t->task.cells[t->task.n_cells++].symbol = HEFT_TRAIN_GAP;
    return true;
}

static void put_cell(struct training *t, uint32_t symbol, size_t word)
{
    t->task.cells[t->task.n_cells++] = (struct heft_train_cell){symbol, (uint32_t)word};
}

static bool spread_bytes(struct training *t, struct heft_error *err)
{
    uint32_t id_of[BYTES];
    uint8_t order[BYTES];

    heft_alphabet_order(order);
    for (uint32_t i = 0; i < BYTES; i++) {
        id_of[order[i]] = i;
        if (!add_symbol(t, (const char *)&order[i], 1, err))
            return false;
    }
    if (!make_cells(t, t->counts.n_text, err))
        return false;
    for (size_t w = 0; w < t->counts.n; w++) {
        const uint8_t *p = (const uint8_t *)t->counts.text + t->counts.words[w].at;

        for (uint32_t i = 0; i < t->counts.words[w].n; i++)
            put_cell(t, id_of[p[i]], w);
        put_cell(t, HEFT_TRAIN_GAP, w);
    }
    return true;
}

/* ---- cells: characters ------------------------------------------------------------------- */

/* The symbol of the character of n bytes at p. */
static bool symbol_of(struct training *t, const uint8_t *p, size_t n, bool is_final,
                      uint32_t *symbol, struct heft_error *err)
{
    char text[4 + sizeof WORD_END];
    unsigned width;
    uint32_t *const slot = &(is_final ? t->final : t->plain)[heft_utf8_at(p, &width)];

    if (*slot == 0) {
        memcpy(text, p, n);
        memcpy(text + n, WORD_END, sizeof WORD_END);
        if (!add_symbol(t, text, is_final ? n + sizeof WORD_END - 1 : n, err))
            return false;
        *slot = t->task.n_symbols;
    }
    *symbol = *slot - 1;
    return true;
}

static bool spread_word(struct training *t, size_t w, struct heft_error *err)
{
    const uint8_t *p = (const uint8_t *)t->counts.text + t->counts.words[w].at;
    const size_t n = t->counts.words[w].n;
    uint32_t symbol;

    for (size_t i = 0, step; i < n; i += step) {
        step = heft_utf8_width(p[i]);
        if (!symbol_of(t, p + i, step, i + step == n, &symbol, err))
            return false;
        put_cell(t, symbol, w);
    }
    put_cell(t, HEFT_TRAIN_GAP, w);
    return true;
}

static bool spread_characters(struct training *t, struct heft_error *err)
{
    t->plain = heft_calloc(MOST_CHARS, sizeof *t->plain, err);
    t->final = heft_calloc(MOST_CHARS, sizeof *t->final, err);
    if (!t->plain || !t->final || !make_cells(t, t->counts.n_text, err))
        return false;
    for (size_t w = 0; w < t->counts.n; w++)
        if (!spread_word(t, w, err))
            return false;
    return true;
}

/* ---- the door ---------------------------------------------------------------------------- */

static bool check_options(const struct heft_train_options *o, struct heft_error *err)
{
    if (o->style != HEFT_TRAIN_BYTES && o->style != HEFT_TRAIN_SUBWORD_NMT)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no style of training has number %u",
                         (unsigned)o->style);
    if (o->style == HEFT_TRAIN_BYTES && o->size < LEAST_BYTES)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a vocabulary of %" PRIu32
                         " ids; the 256 bytes and <|endoftext|> are 257 already",
                         o->size);
    if (o->size >= HEFT_MOST_IDS)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%" PRIu32 " %s; fewer than %u are allowed", o->size,
                         o->style == HEFT_TRAIN_BYTES ? "ids" : "merges", HEFT_MOST_IDS);
    return true;
}

static bool learn(struct training *t, const struct heft_train_options *o, struct heft_error *err)
{
    struct heft_train_task *task = &t->task;
    const bool is_bytes = o->style == HEFT_TRAIN_BYTES;
    uint32_t first;

    if (!(is_bytes ? spread_bytes(t, err) : spread_characters(t, err)))
        return false;
    first = task->n_symbols;
    task->most_symbols = is_bytes ? o->size - 1 : first + o->size;
    task->words = t->counts.words;
    task->mem = &t->mem;
    task->min_frequency = o->min_frequency ? o->min_frequency : 2;
    task->largest_text_first = !is_bytes;
    return heft_grow(&task->symbols, &t->cap_symbols, first, task->most_symbols - first,
                     sizeof *task->symbols, err) &&
           heft_train_merge(task, err);
}

static bool train(struct training *t, const char *const *paths, size_t n, const char *output,
                  const struct heft_train_options *o, struct heft_train_report *report,
                  struct heft_error *err)
{
    uint32_t merges = 0;

    t->memory = o->memory ? o->memory : HEFT_TRAIN_MEMORY;
    if (!check_options(o, err) || !heft_train_read(paths, n, o, &t->counts, report, err))
        return false;
    if (t->counts.n == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no text to learn from");
    if (!learn(t, o, err) || !heft_train_write(&t->task, output, o, err))
        return false;
    for (uint32_t i = 0; i < t->task.n_symbols; i++)
        merges += t->task.symbols[i].cells > 1;
    report->merges = merges;
    report->ids = o->style == HEFT_TRAIN_BYTES ? t->task.n_symbols + 1 : 0;
    return true;
}

bool heft_train(const char *const *paths, size_t n, const char *output,
                const struct heft_train_options *options, struct heft_train_report *report,
                struct heft_error *err)
{
    static const struct heft_train_options usual = {0};
    struct heft_train_report unseen = {0};
    struct training t = {0};
    const bool ok =
        heft_given_paths(paths, n, err) && heft_given(output != NULL, "a name to write to", err) &&
        train(&t, paths, n, output, options ? options : &usual, report ? report : &unseen, err);

    heft_free(t.task.cells);
    heft_free(t.task.symbols);
    heft_free(t.plain);
    heft_free(t.final);
    heft_counts_release(&t.counts);
    heft_arena_release(&t.mem);
    return ok;
}
