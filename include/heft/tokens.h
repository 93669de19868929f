/* tokens.h: the public API for tokenizing, and its reference manual.
 *
 * Encodes text by byte-level byte-pair encoding (GPT-2, GPT-4, Llama 3, Qwen, DeepSeek …), with exactly
 * the ids of the programs that the vocabularies come from.
 *
 *     struct heft_error err = {0};
 *     struct heft_vocab *v = heft_vocab_open("models/117M", &err);
 *     struct heft_encoder *e = v ? heft_encoder_new(v, NULL, &err) : NULL;
 *     uint32_t ids[64];
 *     size_t n;
 *
 *     if (e && heft_encode(e, "Hello world", 11, ids, 64, &n, &err))
 *         for (size_t i = 0; i < n; i++)
 *             printf("%u\n", (unsigned)ids[i]);
 *     heft_encoder_free(e);
 *     heft_vocab_close(v);
 *
 * Threads. An open vocabulary never changes: any number of threads may use it at the same time. All
 * other objects (encoders, decoders, encodings, samplers) must be used by one thread at a time. The
 * cache of an encoder affects its speed, but never its results.
 * Errors. See types.h. In functions that can fail a NULL argument is HEFT_USAGE unless it is
 * documented as allowed. NULL options mean zeroed options.
 */
#ifndef HEFT_TOKENS_H
#define HEFT_TOKENS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEFT_NO_TOKEN UINT32_MAX

/* ---- vocabulary -------------------------------------------------------------------------- */

struct heft_vocab;

/* Opens a vocabulary. path may be
 *   NULL             GPT-2's own, built into the library; HEFT_USAGE if the build has none
 *   a directory      with vocab.bpe (and encoder.json), else tokenizer.json, else merges.txt (and
 *                    vocab.json)
 *   tokenizer.json   of a byte-level model of the tokenizers library, with its normalizer,
 *                    pre-tokenizers and added tokens
 *   X.tiktoken       ranks, also as tokenizer.model of Llama; special tokens have ids if the
 *                    vocabulary is a known one
 *   tekken.json      of Mistral
 *   tokenizer.pkl    of nanochat: a pickled tiktoken.Encoding, which is read, never executed
 *   vocab.bpe        or merges.txt: with the ids beside it, else numbered as in GPT-2
 * The format of a file is detected from its content. Ids are below 2^20. A list of merges with ids
 * beside it is read as in the original: a last line without a newline is ignored. NULL on failure.
 *
 * All of these can decode ids. A text is encoded only if it is known how the vocabulary splits it:
 * tokenizer.json, tekken.json and tokenizer.pkl state it; encoder.json and vocab.bpe are GPT-2's
 * format; ranks, and vocab.json with merges.txt, do not state a pattern, and must be a published
 * vocabulary that is recognised by its SHA-256, or options->pattern names it. What a file asks for and
 * the library does not do exactly is refused: encoding fails with HEFT_UNSUPPORTED and its name. */
HEFT_API struct heft_vocab *heft_vocab_open(const char *path, struct heft_error *err);

struct heft_vocab_options {
    size_t size; /* HEFT_INIT */
    /* Split pattern, if neither the file nor its format states one: the name of a family ("gpt2",
     * "gpt4", "llama3", "qwen2", "o200k" …), which also brings its normalizer, or a regular expression
     * as tiktoken reads it. NULL: only known vocabularies. HEFT_USAGE for an unknown name, which lists
     * the others. */
    const char *pattern;
    /* End of text: the text of a token, or a decimal id, which need not be in the vocabulary. NULL:
     * <|endoftext|>. */
    const char *eot_token;
    /* "none": texts are not normalized, whatever the file or the pattern says. NULL: as they say */
    const char *normalize;
};
/* options may be NULL. */
HEFT_API struct heft_vocab *heft_vocab_open_with(const char *path,
                                                 const struct heft_vocab_options *options,
                                                 struct heft_error *err);
/* Reason to doubt the pattern given in the options; NULL if there is none. Valid until the
 * vocabulary is closed. */
HEFT_API const char *heft_vocab_doubt(const struct heft_vocab *v);
/* The i-th note on a setting of the vocabulary's files, or of transformers' tokenizer_config.json
 * beside them, that is ignored in encoding (no notes if texts cannot be encoded) or, if of_ids, in
 * decoding; NULL past the end. Valid until the vocabulary is closed. */
