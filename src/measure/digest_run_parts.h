/* digest_run_parts.h: shared by digest_run.c (threads, batches, delivery in order) and digest_lanes.c
 * (hashes two items at once). */
#ifndef HEFT_DIGEST_RUN_PARTS_H
#define HEFT_DIGEST_RUN_PARTS_H

#include "io/pool.h"
#include "measure/digest_run.h"

struct heft_digest_slot {
    uint8_t digest[HEFT_SHA256_BYTES];
    struct heft_error *why; /* the failure, until it is delivered */
    uint8_t code;           /* that of the failure; HEFT_OK: it was hashed */
    bool is_done;
};

struct heft_digest_state {
    const struct heft_digest_run *of;
    struct heft_digest_worker *workers;
    struct heft_digest_slot *slots; /* one for each item */
    struct heft_lock *lock;         /* guards everything below */
    size_t next;                    /* the first item that no thread has taken */
    size_t delivered;               /* items passed to take() */
    size_t failed;                  /* failures that wait for take() */
    uint64_t done, total;           /* bytes */
    bool is_stopped;                /* by a failure, take() or progress() */
    struct heft_error first; /* the reason; other threads may report that they were interrupted */
};

/* Items that a thread has taken: [first, end), none if all are taken or the run has stopped. */
struct heft_digest_batch {
    size_t first, end;
};

/* ---- digest_run.c ---- */

void heft_digest_take_batch(struct heft_digest_state *run, struct heft_digest_batch *batch);
/* Marks a batch as done, and delivers all items up to the first that is not. */
HEFT_CHECKED bool heft_digest_finish_batch(struct heft_digest_worker *w,
                                           const struct heft_digest_batch *batch,
                                           struct heft_error *err);
/* Hashes an item by itself. False only for failures that end the run; others are kept for take(). */
HEFT_CHECKED bool heft_digest_hash_item(struct heft_digest_worker *w, size_t item,
                                        struct heft_error *err);
/* Keeps the failure `why` of an item, or returns false if it ends the run. */
HEFT_CHECKED bool heft_digest_keep_failure(struct heft_digest_state *run, size_t item,
                                           const struct heft_error *why, struct heft_error *err);
/* Counts bytes that were hashed. False if the run was stopped. */
HEFT_CHECKED bool heft_digest_count(struct heft_digest_worker *w, size_t n, struct heft_error *err);
/* Ends the run for the reason *err, unless it has one. Always returns false. */
bool heft_digest_stop(struct heft_digest_state *run, const struct heft_error *err);

/* ---- digest_lanes.c ---- */

#define HEFT_LANE_PIECE   ((size_t)256 << 10) /* bytes of a lane's buffer: two stay in the L2 cache */
#define HEFT_LANES_PIECES (2 * HEFT_LANE_PIECE) /* … after the HEFT_DIGEST_PIECE bytes of `piece` */

/* Whether the items of a run can be hashed in pairs. */
bool heft_digest_has_lanes(const struct heft_digest_run *of);
/* The job of one thread: hashes batch after batch, two items at once. */
HEFT_CHECKED bool heft_digest_hash_lanes(struct heft_digest_worker *w, struct heft_error *err);

#endif
