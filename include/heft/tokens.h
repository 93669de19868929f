/* tokens.h: the door to tokenizing, and its manual.
 *
 * Text becomes the ids of GPT-2's byte-level byte-pair encoding, exactly those of the original.
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
 * Threads. A vocabulary never changes once it is open: any number of threads may use it. All else
 * (encoders, decoders, encodings, samplers) is used by one thread at a time. An encoder's cache makes
 * it faster with time, never different.
 * Errors. See types.h. NULL where it is not said to be fine is HEFT_USAGE, in what can fail; options
 * that are NULL are zeroed ones.
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

/* path may be
 *   NULL             GPT-2's own, compiled into the library; HEFT_USAGE where the build had none
 *   a folder         with vocab.bpe (and encoder.json), else tokenizer.json, else merges.txt (and
 *                    vocab.json)
 *   tokenizer.json   of the byte-level kind. Added tokens have their ids, but are not looked for in
 *                    text
 *   X.tiktoken       ranks; special tokens have ids where the vocabulary is a known one
 *   vocab.bpe        or merges.txt: with the ids beside it, else numbered as GPT-2 numbers
 * What a file is, its content tells. Ids are below 2^20. A list of merges beside its ids is read as the
 * original does: a last line without its newline is not used. NULL on failure.
 *
 * Ids of any of these are decoded. Texts are encoded where it is certain that words are cut by GPT-2's
 * pattern, and nothing else is done to them: a tokenizer.json says so; encoder.json and vocab.bpe are the
 * original's form; ranks, and vocab.json with merges.txt, say nothing, and must be a published
 * vocabulary known by its SHA-256 (GPT-2's, p50k_base, Whisper's). Of others whoever encodes gets
 * HEFT_UNSUPPORTED with the reason. */
HEFT_API struct heft_vocab *heft_vocab_open(const char *path, struct heft_error *err);

struct heft_vocab_options {
    /* "gpt2": what cuts texts into words, where neither the file says it nor what it is. NULL: only what
     * is certain. Others are HEFT_USAGE. */
    const char *pattern;
    /* The end of text: the text of a token, or an id in decimal, which needs not be a token's. NULL:
     * <|endoftext|>. */
    const char *eot_token;
};
/* options may be NULL. */
HEFT_API struct heft_vocab *heft_vocab_open_with(const char *path,
                                                 const struct heft_vocab_options *options,
                                                 struct heft_error *err);
/* What speaks against the pattern that the options said, NULL where nothing does. It dies with the
 * vocabulary. */
HEFT_API const char *heft_vocab_doubt(const struct heft_vocab *v);
/* What files of the vocabulary, and transformers' tokenizer_config.json beside them, ask for that is not
 * done to texts that are encoded (nothing where they cannot be), or (of_ids) to ids that are decoded: the i-th sentence, NULL past the
 * last. They die with the vocabulary. */
HEFT_API const char *heft_vocab_note(const struct heft_vocab *v, bool of_ids, size_t i);
HEFT_API void heft_vocab_close(struct heft_vocab *v);
/* One more than the highest id; 0 of NULL. */
HEFT_API uint32_t heft_vocab_size(const struct heft_vocab *v);
/* The bytes that an id stands for, or NULL where it stands for none. They die with the vocabulary.
 */
HEFT_API const uint8_t *heft_vocab_token(const struct heft_vocab *v, uint32_t id, size_t *n);
/* The id of <|endoftext|>, or what the options said; HEFT_NO_TOKEN where there is none. Text never encodes to
 * <|endoftext|>. */
HEFT_API uint32_t heft_vocab_end(const struct heft_vocab *v);

/* ---- encoding ---------------------------------------------------------------------------- */

