/* digest_run.c: see digest_run.h. */
#include "measure/digest_run_parts.h"

#define BATCH_BYTES ((uint64_t)1 << 20) /* a batch ends when it has as many bytes, or … */
#define BATCH_ITEMS 256                 /* … as many items: one lock for each */
#define TELL_EVERY  ((uint64_t)4 << 20) /* bytes of a thread between two calls of progress() */
#define MOST_FAILED 4096                /* failures that wait for an earlier item */

/* Ends the run for the reason *err, unless it has one. The caller holds the lock. Always returns
 * false. */
static bool stop_locked(struct heft_digest_state *run, const struct heft_error *err)
{
    if (!run->is_stopped)
        run->first = *err;
    run->is_stopped = true;
    return false;
}

bool heft_digest_stop(struct heft_digest_state *run, const struct heft_error *err)
{
    heft_lock_take(run->lock);
    stop_locked(run, err);
    heft_lock_drop(run->lock);
    return false;
}

/* ---- progress ------------------------------------------------------------------------------ */

/* The caller holds the lock. */
static bool tell_locked(struct heft_digest_worker *w, struct heft_error *err)
{
    struct heft_digest_state *const run = w->run;

    run->done += w->untold;
    w->untold = 0;
    if (!run->is_stopped &&
        (!run->of->progress || run->of->progress(run->of->progress_ctx, run->done, run->total)))
        return true;
    heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    return stop_locked(run, err);
}

static bool tell(struct heft_digest_worker *w, struct heft_error *err)
{
    bool ok;

    heft_lock_take(w->run->lock);
    ok = tell_locked(w, err);
    heft_lock_drop(w->run->lock);
    return ok;
}

bool heft_digest_count(struct heft_digest_worker *w, size_t n, struct heft_error *err)
{
    w->untold += n;
    return w->untold < TELL_EVERY || tell(w, err);
}

bool heft_digest_put(struct heft_digest_worker *worker, const void *p, size_t n,
                     struct heft_error *err)
{
    heft_hash_put(&worker->hash, p, n);
    return heft_digest_count(worker, n, err);
}

bool heft_digest_put_source(struct heft_digest_worker *worker, const struct heft_source *source,
                            struct heft_error *err)
{
    for (uint64_t off = 0; off < source->size; off += HEFT_DIGEST_PIECE) {
        const size_t n = (size_t)heft_min_u64(HEFT_DIGEST_PIECE, source->size - off);

        if (!heft_source_read(source, off, worker->piece, n, err) ||
            !heft_digest_put(worker, worker->piece, n, err))
            return false;
    }
    return true;
}

/* ---- items --------------------------------------------------------------------------------- */

static size_t same_as(const struct heft_digest_run *of, size_t item)
{
    return of->same ? of->same(of->ctx, item) : item;
}

/* Bytes that are read for an item. */
static uint64_t bytes_of(const struct heft_digest_run *of, size_t item)
{
    return same_as(of, item) == item ? of->bytes(of->ctx, item) : 0;
}

void heft_digest_take_batch(struct heft_digest_state *run, struct heft_digest_batch *batch)
{
    uint64_t bytes = 0;

    heft_lock_take(run->lock);
    batch->first = run->next;
    while (!run->is_stopped && run->next < run->of->items &&
           run->next - batch->first < BATCH_ITEMS && bytes < BATCH_BYTES)
        bytes += bytes_of(run->of, run->next++);
    batch->end = run->next;
    heft_lock_drop(run->lock);
}

bool heft_digest_keep_failure(struct heft_digest_state *run, size_t item,
                              const struct heft_error *why, struct heft_error *err)
{
    struct heft_digest_slot *const slot = &run->slots[item];

    if (why->code == HEFT_CANCELLED || why->code == HEFT_NOMEM) {
        *err = *why;
        return false;
    }
    slot->why = heft_alloc(sizeof *slot->why, err);
    if (!slot->why)
        return false;
    *slot->why = *why;
    slot->code = (uint8_t)why->code;
    return true;
}

bool heft_digest_hash_item(struct heft_digest_worker *w, size_t item, struct heft_error *err)
{
    struct heft_digest_state *const run = w->run;
    struct heft_error why = {0};

    if (same_as(run->of, item) != item)
        return true;
    heft_hash_begin(&w->hash, run->of->hasher->sha256);
    if (!run->of->read(run->of->ctx, item, w, &why))
        return heft_digest_keep_failure(run, item, &why, err);
    heft_hash_end(&w->hash, run->slots[item].digest);
    return true;
}

