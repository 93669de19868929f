/* exec_parts.h: the inside of a run, shared by the exec*.c files only.
 *
 *   exec.c       cuts a plan into chunks, fills and writes them
 *   exec_stream.c  deflated storages, inflated right into their places
 *   exec_sums.c  what the pieces' CRCs add up to: stored checksums, the plan's sums, late ops */
#ifndef HEFT_EXEC_PARTS_H
#define HEFT_EXEC_PARTS_H

#include "core/exec.h"
#include "core/reader.h"
#include "io/sink.h"

struct heft_exec_chunk {
    uint64_t off, len;
    size_t first_op, first_piece;
    uint32_t file; /* HEFT_NONE: only reads `storage` to check it */
    uint32_t storage;
    bool streams; /* all of one op, and that heft_exec_streams */
};

/* CRCs of the bytes of a piece, where somebody asks for them. */
struct heft_exec_piece {
    uint32_t stored; /* as its storage's stored checksum is made */
    uint32_t summed; /* as the plan's sums are */
};

struct heft_exec {
    const struct heft_plan *plan; /* NULL: only checking */
    const struct heft_model *model;
    const struct heft_exec_options *options;
    struct heft_arena mem;
    struct heft_reader reader;
    struct heft_sink *sink;      /* where chunks go, or … */
    struct heft_source *written; /* … the files they are compared with: heft_exec_compare */
    struct heft_lock *lock;
    bool *is_linked;  /* of each file that is written: it is a link, nothing is copied */
    uint8_t *buffers; /* a chunk a thread; comparing: two */
    uint8_t *scratch; /* a chunk a thread, where something is cast */
    size_t chunk;     /* bytes of the largest chunk */
    struct heft_exec_chunk *chunks;
    struct heft_exec_piece *pieces; /* what each chunk took of each op */
    size_t n_chunks, cap_chunks, n_pieces;
    uint8_t *checked_by;              /* a storage: not, by its copy, by reading */
    uint8_t *seen_by;                 /* a storage: row ops that look into it; 2: or more */
    uint64_t done, total, overflowed; /* under lock */
    unsigned threads;
};

/* OWN: by the storage's own check. */
enum { HEFT_CHECK_NOT, HEFT_CHECK_COPY, HEFT_CHECK_READ, HEFT_CHECK_OWN };

/* Whether the op's CRC is that of its storage, which has one to compare it with. */
static inline bool heft_exec_checks(const struct heft_exec *x, const struct heft_op *op)
{
    return op->kind == HEFT_OP_COPY && x->checked_by[op->u.copy.storage] == HEFT_CHECK_COPY &&
           op->u.copy.from == 0 && op->len == x->model->storages[op->u.copy.storage].len;
}
/* Whether the op's bytes are part of a sum. Late ops have their own time. */
static inline bool heft_exec_sums(const struct heft_op *op)
{
    return op->kind != HEFT_OP_LATE && op->sum != HEFT_NONE;
}
/* The part of an op that lies in the chunk: from which byte of the op on, and how many. */
static inline uint64_t heft_exec_clip(const struct heft_exec_chunk *chunk, const struct heft_op *op,
                                      uint64_t *from)
{
    const uint64_t begin = heft_max_u64(chunk->off, op->off);

    *from = begin - op->off;
    return heft_min_u64(chunk->off + chunk->len, op->off + op->len) - begin;
}

/* Whether both are the same; HEFT_MISMATCH names the file and the byte. */
HEFT_CHECKED bool heft_exec_same(const struct heft_exec *x, const struct heft_exec_chunk *place,
                                 const uint8_t *wanted, const uint8_t *found,
                                 struct heft_error *err);

/* Says how far it is; false where it is to stop. */
HEFT_CHECKED bool heft_exec_tell(struct heft_exec *x, uint64_t n, struct heft_error *err);
/* Writes a chunk, or a part of one, or compares it with what was written. */
HEFT_CHECKED bool heft_exec_deliver(struct heft_exec *x, unsigned worker,
                                    const struct heft_exec_chunk *chunk, const uint8_t *bytes,
                                    struct heft_error *err);

/* ---- exec_stream.c ---- */

/* Counts who looks into which storage. */
HEFT_CHECKED bool heft_exec_count_ops(struct heft_exec *x, struct heft_error *err);
/* Whether an op is all that is wanted of a deflated storage, in the order in which it comes out. */
bool heft_exec_streams(const struct heft_exec *x, const struct heft_op *op);
HEFT_CHECKED bool heft_exec_stream(struct heft_exec *x, unsigned worker,
                                   const struct heft_exec_chunk *chunk, struct heft_error *err);

/* ---- exec_sums.c ---- */

/* Who hears of a storage whose bytes have another CRC than the file says. */
struct heft_exec_judge {
    heft_exec_bad_fn *bad;
    void *ctx;
};
/* Compares stored checksums with what the pieces add up to. */
HEFT_CHECKED bool heft_exec_judge_all(const struct heft_exec *x, const struct heft_exec_judge *j,
                                      struct heft_error *err);
/* While converting, the first difference ends it. ctx: the struct heft_exec. */
HEFT_CHECKED bool heft_exec_refuse(void *ctx, uint32_t storage, const struct heft_error *why,
                                   struct heft_error *err);
/* The CRCs of a piece of an op. */
void heft_exec_add_piece(struct heft_exec *x, const struct heft_op *op, size_t piece,
                         const uint8_t *bytes, size_t n);
/* The sum of a piece, of which these bytes come next. */
void heft_exec_extend_piece(struct heft_exec *x, const struct heft_op *op, size_t piece,
                            const uint8_t *bytes, size_t n);
/* Sets to zero what the chunk has of late ops. */
void heft_exec_blank_late(const struct heft_exec *x, const struct heft_exec_chunk *chunk,
                          uint8_t *bytes);
/* After all chunks: adds up the plan's sums, makes the late bytes from them and delivers these. */
HEFT_CHECKED bool heft_exec_late(struct heft_exec *x, struct heft_error *err);

#endif