struct heft_encoder;
struct heft_encoder_options {
    const char *unicode; /* "9.0" … "17.0": whose letters and numbers; NULL: of the
                             vocabulary's form: "16.0", which the libraries of tokenizer.json and of ranks
                             have, "17.0" of the built-in one and of vocab.bpe */
    size_t cache;        /* bytes of memory that it may take for words it has met; 0: 48 MiB */
};
/* The vocabulary must outlive it. NULL on failure. */
HEFT_API struct heft_encoder *heft_encoder_new(const struct heft_vocab *v,
                                               const struct heft_encoder_options *options,
                                               struct heft_error *err);
HEFT_API void heft_encoder_free(struct heft_encoder *e);

/* A whole text of n bytes. ids gets at most `room` of them, *count says how many; n is always room
 * enough. HEFT_MALFORMED where the text is no UTF-8, with the offset; HEFT_USAGE where the room is
 * not enough. What was fed before, and not finished, is dropped. */
HEFT_API bool heft_encode(struct heft_encoder *e, const void *text, size_t n, uint32_t *ids,
                          size_t room, size_t *count, struct heft_error *err);

/* A text that comes in pieces: feed them in order, then finish. Pieces may end anywhere, also
 * within a character; the ids are those of the whole. Each call hands out what is certain: `ids`
 * lives until each() returns, which ends it all by returning false (HEFT_CANCELLED). Offsets in errors
 * count from the first piece. After finish, and after a failure, a new text may begin. */
typedef bool heft_ids_fn(void *ctx, const uint32_t *ids, size_t count);
HEFT_API bool heft_encoder_feed(struct heft_encoder *e, const void *piece, size_t n,
                                heft_ids_fn *each, void *ctx, struct heft_error *err);
HEFT_API bool heft_encoder_finish(struct heft_encoder *e, heft_ids_fn *each, void *ctx,
                                  struct heft_error *err);

/* ---- explaining -------------------------------------------------------------------------- */

/* One merge of a word: its symbols `at` and at + 1, which are left and right, become id. */
struct heft_word_merge {
    uint32_t rank, left, right, id;
    size_t at;
};
/* A word as the pattern cuts it, what happens to it, and its ids. */
struct heft_word {
    const char *text;
    size_t n;
    uint64_t offset;
    const uint32_t *bytes; /* the ids of its n single bytes: where merging begins */
    const struct heft_word_merge *merges;
    size_t n_merges;
    const uint32_t *ids;
    size_t n_ids;
    bool is_whole; /* a token that merging does not lead to, taken whole */
};
#define HEFT_WORD_MOST 4096 /* bytes of a word that is explained; longer: HEFT_LIMIT */
typedef bool heft_word_fn(void *ctx, const struct heft_word *word);
/* How a text becomes ids, word by word; false from each() ends it. unicode: as in struct
 * heft_encoder_options. */
HEFT_API bool heft_explain_text(const struct heft_vocab *v, const char *unicode, const char *text,
                                size_t n, heft_word_fn *each, void *ctx, struct heft_error *err);

/* ---- files of text → files of tokens ------------------------------------------------------
 *
 *     const char *inputs[] = {"books", "*.txt"};
 *     struct heft_encode_options how = {.output = "books.npz", .combine = 50000};
 *     struct heft_encoding *e = heft_encode_plan(v, inputs, 2, &how, &err);
 *     bool fine = e && heft_encode_run(e, &err);
 *     heft_encode_free(e);
 *
 * An input is a file, a folder (walked as Python's os.walk does), a pattern (as glob.glob, ** crossing folders), or "-",
 * standard input. .gz and .zst are unpacked, known by their first bytes; \r\n and \r are read as
 * \n; an .npz passes its arrays on. The output appears whole under its name, or not at all.
 *
 * A long run keeps a journal beside its output, .NAME.heft-journal, of how far its temporary files,
 * .NAME.heft-PID-N, are on the disk. Where it is killed these stay: a run with `resume` goes on
 * from there, and the output is the one of a run that was never interrupted, byte for byte; one
 * without deletes them and begins anew. HEFT_USAGE where inputs, options, vocabulary or the version
 * of heft are others than they were, and for inputs that can only be read once. A run that fails
 * leaves nothing, but with `resume` what another one can go on from. */

