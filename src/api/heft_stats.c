/* heft_stats.c: the public API for statistics of tensors.
 *
 *     tensor ─► segments of about 4 MiB, cut at the same elements for every layout ─► any thread: read
 *     in pieces that stay in the second-level cache, reduce ─► in order: add segments, deliver tensors
 *
 * Strided tensors are read a segment at a time: smaller pieces would read the same pages again and
 * again. */
#include "api/checkpoint.h"
#include "base/mem.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "heft/stats.h"
#include "io/pool.h"
#include "measure/block_walk.h"
#include "measure/stats_reduce.h"

#define SEGMENT ((size_t)4 << 20)   /* bytes */
#define PIECE   ((size_t)256 << 10) /* bytes; both are rounded down to whole blocks of statistics */
#define TOLD    ((uint64_t)1 << 20) /* bytes between two calls of progress() */
/* Tensors, and bytes, that are worth a thread. */
#define JOB_TENSORS 256
#define JOB_BYTES   ((uint64_t)1 << 20)

struct stats_hand {
    uint8_t *bytes; /* a piece; a segment if there is a strided tensor */
    struct heft_stats_scratch *scratch;
};

struct stats_run {
    struct heft_checkpoint *c;
    const struct heft_stats_options *options;
    bool (*each)(void *ctx, const struct heft_tensor_stats *stats);
    void *ctx;
    const struct heft_stats_kernel *kernel;
    size_t *tensors; /* indexes of the selected ones; NULL: all */
    size_t n;
    uint64_t done, told, total; /* bytes */
    size_t buffer;              /* bytes of each hand's buffer */
    unsigned threads;
    struct stats_hand *hands;
    struct heft_stats_range range; /* of the tensor being delivered */
};

static size_t tensor_of(const struct stats_run *run, size_t item)
{
    return run->tensors ? run->tensors[item] : item;
}

static const struct heft_row *row_of(const struct stats_run *run, size_t item)
{
    return &run->c->model.rows[tensor_of(run, item)];
}

/* Largest number of whole blocks in `most` bytes. */
static size_t whole_blocks(enum heft_dtype dtype, size_t most)
{
    return most - most % (size_t)heft_dtype_span(dtype, HEFT_STATS_BLOCK);
}

static bool is_read_at_once(const struct heft_row *row)
{
    return row->stride || row->parts;
}

/* The dtype, or one without numbers if those of the row cannot be decoded. */
static enum heft_dtype numbers_of(const struct heft_row *row)
{
    return row->flags & HEFT_ROW_RAW ? HEFT_STRING : (enum heft_dtype)row->dtype;
}

/* ---- callbacks of the walk --------------------------------------------------------------- */

static uint64_t bytes_of(void *ctx, size_t item)
{
    const struct heft_row *const row = row_of(ctx, item);

    return heft_stats_is_numeric(numbers_of(row)) ? row->bytes : 0;
}

static size_t segment_of(void *ctx, size_t item)
{
    const enum heft_dtype dtype = numbers_of(row_of(ctx, item));

    return heft_stats_is_numeric(dtype) ? whole_blocks(dtype, SEGMENT) : 1;
}

static bool reduce_segment(void *ctx, unsigned worker, const struct heft_block *segment,
                           void *result, struct heft_error *err)
{
    const struct stats_run *const run = ctx;
    const struct stats_hand *const hand = &run->hands[worker];
    const struct heft_row *const row = row_of(run, segment->item);
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;
    size_t most;

    if (segment->n == 0) /* no elements, or no numbers */
        return true;
    most = is_read_at_once(row) ? SEGMENT : whole_blocks(dtype, PIECE);
    for (size_t at = 0; at < segment->n; at += most) {
        const size_t n = heft_min_size(most, segment->n - at);

        if (!heft_reader_row(&run->c->reader, row, segment->off + at, hand->bytes, n, err))
            return heft_error_about(err, "tensor", row->name);
        heft_stats_reduce(run->kernel, dtype, hand->bytes, n, hand->scratch, result);
    }
    return true;
}

static uint64_t count_elements(const struct heft_row *row)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < row->rank; i++)
        if (!heft_mul(n, row->shape[i], &n))
            n = UINT64_MAX; /* only of strings, whose shape is not bounded by their bytes */
    return n;
}

