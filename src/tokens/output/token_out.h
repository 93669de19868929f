/* token_out.h: ids in order → files that trainers read.
 *
 *     bin        ids of 2 bytes (4 where the vocabulary is larger than 65536), nothing else (nanoGPT)
 *     npy        the same as a NumPy array
 *     llmc       the same behind a header of 256 numbers (llm.c)
 *     npz        an array of int64 a unit (encode.py)
 *     megatron   a sequence a unit, with an index beside it
 *     ids        decimals, a unit a line
 *
 * A unit is a document, or what --combine made of several. With a share for validation each unit
 * goes to one of two tracks; a track is a row of files, one where nothing splits it. */
#ifndef HEFT_TOKEN_OUT_H
#define HEFT_TOKEN_OUT_H

#include "io/journal.h"
#include "io/row_store.h"
#include "io/sink.h"
#include "tokens/output/encode_job.h"

struct heft_token_out_how {
    const char *path;
    const struct heft_token_format *format;
    uint64_t shard_tokens; /* 0: one file */
    double val_fraction;   /* 0: none */
    uint32_t vocab_size;
    unsigned width;  /* bytes of an id: 2 or 4 */
    bool has_arrays; /* of other files: their names move those of ours */
    struct heft_sink_options sink;
    bool (*written)(void *ctx, const void *bytes, size_t n); /* NULL: to files of the sink */
    void *written_ctx;
};

/* One file, or two that belong together, being written. */
struct heft_token_file {
    struct heft_sink *sink;
    const struct heft_token_out_how *how;
    struct heft_arena *mem;
    uint32_t index;  /* in the sink */
    uint32_t beside; /* of what stands beside it */
    uint64_t at;     /* bytes so far, those of `buffer` among them */
    uint64_t tokens, units;
    uint64_t unit_tokens; /* of the unit that is open */
    uint8_t *buffer;
    size_t n_buffer;
    struct heft_npz_state *npz;
    struct heft_row_store rows; /* what the file's end says of each array or sequence */
    uint64_t saved_rows;        /* that a record has */
    bool is_open;
};

struct heft_token_format {
    const char *name, *extension;
    bool exact; /* files are cut within units */
    bool (*begin)(struct heft_token_file *f, const char *path, struct heft_error *err);
    bool (*unit)(struct heft_token_file *f, struct heft_error *err);
    bool (*end)(struct heft_token_file *f, struct heft_error *err);
    void (*release)(struct heft_token_file *f);
    /* What takes time of its own, in the worker: bytes and pieces … */
    bool (*pack)(struct heft_job *job, struct heft_error *err);
    /* … and then, in order. Formats without it get the ids as they are. */
    bool (*piece)(struct heft_token_file *f, const uint8_t *bytes, size_t n,
                  const struct heft_job_piece *piece, struct heft_error *err);
    /* The `count` arrays of an .npz; NULL: their ids are appended. */
    bool (*arrays)(struct heft_token_file *f, const char *path, uint64_t count,
                   struct heft_error *err);
    size_t row; /* bytes of what the file's end says of each array or sequence; 0: nothing */
    const char *rows_are;
    /* Of an open file: so many rows are there, from the first on. */
    uint64_t (*count_rows)(const struct heft_token_file *f);
    /* What a record says of an open file beyond its counts and rows. */
    void (*save)(const struct heft_token_file *f, struct heft_buf *record);
    bool (*load)(struct heft_token_file *f, struct heft_cur *record, struct heft_error *err);
};

extern const struct heft_token_format heft_tokens_npz, heft_tokens_npy, heft_tokens_bin,
    heft_tokens_llmc, heft_tokens_megatron, heft_tokens_ids;
/* By name, or by the extension of a path where name is NULL; NULL: none of that name. */
const struct heft_token_format *heft_token_format_of(const char *name, const char *path);
/* Where the extension begins in a path, else its end: ".npz" is one and nothing else, ".notes" is a
 * name. */
const char *heft_token_extension_of(const char *path);
/* What a path without an extension gets. */
const char *heft_token_extension(const struct heft_token_format *format);

/* Appends to the file; writes over what is there already. */
HEFT_CHECKED bool heft_token_put(struct heft_token_file *f, const void *p, size_t n,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_token_patch(struct heft_token_file *f, uint64_t at, const void *p, size_t n,
                                   struct heft_error *err);

struct heft_token_out;
HEFT_CHECKED struct heft_token_out *heft_token_out_new(const struct heft_token_out_how *how,
                                                       struct heft_error *err);
/* Makes the first file. */
HEFT_CHECKED bool heft_token_out_begin(struct heft_token_out *out, struct heft_error *err);
/* From any thread: what can be done to the job's ids before their turn. */
HEFT_CHECKED bool heft_token_out_pack(const struct heft_token_out *out, struct heft_job *job,
                                      struct heft_error *err);
/* The job's ids up to event k (or all, k = n_marks) from the one before. */
HEFT_CHECKED bool heft_token_out_ids(struct heft_token_out *out, const struct heft_job *job,
                                     size_t from, size_t to, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_piece(struct heft_token_out *out, const struct heft_job *job,
                                       size_t piece, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_unit(struct heft_token_out *out, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_arrays(struct heft_token_out *out, const char *path,
                                        uint64_t *tokens, struct heft_error *err);
/* The last file's end; then, in a step of its own, their final names. */
HEFT_CHECKED bool heft_token_out_end(struct heft_token_out *out, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_commit(struct heft_token_out *out, struct heft_error *err);
/* Ids that went to the files for validation. */
uint64_t heft_token_out_val(const struct heft_token_out *out);
/* The i-th file written, NULL past the last. */
const char *heft_token_out_path(const struct heft_token_out *out, size_t i);
void heft_token_out_free(struct heft_token_out *out);

/* ---- token_save.c: work that goes on after a crash (io/journal.h) --------------------------- */

/* The state after what came last into a record, and with it the bytes that it stands for, on the
 * disk. What there is much of goes ahead of the record, as pieces of it. */
HEFT_CHECKED bool heft_token_out_save(struct heft_token_out *out, struct heft_journal *journal,
                                      struct heft_buf *record, struct heft_error *err);
/* Each record's pieces and part in order, in place of heft_token_out_begin; then reopen. */
HEFT_CHECKED bool heft_token_out_load_rows(struct heft_token_out *out, struct heft_cur *piece,
                                           struct heft_error *err);
HEFT_CHECKED bool heft_token_out_load(struct heft_token_out *out, struct heft_cur *record,
                                      struct heft_error *err);
HEFT_CHECKED bool heft_token_out_reopen(struct heft_token_out *out, struct heft_error *err);
/* Of records of other options: their files alone, into a sink of their own; and what else there is
 * of these is deleted. */
HEFT_CHECKED bool heft_token_out_load_files(const struct heft_token_out *out,
                                            struct heft_sink *sink, struct heft_cur *record,
                                            struct heft_error *err);
HEFT_CHECKED bool heft_token_out_sweep(struct heft_token_out *out, const struct heft_sink *sink,
                                       struct heft_error *err);
/* What is saved stays where the work fails; what is new is named as that process named it. */
void heft_token_out_keep(struct heft_token_out *out, uint64_t process);

#endif
