/* exec_sums.c: combines the CRCs of the pieces that the jobs computed.
 *
 *     chunks   |      0      |      1      |   piece: the bytes of one op in one chunk
 *     pieces   |PUT|COPY     |COPY |LATE|PUT|
 *                   └── combine ──┘             compared with a stored CRC, or a sum of the plan
 *
 * Late ops are made last, in order: each from the sums of all bytes before it; its own bytes are
 * added to the sum that includes it, if any. Until then the output has zeros in their place. */
#include "base/checksum.h"
#include "core/exec_parts.h"

/* ---- stored checksums -------------------------------------------------------------------- */

static bool judge_storage(const struct heft_exec *x, const struct heft_exec_judge *j,
                          uint32_t storage, uint32_t found, struct heft_error *err)
{
    const struct heft_storage *const s = &x->model->storages[storage];
    struct heft_error why = {0};

    if (found == s->crc)
        return true;
    heft_fail(&why, HEFT_MISMATCH, s->off, "%s is %08" PRIx32 ", the file says %08" PRIx32,
              heft_sum_name((enum heft_sum)s->sum), found, s->crc);
    if (s->label.n)
        heft_error_about(&why, "storage", s->label);
    heft_error_file(&why, x->model->sources[s->source].path);
    return j->bad(j->ctx, storage, &why, err);
}

/* Appends a piece, n bytes at `from`, to the running CRC of a storage. */
static uint32_t extend_crc(const struct heft_exec *x, uint32_t storage, uint32_t running,
                           size_t piece, uint64_t from, uint64_t n)
{
    return heft_sum_combine((enum heft_sum)x->model->storages[storage].sum, from ? running : 0,
                            x->pieces[piece].stored, n);
}

/* Combines the pieces of a chunk with the running CRCs. Pieces are stored in the order of the
 * output, whichever threads computed them. */
static bool judge_chunk(const struct heft_exec *x, const struct heft_exec_judge *j,
                        const struct heft_exec_chunk *chunk, uint32_t *running,
                        struct heft_error *err)
{
    uint64_t from, n;
    size_t i = 0;

    if (chunk->file == HEFT_NONE && x->model->storages[chunk->storage].sum == HEFT_SUM_OWN)
        return true; /* the format's own check has run */
    if (chunk->file == HEFT_NONE) {
        *running =
            extend_crc(x, chunk->storage, *running, chunk->first_piece, chunk->off, chunk->len);
        return chunk->off + chunk->len < x->model->storages[chunk->storage].len ||
               judge_storage(x, j, chunk->storage, *running, err);
    }
    for (uint64_t at = 0; at < chunk->len; at += n, i++) {
        const struct heft_op *op = &x->plan->ops[chunk->first_op + i];

        n = heft_exec_clip(chunk, op, &from);
        if (!heft_exec_checks(x, op))
            continue;
        *running = extend_crc(x, op->u.copy.storage, *running, chunk->first_piece + i, from, n);
        if (from + n == op->len && !judge_storage(x, j, op->u.copy.storage, *running, err))
            return false;
    }
    return true;
}

bool heft_exec_judge_all(const struct heft_exec *x, const struct heft_exec_judge *j,
                         struct heft_error *err)
{
    uint32_t running = 0;

    for (size_t i = 0; i < x->n_chunks; i++)
        if (!judge_chunk(x, j, &x->chunks[i], &running, err))
            return false;
    return true;
}

bool heft_exec_refuse(void *ctx, uint32_t storage, const struct heft_error *why,
                      struct heft_error *err)
{
    const struct heft_exec *x = ctx;

    *err = *why;
    for (size_t i = 0; i < x->model->n_rows; i++)
        if (heft_row_uses(&x->model->rows[i], storage))
            return heft_error_about(err, "tensor", x->model->rows[i].name);
    return false;
}

