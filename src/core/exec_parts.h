/* exec_parts.h: state of a run, private to exec_cut.c (cuts a plan into chunks), exec.c (fills and writes
 * them), exec_blocks.c (chunks of large transposed rows), exec_share.c (a share of the chunks, for runs in parts), exec_memory.c (writes what is in memory), exec_stream.c (inflates deflated storages straight
 * into the output) and exec_sums.c (combines the CRCs of pieces: stored checksums, sums of the plan,
 * late ops). */
#ifndef HEFT_EXEC_PARTS_H
#define HEFT_EXEC_PARTS_H

#include "core/exec.h"
#include "core/reader.h"
#include "io/sink.h"

struct heft_exec_chunk {
    uint64_t off, len;
    size_t first_op, first_piece;
    uint32_t file; /* output file; HEFT_NONE: the chunk only reads `storage` to check it */
    uint32_t storage;
    bool streams; /* the chunk is a single op for which heft_exec_streams is true */
    /* A block of a single op: `rows` runs of `run` bytes, `pitch` apart; `len` is that of all runs. 0: the
     * chunk is contiguous */
    uint64_t rows, run, pitch;
};

/* CRCs of a piece, the bytes of one op in one chunk; set only if needed. */
struct heft_exec_piece {
    uint32_t stored; /* CRC of the kind of the storage's stored checksum */
    uint32_t summed; /* CRC of the kind of the plan's sums */
};

struct heft_exec {
    const struct heft_plan *plan; /* NULL: only checks storages */
    const struct heft_model *model;
    const struct heft_exec_options *options;
    struct heft_arena mem;
    struct heft_reader reader;
    struct heft_sink *sink;      /* destination of chunks, or … */
    struct heft_source *written; /* … the written files to compare with (heft_exec_compare) */
    struct heft_lock *lock;
    bool *is_linked;  /* flag for each output file: written as a hard link, nothing is copied */
    uint8_t *buffers; /* one chunk for each thread, two if comparing */
    uint8_t *scratch; /* one chunk for each thread, if any op casts */
    size_t chunk;     /* size of the largest chunk in bytes */
    struct heft_exec_chunk *chunks;
    struct heft_exec_piece *pieces; /* one for each op in each chunk */
    size_t n_chunks, cap_chunks, n_pieces;
    size_t first_chunk;  /* of those that run */
    uint8_t *checked_by; /* HEFT_CHECK_… for each storage */
    uint8_t *seen_by; /* for each storage, the number of row ops that read it; 2 means 2 or more */
    uint64_t done, total, overflowed; /* guarded by lock */
    unsigned threads;
};

/* How a stored checksum is verified: not at all; while copying; by reading the storage; by the
 * format's own check. */
enum { HEFT_CHECK_NOT, HEFT_CHECK_COPY, HEFT_CHECK_READ, HEFT_CHECK_OWN };

/* Whether the op copies a whole storage with a stored checksum, so that its CRC can be compared. */
static inline bool heft_exec_checks(const struct heft_exec *x, const struct heft_op *op)
{
    return op->kind == HEFT_OP_COPY && x->checked_by[op->u.copy.storage] == HEFT_CHECK_COPY &&
           op->u.copy.from == 0 && op->len == x->model->storages[op->u.copy.storage].len;
}
/* Whether the op's bytes belong to a sum. Late ops are added later. */
static inline bool heft_exec_sums(const struct heft_op *op)
{
    return op->kind != HEFT_OP_LATE && op->sum != HEFT_NONE;
}
/* Clips an op to a chunk: *from is the first byte of the op; returns the number of bytes. */
static inline uint64_t heft_exec_clip(const struct heft_exec_chunk *chunk, const struct heft_op *op,
                                      uint64_t *from)
{
    const uint64_t begin = heft_max_u64(chunk->off, op->off);

    *from = begin - op->off;
    return heft_min_u64(chunk->off + chunk->len, op->off + op->len) - begin;
}

/* Compares planned and written bytes. HEFT_MISMATCH names the file and the offset. */
HEFT_CHECKED bool heft_exec_same(const struct heft_exec *x, const struct heft_exec_chunk *place,
                                 const uint8_t *wanted, const uint8_t *found,
                                 struct heft_error *err);

/* ---- exec_cut.c ---- */

#define HEFT_EXEC_CHUNK (1u << 20) /* bytes of a chunk of copies, and of runs of some KiB */

/* Whether a storage has a checksum that is compared by reading its bytes. */
bool heft_exec_is_checkable(const struct heft_exec *x, uint32_t storage);
/* Output bytes of the fewest elements of the op's row that are whole blocks before and after the
 * cast; 1 for varying-length elements. */
uint64_t heft_exec_cast_block(const struct heft_op *op);
/* Whether the elements of the op are scattered in a storage, so that large chunks read less. */
bool heft_exec_is_scattered(const struct heft_exec *x, const struct heft_op *op);
HEFT_CHECKED bool heft_exec_add_chunk(struct heft_exec *x, const struct heft_exec_chunk *chunk,
                                      struct heft_error *err);