enum heft_eot {
    HEFT_EOT_DEFAULT, /* text; none for megatron */
    HEFT_EOT_TEXT,    /* "<|endoftext|>" as 13 characters of text, as the original has it */
    HEFT_EOT_ID,      /* the id heft_vocab_end */
    HEFT_EOT_NONE
};

struct heft_encode_options {
    const char *output;    /* NULL: tokens are counted, no more; DIR/: files in that folder; "-": no
                              file, `written` gets the bytes */
    const char *format;    /* "npz" "npy" "bin" "llmc" "megatron" "ids"; NULL: by the extension */
    const char *encoding;  /* of the text, NULL: "utf-8" */
    const char *jsonl_key; /* a line is a JSON object, its text the string of this key */
    const char *unicode;   /* as in heft_encoder_options */
    uint64_t combine;      /* files become one array until it has so many characters */
    enum heft_eot eot;
    bool eot_each;    /* npz with ids: also behind a document that fills an array */
    bool eot_before;  /* the id in front of each document, not behind it; not in npz */
    bool replace;     /* U+FFFD for what cannot be decoded; else HEFT_MALFORMED */
    bool skip;        /* lines of JSON without the text are left out, and counted; with jsonl_key */
    bool sort;        /* files by name within each input; else as the system lists them */
    bool allow_empty; /* an input that matches nothing is no error */
    bool overwrite, no_sync;
    bool resume;           /* goes on where a run that was interrupted stood, else begins */
    uint64_t checkpoint;   /* bytes of input between places to go on from; 0: 256 MiB */
    uint64_t shard_tokens; /* a new file after so many; 0: one file */
    double val_fraction;   /* of the documents (or arrays), into a file of their own, from two on
                              not less than one on each side; 0: none */
    unsigned threads;      /* 0: one a core, at most 4 */
    unsigned width; /* bytes of an id in bin, npy, llmc and megatron: 2, 4; 0: 2 if all ids that
                              are written fit */
    /* Bytes read so far and in all, 0 where a pipe does not say it; first, those that a run before
     * has read. False ends the run (HEFT_CANCELLED, "interrupted"). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Callback for a line that is left out: its file, its number from 1, and what is wrong with it; the texts
     * live until it returns. False ends the run. NULL: they are only counted. */
    bool (*rejected)(void *ctx, const char *file, uint64_t line, const char *reason);
    void *rejected_ctx;
    /* Callback for the bytes of "bin" or "ids", in order, where output is "-". False ends the run
     * (HEFT_CANCELLED). What a run that fails has handed out is the beginning of its output. */
    bool (*written)(void *ctx, const void *bytes, size_t n);
    void *written_ctx;
};

struct heft_encode_summary {
    uint64_t inputs, documents, arrays; /* arrays: written by npz */
    uint64_t tokens, bytes;             /* bytes: read */
    uint64_t resumed;                   /* of these, read by a run before */
    uint64_t rejected;                  /* lines of JSON that were left out */
    uint64_t val_tokens;                /* of the tokens, in the file for validation */
    /* What a text looks like that was read as it stands, "JSON lines" or "WARC records"; NULL: nothing
     * of that kind. */
    const char *looks_like;
};

struct heft_encoding;
/* Finds the inputs; writes nothing. The vocabulary must outlive it, options are copied, texts in
 * them are borrowed. NULL on failure. */
HEFT_API struct heft_encoding *heft_encode_plan(const struct heft_vocab *v,
                                                const char *const *inputs, size_t n,
                                                const struct heft_encode_options *options,
                                                struct heft_error *err);
/* Its name, "bin"; NULL where tokens are only counted. */
HEFT_API const char *heft_encode_format(const struct heft_encoding *e);
/* Bytes of an id in the output: 2, 4 or, of npz, 8; 0 of ids, which are decimals, and where tokens are
 * only counted. */
