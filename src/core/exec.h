/* exec.h: runs a checked plan: parallel copies into temporary files, checksums computed while
 * copying, then renames. */
#ifndef HEFT_EXEC_H
#define HEFT_EXEC_H

#include "core/cast.h"
#include "core/plan.h"

struct heft_exec_options {
    unsigned threads; /* 0: one for each core, at most 4 */
    bool overwrite, no_sync, no_verify;
    const bool *wanted;        /* heft_exec_verify: flag for each storage to check; NULL: all */
    const char *folder;        /* directory to create if missing; NULL: none */
    const char *const *retire; /* paths of stale files, deleted after the renames */
    size_t n_retire;
    /* heft_exec_run: losses of each op of the plan; NULL: not wanted */
    struct heft_cast_losses *losses;
    bool (*progress)(void *ctx, uint64_t done,
                     uint64_t total); /* false stops the run (HEFT_CANCELLED, "interrupted") */
    void *progress_ctx;
};

/* Writes the files. *overflowed: number of finite values beyond the range of a cast's target. */
HEFT_CHECKED bool heft_exec_run(const struct heft_plan *plan,
                                const struct heft_exec_options *options, uint64_t *overflowed,
                                struct heft_error *err);
/* Runs the plan again and compares its output with the written files, byte for byte.
 * HEFT_MISMATCH if they differ. */
HEFT_CHECKED bool heft_exec_compare(const struct heft_plan *plan,
                                    const struct heft_exec_options *options,
                                    struct heft_error *err);
/* Callback for checksum mismatches; `why` is the error. False ends the run. */
typedef bool heft_exec_bad_fn(void *ctx, uint32_t storage, const struct heft_error *why,
                              struct heft_error *err);
/* Reads every storage that has a checksum, or only those of the row `only` if it is not NULL,
 * and calls bad() for each mismatch. */
HEFT_CHECKED bool heft_exec_verify(const struct heft_model *model, const struct heft_row *only,
                                   const struct heft_exec_options *options, heft_exec_bad_fn *bad,
                                   void *ctx, struct heft_error *err);

#endif