HEFT_API const char *heft_vocab_note(const struct heft_vocab *v, bool of_ids, size_t i);
/* What a vocabulary says about texts. Texts are valid until it is closed. */
struct heft_vocab_info {
    size_t size;            /* HEFT_INIT */
    const char *family;     /* name of the split pattern: "gpt2", "llama3", …; "tokenizer.json" or
                               "custom": one without a name; NULL: unknown, texts are not encoded */
    const char *normalizer; /* "NFC", or NULL */
    const char *unicode;    /* version of Unicode that is used unless an option names another one */
    const char *refusal;    /* why texts cannot be encoded; NULL: they can */
    uint32_t ids;           /* heft_vocab_size */
    uint32_t merges, longest; /* merges: with ranks, the tokens of two bytes and more;
                                 longest: bytes of the longest token */
    uint32_t added;           /* added tokens that are found in texts without being special */
    uint32_t patterns;        /* number of split patterns, which are applied one after the other */
    /* Vocabularies with the same ranks and other special tokens, which option pattern names:
     * "o200k_harmony"; several are separated by ", ". NULL: none is known */
    const char *variants;
};
HEFT_API void heft_vocab_describe(const struct heft_vocab *v, struct heft_vocab_info *out);
/* Text of the i-th split pattern, a regular expression; NULL past the end. Valid until the vocabulary
 * is closed. */
HEFT_API const char *heft_vocab_pattern(const struct heft_vocab *v, size_t i, size_t *n);
HEFT_API void heft_vocab_close(struct heft_vocab *v);
/* Highest id plus one; 0 if v is NULL. */
HEFT_API uint32_t heft_vocab_size(const struct heft_vocab *v);
/* Bytes of a token, or NULL if the id has none. Valid until the vocabulary is closed. */
HEFT_API const uint8_t *heft_vocab_token(const struct heft_vocab *v, uint32_t id, size_t *n);
/* Id of <|endoftext|>, or of the token in the options; HEFT_NO_TOKEN if there is none. Encoding a
 * text never produces <|endoftext|>. */
HEFT_API uint32_t heft_vocab_end(const struct heft_vocab *v);
/* Special token: a text that stands for one id where the program inserts it; encoding a text produces
 * the id only with heft_encoder_options.special. */
struct heft_special_token {
    size_t size; /* HEFT_INIT */
    const char *text;
    size_t n; /* bytes of the text, which may contain NULs */
    uint32_t id;
};
/* Special tokens by ascending id: those that a tokenizer.json marks as special, those of a known rank
 * file, and heft_vocab_end. Their texts are valid until the vocabulary is closed. */
HEFT_API size_t heft_vocab_special_count(const struct heft_vocab *v);
HEFT_API bool heft_vocab_special_at(const struct heft_vocab *v, size_t index,
                                    struct heft_special_token *out);

/* ---- encoding ---------------------------------------------------------------------------- */

struct heft_encoder;
struct heft_encoder_options {
    size_t size;         /* HEFT_INIT */
    const char *unicode; /* version of Unicode that defines letters and numbers, "9.0" … "17.0";
                            NULL: "16.0" for tokenizer.json and ranks, as in their libraries,
                            "17.0" for the built-in vocabulary and vocab.bpe */
    size_t cache;        /* limit of the memory for cached words, in bytes; 0: 48 MiB */
    bool special;        /* special tokens that stand in the text become their ids; otherwise they
                            are text. Other added tokens are always found */
};
/* The vocabulary must outlive the encoder. NULL on failure. */
HEFT_API struct heft_encoder *heft_encoder_new(const struct heft_vocab *v,
                                               const struct heft_encoder_options *options,
                                               struct heft_error *err);
HEFT_API void heft_encoder_free(struct heft_encoder *e);

/* Encodes a whole text of n bytes. `ids` has room for `room` ids; *count is their number, which is
 * at most n, or 3 n if the vocabulary normalizes texts. HEFT_MALFORMED with the offset if the text is not UTF-8; HEFT_USAGE if `room` is too
 * small. An unfinished text of heft_encoder_feed is dropped. */