HEFT_API unsigned heft_encode_width(const struct heft_encoding *e);
/* Once. */
HEFT_API bool heft_encode_run(struct heft_encoding *e, struct heft_error *err);
HEFT_API void heft_encode_summarize(const struct heft_encoding *e, struct heft_encode_summary *out);
/* The i-th file that is read (until the next is asked for), and the i-th that was written; NULL past
 * the last. */
HEFT_API const char *heft_encode_input(const struct heft_encoding *e, size_t i);
HEFT_API const char *heft_encode_output(const struct heft_encoding *e, size_t i);
/* After the run: tokens of the i-th of the n inputs. */
HEFT_API uint64_t heft_encode_tokens(const struct heft_encoding *e, size_t i);
HEFT_API void heft_encode_free(struct heft_encoding *e);

/* ---- decoding ---------------------------------------------------------------------------- */

/* The bytes of n ids, one after the other: may be no UTF-8 where tokens were cut. `out` gets at most
 * `room` bytes; *bytes is how many there are in all. HEFT_MALFORMED at an id that stands for
 * nothing; its offset is the index of the id. */
HEFT_API bool heft_decode(const struct heft_vocab *v, const uint32_t *ids, size_t n, void *out,
                          size_t room, size_t *bytes, struct heft_error *err);

/* Text of ids that come in portions: feed, then finish. What is no UTF-8 becomes U+FFFD, one for each
 * longest beginning of a character, as Python's errors="replace" has it. `text` lives until each()
 * returns, which ends it all by returning false (HEFT_CANCELLED). After finish, and after a failure, a
 * new text may begin. An unknown id: as heft_decode. */
struct heft_decoder; /* the vocabulary must outlive it; NULL on failure */
typedef bool heft_text_fn(void *ctx, const char *text, size_t n);
HEFT_API struct heft_decoder *heft_decoder_new(const struct heft_vocab *v, struct heft_error *err);
HEFT_API void heft_decoder_free(struct heft_decoder *d);
HEFT_API bool heft_decoder_feed(struct heft_decoder *d, const uint32_t *ids, size_t n,
                                heft_text_fn *each, void *ctx, struct heft_error *err);
HEFT_API bool heft_decoder_finish(struct heft_decoder *d, heft_text_fn *each, void *ctx,
                                  struct heft_error *err);

/* The text of a file of ids, in constant memory: .npz and .npy of whole numbers, llm.c's .bin,
 * Megatron's .idx or .bin (by the other beside it), decimals with white space between, and streams of
 * nothing but ids (X.bin wherever it can be one), little-endian, of 2 bytes, or 4 where the vocabulary
 * has ids above 65535; "-" is standard input, which a temporary file holds meanwhile. Arrays and
 * sequences are joined. HEFT_MALFORMED at an id that stands for nothing, with its offset in the file (of a
 * deflated array: where that begins); HEFT_MISMATCH where a stored checksum is another. */
HEFT_API bool heft_decode_file(const struct heft_vocab *v, const char *path, heft_text_fn *each,
                               void *ctx, struct heft_error *err);
/* The one text of n files, as shards are: a character may begin in one and end in the next. */
struct heft_decode_options {
    unsigned
        width; /* bytes of an id in streams of nothing but ids: 2 or 4; 0: as the vocabulary says it,
                       HEFT_USAGE where it does not, or the stream looks otherwise */
};
/* As heft_decode_files; options may be NULL. */
HEFT_API bool heft_decode_files_with(const struct heft_vocab *v, const char *const *paths, size_t n,
                                     const struct heft_decode_options *options, heft_text_fn *each,
                                     void *ctx, struct heft_error *err);
HEFT_API bool heft_decode_files(const struct heft_vocab *v, const char *const *paths, size_t n,
                                heft_text_fn *each, void *ctx, struct heft_error *err);

/* ---- training ---------------------------------------------------------------------------- */

