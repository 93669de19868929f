/* pool.h: jobs 0 … n-1 over some threads, the calling one among them. The first failure stops the
 * rest and is the one reported. Jobs start in order, so that output grows from the front. */
#ifndef HEFT_POOL_H
#define HEFT_POOL_H

#include "base/error.h"

struct heft_pool_work {
    /* worker: 0 … threads-1, for scratch memory a thread. */
    bool (*job)(void *ctx, unsigned worker, uint64_t index, struct heft_error *err);
    void *ctx;
    uint64_t jobs;
    unsigned threads; /* at least 1; fewer are used where a thread cannot be started */
};
HEFT_CHECKED bool heft_pool_run(const struct heft_pool_work *work, struct heft_error *err);

/* How many threads to use for so many jobs: as asked, or one a core (at most 4) where asked is 0;
 * never more than 16, nor than jobs; at least 1. */
unsigned heft_pool_threads(unsigned asked, uint64_t jobs);

/* A lock for the few places where threads meet (lazy spools, progress). */
struct heft_lock;
HEFT_CHECKED struct heft_lock *heft_lock_new(struct heft_error *err);
void heft_lock_take(struct heft_lock *lock);
void heft_lock_drop(struct heft_lock *lock);
void heft_lock_free(struct heft_lock *lock);

#endif
