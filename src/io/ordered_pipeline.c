/* ordered_pipeline.c: runs jobs in parallel and delivers their results in order. */
#include "io/ordered_pipeline.h"

#include "base/mem.h"
#include "io/thread.h"

enum stage { FREE, FILLED, STARTED, WORKED };

struct slot {
    enum stage stage;
    unsigned worker; /* the last one: the slot's memory is in its cache */
    bool is_next;
    bool failed;
    struct heft_error err;
};

struct hand {
    struct heft_pipeline *line;
    unsigned worker;
    pthread_t thread;
};

/* Jobs are counted from 0; job n uses slot n % slots. */
struct heft_pipeline {
    struct heft_pipeline_work work;
    struct slot *slots;
    struct hand *hands;
    unsigned n_hands; /* number of threads started */
    pthread_mutex_t mutex;
    pthread_cond_t filled; /* threads wait for jobs … */
    pthread_cond_t freed;  /* … and the caller waits for their end, if there is no job for it */
    uint64_t submitted, started, taken;
    bool taking, stopping, failed;
    struct heft_error first;
};

static struct slot *slot_of(struct heft_pipeline *line, uint64_t job)
{
    return &line->slots[job % line->work.slots];
}

/* ---- worker threads (the mutex is released only during work() and take()) ------------------ */

static void fail_line(struct heft_pipeline *line, const struct heft_error *err)
{
    line->failed = true;
    line->first = *err;
    pthread_cond_broadcast(&line->filled);
}

/* Delivers the finished jobs that are next in order, unless another thread is doing so. */
static void take_ready(struct heft_pipeline *line)
{
    if (line->taking)
        return;
    line->taking = true;
    while (!line->failed && line->taken < line->submitted &&
           slot_of(line, line->taken)->stage == WORKED) {
        struct slot *slot = slot_of(line, line->taken);
        struct heft_error err = slot->err;
        bool ok = !slot->failed;

        if (ok) {
            pthread_mutex_unlock(&line->mutex);
            ok = line->work.take(line->work.ctx, (unsigned)(line->taken % line->work.slots), &err);
            pthread_mutex_lock(&line->mutex);
        }
        if (!ok)
            fail_line(line, &err);
        slot->stage = FREE;
        line->taken++;
        pthread_cond_signal(&line->freed);
    }
    line->taking = false;
}

/* First job that may be started, preferably one whose slot this worker used last; NULL if there is
 * none. */
static struct slot *next_for(struct heft_pipeline *line, unsigned worker)
{
    struct slot *best = NULL;
    bool all_worked = true;

    for (uint64_t job = line->taken; job < line->submitted; job++) {
        struct slot *slot = slot_of(line, job);

        if (slot->stage == FILLED && slot->is_next && !all_worked)
            break;
        if (slot->stage == FILLED && (!best || (slot->worker == worker && best->worker != worker)))
            best = slot;
        all_worked = all_worked && slot->stage == WORKED;
    }
    return best;
}

static bool work_on_next(struct heft_pipeline *line, unsigned worker)
{
    struct slot *slot = next_for(line, worker);
    struct heft_error err = {0};
    bool ok;

    if (!slot)
        return false;
    slot->stage = STARTED;
    slot->worker = worker;
    line->started++;
    pthread_mutex_unlock(&line->mutex);
    ok = line->work.work(line->work.ctx, worker, (unsigned)(slot - line->slots), &err);
    pthread_mutex_lock(&line->mutex);
    slot->failed = !ok;
    slot->err = err;
    slot->stage = WORKED;
    if (line->started < line->submitted) /* another thread may have waited for this job */
        pthread_cond_broadcast(&line->filled);
    take_ready(line);
    return true;
}

static void *run_worker(void *ctx)
{
    const struct hand *hand = ctx;
    struct heft_pipeline *line = hand->line;

    pthread_mutex_lock(&line->mutex);
    while (!line->stopping && !line->failed) {
        if (!work_on_next(line, hand->worker))
            pthread_cond_wait(&line->filled, &line->mutex);
    }
    pthread_mutex_unlock(&line->mutex);
    return NULL;
}

/* ---- the calling thread -------------------------------------------------------------------- */

/* The caller is worker 0. If a thread cannot be started, fewer are used. */
static void start_hands(struct heft_pipeline *line)
{
    for (unsigned i = 0; i + 1 < line->work.threads; i++) {
        line->hands[i] = (struct hand){.line = line, .worker = i + 1};
        if (!heft_thread_start(&line->hands[i].thread, run_worker, &line->hands[i]))
            break;
        line->n_hands++;
    }
}

struct heft_pipeline *heft_pipeline_new(const struct heft_pipeline_work *work,
                                        struct heft_error *err)
{
    struct heft_pipeline *line = heft_calloc(1, sizeof *line, err);

    if (!line)
        return NULL;
    line->work = *work;
    line->slots = heft_calloc(work->slots, sizeof *line->slots, err);
    line->hands = line->slots ? heft_calloc(work->threads, sizeof *line->hands, err) : NULL;
    if (!line->hands || pthread_mutex_init(&line->mutex, NULL) != 0) {
        if (line->hands)
            heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "cannot create a mutex");
        heft_free(line->hands);
        heft_free(line->slots);
        heft_free(line);
        return NULL;
    }
    (void)pthread_cond_init(&line->filled, NULL); /* cannot fail with default attributes */
    (void)pthread_cond_init(&line->freed, NULL);
    start_hands(line);
    return line;
}

static bool finish_call(struct heft_pipeline *line, struct heft_error *err)
{
    const bool ok = !line->failed;

    if (!ok)
        *err = line->first;
    pthread_mutex_unlock(&line->mutex);
    return ok;
}

/* The caller works on a job instead of waiting. */
static void lend_hand(struct heft_pipeline *line)
{
    if (!work_on_next(line, 0))
        pthread_cond_wait(&line->freed, &line->mutex);
}

bool heft_pipeline_slot(struct heft_pipeline *line, unsigned *slot, struct heft_error *err)
{
    pthread_mutex_lock(&line->mutex);
    while (!line->failed && line->submitted - line->taken == line->work.slots)
        lend_hand(line);
    *slot = (unsigned)(line->submitted % line->work.slots);
    return finish_call(line, err);
}

bool heft_pipeline_submit(struct heft_pipeline *line, bool is_next, struct heft_error *err)
{
    struct slot *slot;

    pthread_mutex_lock(&line->mutex);
    slot = slot_of(line, line->submitted++);
    slot->stage = FILLED;
    slot->is_next = is_next;
    pthread_cond_signal(&line->filled);
    return finish_call(line, err);
}

bool heft_pipeline_finish(struct heft_pipeline *line, struct heft_error *err)
{
    pthread_mutex_lock(&line->mutex);
    while (!line->failed && line->taken < line->submitted)
        lend_hand(line);
    return finish_call(line, err);
}

void heft_pipeline_free(struct heft_pipeline *line)
{
    if (!line)
        return;
    pthread_mutex_lock(&line->mutex);
    line->stopping = true;
    pthread_cond_broadcast(&line->filled);
    pthread_mutex_unlock(&line->mutex);
    for (unsigned i = 0; i < line->n_hands; i++)
        (void)pthread_join(line->hands[i].thread, NULL);
    (void)pthread_cond_destroy(&line->filled);
    (void)pthread_cond_destroy(&line->freed);
    (void)pthread_mutex_destroy(&line->mutex);
    heft_free(line->hands);
    heft_free(line->slots);
    heft_free(line);
}