HEFT_API bool heft_encode(struct heft_encoder *e, const void *text, size_t n, uint32_t *ids,
                          size_t room, size_t *count, struct heft_error *err);

/* Encodes a text in pieces: feed the pieces in order, then finish. A piece may end anywhere, also
 * within a character; the ids are those of the whole text. Each call passes the ids that are final
 * to each(): `ids` is valid until each() returns, and returning false stops (HEFT_CANCELLED).
 * Offsets in errors are relative to the first piece. After finish, and after a failure, a new text
 * may begin. */
typedef bool heft_ids_fn(void *ctx, const uint32_t *ids, size_t count);
HEFT_API bool heft_encoder_feed(struct heft_encoder *e, const void *piece, size_t n,
                                heft_ids_fn *each, void *ctx, struct heft_error *err);
HEFT_API bool heft_encoder_finish(struct heft_encoder *e, heft_ids_fn *each, void *ctx,
                                  struct heft_error *err);

/* Texts side by side, as in an Arrow array of strings: text i is bytes [offsets[i], offsets[i + 1])
 * of `data`. */
struct heft_text_batch {
    size_t size; /* HEFT_INIT */
    const void *data;
    const int64_t *offsets;   /* n + 1 ascending ones; NULL: … */
    const int32_t *offsets32; /* … these */
    const uint8_t *valid; /* a bit a text, the lowest first; 0: null, has no ids. NULL: all have */
    size_t n;
};
/* Ids side by side, as in an Arrow array of large lists: those of text i are [ends[i], ends[i + 1]). */
struct heft_id_batch {
    size_t size;     /* HEFT_INIT */
    void *ids;       /* in the byte order of the host */
    unsigned width;  /* bytes of an id: 4, or 2 if every id that can occur is below 65536 */
    size_t room;     /* number of ids that `ids` has room for */
    int64_t *ends;   /* room for n + 1 */
    uint32_t end_id; /* an id after each text; HEFT_NO_TOKEN: none */
};
/* Encodes texts from number *done on, as many as there is room for; *done becomes the number of texts
 * encoded. If it is less than n, the caller provides more room, with what was written in it, and calls
 * again. Of a text of b bytes there are at most b ids and the end id (3 b if the vocabulary normalizes
 * texts). After a failure *done is the number of the text in error, and the offset is in that text. */
HEFT_API bool heft_encode_batch(struct heft_encoder *e, const struct heft_text_batch *texts,
                                const struct heft_id_batch *ids, size_t *done,
                                struct heft_error *err);

/* ---- explaining -------------------------------------------------------------------------- */

/* Merge in a word: the symbols `at` and at + 1, which are left and right, become id. */
struct heft_word_merge {
    uint32_t rank, left, right, id;
    size_t at;
};
/* Word (pre-token) of the pattern, its merges, and its ids. */
struct heft_word {
    const char *text;
    size_t n;
    uint64_t offset;
    const uint32_t *bytes; /* ids of its n single bytes, before merging */
    const struct heft_word_merge *merges;
    size_t n_merges;
    const uint32_t *ids;
    size_t n_ids;
    bool is_whole; /* the word is a token that merging does not produce, and is used as a whole */
    bool is_added; /* it is an added token that stands in the text */
};
#define HEFT_WORD_MOST 4096 /* most bytes of a word; a longer one is HEFT_LIMIT */
typedef bool heft_word_fn(void *ctx, const struct heft_word *word);
/* Explains how a text is encoded, word by word; each() may return false to stop (HEFT_CANCELLED). If
 * the vocabulary normalizes texts, words and offsets are those of the normalized text. options->cache
 * is not used. */
HEFT_API bool heft_explain_text(const struct heft_vocab *v,
                                const struct heft_encoder_options *options, const char *text,
                                size_t n, heft_word_fn *each, void *ctx, struct heft_error *err);

