/* train.h: the inside of heft_train: texts → different words and how often each stands there →
 * symbols → merges → files. Memory stays a small multiple of the bytes of the different words
 * (train_cells.h, train_pairs.h), whatever the texts are.
 *
 *     train_count.c   words of a text into a table of counts
 *     train_spill.c   tables that grow too large, in a temporary file
 *     train_gather.c  the tables of all threads become one
 *     train_read.c    inputs, in spans that threads count apart
 *     train_cells.c   the different words become cells
 *     train_pairs.c   pairs of neighbours, the most frequent first
 *     train_merge.c   the most frequent pair, again and again
 *     train_files.c   vocab.bpe, encoder.json, tokenizer.json
 *     train.c         the public door */
#ifndef HEFT_TRAIN_H
#define HEFT_TRAIN_H

#include "base/mem.h"
#include "heft/tokens.h"
#include "tokens/train/train_cells.h"
#include "tokens/bpe/word_scan.h"

#define HEFT_TRAIN_MEMORY (UINT64_C(4) << 30)

/* ---- words and their counts -------------------------------------------------------------- */

struct heft_counts;

/* Words with their counts in a temporary file, in parts by their hashes: all of a word's counts are
 * in one part. Zeroed is empty. */
#define HEFT_SPILL_PARTS 16
struct heft_spill_run {
    uint64_t at[HEFT_SPILL_PARTS + 1]; /* offset where each part begins, and the end of the last */
};
struct heft_spill {
    struct heft_spill_run *runs;
    size_t n_runs, cap_runs;
    uint64_t size;
    int fd;
    bool has_file;
};
typedef bool heft_count_fn(void *ctx, struct heft_str word, uint64_t count, struct heft_error *err);
/* One more run: the words of `counts`. */
HEFT_CHECKED bool heft_spill_put(struct heft_spill *spill, const struct heft_counts *counts,
                                 struct heft_error *err);
/* The words of a part, a word once for each run that has it. */
HEFT_CHECKED bool heft_spill_each(const struct heft_spill *spill, unsigned part,
                                  heft_count_fn *each, void *ctx, struct heft_error *err);
void heft_spill_release(struct heft_spill *spill);

struct heft_counted {
    uint64_t at; /* of its bytes in `text` */
    uint64_t count;
    uint32_t n, hash;
};

/* Zeroed, but for `most`, is empty. */
struct heft_counts {
    struct heft_counted *words;
    size_t n, cap;
    uint32_t *slots; /* number of a word + 1; 0: free */
    unsigned slot_bits;
    char *text;
    size_t n_text, cap_text;
    uint64_t most; /* bytes of memory; what is there goes to `spill` before it takes more */
    struct heft_spill spill;
};
HEFT_CHECKED bool heft_counts_add(struct heft_counts *counts, struct heft_str word, uint64_t times,
                                  struct heft_error *err);
/* What is in memory, in the order in which it was added. */
HEFT_CHECKED bool heft_counts_each(const struct heft_counts *counts, heft_count_fn *each, void *ctx,
                                   struct heft_error *err);
/* What is in memory goes to `spill`. */
HEFT_CHECKED bool heft_counts_flush(struct heft_counts *counts, struct heft_error *err);
void heft_counts_release(struct heft_counts *counts);

/* The different words of tables that `n` threads have counted: in memory, or each once in the parts of a
 * temporary file. */
struct heft_words {
    struct heft_counts counts;
    uint64_t n, n_text; /* words, and their bytes */
};
/* Takes what is in the tables. */
HEFT_CHECKED bool heft_words_gather(struct heft_words *words, struct heft_counts *const *tables,
                                    size_t n, uint64_t most, struct heft_error *err);
HEFT_CHECKED bool heft_words_each(const struct heft_words *words, heft_count_fn *each, void *ctx,
                                  struct heft_error *err);

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

/* Inputs → *words. */
HEFT_CHECKED bool heft_train_read(const char *const *paths, size_t n,
                                  const struct heft_train_options *options,
                                  struct heft_words *words, struct heft_train_report *report,
                                  struct heft_error *err);

/* ---- cells and merges -------------------------------------------------------------------- */

#define HEFT_TRAIN_LONGEST 2000 /* bytes of a symbol: a line of vocab.bpe has at most 4096 */

struct heft_train_task {
    struct heft_train_cells cells;
    uint32_t most_symbols;   /* the given ones and merges */
    uint64_t min_frequency;  /* at least 1 */
    uint64_t memory;         /* bytes that cells and pairs may take */
    bool largest_text_first; /* of pairs as frequent: the largest text, else the smallest ids */
};
/* Words → cells, with the symbols that they begin as. */
HEFT_CHECKED bool heft_train_spread(struct heft_train_cells *cells, const struct heft_words *words,
                                    enum heft_train_style style, struct heft_error *err);
void heft_train_cells_release(struct heft_train_cells *cells);
/* Appends merges to the symbols until there are `most_symbols`, or no pair stands there often enough. */
HEFT_CHECKED bool heft_train_merge(struct heft_train_task *task, struct heft_error *err);

/* ---- files ------------------------------------------------------------------------------- */

/* What `cells` has learned becomes files: in the folder `output`, or the file of that name where it is
 * subword-nmt's. */
HEFT_CHECKED bool heft_train_write(const struct heft_train_cells *cells, const char *output,
                                   const struct heft_train_options *options,
                                   struct heft_error *err);

#endif
