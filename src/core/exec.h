/* exec.h: runs a checked plan: parallel copies into temporary files, checksums computed while
 * copying, then renames. */
#ifndef HEFT_EXEC_H
#define HEFT_EXEC_H

#include "base/cursor.h"
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
    const char *plan; /* id of a plan that is run in parts (io/sink.h); NULL: in one process */
    bool is_begun, is_resumed; /* as in struct heft_sink_options */
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

/* ---- runs in parts: exec_share.c ---------------------------------------------------------- */

/* Share `number` of `count`, from 1: contiguous chunks of about as many bytes as in the others. */
struct heft_exec_share {
    uint64_t number, count;
};
/* A range of a source that a share reads. */
struct heft_exec_range {
    uint32_t source;
    uint64_t begin, end;
};
/* Lists bytes written or checked by a share, and for each source that it reads one range, in order. */
typedef bool heft_exec_list_fn(void *ctx, const struct heft_exec_share *share, uint64_t bytes,
                               const struct heft_exec_range *ranges, size_t n,
                               struct heft_error *err);
HEFT_CHECKED bool heft_exec_list_shares(const struct heft_plan *plan,
                                        const struct heft_exec_options *options, uint64_t count,
                                        heft_exec_list_fn *each, void *ctx, struct heft_error *err);
/* Writes a share into the temporary files of options->plan, waits until it is on the disk, and appends
 * to the receipt what the commit needs: CRCs of pieces, losses of casts. */
HEFT_CHECKED bool heft_exec_run_share(const struct heft_plan *plan,
                                      const struct heft_exec_options *options,
                                      const struct heft_exec_share *share, struct heft_buf *receipt,
                                      struct heft_error *err);
/* Checks that a receipt is one of the share. */
HEFT_CHECKED bool heft_exec_check_share(const struct heft_plan *plan,
                                        const struct heft_exec_options *options,
                                        const struct heft_exec_share *share,
                                        struct heft_cur receipt, struct heft_error *err);
/* Gives the receipt of a share; `receipt` is valid until the next call. */
typedef bool heft_exec_load_fn(void *ctx, const struct heft_exec_share *share,
                               struct heft_cur *receipt, struct heft_error *err);
/* Ends a run of `count` shares like heft_exec_run: compares stored checksums, makes late bytes, renames
 * the files. begin(): called before the first file is renamed. */
struct heft_exec_receipts {
    uint64_t count;
    heft_exec_load_fn *load;
    bool (*begin)(void *ctx, struct heft_error *err);
    void *ctx;
};
HEFT_CHECKED bool heft_exec_commit(const struct heft_plan *plan,
                                   const struct heft_exec_options *options,
                                   const struct heft_exec_receipts *receipts, uint64_t *overflowed,
                                   struct heft_error *err);

#endif
