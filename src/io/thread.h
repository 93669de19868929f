/* thread.h: threads that block signals: signals are for the caller's thread, which may be waiting
 * in the system (to open a FIFO, say) and must be woken. */
#ifndef HEFT_THREAD_H
#define HEFT_THREAD_H

#include <pthread.h>

#include "base/base.h"

/* False if the system cannot start another thread. */
HEFT_CHECKED bool heft_thread_start(pthread_t *thread, void *(*work)(void *), void *ctx);

#endif
