/* exec.h: runs a checked plan: temporary files, large parallel copies, checksums on the way,
 * commit. */
#ifndef HEFT_EXEC_H
#define HEFT_EXEC_H

#include "core/cast.h"
#include "core/plan.h"

struct heft_exec_options {
    unsigned threads; /* 0: one a core, at most 4 */
    bool overwrite, no_sync, no_verify;
    const bool *wanted;        /* heft_exec_verify: storages to look at; NULL: all */
    const char *folder;        /* made where it is missing; NULL: none */
    const char *const *retire; /* stale files, deleted after the renames */
    size_t n_retire;
    struct heft_cast_losses *losses; /* heft_exec_run: of each op of the plan; NULL: not asked */
    bool (*progress)(void *ctx, uint64_t done,
                     uint64_t total); /* false: stop (HEFT_CANCELLED, "interrupted") */
    void *progress_ctx;
};

/* *overflowed: finite values that a cast's target could not hold. */
HEFT_CHECKED bool heft_exec_run(const struct heft_plan *plan,
                                const struct heft_exec_options *options, uint64_t *overflowed,
                                struct heft_error *err);
/* Runs the plan once more and compares with the files that were written, byte for byte:
 * HEFT_MISMATCH. */
HEFT_CHECKED bool heft_exec_compare(const struct heft_plan *plan,
                                    const struct heft_exec_options *options,
                                    struct heft_error *err);
/* Hears of a storage whose bytes are not what the file says, and why. */
typedef bool heft_exec_bad_fn(void *ctx, uint32_t storage, const struct heft_error *why,
                              struct heft_error *err);
/* Reads every storage that has a checksum (or only those of one row; NULL: all) and calls bad() for
 * each that differs. */
HEFT_CHECKED bool heft_exec_verify(const struct heft_model *model, const struct heft_row *only,
                                   const struct heft_exec_options *options, heft_exec_bad_fn *bad,
                                   void *ctx, struct heft_error *err);

#endif