enum heft_train_style {
    HEFT_TRAIN_BYTES,      /* as GPT-2's: words of its pattern, from the 256 bytes up */
    HEFT_TRAIN_SUBWORD_NMT /* as subword-nmt's learn_bpe: words between spaces, characters, </w> */
};
struct heft_train_options {
    enum heft_train_style style;
    uint32_t size;          /* bytes: ids, <|endoftext|> being the last; subword-nmt: merges */
    uint64_t min_frequency; /* pairs that are rarer do not merge; 0: 2 */
    const char *unicode;    /* as in heft_encoder_options */
    uint64_t memory;        /* bytes that words and pairs may take, about; 0: 4 GiB; see below */
    unsigned threads;       /* 0: one a core */
    bool overwrite, no_sync;
};
struct heft_train_report {
    uint64_t files, bytes, words, different; /* different: words that differ */
    const char *looks_like;                  /* as in struct heft_encode_summary */
    uint32_t merges, ids;                    /* ids: 0 for subword-nmt, which has none */
};

/* Learns a vocabulary from texts: paths are inputs as those of heft_encode_plan, but ends of lines
 * are as they are, and an .npz is no text. Each file is a text.
 * Writes vocab.bpe, encoder.json and tokenizer.json into the folder `output`; subword-nmt's codes
 * into the file `output`. The result depends neither on the order of files nor on the threads; of
 * pairs that are as frequent, the one with the smallest ids merges first (subword-nmt: with the
 * largest text). HEFT_MALFORMED where a text is no UTF-8, HEFT_USAGE where there is nothing to learn
 * from, or `output` is there and not to be overwritten; HEFT_LIMIT where words need more memory. options
 * say the size; report may be NULL.
 * Memory: less than 200 MiB for texts of 64 MiB in all (unpacked), whatever is in them, and 40 bytes an id
 * beyond 100,000; for more text, three times the bytes of the words that differ. Where `memory` is less than
 * three times these bytes and 64 KiB, it is a HEFT_LIMIT. Counted words that take more than 72 MiB go to a
 * temporary file. */
HEFT_API bool heft_train(const char *const *paths, size_t n, const char *output,
                         const struct heft_train_options *options, struct heft_train_report *report,
                         struct heft_error *err);

/* ---- sampling ---------------------------------------------------------------------------- */

/* Windows of files of ids, for those who train: the same ones that the Sampler of GPT-2's train.py
 * draws with that seed, from a .npz or from whatever the other formats hold.
 *
 *     const char *paths[] = {"book.npz"};
 *     struct heft_sampler *s = heft_sampler_open(paths, 1, NULL, &err);
 *     uint32_t ids[1024];
 *
 *     while (s && heft_sampler_next(s, 1024, ids, NULL, &err))
 *         train_on(ids);
 *     heft_sampler_close(s);
 *
 * Files are mapped: who makes one shorter meanwhile makes the reader die of SIGBUS. What is deflated
 * is inflated once. A sampler belongs to one thread. */
struct heft_sampler;
struct heft_sampler_options {
    uint32_t seed;
    unsigned width; /* bytes of an id where the file does not say it: 2 or 4; 0: 2 */
};
/* .npz, .npy and llm.c's files are known by their content, all else is a stream of ids; but decimals
 * and an index of Megatron's, whose .bin is meant, are HEFT_UNSUPPORTED. Each array, and each stream,
 * is a text of its own, which no window leaves. NULL on failure. */
HEFT_API struct heft_sampler *heft_sampler_open(const char *const *paths, size_t n,
                                                const struct heft_sampler_options *options,
                                                struct heft_error *err);
HEFT_API void heft_sampler_close(struct heft_sampler *s);
/* All ids. */
HEFT_API uint64_t heft_sampler_total(const struct heft_sampler *s);
/* The next window, of `length` ids; *where, unless NULL, is its first one's number among all.
 * HEFT_USAGE where arrays are not longer than that on the average: train.py refuses that, too. */
HEFT_API bool heft_sampler_next(struct heft_sampler *s, size_t length, uint32_t *ids,
                                uint64_t *where, struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
