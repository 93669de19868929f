/* exec_stream.c: streams a deflated storage that one tensor uses in order, from the inflater
 * straight to the output. No spool is needed; each tensor is one job, so several are inflated in
 * parallel.
 *
 *     stream   ─inflate→ | header | row ………………………………… |    bytes before the row are skipped
 *     output                      | op ………………………………… |    written in pieces */
#include "core/exec_parts.h"

#define LEAST ((uint64_t)64 << 10) /* bytes: smaller rows share chunks and writes */

struct streaming {
    struct heft_exec *x;
    const struct heft_exec_chunk *chunk;
    unsigned worker;
};

bool heft_exec_count_ops(struct heft_exec *x, struct heft_error *err)
{
    x->seen_by = heft_arena_zero(&x->mem, x->model->n_storages + 1, 1, err);
    for (size_t i = 0; x->seen_by && i < x->plan->n_ops; i++) {
        const struct heft_op *op = &x->plan->ops[i];

        if (op->kind != HEFT_OP_ROW)
            continue;
        for (uint32_t k = 0; k < heft_row_pieces(op->u.row); k++) {
            uint8_t *const seen = &x->seen_by[heft_row_storage(op->u.row, k)];

            *seen = *seen ? 2 : 1;
        }
    }
    return x->seen_by != NULL;
}

bool heft_exec_streams(const struct heft_exec *x, const struct heft_op *op)
{
    const struct heft_row *row;

    if (op->kind != HEFT_OP_ROW || op->len < LEAST)
        return false;
    row = op->u.row;
    return !row->parts && !row->stride && row->flags == 0 && op->as == row->dtype &&
           x->seen_by[row->storage] == 1 &&
           x->model->storages[row->storage].coding == HEFT_CODING_DEFLATE;
}

/* Receives bytes [at, at+n) of the inflated storage; delivers those of the row. */
static bool deliver_bytes(void *ctx, uint64_t at, const uint8_t *p, size_t n,
                          struct heft_error *err)
{
    const struct streaming *s = ctx;
    const struct heft_op *op = &s->x->plan->ops[s->chunk->first_op];
    const uint64_t begin = heft_max_u64(at, op->u.row->offset);
    const uint64_t end = heft_min_u64(at + n, op->u.row->offset + op->len);
    struct heft_exec_chunk part = *s->chunk;

    if (begin >= end)
        return true;
    part.off = op->off + (begin - op->u.row->offset);
    part.len = end - begin;
    heft_exec_extend_piece(s->x, op, s->chunk->first_piece, p + (begin - at), (size_t)part.len);
    return heft_exec_deliver(s->x, s->worker, &part, p + (begin - at), err) &&
           heft_exec_tell(s->x, part.len, err);
}

bool heft_exec_stream(struct heft_exec *x, unsigned worker, const struct heft_exec_chunk *chunk,
                      struct heft_error *err)
{
    const struct heft_op *op = &x->plan->ops[chunk->first_op];
    struct streaming s = {x, chunk, worker};

    return heft_reader_inflate(&x->reader, op->u.row->storage, deliver_bytes, &s, err) ||
           heft_error_about(err, "tensor", heft_op_name(op));
}