/* ---- files of text → files of tokens ------------------------------------------------------
 *
 *     const char *inputs[] = {"books", "*.txt"};
 *     struct heft_encode_options how = {.size = sizeof how, .output = "books.npz", .combine = 50000};
 *     struct heft_encoding *e = heft_encode_plan(v, inputs, 2, &how, &err);
 *     bool fine = e && heft_encode_run(e, &err);
 *     heft_encode_free(e);
 *
 * An input is a file, a directory (walked as by Python's os.walk), a pattern (as in Python's
 * glob.glob; ** matches directories of any depth), or "-" for standard input. .gz and .zst files
 * are decompressed; they are detected by their first bytes. \r\n and \r are read as \n. The arrays
 * of an .npz are copied. The output gets its name when it is complete; a failed run leaves none.
 *
 * A long run records its progress in a journal, .NAME.heft-journal in the directory of the output:
 * how much of its temporary files, .NAME.heft-PID-N, is on the disk. If the run is killed, these
 * files remain. A later run with `resume` continues from the last checkpoint, and its output is
 * byte for byte that of an uninterrupted run; a run without `resume` deletes them and starts again.
 * Resuming fails (HEFT_USAGE) if the inputs, the options, the vocabulary or the version of heft
 * have changed, and for inputs that can be read only once (pipes). A run that fails removes its
 * temporary files, except with `resume`, when a later run can continue from them. */

enum heft_eot {
    HEFT_EOT_DEFAULT, /* default: text; for megatron: none; for ds: id */
    HEFT_EOT_TEXT,    /* "<|endoftext|>" as 13 characters of text, as in the original */
    HEFT_EOT_ID,      /* the vocabulary's end-of-text id, heft_vocab_end */
    HEFT_EOT_NONE
};

struct heft_encode_options {
    size_t size;        /* HEFT_INIT */
    const char *output; /* NULL: only count tokens; DIR/: files in that directory; "-": no
                              file, `written` receives the bytes */
    /* "npz", "npy", "bin", "llmc", "megatron", "ids" or "ds"; NULL: by the output's extension */
    const char *format;
    const char *encoding; /* encoding of the text; NULL: "utf-8" */
    /* Each line is a JSON object; its text is the string with this key, or, if it has none and the
     * key has dots, the string in nested objects: "data.text" */
    const char *jsonl_key;
    const char *unicode; /* as in heft_encoder_options */
    uint64_t combine;    /* files are joined to one array until it has this many characters */
    enum heft_eot eot;
    bool eot_each;    /* npz with ids: also after a document that ends an array */
    bool eot_before;  /* the id before each document instead of after it; not in npz */
    bool replace;     /* replace undecodable bytes by U+FFFD; otherwise they are HEFT_MALFORMED */
    bool skip;        /* skip and count JSON lines without the text; with jsonl_key */
    bool sort;        /* sort the files of each input by name, not in the order of the system */
    bool allow_empty; /* accept an input that matches nothing */
    bool overwrite, no_sync;
    bool resume;           /* resume an interrupted run, or begin a new one */
    uint64_t checkpoint;   /* bytes of input between checkpoints; 0: 256 MiB */
    uint64_t shard_tokens; /* tokens after which a new file begins; 0: one file */
    double val_fraction;   /* fraction of the documents (or arrays) for a separate validation
                              file; of two or more documents each file gets at least one; 0: none */
    unsigned threads;      /* 0: one per core, at most 4 */
    unsigned width;        /* bytes of an id (not npz, ids): 2, 4; 0: 2 if all fit */
    /* Progress: bytes read so far and in all (0 if unknown, for pipes). The first call reports the
     * bytes of an earlier run. Returning false stops the run (HEFT_CANCELLED, "interrupted"). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Callback for a skipped line: its file, its number from 1, and the reason; the texts are valid
     * until it returns. Returning false stops the run. NULL: skipped lines are only counted. */
    bool (*rejected)(void *ctx, const char *file, uint64_t line, const char *reason);
    void *rejected_ctx;
    /* Callback for the bytes of "bin" or "ids", in order, if output is "-". Returning false stops
     * the run (HEFT_CANCELLED). A run that fails has passed the beginning of its output. */
    bool (*written)(void *ctx, const void *bytes, size_t n);
    void *written_ctx;
    bool special; /* as in heft_encoder_options */
    /* File beside a bin, npy or llmc, in its directory, with the number of tokens up to the end of
     * each document, including its end-of-text id: u64, little-endian, as in the .index of
     * datatrove. Requires eot ID or NONE. If there are several files, each has one of its own: to
     * OUTPUT.END, .END is appended after each name; other names get the suffixes that the output
     * gets. Of a document that continues in the next shard each part has an end. NULL: none */
    const char *lengths;
    /* Name of the vocabulary in the metadata of ds, one line; NULL: "Unknown Tokenizer" */
    const char *tokenizer;
    /* bin and npy: windows of this many tokens, one after the other, in npy the rows of an array of
     * two dimensions. Each begins `stride` tokens after the one before (at most window; 0: window);
     * tokens after the last complete window of a file, or of each set of shards, are dropped. A shard
     * has whole windows. At most 2^24; 0: the stream is not cut */
    uint64_t window, stride;
    /* Part part_index of part_count, from 1 (at most 2^20): the documents that begin in the k-th of N
     * equal ranges of the bytes of all inputs, in their order; uncompressed JSON lines in UTF-8 are cut
     * between lines, other files belong to one part. heft_join of all parts gives the file of a run
     * without parts. All parts need the same inputs in the same order (sort), and eot ID or NONE; not
     * for npz. 0: all */
    uint64_t part_index, part_count;
    /* File of the lines that `skip` skips, JSON lines with the keys "file", "line" and "reason". It
     * gets its name together with the output: both or neither. Its path must not be that of an
     * input or of a file of the output. Requires an output; not with `resume`. NULL: none */
    const char *rejects;
};

