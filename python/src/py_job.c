/* py_job.c: runs a long call of libheft so that Python stays in control.
 *
 *     calling thread      waits; every 20 ms it takes the GIL, looks for signals, calls `progress`
 *     job's thread        work(); libheft's threads report their progress to py_job_step
 *
 * An exception, KeyboardInterrupt for example, makes the next step return false, which ends the work
 * as cancelled. So `progress` is always called in the thread that called heft. */
#include "py_job.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#define TICK_NS 20000000L

struct run {
    struct py_job *job;
    struct heft_error *err;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done, ok;
};

bool py_job_step(void *ctx, uint64_t done, uint64_t total)
{
    struct py_job *const job = ctx;

    atomic_store(&job->done, done);
    atomic_store(&job->total, total);
    return !atomic_load(&job->stop);
}

static void *work(void *argument)
{
    struct run *const run = argument;
    const bool ok = run->job->work(run->job->ctx, run->err);

    pthread_mutex_lock(&run->lock);
    run->ok = ok;
    run->is_done = true;
    pthread_cond_signal(&run->ended);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Waits for a tick, or the end, which it returns. */
static bool wait_for_end(struct run *run)
{
    struct timespec until;
    bool done;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&run->lock);
    if (!run->is_done)
        pthread_cond_timedwait(&run->ended, &run->lock, &until);
    done = run->is_done;
    pthread_mutex_unlock(&run->lock);
    return done;
}

/* Calls progress(done, total), unless nothing has changed. False stops: an exception is set, or
 * progress has returned False. */
static bool tell(struct py_job *job, uint64_t *told)
{
    const uint64_t done = atomic_load(&job->done), total = atomic_load(&job->total);
    PyObject *answer;
    bool goes_on;

    if (!job->progress || job->progress == Py_None || (done == *told && total == 0) ||
        done == *told)
        return true;
    *told = done;
    answer = PyObject_CallFunction(job->progress, "KK", (unsigned long long)done,
                                   (unsigned long long)total);
    goes_on = answer && answer != Py_False;
    Py_XDECREF(answer);
    return goes_on;
}

/* The job's thread takes no signals: they wake the thread that waits. */
static bool start(struct run *run, pthread_t *thread)
{
    sigset_t all, old;
    bool ok;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ok = pthread_create(thread, NULL, work, run) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

static void watch(struct run *run)
{
    struct py_job *const job = run->job;
    PyThreadState *state = PyEval_SaveThread();
    uint64_t told = UINT64_MAX;

    while (!wait_for_end(run)) {
        if (atomic_load(&job->stop))
            continue;
        PyEval_RestoreThread(state);
        if (PyErr_CheckSignals() < 0 || !tell(job, &told))
            atomic_store(&job->stop, true);
        state = PyEval_SaveThread();
    }
    PyEval_RestoreThread(state);
    if (run->ok && !atomic_load(&job->stop) && !tell(job, &told))
        atomic_store(&job->stop, true);
}

bool py_job_run(struct py_job *job, struct heft_error *err)
{
    struct run run = {.job = job, .err = err};
    pthread_t thread;

    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.ended, NULL);
    if (start(&run, &thread)) {
        watch(&run);
        pthread_join(thread, NULL);
    } else {
        Py_BEGIN_ALLOW_THREADS run.ok = job->work(job->ctx, err);
        Py_END_ALLOW_THREADS
    }
    pthread_cond_destroy(&run.ended);
    pthread_mutex_destroy(&run.lock);
    if (PyErr_Occurred() || !py_handle_check(job->handles[0], true, err))
        return false;
    return py_handle_check(job->handles[1], run.ok, err);
}
