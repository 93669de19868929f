/* exec_share.c: runs a share of a plan's chunks, and ends a run whose shares several processes have
 * written.
 *
 *     chunks    |   |   |   |   |   |   |   |     the same in every process: they depend on the plan
 *     shares    |     1     |    2    |   3 |     cut where about as many bytes are before each
 *     receipt   u64 number, count, chunks, pieces, losses | CRCs of each piece | losses of casts
 *
 * A commit loads the pieces of all shares: from then on it is the end of a run in one process. */
#include "base/endian.h"
#include "core/exec_parts.h"

#define RECEIPT_HEAD 5 /* numbers before the pieces */

struct span {
    size_t first, n; /* chunks */
    size_t first_piece, n_pieces;
    uint64_t bytes;
};

/* Bytes before a share. No overflow: number <= count, and total / count < 2^64 / count. */
static uint64_t begin_of(uint64_t total, const struct heft_exec_share *share, uint64_t number)
{
    return total / share->count * number + total % share->count * number / share->count;
}

static size_t first_piece_of(const struct heft_exec *x, size_t chunk)
{
    return chunk < x->n_chunks ? x->chunks[chunk].first_piece : x->n_pieces;
}

/* Chunks that begin within the bytes of a share. */
static struct span find_span(const struct heft_exec *x, const struct heft_exec_share *share)
{
    const uint64_t begin = begin_of(x->total, share, share->number - 1);
    const uint64_t end = begin_of(x->total, share, share->number);
    struct span span = {0};
    uint64_t at = 0;
    size_t i = 0;

    for (; i < x->n_chunks && at < begin; i++)
        at += x->chunks[i].len;
    span.first = i;
    for (; i < x->n_chunks && at < end; i++) {
        at += x->chunks[i].len;
        span.bytes += x->chunks[i].len;
    }
    span.n = i - span.first;
    span.first_piece = first_piece_of(x, span.first);
    span.n_pieces = first_piece_of(x, i) - span.first_piece;
    return span;
}

/* ---- what a share reads -------------------------------------------------------------------- */

struct listing {
    struct heft_exec *x;
    struct heft_exec_range *ranges; /* one for each source; end 0: not read */
};

static void widen_range(const struct listing *l, uint32_t storage, uint64_t from, uint64_t n)
{
    const struct heft_storage *const s = &l->x->model->storages[storage];
    struct heft_exec_range *const r = &l->ranges[s->source];
    const bool is_plain = s->coding == HEFT_CODING_RAW;
    const uint64_t begin = s->off + (is_plain ? from : 0);
    const uint64_t end = is_plain ? begin + n : s->off + s->packed;

    r->begin = r->end ? heft_min_u64(r->begin, begin) : begin;
    r->end = heft_max_u64(r->end, end);
}

/* Rows with strides, parts or a cast may need any byte of their storages. */
static void widen_by_op(const struct listing *l, const struct heft_op *op, uint64_t from,
                        uint64_t n)
{
    if (op->kind == HEFT_OP_COPY)
        widen_range(l, op->u.copy.storage, op->u.copy.from + from, n);
    for (uint32_t k = 0; op->kind == HEFT_OP_ROW && k < heft_row_pieces(op->u.row); k++) {
        const uint32_t storage = heft_row_storage(op->u.row, k);

        widen_range(l, storage, 0, l->x->model->storages[storage].len);
    }
}

static void widen_by_chunk(const struct listing *l, const struct heft_exec_chunk *chunk)
{
    uint64_t from, n;

    if (chunk->file == HEFT_NONE)
        widen_range(l, chunk->storage, chunk->off, chunk->len);
    for (uint64_t at = 0, i = 0; chunk->file != HEFT_NONE && at < chunk->len; at += n, i++) {
        const struct heft_op *op = &l->x->plan->ops[chunk->first_op + i];

        n = heft_exec_clip(chunk, op, &from);
        widen_by_op(l, op, from, n);
    }
}