struct heft_encode_summary {
    size_t size;                        /* HEFT_INIT */
    uint64_t inputs, documents, arrays; /* arrays: written to npz */
    uint64_t tokens, bytes;             /* bytes: number of bytes read */
    uint64_t resumed;                   /* bytes of these read by an earlier run */
    uint64_t rejected;                  /* skipped JSON lines */
    uint64_t val_tokens;                /* tokens in the validation file */
    /* Kind of data that a plain text looks like, "JSON lines" or "WARC records"; NULL if none. */
    const char *looks_like;
    uint64_t dropped; /* tokens in no window */
};

struct heft_encoding;
/* Finds the inputs; writes nothing. The vocabulary, and texts in the options, must outlive the
 * encoding; the options are copied. NULL on failure. */
HEFT_API struct heft_encoding *heft_encode_plan(const struct heft_vocab *v,
                                                const char *const *inputs, size_t n,
                                                const struct heft_encode_options *options,
                                                struct heft_error *err);
/* Name of the format, "bin"; NULL if tokens are only counted. */
HEFT_API const char *heft_encode_format(const struct heft_encoding *e);
/* Bytes of an id in the output: 2, 4, or 8 for npz; 0 for ids, which are decimal, and if tokens are
 * only counted. */
HEFT_API unsigned heft_encode_width(const struct heft_encoding *e);
/* May be called once. */
HEFT_API bool heft_encode_run(struct heft_encoding *e, struct heft_error *err);
HEFT_API void heft_encode_summarize(const struct heft_encoding *e, struct heft_encode_summary *out);
/* The i-th input file (valid until the next call), and the i-th file written; NULL past the end. */
HEFT_API const char *heft_encode_input(const struct heft_encoding *e, size_t i);
HEFT_API const char *heft_encode_output(const struct heft_encoding *e, size_t i);
/* After the run: number of tokens of the i-th input. */
HEFT_API uint64_t heft_encode_tokens(const struct heft_encoding *e, size_t i);
HEFT_API void heft_encode_free(struct heft_encoding *e);

/* ---- joining files of tokens ---------------------------------------------------------------- */

struct heft_join_options {
    size_t size; /* HEFT_INIT */
    /* "bin", "npy", "llmc", "megatron", "ids" or "ds"; NULL: by the extension of the output, and for
     * .bin by the first part */
    const char *format;
    unsigned width; /* bytes of an id in bin, 2 or 4, which its size is compared with; 0: 2 */
    bool overwrite, no_sync;
    /* Progress in bytes. Returning false stops (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Callback for the path of each file, once all are written. */
    void (*written)(void *ctx, const char *path);
    void *written_ctx;
};
struct heft_join_summary {
    size_t size; /* HEFT_INIT */
    uint64_t parts, bytes;
    uint64_t tokens;    /* 0 if unknown: ids, and bin without width */
    uint64_t documents; /* of megatron and ds, else 0 */
    const char *format; /* static */
};
/* Joins files of one format to one file, in the order given: parts that heft_encode_run wrote with
 * consecutive inputs give what it writes with all of them. Megatron's part is X.bin, X.idx or X, that
 * of ds is X.ds; the files beside them are joined, too. Memory does not depend on the number and the
 * size of the parts. HEFT_MISMATCH if parts have ids of different types. Parts with receipts (beside the
 * ids of a part of heft_encode_run, with ".receipt" appended) must be all parts of one run, in order:
 * HEFT_USAGE if not, HEFT_MISMATCH if one is of another run or has changed. The output appears when it
 * is complete. summary may be NULL. */
