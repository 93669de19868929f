/* token_out.h: ids in order → files for trainers.
 *
 *     bin        raw ids of 2 bytes, or 4 if the vocabulary has more than 65536 (nanoGPT)
 *     npy        the same as a NumPy array
 *     llmc       the same after a header of 256 numbers (llm.c)
 *     npz        an array of int64 for each unit (encode.py)
 *     megatron   a sequence for each unit, with an index beside it
 *     ids        decimals, a line for each unit
 *     ds         bin, with the ends of documents and a description beside it (datatrove)
 *
 * A unit is a document, or several joined by --combine. With a share for validation each unit goes
 * to one of two tracks. A track is a series of shards, or one file.
 *
 * Windows, of bin and npy: the ids of a track are cut into windows of equal length, each begins
 * `stride` ids after the one before. Ids after the last complete window are dropped.
 *
 * Ends of documents, in a file beside bin, npy and llmc: for each document the number of ids up to
 * its end, u64, as in the .index of datatrove. If a document continues in the next shard, each of
 * its parts has an end, so that the last end of a file is its number of ids. */
#ifndef HEFT_TOKEN_OUT_H
#define HEFT_TOKEN_OUT_H

#include "io/journal.h"
#include "io/row_store.h"
#include "io/sink.h"
#include "tokens/output/encode_job.h"

struct heft_part_receipt;

struct heft_token_out_how {
    const char *path;
    const struct heft_token_format *format;
    uint64_t shard_tokens; /* ids of a shard; 0: one file */
    double val_fraction;   /* fraction of the units for validation; 0: none */
    uint32_t vocab_size;
    unsigned width;          /* bytes of an id: 2 or 4 */
    bool has_arrays;         /* inputs include .npz: their arrays change the numbers of ours */
    const char *lengths;     /* path of a file with the ends of documents; NULL: none */
    uint64_t window, stride; /* ids of a window, and from one begin to the next; 0: none */
    const char *tokenizer;   /* name of the vocabulary in the metadata of ds; NULL: unknown */
    const char *rejects;     /* path of the list of rejected lines; NULL: none */
    bool has_receipt;        /* a part: the last file beside it is its receipt */
    struct heft_sink_options sink;
    bool (*written)(void *ctx, const void *bytes,
                    size_t n); /* receives the bytes; NULL: they go to files of the sink */
    void *written_ctx;
};

/* One file being written, with those beside it. */
struct heft_token_file {
    struct heft_sink *sink;
    const struct heft_token_out_how *how;
    struct heft_arena *mem;
    uint32_t index;  /* index of the file in the sink */
    uint32_t beside; /* index of the first file beside it */
    uint64_t at;     /* bytes so far, including `buffer` */
    uint64_t tokens, units;
    uint64_t unit_tokens; /* ids of the open unit */
    uint8_t *buffer;
    size_t n_buffer;
    uint8_t *ends;    /* buffer of the ends of documents; NULL: they are not written */
    size_t n_ends;    /* bytes in it */
    uint64_t ends_at; /* bytes of ends so far, including `ends` */
    struct heft_npz_state *npz;
    struct heft_row_store
        rows;            /* data of each array or sequence that is written at the file's end */
    uint64_t saved_rows; /* rows already in the journal */
    bool is_open;
};

struct heft_token_format {
    const char *name, *extension;
    const char *index; /* extension of the file beside it; NULL: none */
    bool is_described; /* there are X.index, the ends of documents, and X.metadata beside X */
    bool exact;        /* shards are split within units */
    bool (*begin)(struct heft_token_file *f, struct heft_error *err);
    bool (*unit)(struct heft_token_file *f, struct heft_error *err);
    bool (*end)(struct heft_token_file *f, struct heft_error *err);
    void (*release)(struct heft_token_file *f);
    /* Work for the worker thread, optional: converts a job's ids to bytes and pieces … */
    bool (*pack)(struct heft_job *job, struct heft_error *err);
    /* … and writes a piece, in order. Without it the ids are written unchanged. */
    bool (*piece)(struct heft_token_file *f, const uint8_t *bytes, size_t n,
                  const struct heft_job_piece *piece, struct heft_error *err);
    /* Copies the `count` arrays of an .npz; NULL: their ids are appended. */
    bool (*arrays)(struct heft_token_file *f, const char *path, uint64_t count,
                   struct heft_error *err);
    size_t row; /* bytes of a row in `rows`; 0: none */
    const char *rows_are;
    /* Number of rows of an open file that are complete, from the first one. */
    uint64_t (*count_rows)(const struct heft_token_file *f);
    /* Saves the state of an open file in a record, beyond its counts and rows. */
    void (*save)(const struct heft_token_file *f, struct heft_buf *record);
    bool (*load)(struct heft_token_file *f, struct heft_cur *record, struct heft_error *err);
};

/* Whether the first file beside the ids has the ends of documents. */
static inline bool heft_token_has_ends(const struct heft_token_out_how *how)
{
    return how->lengths || how->format->is_described;
}

