/* heft_read.c: the public API for reading tensors into memory.
 *
 *     row ─► piece: whole blocks, row-major ─► cast ─► byte order ─► destination, by its strides
 *
 * A piece that needs no cast and is contiguous in the destination is read into it directly; others
 * pass through buffers of the thread. Pieces are independent, so threads take them in turn. */
#include "base/endian.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "core/cast.h"
#include "core/exec.h"
#include "core/nd_view.h"
#include "io/pool.h"

/* Bytes of a piece, before and after the cast. Pieces of strided rows are larger, because each of
 * them may read a whole storage; then fewer threads run, which bounds the memory. */
#define PIECE          ((uint64_t)1 << 20)
#define DIRECT_PIECE   ((uint64_t)4 << 20)
#define GATHER_PIECE   ((uint64_t)8 << 20)
#define GATHER_THREADS 2

/* One dimension of the destination, in elements. */
struct side {
    uint64_t extent, stride;
};

struct reading {
    struct heft_checkpoint *c;
    struct heft_row row; /* the slice */
    const struct heft_read_options *options;
    enum heft_dtype as;
    uint8_t *dst;
    uint64_t unit;             /* elements that are whole blocks before and after the cast */
    uint64_t block, new_block; /* bytes of a unit before and after the cast; 1 if its size varies */
    uint64_t blocks, piece;    /* units in all, and of a piece */
    unsigned threads;
    bool casts, is_direct; /* is_direct: pieces are read into the destination */
    /* Strided destination: its dimensions, the innermost first; n_sides = 0: row-major. */
    struct side sides[HEFT_ND_VIEW_DIMS];
    unsigned n_sides;
    uint8_t *buffers; /* for each thread a piece before the cast, and one after it */
    struct heft_lock *lock;
    uint64_t done, total, overflowed; /* guarded by the lock */
};

/* ---- checking the request ------------------------------------------------------------------ */

/* Span of the destination in elements. Elements do not overlap if each stride, in ascending order,
 * is at least the span of the smaller ones; other layouts are refused. */
static bool check_sides(const struct reading *r, uint64_t *span, struct heft_error *err)
{
    struct side sorted[HEFT_ND_VIEW_DIMS];
    uint64_t step;

    for (unsigned i = 0; i < r->n_sides; i++) {
        unsigned at = i;

        for (; at > 0 && sorted[at - 1].stride > r->sides[i].stride; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = r->sides[i];
    }
    *span = 1;
    for (unsigned i = 0; i < r->n_sides; i++) {
        if (sorted[i].stride < *span)
            return heft_fail(
                err, HEFT_USAGE, HEFT_NO_OFFSET,
                "strides of the destination make elements overlap: a stride is %" PRIu64
                ", expected at least %" PRIu64,
                sorted[i].stride, *span);
        if (!heft_mul(sorted[i].extent - 1, sorted[i].stride, &step) ||
            !heft_add(*span, step, span))
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "strides of the destination exceed 64 bits");
    }
    return true;
}

/* Fills `sides` with the dimensions of extent 2 or more, and joins those that are one. */
static void list_sides(struct reading *r)
{
    for (unsigned d = r->row.rank; d > 0; d--) {
        const struct side side = {r->row.shape[d - 1], r->options->strides[d - 1]};
        struct side *const inner = r->n_sides ? &r->sides[r->n_sides - 1] : NULL;
        uint64_t next;

        if (side.extent == 1)
            continue;
        if (inner && heft_mul(inner->extent, inner->stride, &next) && side.stride == next)
            inner->extent *= side.extent;
        else
            r->sides[r->n_sides++] = side;
    }
}

/* Size of the result in bytes; with strides, up to the end of its last element. */
static bool find_size(struct reading *r, uint64_t *bytes, struct heft_error *err)
{
    uint64_t span;

    *bytes = r->blocks * r->new_block;
    if (!r->options->strides || *bytes == 0)
        return true;
    if (!heft_dtype_is_plain(r->as))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the destination has strides, but elements of %s are not whole bytes",
                         heft_dtype_name(r->as));
    list_sides(r);
    if (!check_sides(r, &span, err))
        return false;
    if (r->n_sides == 0 || (r->n_sides == 1 && r->sides[0].stride == 1))
        r->n_sides = 0; /* row-major */
    return heft_mul(span, heft_dtype_element_bytes(r->as), bytes) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "strides of the destination exceed 64 bits");
}

static bool check_buffer(struct reading *r, size_t size, struct heft_error *err)
{
    uint64_t bytes;

    if (!find_size(r, &bytes, err))
        return false;
    r->total = r->blocks * r->new_block;
    return size == bytes || (r->options->strides && size > bytes) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the buffer has %zu bytes, the tensor has %" PRIu64, size, bytes);
}

/* ---- one piece ----------------------------------------------------------------------------- */

