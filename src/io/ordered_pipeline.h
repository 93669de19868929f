/* ordered_pipeline.h: an assembly line: one thread hands in jobs, some threads work on them side by side, it among
 * them, and the results are taken in the order in which the jobs came.
 *
 *     caller    fill slot 0 | fill slot 1 | …              works where all slots are in use
 *     workers         work(0)   work(1)                    any number at a time, any order
 *     …               take(0) then take(1)                 one at a time, in order
 *
 * A job lies in a slot, the caller's memory by number. The failure reported is that of the first
 * job in order that failed, whichever failed first in time. */
#ifndef HEFT_ORDERED_PIPELINE_H
#define HEFT_ORDERED_PIPELINE_H

#include "base/error.h"

struct heft_pipeline_work {
    bool (*work)(void *ctx, unsigned worker, unsigned slot, struct heft_error *err);
    bool (*take)(void *ctx, unsigned slot, struct heft_error *err);
    void *ctx;
    unsigned threads; /* workers, of which the calling thread is number 0 */
    unsigned slots;
};

struct heft_pipeline;
HEFT_CHECKED struct heft_pipeline *heft_pipeline_new(const struct heft_pipeline_work *work,
                                                     struct heft_error *err);
/* A slot that is free, to be filled. */
HEFT_CHECKED bool heft_pipeline_slot(struct heft_pipeline *line, unsigned *slot,
                                     struct heft_error *err);
/* The slot got last is filled. is_next: it is worked on only once all before it have been. */
HEFT_CHECKED bool heft_pipeline_submit(struct heft_pipeline *line, bool is_next,
                                       struct heft_error *err);
/* Waits until everything handed in was taken. */
HEFT_CHECKED bool heft_pipeline_finish(struct heft_pipeline *line, struct heft_error *err);
/* Ends the threads; what was not taken is dropped. */
void heft_pipeline_free(struct heft_pipeline *line);

#endif
