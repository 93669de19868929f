/* train.h: internal interface of heft_train: texts → distinct pre-tokens and their counts → symbols
 * → merges → files. Memory is a small multiple of the bytes of the distinct pre-tokens
 * (train_cells.h, train_pairs.h), independent of the size of the texts. `word` in names is a
 * pre-token.
 *
 *     train_pattern.c the split pattern and the special tokens
 *     train_count.c   pre-tokens of a text → a table of counts
 *     train_spill.c   tables that grow too large → a temporary file
 *     train_gather.c  the tables of all threads → one
 *     train_read.c    inputs, in spans that threads count independently
 *     train_span.c    the text of a span → pre-tokens
 *     train_cells.c   distinct pre-tokens → cells
 *     train_pairs.c   pairs of adjacent symbols, the most frequent first
 *     train_merge.c   merges the most frequent pair, repeatedly
 *     train_files.c   vocab.bpe, encoder.json, vocab.tiktoken
 *     train_tokenizer.c  tokenizer.json
 *     train.c         public API */
#ifndef HEFT_TRAIN_H
#define HEFT_TRAIN_H

#include "base/mem.h"
#include "heft/tokens.h"
#include "tokens/train/train_cells.h"
#include "tokens/bpe/word_scan.h"
#include "tokens/split/pretokens.h"

#define HEFT_TRAIN_MEMORY (UINT64_C(4) << 30)

/* ---- words and their counts -------------------------------------------------------------- */

struct heft_counts;

/* Counted pre-tokens in a temporary file, partitioned by hash: all counts of a pre-token are in the
 * same part. Zeroed: empty. */
#define HEFT_SPILL_PARTS 16
struct heft_spill_run {
    uint64_t at[HEFT_SPILL_PARTS + 1]; /* offset of each part, and the end of the last */
};
struct heft_spill {
    struct heft_spill_run *runs;
    size_t n_runs, cap_runs;
    uint64_t size;
    int fd;
    bool has_file;
};
typedef bool heft_count_fn(void *ctx, struct heft_str word, uint64_t count, struct heft_error *err);
/* Appends a run: the pre-tokens of `counts`. */
HEFT_CHECKED bool heft_spill_put(struct heft_spill *spill, const struct heft_counts *counts,
                                 struct heft_error *err);
/* Calls `each` for the pre-tokens of a part, once for each run that has it. */
HEFT_CHECKED bool heft_spill_each(const struct heft_spill *spill, unsigned part,
                                  heft_count_fn *each, void *ctx, struct heft_error *err);
void heft_spill_release(struct heft_spill *spill);

struct heft_counted {
    uint64_t at; /* offset of its bytes in `text` */
    uint64_t count;
    uint32_t n, hash;
};

/* Hash table of counts. Zeroed except for `most`: empty. */
struct heft_counts {
    struct heft_counted *words;
    size_t n, cap;
    uint32_t *slots; /* index of a pre-token + 1; 0: free */
    unsigned slot_bits;
    char *text;
    size_t n_text, cap_text;
    /* limit of memory in bytes; the table is flushed to `spill` before it exceeds it */
    uint64_t most;
    struct heft_spill spill;
};
HEFT_CHECKED bool heft_counts_add(struct heft_counts *counts, struct heft_str word, uint64_t times,
                                  struct heft_error *err);
/* Calls `each` for the pre-tokens in memory, in the order of insertion. */
HEFT_CHECKED bool heft_counts_each(const struct heft_counts *counts, heft_count_fn *each, void *ctx,
                                   struct heft_error *err);
/* Moves the pre-tokens in memory to `spill`. */
HEFT_CHECKED bool heft_counts_flush(struct heft_counts *counts, struct heft_error *err);
void heft_counts_release(struct heft_counts *counts);

/* Distinct pre-tokens of the tables of all threads: in memory, or in a temporary file, where each
 * occurs once. */
struct heft_words {
    struct heft_counts counts;
    uint64_t n, n_text; /* pre-tokens, and their bytes */
};
/* Merges the tables into `words` and empties them. */
HEFT_CHECKED bool heft_words_gather(struct heft_words *words, struct heft_counts *const *tables,
                                    size_t n, uint64_t most, struct heft_error *err);
HEFT_CHECKED bool heft_words_each(const struct heft_words *words, heft_count_fn *each, void *ctx,
                                  struct heft_error *err);