HEFT_API bool heft_join(const char *const *parts, size_t n, const char *output,
                        const struct heft_join_options *options, struct heft_join_summary *summary,
                        struct heft_error *err);

/* ---- decoding ---------------------------------------------------------------------------- */

/* Decodes n ids to bytes, which may be incomplete UTF-8 at the ends. `out` receives at most `room`
 * bytes; *bytes is the total number. HEFT_MALFORMED for an unknown id, with the index of the id as
 * the offset. */
HEFT_API bool heft_decode(const struct heft_vocab *v, const uint32_t *ids, size_t n, void *out,
                          size_t room, size_t *bytes, struct heft_error *err);

/* Decodes ids in portions to text: feed, then finish. Bytes that are not UTF-8 are replaced by
 * U+FFFD, one for each maximal prefix of a character, as with Python's errors="replace". `text` is
 * valid until each() returns; returning false stops (HEFT_CANCELLED). After finish, and after a
 * failure, a new text may begin. An unknown id: as in heft_decode. */
struct heft_decoder; /* The vocabulary must outlive the decoder; NULL on failure. */
typedef bool heft_text_fn(void *ctx, const char *text, size_t n);
HEFT_API struct heft_decoder *heft_decoder_new(const struct heft_vocab *v, struct heft_error *err);
HEFT_API void heft_decoder_free(struct heft_decoder *d);
HEFT_API bool heft_decoder_feed(struct heft_decoder *d, const uint32_t *ids, size_t n,
                                heft_text_fn *each, void *ctx, struct heft_error *err);
HEFT_API bool heft_decoder_finish(struct heft_decoder *d, heft_text_fn *each, void *ctx,
                                  struct heft_error *err);

/* Decodes a file of ids to text, in constant memory: .npz and .npy of integers, llm.c's .bin,
 * Megatron's .idx or .bin (with the other file beside it), decimal numbers separated by white
 * space, and binary streams that contain only ids (X.bin if its size allows it), little-endian, of
 * 2 bytes, or 4 if the vocabulary has ids above 65535; "-" is standard input, which is copied to a
 * temporary file. Arrays and sequences are joined. HEFT_MALFORMED for an unknown id, with its
 * offset in the file (for a deflated array: the offset of the array); HEFT_MISMATCH for a wrong
 * checksum. */
HEFT_API bool heft_decode_file(const struct heft_vocab *v, const char *path, heft_text_fn *each,
                               void *ctx, struct heft_error *err);
/* Decodes n files as one text, for shards: a character may begin in one file and end in the
 * next. */
struct heft_decode_options {
    size_t size;    /* HEFT_INIT */
    unsigned width; /* bytes of an id in binary streams: 2 or 4; 0: derived from the vocabulary,
                  HEFT_USAGE if it is ambiguous or the stream looks different */
};
/* As heft_decode_files; options may be NULL. */
HEFT_API bool heft_decode_files_with(const struct heft_vocab *v, const char *const *paths, size_t n,
                                     const struct heft_decode_options *options, heft_text_fn *each,
                                     void *ctx, struct heft_error *err);
HEFT_API bool heft_decode_files(const struct heft_vocab *v, const char *const *paths, size_t n,
                                heft_text_fn *each, void *ctx, struct heft_error *err);

/* ---- training ---------------------------------------------------------------------------- */