static bool list_share(const struct listing *l, const struct heft_exec_share *share,
                       heft_exec_list_fn *each, void *ctx, struct heft_error *err)
{
    const struct span span = find_span(l->x, share);
    size_t n = 0;

    memset(l->ranges, 0, l->x->model->n_sources * sizeof *l->ranges);
    for (size_t i = 0; i < span.n; i++)
        widen_by_chunk(l, &l->x->chunks[span.first + i]);
    for (uint32_t s = 0; s < l->x->model->n_sources; s++)
        if (l->ranges[s].end)
            l->ranges[n++] = (struct heft_exec_range){s, l->ranges[s].begin, l->ranges[s].end};
    return each(ctx, share, span.bytes, l->ranges, n, err);
}

bool heft_exec_list_shares(const struct heft_plan *plan, const struct heft_exec_options *options,
                           uint64_t count, heft_exec_list_fn *each, void *ctx,
                           struct heft_error *err)
{
    struct heft_exec x;
    struct listing l = {.x = &x};
    bool ok = heft_exec_init(&x, plan, plan->model, options, err) && heft_exec_cut(&x, err);

    l.ranges =
        ok ? heft_arena_zero(&x.mem, plan->model->n_sources + 1ull, sizeof *l.ranges, err) : NULL;
    ok = l.ranges != NULL;
    for (uint64_t k = 1; ok && k <= count; k++)
        ok = list_share(&l, &(struct heft_exec_share){k, count}, each, ctx, err);
    heft_exec_release(&x);
    return ok;
}

/* ---- receipts ------------------------------------------------------------------------------ */

static void put_u64(struct heft_buf *out, uint64_t v)
{
    uint8_t bytes[8];

    heft_put_le64(bytes, v);
    heft_buf_put(out, bytes, sizeof bytes);
}

static size_t count_losses(const struct heft_exec *x)
{
    size_t n = 0;

    for (size_t i = 0; x->options->losses && i < x->plan->n_ops; i++)
        n += x->options->losses[i].finite || x->options->losses[i].infinite;
    return n;
}

static void put_losses(const struct heft_exec *x, struct heft_buf *out)
{
    for (size_t i = 0; x->options->losses && i < x->plan->n_ops; i++) {
        const struct heft_cast_losses lost = x->options->losses[i];

        if (!lost.finite && !lost.infinite)
            continue;
        put_u64(out, i);
        put_u64(out, lost.finite);
        put_u64(out, lost.infinite);
    }
}

static void put_receipt(const struct heft_exec *x, const struct heft_exec_share *share,
                        const struct span *span, struct heft_buf *out)
{
    const uint64_t head[RECEIPT_HEAD] = {share->number, share->count, span->n, span->n_pieces,
                                         count_losses(x)};

    for (size_t i = 0; i < RECEIPT_HEAD; i++)
        put_u64(out, head[i]);
    for (size_t i = 0; i < span->n_pieces; i++) {
        const struct heft_exec_piece *const p = &x->pieces[span->first_piece + i];

        put_u64(out, (uint64_t)p->summed << 32 | p->stored);
    }
    put_losses(x, out);
}

static bool refuse_receipt(const struct heft_cur *in, struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, heft_cur_where(in),
                     "the receipt is not one of this part of the plan; run the part again");
}

/* Reads the head, and checks that the rest has the size that it says. *losses: their number. */
static bool take_head(struct heft_cur *in, const struct heft_exec_share *share,
                      const struct span *span, uint64_t *losses, struct heft_error *err)
{
    const uint64_t wanted[] = {share->number, share->count, span->n, span->n_pieces};
    bool same = true;

    for (size_t i = 0; i < HEFT_COUNT(wanted); i++)
        same &= heft_cur_u64(in) == wanted[i];
    *losses = heft_cur_u64(in);
    return (same && heft_cur_ok(in) && span->n_pieces <= heft_cur_left(in) / 8 &&
            *losses <= heft_cur_left(in) / 24 &&
            heft_cur_left(in) == span->n_pieces * 8ull + *losses * 24) ||
           refuse_receipt(in, err);
}