/* Cuts a storage that is only read. */
HEFT_CHECKED bool heft_exec_cut_storage(struct heft_exec *x, uint32_t storage,
                                        struct heft_error *err);
/* Cuts the output files and the storages that are only read into chunks. */
HEFT_CHECKED bool heft_exec_cut(struct heft_exec *x, struct heft_error *err);

/* ---- exec_blocks.c ---- */

/* Cuts an op into blocks if that is better than contiguous chunks; *cut: whether it was. */
HEFT_CHECKED bool heft_exec_cut_blocks(struct heft_exec *x, uint32_t file, size_t op, bool *cut,
                                       struct heft_error *err);
/* Fills and writes (or compares) a block. */
HEFT_CHECKED bool heft_exec_run_block(struct heft_exec *x, unsigned worker,
                                      const struct heft_exec_chunk *chunk, struct heft_error *err);

/* ---- exec.c: steps of a run ---- */

HEFT_CHECKED bool heft_exec_init(struct heft_exec *x, const struct heft_plan *plan,
                                 const struct heft_model *model,
                                 const struct heft_exec_options *options, struct heft_error *err);
HEFT_CHECKED bool heft_exec_open_outputs(struct heft_exec *x, struct heft_error *err);
HEFT_CHECKED bool heft_exec_run_chunks(struct heft_exec *x, size_t first, size_t n,
                                       struct heft_error *err);
void heft_exec_release(struct heft_exec *x);

/* Fills dst with the output bytes [from, from+n) of a row op, casting if needed; of `row`, which is the op's
 * or a part of it. */
HEFT_CHECKED bool heft_exec_fill_row(struct heft_exec *x, unsigned worker, const struct heft_op *op,
                                     const struct heft_row *row, uint64_t from, uint8_t *dst,
                                     uint64_t n, struct heft_error *err);
/* Reports progress by n bytes. False (HEFT_CANCELLED) if the caller stops the run. */
HEFT_CHECKED bool heft_exec_tell(struct heft_exec *x, uint64_t n, struct heft_error *err);
/* Writes a chunk or a part of it, or compares it with the written file. */
HEFT_CHECKED bool heft_exec_deliver(struct heft_exec *x, unsigned worker,
                                    const struct heft_exec_chunk *chunk, const uint8_t *bytes,
                                    struct heft_error *err);

/* ---- exec_memory.c ---- */

/* Writes (or compares) a chunk whose bytes are in memory and need no checksum: *written; false for
 * other chunks. */
HEFT_CHECKED bool heft_exec_write_memory(struct heft_exec *x, unsigned worker,
                                         const struct heft_exec_chunk *chunk, bool *written,
                                         struct heft_error *err);

/* Whether at least half of the chunks are written from memory, without sync: one thread suffices. */
bool heft_exec_only_writes(const struct heft_exec *x);

/* ---- exec_stream.c ---- */

/* Fills seen_by. */
HEFT_CHECKED bool heft_exec_count_ops(struct heft_exec *x, struct heft_error *err);
/* Whether a row op is the only user of a deflated storage and needs its bytes in order, so that
 * they can be streamed to the output. */
bool heft_exec_streams(const struct heft_exec *x, const struct heft_op *op);
HEFT_CHECKED bool heft_exec_stream(struct heft_exec *x, unsigned worker,
                                   const struct heft_exec_chunk *chunk, struct heft_error *err);

/* ---- exec_sums.c ---- */

/* Callback for checksum mismatches. */
struct heft_exec_judge {
    heft_exec_bad_fn *bad;
    void *ctx;
};
/* Compares stored checksums with the combined CRCs of the pieces. */
HEFT_CHECKED bool heft_exec_judge_all(const struct heft_exec *x, const struct heft_exec_judge *j,
                                      struct heft_error *err);
/* A heft_exec_bad_fn that ends the run with the first mismatch. ctx: the struct heft_exec. */
HEFT_CHECKED bool heft_exec_refuse(void *ctx, uint32_t storage, const struct heft_error *why,
                                   struct heft_error *err);
/* Computes the CRCs of a piece. */
void heft_exec_add_piece(struct heft_exec *x, const struct heft_op *op, size_t piece,
                         const uint8_t *bytes, size_t n);
/* Appends bytes to the sum of a piece. */
void heft_exec_extend_piece(struct heft_exec *x, const struct heft_op *op, size_t piece,
                            const uint8_t *bytes, size_t n);
/* Zeroes the bytes of late ops in a chunk. */
void heft_exec_blank_late(const struct heft_exec *x, const struct heft_exec_chunk *chunk,
                          uint8_t *bytes);
/* Runs after all chunks: combines the plan's sums, makes the bytes of late ops and delivers
 * them. */
HEFT_CHECKED bool heft_exec_late(struct heft_exec *x, struct heft_error *err);

#endif