void heft_exec_add_piece(struct heft_exec *x, const struct heft_op *op, size_t piece,
                         const uint8_t *bytes, size_t n)
{
    struct heft_exec_piece *const p = &x->pieces[piece];
    const enum heft_sum sum = x->plan ? x->plan->sum : HEFT_SUM_NONE;
    enum heft_sum stored = HEFT_SUM_NONE;

    if (heft_exec_checks(x, op)) {
        stored = (enum heft_sum)x->model->storages[op->u.copy.storage].sum;
        p->stored = heft_sum_of(stored, bytes, n);
    }
    if (heft_exec_sums(op))
        p->summed = sum == stored ? p->stored : heft_sum_of(sum, bytes, n);
}

void heft_exec_extend_piece(struct heft_exec *x, const struct heft_op *op, size_t piece,
                            const uint8_t *bytes, size_t n)
{
    struct heft_exec_piece *const p = &x->pieces[piece];
    const enum heft_sum sum = x->plan->sum;

    if (heft_exec_sums(op))
        p->summed = heft_sum_combine(sum, p->summed, heft_sum_of(sum, bytes, n), n);
}

/* ---- combining checksums of chunks ------------------------------------------------------- */

static void combine_sums(const struct heft_exec *x, uint32_t *sums)
{
    for (size_t c = 0; c < x->n_chunks; c++) {
        const struct heft_exec_chunk *chunk = &x->chunks[c];
        const struct heft_op *op = x->plan->ops + chunk->first_op;
        const struct heft_exec_piece *piece = x->pieces + chunk->first_piece;
        uint64_t from, n;

        if (chunk->file == HEFT_NONE)
            continue;
        for (uint64_t at = 0; at < chunk->len; at += n, op++, piece++) {
            n = heft_exec_clip(chunk, op, &from);
            if (heft_exec_sums(op))
                sums[op->sum] = heft_sum_combine(x->plan->sum, sums[op->sum], piece->summed, n);
        }
    }
}

/* ---- bytes that depend on checksums ------------------------------------------------------ */

void heft_exec_blank_late(const struct heft_exec *x, const struct heft_exec_chunk *chunk,
                          uint8_t *bytes)
{
    const struct heft_op *op = x->plan->ops + chunk->first_op;
    uint64_t from, n;

    for (uint64_t at = 0; at < chunk->len; at += n, op++) {
        n = heft_exec_clip(chunk, op, &from);
        if (op->kind == HEFT_OP_LATE)
            memset(bytes + at, 0, (size_t)n);
    }
}

struct late {
    uint32_t *sums;
    struct heft_buf bytes; /* bytes of one op, followed by as many read back for comparison */
};

static bool make_late(struct heft_exec *x, struct late *late, const struct heft_op *op,
                      struct heft_error *err)
{
    const struct heft_exec_chunk place = {.off = op->off, .len = op->len, .file = op->file};
    uint8_t *bytes;
    size_t n, both;

    late->bytes.n = 0;
    if (!heft_size(op->len, &n) || n > SIZE_MAX / 2)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "late bytes beyond the address space");
    both = 2 * n;
    if (!heft_buf_room(&late->bytes, both))
        return heft_buf_ok(&late->bytes, err);
    bytes = (uint8_t *)late->bytes.p;
    op->u.late.fill(op->u.late.ctx, late->sums, bytes, n);
    if (op->sum != HEFT_NONE)
        late->sums[op->sum] = heft_sum_combine(x->plan->sum, late->sums[op->sum],
                                               heft_sum_of(x->plan->sum, bytes, n), op->len);
    if (x->sink)
        return heft_sink_write(x->sink, place.file, place.off, bytes, n, err);
    return heft_source_read(&x->written[place.file], place.off, bytes + n, n, err) &&
           heft_exec_same(x, &place, bytes, bytes + n, err);
}

bool heft_exec_late(struct heft_exec *x, struct heft_error *err)
{
    const struct heft_plan *plan = x->plan;
    struct late late = {.sums = heft_calloc(plan->n_sums + 1ull, sizeof *late.sums, err)};
    bool ok = late.sums != NULL;

    if (ok)
        combine_sums(x, late.sums);
    for (size_t i = 0; ok && i < plan->n_ops; i++)
        if (plan->ops[i].kind == HEFT_OP_LATE)
            ok = make_late(x, &late, &plan->ops[i], err);
    heft_buf_release(&late.bytes);
    heft_free(late.sums);
    return ok;
}