extern const struct heft_token_format heft_tokens_npz, heft_tokens_npy, heft_tokens_bin,
    heft_tokens_llmc, heft_tokens_megatron, heft_tokens_ids, heft_tokens_ds;
/* Returns a format by name, or if that is NULL by the extension of the path; NULL: unknown. */
const struct heft_token_format *heft_token_format_of(const char *name, const char *path);
/* Returns the extension of a path, or its end if there is none. ".npz" is an extension, ".notes" a
 * name. */
const char *heft_token_extension_of(const char *path);
/* Returns the extension that a path without one gets. */
const char *heft_token_extension(const struct heft_token_format *format);

/* IndexedDataset takes PREFIX for PREFIX.bin and PREFIX.idx. So .bin is kept, and any other extension
 * is part of the prefix, except .idx and .megatron. */
const char *heft_token_megatron_path(struct heft_arena *mem, const char *path,
                                     struct heft_error *err);
/* Refuses a device: temporary files cannot be created beside it. */
HEFT_CHECKED bool heft_token_check_device(const char *path, struct heft_error *err);

/* Appends bytes to the file; overwrites bytes written before. */
HEFT_CHECKED bool heft_token_put(struct heft_token_file *f, const void *p, size_t n,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_token_patch(struct heft_token_file *f, uint64_t at, const void *p, size_t n,
                                   struct heft_error *err);

struct heft_token_out;
HEFT_CHECKED struct heft_token_out *heft_token_out_new(const struct heft_token_out_how *how,
                                                       struct heft_error *err);
/* Creates the first file. */
HEFT_CHECKED bool heft_token_out_begin(struct heft_token_out *out, struct heft_error *err);
/* Converts the job's ids (`pack` of the format), in any thread. */
HEFT_CHECKED bool heft_token_out_pack(const struct heft_token_out *out, struct heft_job *job,
                                      struct heft_error *err);
/* Writes ids [from, to) of the job; writes a piece of it; ends the unit; copies the arrays of an
 * .npz or appends their ids. */
HEFT_CHECKED bool heft_token_out_ids(struct heft_token_out *out, const struct heft_job *job,
                                     size_t from, size_t to, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_piece(struct heft_token_out *out, const struct heft_job *job,
                                       size_t piece, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_unit(struct heft_token_out *out, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_arrays(struct heft_token_out *out, const char *path,
                                        uint64_t *tokens, struct heft_error *err);
/* Appends a line to the list of rejected lines, if there is one. Not thread-safe, but independent of
 * the functions above. */
HEFT_CHECKED bool heft_token_out_reject(struct heft_token_out *out, const char *file, uint64_t line,
                                        const char *reason, struct heft_error *err);
/* Ends the last file; then, as a separate step, gives all files their final names. */
HEFT_CHECKED bool heft_token_out_end(struct heft_token_out *out, struct heft_error *err);
HEFT_CHECKED bool heft_token_out_commit(struct heft_token_out *out, struct heft_error *err);
/* Between both: fills in sizes and checksums of the files, and writes the receipt of a part. */
HEFT_CHECKED bool heft_token_out_receipt(struct heft_token_out *out,
                                         struct heft_part_receipt *receipt, struct heft_error *err);
/* Number of ids that are in no window. */
uint64_t heft_token_out_dropped(const struct heft_token_out *out);
/* Number of ids for validation. */
uint64_t heft_token_out_val(const struct heft_token_out *out);
/* Path of the i-th file written, without the list of rejected lines; NULL past the last. */
const char *heft_token_out_path(const struct heft_token_out *out, size_t i);
void heft_token_out_free(struct heft_token_out *out);

/* ---- token_save.c: state that survives a crash (io/journal.h) ------------------------------- */

/* Saves the state of the output in a record, after flushing the bytes it covers to the disk. Long
 * lists go ahead of the record, in pieces. */
HEFT_CHECKED bool heft_token_out_save(struct heft_token_out *out, struct heft_journal *journal,
                                      struct heft_buf *record, struct heft_error *err);
/* Restores the state from the pieces and records, in order, instead of heft_token_out_begin; then
 * reopens the files. */
HEFT_CHECKED bool heft_token_out_load_rows(struct heft_token_out *out, struct heft_cur *piece,
                                           struct heft_error *err);
HEFT_CHECKED bool heft_token_out_load(struct heft_token_out *out, struct heft_cur *record,
                                      struct heft_error *err);
HEFT_CHECKED bool heft_token_out_reopen(struct heft_token_out *out, struct heft_error *err);
/* For records of a run with other options: restores only their files, into a sink of their own;
 * deletes those that belong to this output. */
HEFT_CHECKED bool heft_token_out_load_files(const struct heft_token_out *out,
                                            struct heft_sink *sink, struct heft_cur *record,
                                            struct heft_error *err);
HEFT_CHECKED bool heft_token_out_sweep(struct heft_token_out *out, const struct heft_sink *sink,
                                       struct heft_error *err);
/* Keeps saved files if the run fails; names new files as `process` named them. */
void heft_token_out_keep(struct heft_token_out *out, uint64_t process);

#endif