static bool deliver_tensor(struct stats_run *run, size_t item, struct heft_error *err)
{
    const struct heft_row *const row = row_of(run, item);
    struct heft_tensor_stats stats = {.tensor = tensor_of(run, item),
                                      .elements = count_elements(row)};

    heft_stats_finish(numbers_of(row), &run->range, &stats);
    run->range = (struct heft_stats_range){0};
    return run->each(run->ctx, &stats) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool report_progress(struct stats_run *run, size_t n, struct heft_error *err)
{
    const struct heft_stats_options *const o = run->options;

    run->done += n;
    if (!o->progress || (run->done - run->told < TOLD && run->done < run->total))
        return true;
    run->told = run->done;
    return o->progress(o->progress_ctx, run->done, run->total) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool take_segment(void *ctx, const struct heft_block *segment, const void *result,
                         struct heft_error *err)
{
    struct stats_run *const run = ctx;

    heft_stats_add((enum heft_dtype)row_of(run, segment->item)->dtype, &run->range, result);
    return (!segment->is_last || deliver_tensor(run, segment->item, err)) &&
           report_progress(run, segment->n, err);
}

/* ---- preparation ------------------------------------------------------------------------- */

static bool list_selected(struct stats_run *run, struct heft_error *err)
{
    const size_t count = run->c->model.n_rows;
    const bool *const selected = run->options->selected;

    run->n = count;
    if (!selected)
        return true;
    run->tensors = heft_calloc(count + 1, sizeof *run->tensors, err);
    run->n = 0;
    for (size_t i = 0; run->tensors && i < count; i++)
        if (selected[i])
            run->tensors[run->n++] = i;
    return run->tensors != NULL;
}

static void measure_work(struct stats_run *run)
{
    uint64_t jobs = 1 + run->n / JOB_TENSORS;

    run->buffer = PIECE;
    for (size_t i = 0; i < run->n; i++) {
        const uint64_t bytes = bytes_of(run, i);

        if (is_read_at_once(row_of(run, i)))
            run->buffer = SEGMENT;
        run->total += bytes;
        jobs += bytes / JOB_BYTES;
    }
    run->threads = heft_pool_threads(run->options->threads, jobs);
}

static bool init_hands(struct stats_run *run, struct heft_error *err)
{
    run->hands = heft_calloc(run->threads, sizeof *run->hands, err);
    for (unsigned i = 0; run->hands && i < run->threads; i++) {
        run->hands[i].bytes = heft_alloc(run->buffer, err);
        if (!run->hands[i].bytes)
            return false;
        run->hands[i].scratch = heft_calloc(1, sizeof *run->hands[i].scratch, err);
        if (!run->hands[i].scratch)
            return false;
    }
    return run->hands != NULL;
}

static void release_run(struct stats_run *run)
{
    for (unsigned i = 0; run->hands && i < run->threads; i++) {
        heft_free(run->hands[i].bytes);
        heft_free(run->hands[i].scratch);
    }
    heft_free(run->hands);
    heft_free(run->tensors);
}

bool heft_stats(struct heft_checkpoint *c, const struct heft_stats_options *options,
                bool (*each)(void *ctx, const struct heft_tensor_stats *stats), void *ctx,
                struct heft_error *err)
{
    if (!heft_require_arg(c && each, "an argument", err))
        return false;
    struct heft_stats_options own;
    struct stats_run run = {
        .c = c, .options = &own, .each = each, .ctx = ctx, .kernel = heft_stats_kernel()};
    struct heft_block_walk walk = {.bytes = bytes_of,
                                   .block_bytes = segment_of,
                                   .work = reduce_segment,
                                   .take = take_segment,
                                   .ctx = &run,
                                   .result_size = sizeof(struct heft_stats_range)};
    bool ok = HEFT_TAKE(heft_stats_options, &own, options, err) && list_selected(&run, err);

    if (ok) {
        measure_work(&run);
        walk.items = run.n;
        walk.threads = run.threads;
        ok = init_hands(&run, err) && heft_block_walk(&walk, err);
    }
    release_run(&run);
    return ok;
}
