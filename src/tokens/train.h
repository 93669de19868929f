/* train.h: the inside of heft_train: texts → different words and how often each stands there →
 * merges → files.
 *
 *     train_count.c   words of a text into a table of counts
 *     train_read.c    inputs, in spans that threads count apart
 *     train_merge.c   the most frequent pair, again and again
 *     train_files.c   vocab.bpe, encoder.json, tokenizer.json
 *     train.c         the public door */
#ifndef HEFT_TRAIN_H
#define HEFT_TRAIN_H

#include "base/mem.h"
#include "heft/tokens.h"
#include "tokens/word_scan.h"

/* ---- words and their counts -------------------------------------------------------------- */

struct heft_counted {
    uint64_t at; /* of its bytes in `text` */
    uint64_t count;
    uint32_t n, hash;
};

/* Zeroed is empty. */
struct heft_counts {
    struct heft_counted *words;
    size_t n, cap;
    uint32_t *slots; /* number of a word + 1; 0: free */
    unsigned slot_bits;
    char *text;
    size_t n_text, cap_text;
    uint64_t most; /* bytes that it may take */
};
HEFT_CHECKED bool heft_counts_add(struct heft_counts *counts, struct heft_str word, uint64_t times,
                                  struct heft_error *err);
/* All of `from`. */
HEFT_CHECKED bool heft_counts_join(struct heft_counts *counts, const struct heft_counts *from,
                                   struct heft_error *err);
void heft_counts_release(struct heft_counts *counts);

struct heft_word_counter {
    struct heft_counts counts;
    const struct heft_scan *scan; /* NULL: words of subword-nmt, by spaces and ends of lines */
    uint64_t total;               /* words, each as often as it stands there */
    uint64_t bytes;               /* of text */
    const char *looks_like;       /* a text that was read; NULL: a text */
    uint32_t starts[HEFT_SCAN_ROOM];
};
/* The words of text[0, n), valid UTF-8 with 16 readable bytes behind it, that are certain, all
 * where `is_last`; *done is how far they reach. */
HEFT_CHECKED bool heft_count_words(struct heft_word_counter *counter, const uint8_t *text, size_t n,
                                   bool is_last, size_t *done, struct heft_error *err);

/* Inputs → *counts. */
HEFT_CHECKED bool heft_train_read(const char *const *paths, size_t n,
                                  const struct heft_train_options *options,
                                  struct heft_counts *counts, struct heft_train_report *report,
                                  struct heft_error *err);

/* ---- merges ------------------------------------------------------------------------------ */

#define HEFT_TRAIN_MEMORY  (UINT64_C(4) << 30)
#define HEFT_TRAIN_GAP     UINT32_MAX /* between words, where a symbol would stand */
#define HEFT_TRAIN_LONGEST 2000       /* bytes of a symbol: a line of vocab.bpe has at most 4096 */

/* A place where a symbol may stand: symbols of several places are told at their first and last. */
struct heft_train_cell {
    uint32_t symbol, word;
};
struct heft_train_symbol {
    const char *text;
    uint32_t n, cells;    /* bytes of its text; places that it takes */
    uint32_t left, right; /* what it was merged from */
};
struct heft_train_task {
    struct heft_train_cell *cells; /* a gap before, between and behind the words */
    size_t n_cells;
    const struct heft_counted *words;
    struct heft_train_symbol *symbols; /* first the given ones, then merges in order; has room */
    uint32_t n_symbols, most_symbols;
    struct heft_arena *mem;  /* for the texts of merges */
    uint64_t min_frequency;  /* at least 1 */
    bool largest_text_first; /* of pairs as frequent: the largest text, else the smallest ids */
};
/* Appends merges to `symbols` until there is no room, or no pair stands there often enough. */
HEFT_CHECKED bool heft_train_merge(struct heft_train_task *task, struct heft_error *err);

/* ---- files ------------------------------------------------------------------------------- */

struct heft_sink;
/* What `task` has found becomes files: in the folder `output`, or the file of that name where it is
 * subword-nmt's. */
HEFT_CHECKED bool heft_train_write(const struct heft_train_task *task, const char *output,
                                   const struct heft_train_options *options,
                                   struct heft_error *err);

#endif