struct heft_word_counter {
    struct heft_counts counts;
    const struct heft_scan *scan; /* GPT-2's pattern; NULL: … */
    const struct heft_pretokens
        *pretokens;                    /* … another one; NULL: split as in subword-nmt, at blanks
                                               and ends of lines */
    struct heft_pretokens_place place; /* of the chain, in the text that is being counted */
    uint64_t total;                    /* pre-tokens, counted with repetition */
    uint64_t bytes;                    /* bytes of text */
    const char *looks_like; /* what an input that was read as text may be instead; NULL: text */
    uint32_t starts[HEFT_SCAN_ROOM];
};
/* Counts the complete pre-tokens of text[0, n), valid UTF-8 followed by 16 readable bytes; all if
 * `is_last`. *done is the number of bytes used. */
HEFT_CHECKED bool heft_count_words(struct heft_word_counter *counter, const uint8_t *text, size_t n,
                                   bool is_last, size_t *done, struct heft_error *err);

/* How texts are divided into pre-tokens. */
struct heft_train_pattern {
    const struct heft_pretokens_step *steps; /* none: GPT-2's pattern, or subword-nmt's */
    size_t n_steps;
    struct heft_pretokens *pretokens; /* the steps, compiled; NULL: none */
    bool is_nfc;
    struct heft_pretokens_step own; /* the only step, if the caller gave a regular expression */
};

/* Resolves options->pattern: the name of a family, or a regular expression. Release it, also after a
 * failure. */
HEFT_CHECKED bool heft_train_pattern_of(struct heft_train_pattern *out,
                                        const struct heft_train_options *options,
                                        struct heft_error *err);
void heft_train_pattern_release(struct heft_train_pattern *p);
/* Sets the default of options->specials; refuses tokens that cannot be written. */
HEFT_CHECKED bool heft_train_check_specials(struct heft_train_options *options,
                                            struct heft_error *err);
HEFT_CHECKED bool heft_train_check_symbols(const struct heft_train_cells *cells,
                                           const struct heft_train_options *options,
                                           struct heft_error *err);

/* Part of an input that a thread counts by itself. */
struct heft_train_span {
    uint32_t file;
    bool is_stream; /* the whole input as a stream; at and n are 0 */
    uint64_t at, n;
};
struct heft_train_how {
    const char *jsonl_key; /* each line is a JSON object with the text; spans are whole inputs */
    bool is_nfc;           /* texts are normalized */
    uint64_t memory;       /* limit of a pre-token, in bytes */
};
HEFT_CHECKED bool heft_train_count_span(struct heft_word_counter *counter,
                                        const struct heft_train_how *how,
                                        const struct heft_train_span *span, const char *path,
                                        struct heft_error *err);

/* Counts the pre-tokens of all inputs. */
HEFT_CHECKED bool heft_train_read(const char *const *paths, size_t n,
                                  const struct heft_train_options *options,
                                  const struct heft_train_pattern *pattern,
                                  struct heft_words *words, struct heft_train_report *report,
                                  struct heft_error *err);

/* ---- cells and merges -------------------------------------------------------------------- */

#define HEFT_TRAIN_LONGEST 2000 /* bytes of a symbol: a line of vocab.bpe has at most 4096 */

struct heft_train_task {
    struct heft_train_cells cells;
    uint32_t most_symbols;  /* initial symbols and merges together */
    uint64_t min_frequency; /* least frequency of a merged pair, at least 1 */
    uint64_t memory;        /* limit for cells and pairs, in bytes */
    /* tie-break between equally frequent pairs: the largest text, else the smallest ids */
    bool largest_text_first;
};
/* Fills the cells with the pre-tokens, split into their initial symbols. */
HEFT_CHECKED bool heft_train_spread(struct heft_train_cells *cells, const struct heft_words *words,
                                    enum heft_train_style style, struct heft_error *err);
void heft_train_cells_release(struct heft_train_cells *cells);
/* Appends merges to the symbols until there are `most_symbols`, or no pair is frequent enough. */
HEFT_CHECKED bool heft_train_merge(struct heft_train_task *task, struct heft_error *err);

/* ---- files ------------------------------------------------------------------------------- */

/* Writes the trained vocabulary: into the directory `output`, or to the file of that name in
 * subword-nmt's format. */
HEFT_CHECKED bool heft_train_write(const struct heft_train_cells *cells, const char *output,
                                   const struct heft_train_options *options,
                                   const struct heft_train_pattern *pattern,
                                   struct heft_error *err);

#endif