static bool take_losses(struct heft_exec *x, struct heft_cur *in, uint64_t n,
                        struct heft_error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t op = heft_cur_u64(in);
        struct heft_cast_losses *const all = x->options->losses;
        const uint64_t finite = heft_cur_u64(in), infinite = heft_cur_u64(in);

        if (!all || op >= x->plan->n_ops || !heft_add(all[op].finite, finite, &all[op].finite) ||
            !heft_add(all[op].infinite, infinite, &all[op].infinite) ||
            !heft_add(x->overflowed, finite, &x->overflowed))
            return refuse_receipt(in, err);
    }
    return true;
}

static bool take_receipt(struct heft_exec *x, const struct heft_exec_share *share,
                         struct heft_cur in, struct heft_error *err)
{
    const struct span span = find_span(x, share);
    uint64_t losses;

    if (!take_head(&in, share, &span, &losses, err))
        return false;
    for (size_t i = 0; i < span.n_pieces; i++) {
        struct heft_exec_piece *const p = &x->pieces[span.first_piece + i];

        p->stored = heft_cur_u32(&in);
        p->summed = heft_cur_u32(&in);
    }
    return take_losses(x, &in, losses, err);
}

/* ---- running a share, checking one, ending the run ----------------------------------------- */

bool heft_exec_run_share(const struct heft_plan *plan, const struct heft_exec_options *options,
                         const struct heft_exec_share *share, struct heft_buf *receipt,
                         struct heft_error *err)
{
    struct heft_exec x;
    struct span span;
    bool ok = heft_exec_init(&x, plan, plan->model, options, err) &&
              heft_exec_open_outputs(&x, err) && heft_exec_cut(&x, err);

    if (ok) {
        span = find_span(&x, share);
        x.total = span.bytes;
        ok = heft_exec_run_chunks(&x, span.first, span.n, err) &&
             (options->no_sync || heft_sink_sync(x.sink, err));
    }
    if (ok)
        put_receipt(&x, share, &span, receipt);
    heft_exec_release(&x);
    return ok && heft_buf_ok(receipt, err);
}

bool heft_exec_check_share(const struct heft_plan *plan, const struct heft_exec_options *options,
                           const struct heft_exec_share *share, struct heft_cur receipt,
                           struct heft_error *err)
{
    struct heft_exec x;
    struct span span;
    uint64_t losses;
    bool ok = heft_exec_init(&x, plan, plan->model, options, err) && heft_exec_cut(&x, err);

    if (ok) {
        span = find_span(&x, share);
        ok = take_head(&receipt, share, &span, &losses, err);
    }
    heft_exec_release(&x);
    return ok;
}

static bool load_receipts(struct heft_exec *x, const struct heft_exec_receipts *receipts,
                          struct heft_error *err)
{
    x->pieces = heft_calloc(x->n_pieces + 1, sizeof *x->pieces, err);
    for (uint64_t k = 1; x->pieces && k <= receipts->count; k++) {
        const struct heft_exec_share share = {k, receipts->count};
        struct heft_cur in;

        if (!receipts->load(receipts->ctx, &share, &in, err) || !take_receipt(x, &share, in, err))
            return false;
    }
    return x->pieces != NULL;
}

bool heft_exec_commit(const struct heft_plan *plan, const struct heft_exec_options *options,
                      const struct heft_exec_receipts *receipts, uint64_t *overflowed,
                      struct heft_error *err)
{
    struct heft_exec_options begun = *options;
    struct heft_exec x;
    const struct heft_exec_judge refuse = {heft_exec_refuse, &x};
    bool ok;

    begun.is_begun = true;
    ok = heft_exec_init(&x, plan, plan->model, &begun, err) && heft_exec_cut(&x, err) &&
         load_receipts(&x, receipts, err) && heft_exec_open_outputs(&x, err) &&
         heft_exec_judge_all(&x, &refuse, err) && heft_exec_late(&x, err) &&
         (options->no_sync || heft_sink_sync(x.sink, err)) && receipts->begin(receipts->ctx, err) &&
         heft_sink_commit(x.sink, err);
    *overflowed = x.overflowed;
    heft_exec_release(&x);
    return ok;
}
