/* ordered_pipeline.h: a pipeline: one thread submits jobs, several threads including it work on
 * them, and the results are delivered in the order of submission.
 *
 *     caller    fill slot 0 | fill slot 1 | …              works while all slots are in use
 *     workers         work(0)   work(1)                    any number at a time, in any order
 *     …               take(0) then take(1)                 one at a time, in order
 *
 * A job uses a slot: memory of the caller, selected by number. The failure reported is that of the
 * first job in order, whichever failed first in time. */
#ifndef HEFT_ORDERED_PIPELINE_H
#define HEFT_ORDERED_PIPELINE_H

#include "base/error.h"

struct heft_pipeline_work {
    bool (*work)(void *ctx, unsigned worker, unsigned slot, struct heft_error *err);
    bool (*take)(void *ctx, unsigned slot, struct heft_error *err);
    void *ctx;
    unsigned threads; /* workers, including the calling thread, which is number 0 */
    unsigned slots;
};

struct heft_pipeline;
HEFT_CHECKED struct heft_pipeline *heft_pipeline_new(const struct heft_pipeline_work *work,
                                                     struct heft_error *err);
/* Waits for a free slot, to be filled by the caller. */
HEFT_CHECKED bool heft_pipeline_slot(struct heft_pipeline *line, unsigned *slot,
                                     struct heft_error *err);
/* Submits the slot obtained last. is_next: it is started only after all earlier jobs are done. */
HEFT_CHECKED bool heft_pipeline_submit(struct heft_pipeline *line, bool is_next,
                                       struct heft_error *err);
/* Waits until all submitted jobs are delivered. */
HEFT_CHECKED bool heft_pipeline_finish(struct heft_pipeline *line, struct heft_error *err);
/* Ends the threads; jobs that were not delivered are dropped. */
void heft_pipeline_free(struct heft_pipeline *line);

#endif