static void copy_run(uint8_t *dst, const uint8_t *src, size_t n, size_t stride, size_t each)
{
    if (stride == 1) {
        memcpy(dst, src, n * each);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(dst + i * stride * each, src + i * each, each);
}

/* As copy_run, with loops for the usual sizes of elements, which compilers turn into single moves. */
static void scatter_run(uint8_t *dst, const uint8_t *src, size_t n, size_t stride, size_t each)
{
    if (each == 4)
        copy_run(dst, src, n, stride, 4);
    else if (each == 2)
        copy_run(dst, src, n, stride, 2);
    else if (each == 1)
        copy_run(dst, src, n, stride, 1);
    else if (each == 8)
        copy_run(dst, src, n, stride, 8);
    else
        copy_run(dst, src, n, stride, each);
}

/* Copies n elements, of which the first is number `first` in row-major order, to their places. */
static void scatter_piece(const struct reading *r, const uint8_t *src, uint64_t first, uint64_t n)
{
    const size_t each = heft_dtype_element_bytes(r->as);
    uint64_t index[HEFT_ND_VIEW_DIMS], at = 0; /* element offset in the destination */

    for (unsigned d = 0; d < r->n_sides; d++) {
        index[d] = first % r->sides[d].extent;
        first /= r->sides[d].extent;
        at += index[d] * r->sides[d].stride;
    }
    while (n > 0) {
        const uint64_t run = heft_min_u64(n, r->sides[0].extent - index[0]);

        scatter_run(r->dst + at * each, src, (size_t)run, (size_t)r->sides[0].stride, each);
        src += run * each;
        n -= run;
        index[0] += run;
        at += run * r->sides[0].stride;
        for (unsigned d = 0; d + 1 < r->n_sides && index[d] == r->sides[d].extent; d++) {
            at -= index[d] * r->sides[d].stride;
            index[d] = 0;
            index[d + 1]++;
            at += r->sides[d + 1].stride;
        }
    }
}

static bool tell_progress(struct reading *r, uint64_t bytes, uint64_t overflowed,
                          struct heft_error *err)
{
    bool go_on = true;

    if (!r->lock) /* neither a cast nor progress */
        return true;
    heft_lock_take(r->lock);
    r->overflowed += overflowed;
    r->done += bytes;
    if (r->options->progress)
        go_on = r->options->progress(r->options->progress_ctx, r->done, r->total);
    heft_lock_drop(r->lock);
    return go_on || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

/* Reads blocks [first, first+n). */
static bool read_piece(void *ctx, unsigned worker, uint64_t number, struct heft_error *err)
{
    struct reading *const r = ctx;
    const enum heft_dtype from = (enum heft_dtype)r->row.dtype;
    const uint64_t first = number * r->piece, n = heft_min_u64(r->piece, r->blocks - first);
    const size_t bytes = (size_t)(n * r->block), new_bytes = (size_t)(n * r->new_block);
    uint8_t *const buffer =
        r->buffers ? r->buffers + worker * r->piece * (r->block + r->new_block) : NULL;
    uint8_t *const place = r->n_sides ? buffer : r->dst + first * r->new_block;
    uint8_t *const stored = r->casts ? buffer + r->piece * r->new_block : place;
    struct heft_cast_losses losses = {0};

    if (!heft_reader_row(&r->c->reader, &r->row, first * r->block, stored, bytes, err))
        return false;
    if (r->casts)
        heft_cast_counting(from, r->as, stored, place, (size_t)(n * r->unit), &losses);
    if (!heft_cast_accept(r->as, &losses, err))
        return heft_error_about(err, "tensor", r->row.name);
    if (r->options->native_order && heft_is_big_endian() && !heft_dtype_varies(r->as))
        heft_reader_resolve(r->as, HEFT_ROW_SWAP, place, new_bytes);
    if (r->n_sides)
        scatter_piece(r, place, first * r->unit, n * r->unit);
    return tell_progress(r, new_bytes, losses.finite, err);
}

/* ---- all pieces ---------------------------------------------------------------------------- */

static bool prepare_cast(struct reading *r, struct heft_error *err)
{
    const enum heft_dtype from = (enum heft_dtype)r->row.dtype;
    uint64_t bytes;

    r->as = r->options->cast ? r->options->as : from;
    r->casts = r->as != from;
    if (r->casts && (!heft_cast_check(from, r->as, err) || !heft_row_check_decodes(&r->row, err)))
        return false;
    if (r->casts && !heft_row_size_as(&r->row, r->as, &bytes, err))
        return false;
    r->unit = heft_dtype_varies(from) ? 1 : heft_cast_unit(from, r->as);
    r->block = heft_dtype_varies(from) ? 1 : heft_dtype_span(from, r->unit);
    r->new_block = r->casts ? heft_dtype_span(r->as, r->unit) : r->block;
    r->blocks = r->row.bytes / r->block;
    return r->blocks <= UINT64_MAX / r->new_block ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the result has 2^64 bytes or more");
}

/* Chooses the size of the pieces and the number of threads. A single thread that needs no buffers
 * and reports no progress reads everything at once. */
static void choose_pieces(struct reading *r)
{
    const bool gathers = r->row.stride || r->row.parts;
    const uint64_t most = gathers ? GATHER_PIECE : r->is_direct ? DIRECT_PIECE : PIECE;
    uint64_t pieces;

    r->piece = heft_max_u64(1, most / heft_max_u64(r->block, r->new_block));
    pieces = r->blocks / r->piece + (r->blocks % r->piece != 0);
    r->threads = heft_pool_threads(r->options->threads, pieces);
    if (gathers && !r->options->threads && r->threads > GATHER_THREADS)
        r->threads = GATHER_THREADS;
    if (r->is_direct && r->threads == 1 && !r->options->progress)
        r->piece = heft_max_u64(1, r->blocks);
    r->piece = heft_min_u64(r->piece, heft_max_u64(1, r->blocks));
}

static bool take_buffers(struct reading *r, struct heft_error *err)
{
    if (r->options->progress || r->casts) {
        r->lock = heft_lock_new(err);
        if (!r->lock)
            return false;
    }
    if (r->is_direct)
        return true;
    r->buffers = heft_alloc((size_t)(r->threads * r->piece * (r->block + r->new_block)), err);
    return r->buffers != NULL;
}

static bool read_pieces(struct reading *r, struct heft_error *err)
{
    struct heft_pool_work work = {.job = read_piece, .ctx = r};
    bool ok;

    r->is_direct = !r->casts && r->n_sides == 0;
    choose_pieces(r);
    work.jobs = r->blocks / r->piece + (r->blocks % r->piece != 0);
    work.threads = r->threads;
    ok = take_buffers(r, err) && heft_pool_run(&work, err);
    heft_free(r->buffers);
    heft_lock_free(r->lock);
    return ok;
}

/* Progress of the check of the stored checksum: nothing is read yet. */
static bool tell_check(void *ctx, uint64_t done, uint64_t total)
{
    const struct reading *r = ctx;

    (void)done, (void)total;
    return !r->options->progress || r->options->progress(r->options->progress_ctx, 0, r->total);
}

static bool read_row(struct reading *r, size_t size, struct heft_error *err)
{
    const struct heft_read_options *const o = r->options;
    const struct heft_exec_options check = {
        .threads = o->threads, .progress = tell_check, .progress_ctx = r};

    return prepare_cast(r, err) && check_buffer(r, size, err) &&
           (!o->check || heft_checkpoint_check_row(r->c, &r->row, &check, err)) &&
           (r->blocks == 0 || read_pieces(r, err));
}

static bool read_with(struct heft_checkpoint *c, size_t index,
                      const struct heft_read_options *options, void *dst, size_t size,
                      uint64_t *overflowed, struct heft_error *err)
{
    struct reading r = {.c = c, .options = options, .dst = dst};
    struct heft_arena mem = {0};
    bool ok = heft_checkpoint_slice(c, index, options->ranges, options->n_ranges,
                                    options->cast ? &options->as : NULL, &mem, &r.row, err);

    if (ok)
        ok = read_row(&r, size, err) || heft_error_about(err, "tensor", r.row.name);
    if (overflowed)
        *overflowed += r.overflowed;
    heft_arena_release(&mem);
    return ok;
}

/* ---- the public functions ------------------------------------------------------------------ */

bool heft_tensor_read_with(struct heft_checkpoint *c, size_t index,
                           const struct heft_read_options *options, void *dst, size_t size,
                           uint64_t *overflowed, struct heft_error *err)
{
    struct heft_read_options o;

    return HEFT_TAKE(heft_read_options, &o, options, err) &&
           heft_require_arg(c && (o.ranges || o.n_ranges == 0) && (dst || size == 0), "an argument",
                            err) &&
           read_with(c, index, &o, dst, size, overflowed, err);
}

bool heft_tensor_read_slice(struct heft_checkpoint *c, size_t index,
                            const struct heft_range *ranges, size_t n_ranges, void *dst,
                            size_t size, struct heft_error *err)
{
    const struct heft_read_options options = {.ranges = ranges, .n_ranges = n_ranges, .threads = 1};

    return heft_require_arg(c && (ranges || n_ranges == 0) && (dst || size == 0), "an argument",
                            err) &&
           read_with(c, index, &options, dst, size, NULL, err);
}

bool heft_tensor_read(struct heft_checkpoint *c, size_t index, void *dst, size_t size,
                      struct heft_error *err)
{
    return heft_tensor_read_slice(c, index, NULL, 0, dst, size, err);
}
