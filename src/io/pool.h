/* pool.h: runs jobs 0 … n-1 on several threads, including the calling one. The first failure stops
 * the run and is reported. Jobs start in order, so that output files grow from the begin. */
#ifndef HEFT_POOL_H
#define HEFT_POOL_H

#include "base/error.h"

struct heft_pool_work {
    /* worker: 0 … threads-1, selects scratch memory */
    bool (*job)(void *ctx, unsigned worker, uint64_t index, struct heft_error *err);
    void *ctx;
    uint64_t jobs;
    unsigned threads; /* at least 1; fewer are used if a thread cannot be started */
};
HEFT_CHECKED bool heft_pool_run(const struct heft_pool_work *work, struct heft_error *err);

/* Number of threads for so many jobs: `asked`, or one for each core (at most 4) if it is 0; at most
 * 16, and not more than jobs; at least 1. */
unsigned heft_pool_threads(unsigned asked, uint64_t jobs);

/* A mutex for the few places where threads share state (spools, progress). */
struct heft_lock;
HEFT_CHECKED struct heft_lock *heft_lock_new(struct heft_error *err);
void heft_lock_take(struct heft_lock *lock);
void heft_lock_drop(struct heft_lock *lock);
void heft_lock_free(struct heft_lock *lock);

#endif