static bool deliver_failure(struct heft_digest_state *run, size_t item,
                            struct heft_digest_slot *slot, struct heft_error *err)
{
    const bool ok = run->of->take(run->of->ctx, item, NULL, slot->why, err);

    run->failed--;
    heft_free(slot->why);
    slot->why = NULL;
    return ok;
}

static bool deliver(struct heft_digest_state *run, size_t item, struct heft_error *err)
{
    struct heft_digest_slot *const slot = &run->slots[same_as(run->of, item)];
    struct heft_error again = {0};

    if (slot->why)
        return deliver_failure(run, item, slot, err);
    if (slot->code == HEFT_OK)
        return run->of->take(run->of->ctx, item, slot->digest, NULL, err);
    heft_fail(&again, (enum heft_code)slot->code, HEFT_NO_OFFSET,
              "it has the same bytes as a tensor that cannot be read");
    return run->of->take(run->of->ctx, item, NULL, &again, err);
}

bool heft_digest_finish_batch(struct heft_digest_worker *w, const struct heft_digest_batch *batch,
                              struct heft_error *err)
{
    struct heft_digest_state *const run = w->run;
    bool ok = true;

    heft_lock_take(run->lock);
    for (size_t i = batch->first; i < batch->end; i++) {
        run->slots[i].is_done = true;
        run->failed += run->slots[i].why != NULL;
    }
    while (ok && !run->is_stopped && run->delivered < run->of->items &&
           run->slots[run->delivered].is_done)
        ok = deliver(run, run->delivered++, err);
    if (ok && run->failed > MOST_FAILED)
        ok = heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                       "more than %d tensors or files cannot be read", MOST_FAILED);
    ok = (ok || stop_locked(run, err)) && tell_locked(w, err);
    heft_lock_drop(run->lock);
    return ok;
}

static bool hash_batches(struct heft_digest_worker *w, struct heft_error *err)
{
    struct heft_digest_batch batch;

    for (;;) {
        heft_digest_take_batch(w->run, &batch);
        if (batch.first == batch.end)
            return true;
        for (size_t i = batch.first; i < batch.end; i++)
            if (!heft_digest_hash_item(w, i, err))
                return heft_digest_stop(w->run, err);
        if (!heft_digest_finish_batch(w, &batch, err))
            return false;
    }
}

/* The job of one thread. */
static bool run_worker(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct heft_digest_state *const run = ctx;
    struct heft_digest_worker *const w = &run->workers[worker];

    (void)index;
    return heft_digest_has_lanes(run->of) ? heft_digest_hash_lanes(w, err) : hash_batches(w, err);
}

/* ---- the run ------------------------------------------------------------------------------- */

static bool init_run(struct heft_digest_state *run, unsigned threads, struct heft_error *err)
{
    const size_t room =
        HEFT_DIGEST_PIECE + (heft_digest_has_lanes(run->of) ? HEFT_LANES_PIECES : 0);

    run->lock = heft_lock_new(err);
    run->slots = heft_calloc(run->of->items + 1, sizeof *run->slots, err);
    run->workers = heft_calloc(threads, sizeof *run->workers, err);
    if (!run->lock || !run->slots || !run->workers)
        return false;
    for (unsigned i = 0; i < threads; i++) {
        run->workers[i].run = run;
        run->workers[i].piece = heft_alloc(room, err);
        if (!run->workers[i].piece)
            return false;
    }
    for (size_t i = 0; i < run->of->items; i++)
        run->total += bytes_of(run->of, i);
    return true;
}

static void release_run(struct heft_digest_state *run, unsigned threads)
{
    for (unsigned i = 0; run->workers && i < threads; i++)
        heft_free(run->workers[i].piece);
    for (size_t i = 0; run->slots && i < run->of->items; i++)
        heft_free(run->slots[i].why);
    heft_free(run->workers);
    heft_free(run->slots);
    heft_lock_free(run->lock);
}

bool heft_digest_run(const struct heft_digest_run *of, struct heft_error *err)
{
    const unsigned threads = (unsigned)heft_min_u64(of->threads, of->items ? of->items : 1);
    struct heft_digest_state run = {.of = of};
    const struct heft_pool_work work = {run_worker, &run, threads, threads};
    const bool ok = init_run(&run, threads, err) && heft_pool_run(&work, err);

    if (run.is_stopped)
        *err = run.first;
    release_run(&run, threads);
    return ok;
}
