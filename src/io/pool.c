/* pool.c: a thread pool for numbered jobs, and locks. */
#include "io/pool.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "io/os.h"
#include "io/thread.h"

struct heft_lock {
    pthread_mutex_t mutex;
};

struct heft_lock *heft_lock_new(struct heft_error *err)
{
    struct heft_lock *lock = heft_alloc(sizeof *lock, err);

    if (!lock)
        return NULL;
    if (pthread_mutex_init(&lock->mutex, NULL) != 0) {
        heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "cannot create a mutex");
        heft_free(lock);
        return NULL;
    }
    return lock;
}

/* Locking and unlocking a valid, initialised mutex cannot fail. */
void heft_lock_take(struct heft_lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

void heft_lock_drop(struct heft_lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

void heft_lock_free(struct heft_lock *lock)
{
    if (!lock)
        return;
    (void)pthread_mutex_destroy(&lock->mutex);
    heft_free(lock);
}

/* State shared by the threads of one run. */
struct crew {
    const struct heft_pool_work *work;
    atomic_uint_fast64_t next; /* number of the next job */
    atomic_bool failed;
    struct heft_lock *lock; /* guards `first` */
    struct heft_error first;
};

struct member {
    struct crew *crew;
    unsigned worker;
    pthread_t thread;
};

static void keep_error(struct crew *crew, const struct heft_error *err)
{
    heft_lock_take(crew->lock);
    if (!atomic_load(&crew->failed)) {
        crew->first = *err;
        atomic_store(&crew->failed, true);
    }
    heft_lock_drop(crew->lock);
}

static void *run_worker(void *ctx)
{
    const struct member *member = ctx;
    struct crew *crew = member->crew;
    const struct heft_pool_work *work = crew->work;
    struct heft_error err = {0};

    while (!atomic_load_explicit(&crew->failed, memory_order_relaxed)) {
        const uint64_t index = atomic_fetch_add(&crew->next, 1);

        if (index >= work->jobs)
            break;
        if (!work->job(work->ctx, member->worker, index, &err)) {
            keep_error(crew, &err);
            break;
        }
    }
    return NULL;
}

static bool run_inline(const struct heft_pool_work *work, struct heft_error *err)
{
    for (uint64_t i = 0; i < work->jobs; i++)
        if (!work->job(work->ctx, 0, i, err))
            return false;
    return true;
}

/* members[0] is the calling thread. If threads cannot be started, fewer are used. */
static void run_crew(struct member *members, unsigned n)
{
    unsigned started = 1;

    while (started < n &&
           heft_thread_start(&members[started].thread, run_worker, &members[started]))
        started++;
    run_worker(&members[0]);
    for (unsigned i = 1; i < started; i++)
        (void)pthread_join(members[i].thread, NULL);
}

bool heft_pool_run(const struct heft_pool_work *work, struct heft_error *err)
{
    const unsigned n = (unsigned)heft_min_u64(work->threads, work->jobs);
    struct crew crew = {.work = work};
    struct member *members;

    if (n <= 1)
        return run_inline(work, err);
    members = heft_calloc(n, sizeof *members, err);
    crew.lock = members ? heft_lock_new(err) : NULL;
    if (!crew.lock) {
        heft_free(members);
        return false;
    }
    for (unsigned i = 0; i < n; i++)
        members[i] = (struct member){.crew = &crew, .worker = i};
    run_crew(members, n);
    heft_lock_free(crew.lock);
    heft_free(members);
    if (!atomic_load(&crew.failed))
        return true;
    *err = crew.first;
    return false;
}

#define DEFAULT_THREADS 4  /* more threads do not help: copying is bound by memory bandwidth */
#define MAX_THREADS     16 /* each has buffers of its own */

unsigned heft_pool_threads(unsigned asked, uint64_t jobs)
{
    uint64_t n = asked ? asked : heft_min_u64(heft_os_cores(), DEFAULT_THREADS);

    n = heft_min_u64(heft_min_u64(n, MAX_THREADS), jobs);
    return n ? (unsigned)n : 1;
}
