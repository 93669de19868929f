/* digest_run.c: see digest_run.h. */
#include "measure/digest_run.h"

#include "base/mem.h"
#include "io/pool.h"

#define BATCH_BYTES ((uint64_t)1 << 20) /* a batch ends when it has as many bytes, or … */
#define BATCH_ITEMS 256                 /* … as many items: one lock for each */
#define TELL_EVERY  ((uint64_t)4 << 20) /* bytes of a thread between two calls of progress() */
#define MOST_FAILED 4096                /* failures that wait for an earlier item */

struct slot {
    uint8_t digest[HEFT_SHA256_BYTES];
    struct heft_error *why; /* the failure, until it is delivered */
    uint8_t code;           /* that of the failure; HEFT_OK: it was hashed */
    bool is_done;
};

struct heft_digest_state {
    const struct heft_digest_run *of;
    struct heft_digest_worker *workers;
    struct slot *slots;      /* one for each item */
    struct heft_lock *lock;  /* guards everything below */
    size_t next;             /* the first item that no thread has taken */
    size_t delivered;        /* items passed to take() */
    size_t failed;           /* failures that wait for take() */
    uint64_t done, total;    /* bytes */
    bool is_stopped;         /* by a failure, take() or progress() */
    struct heft_error first; /* the reason; other threads may report that they were interrupted */
};

/* Ends the run for the reason *err, unless it has one. The caller holds the lock. Always returns
 * false. */
static bool stop_locked(struct heft_digest_state *run, const struct heft_error *err)
{
    if (!run->is_stopped)
        run->first = *err;
    run->is_stopped = true;
    return false;
}

static bool stop(struct heft_digest_state *run, const struct heft_error *err)
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

bool heft_digest_put(struct heft_digest_worker *worker, const void *p, size_t n,
                     struct heft_error *err)
{
    heft_hash_put(&worker->hash, p, n);
    worker->untold += n;
    return worker->untold < TELL_EVERY || tell(worker, err);
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

/* Takes the next items: [*first, *end), none if all are taken or the run has stopped. */
static void take_batch(struct heft_digest_state *run, size_t *first, size_t *end)
{
    uint64_t bytes = 0;

    heft_lock_take(run->lock);
    *first = run->next;
    while (!run->is_stopped && run->next < run->of->items && run->next - *first < BATCH_ITEMS &&
           bytes < BATCH_BYTES)
        bytes += bytes_of(run->of, run->next++);
    *end = run->next;
    heft_lock_drop(run->lock);
}

/* Hashes an item. False only for failures that end the run; others are kept for take(). */
static bool hash_item(struct heft_digest_worker *w, size_t item, struct heft_error *err)
{
    struct heft_digest_state *const run = w->run;
    struct slot *const slot = &run->slots[item];
    struct heft_error why = {0};

    if (same_as(run->of, item) != item)
        return true;
    heft_hash_begin(&w->hash, run->of->hasher->sha256);
    if (run->of->read(run->of->ctx, item, w, &why)) {
        heft_hash_end(&w->hash, slot->digest);
        return true;
    }
    if (why.code == HEFT_CANCELLED || why.code == HEFT_NOMEM) {
        *err = why;
        return false;
    }
    slot->why = heft_alloc(sizeof *slot->why, err);
    if (!slot->why)
        return false;
    *slot->why = why;
    slot->code = (uint8_t)why.code;
    return true;
}

static bool deliver_failure(struct heft_digest_state *run, size_t item, struct slot *slot,
                            struct heft_error *err)
{
    const bool ok = run->of->take(run->of->ctx, item, NULL, slot->why, err);

    run->failed--;
    heft_free(slot->why);
    slot->why = NULL;
    return ok;
}

static bool deliver(struct heft_digest_state *run, size_t item, struct heft_error *err)
{
    struct slot *const slot = &run->slots[same_as(run->of, item)];
    struct heft_error again = {0};

    if (slot->why)
        return deliver_failure(run, item, slot, err);
    if (slot->code == HEFT_OK)
        return run->of->take(run->of->ctx, item, slot->digest, NULL, err);
    heft_fail(&again, (enum heft_code)slot->code, HEFT_NO_OFFSET,
              "it has the same bytes as a tensor that cannot be read");
    return run->of->take(run->of->ctx, item, NULL, &again, err);
}

/* Marks a batch as done, and delivers all items up to the first that is not. */
static bool finish_batch(struct heft_digest_worker *w, size_t first, size_t end,
                         struct heft_error *err)
{
    struct heft_digest_state *const run = w->run;
    bool ok = true;

    heft_lock_take(run->lock);
    for (size_t i = first; i < end; i++) {
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

/* The job of one thread: batch after batch. */
static bool hash_batches(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct heft_digest_state *const run = ctx;
    struct heft_digest_worker *const w = &run->workers[worker];
    size_t first, end;

    (void)index;
    for (;;) {
        take_batch(run, &first, &end);
        if (first == end)
            return true;
        for (size_t i = first; i < end; i++)
            if (!hash_item(w, i, err))
                return stop(run, err);
        if (!finish_batch(w, first, end, err))
            return false;
    }
}

/* ---- the run ------------------------------------------------------------------------------- */

static bool init_run(struct heft_digest_state *run, unsigned threads, struct heft_error *err)
{
    run->lock = heft_lock_new(err);
    run->slots = heft_calloc(run->of->items + 1, sizeof *run->slots, err);
    run->workers = heft_calloc(threads, sizeof *run->workers, err);
    if (!run->lock || !run->slots || !run->workers)
        return false;
    for (unsigned i = 0; i < threads; i++) {
        run->workers[i].run = run;
        run->workers[i].piece = heft_alloc(HEFT_DIGEST_PIECE, err);
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
    const struct heft_pool_work work = {hash_batches, &run, threads, threads};
    const bool ok = init_run(&run, threads, err) && heft_pool_run(&work, err);

    if (run.is_stopped)
        *err = run.first;
    release_run(&run, threads);
    return ok;
}
