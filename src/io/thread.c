/* thread.c: a new thread inherits the signal mask of the thread that starts it. */
#include "io/thread.h"

#include <signal.h>

/* Signals raised by the thread's own faults stay unblocked. */
static void fill_signals(sigset_t *signals)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    (void)sigfillset(signals);
    for (size_t i = 0; i < HEFT_COUNT(own); i++)
        (void)sigdelset(signals, own[i]);
}

bool heft_thread_start(pthread_t *thread, void *(*work)(void *), void *ctx)
{
    sigset_t signals, before;
    bool ok;

    fill_signals(&signals);
    if (pthread_sigmask(SIG_BLOCK, &signals, &before) != 0)
        return false;
    ok = pthread_create(thread, NULL, work, ctx) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}