enum heft_train_style {
    HEFT_TRAIN_BYTES,      /* as in GPT-2: words of a pattern, starting from the 256 bytes */
    HEFT_TRAIN_SUBWORD_NMT /* as learn_bpe of subword-nmt: words between spaces, characters, </w> */
};
struct heft_train_options {
    size_t size; /* HEFT_INIT */
    enum heft_train_style style;
    uint32_t vocab_size; /* bytes: number of ids, including special tokens; subword-nmt: number of
                             * merges */
    uint64_t min_frequency; /* rarer pairs are not merged; 0: 2 */
    const char *unicode;    /* as in heft_encoder_options */
    uint64_t memory;        /* approximate limit of the memory for words and pairs, in bytes; 0: 4
                             * GiB; see below */
    unsigned threads;       /* 0: one per core */
    bool overwrite, no_sync;
    /* bytes: the split pattern, a family's name ("gpt4", "o200k", …) or a regular expression, as in
     * heft_vocab_options; NULL: GPT-2's */
    const char *pattern;
    const char *jsonl_key; /* as in heft_encode_options; each line is a text of its own */
    /* bytes: special tokens, whose ids follow those of the merges; none: <|endoftext|> */
    const char *const *specials;
    size_t n_specials;
};
struct heft_train_report {
    size_t size;                             /* HEFT_INIT */
    uint64_t files, bytes, words, different; /* different: number of distinct words */
    const char *looks_like;                  /* as in struct heft_encode_summary */
    uint32_t merges, ids;                    /* ids: 0 for subword-nmt, whose files have no ids */
};

/* Trains a vocabulary on texts. Paths are inputs as in heft_encode_plan, but line ends are not
 * translated, and .npz files are refused. Each file is one text. Writes tokenizer.json,
 * vocab.tiktoken and, for GPT-2's pattern, vocab.bpe and encoder.json to the directory `output`, or the
 * codes of subword-nmt to the file `output`. The
 * result depends neither on the order of the files nor on the number of threads; of equally
 * frequent pairs the one with the smallest ids is merged first (subword-nmt: the one with the
 * largest text). HEFT_MALFORMED if a text is not UTF-8; HEFT_USAGE if the texts are empty, or
 * `output` exists and may not be overwritten; HEFT_LIMIT if words need more memory. The options
 * must state vocab_size; report may be NULL. Memory: less than 200 MiB for texts of 64 MiB in all
 * (decompressed), whatever their content, plus 40 bytes per id beyond 100,000; for larger texts
 * three times the size of the distinct words. If `memory` is less than three times that size and 64
 * KiB, the result is HEFT_LIMIT. Counted words beyond 72 MiB are stored in a temporary file. */
HEFT_API bool heft_train(const char *const *paths, size_t n, const char *output,
                         const struct heft_train_options *options, struct heft_train_report *report,
                         struct heft_error *err);

/* ---- sampling ---------------------------------------------------------------------------- */

/* Sampler of windows of ids for training: draws the same windows as the Sampler of GPT-2's train.py
 * with the same seed, from a .npz or any other format of ids.
 *
 *     const char *paths[] = {"book.npz"};
 *     struct heft_sampler *s = heft_sampler_open(paths, 1, NULL, &err);
 *     uint32_t ids[1024];
 *
 *     while (s && heft_sampler_next(s, 1024, ids, NULL, &err))
 *         train_on(ids);
 *     heft_sampler_close(s);
 *
 * Files are mapped: if a file is truncated meanwhile, reading raises SIGBUS. Deflated data is
 * inflated once. A sampler must be used by one thread only. */
struct heft_sampler;
struct heft_sampler_options {
    size_t size; /* HEFT_INIT */
    uint32_t seed;
    unsigned width; /* bytes of an id if the file does not state it: 2 or 4; 0: 2 */
};
/* Files of the formats .npz, .npy and llm.c are recognised by their content, and all others are
 * read as binary streams of ids; decimal files, and an index of Megatron (give its .bin), are
 * HEFT_UNSUPPORTED. Each array and each stream is a separate text; a window does not cross its end.
 * NULL on failure. */
HEFT_API struct heft_sampler *heft_sampler_open(const char *const *paths, size_t n,
                                                const struct heft_sampler_options *options,
                                                struct heft_error *err);
HEFT_API void heft_sampler_close(struct heft_sampler *s);
/* Total number of ids. */
HEFT_API uint64_t heft_sampler_total(const struct heft_sampler *s);
/* Draws the next window of `length` ids; *where (may be NULL) is the index of its first id among
 * all ids. HEFT_USAGE if the arrays are not longer than that on average, as in train.py. */
HEFT_API bool heft_sampler_next(struct heft_sampler *s, size_t length, uint32_t *ids,
                                uint64_t *where, struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
