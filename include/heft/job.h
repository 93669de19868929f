/* job.h: conversions in parts, for schedulers: each part is a process of its own, on any machine that
 * sees the same files under the same paths. Included on its own, besides heft.h.
 *
 *     plan      struct heft_job *job = heft_job_plan(inputs, n, &open, &convert, 16, &err);
 *               write heft_job_text(job, &n) to a file, "job.plan"; heft_job_free(job)
 *     parts     job = heft_job_read("job.plan", &err)
 *               heft_job_open(job, NULL, &err) && heft_job_run(job, k, &was_done, &err)
 *     commit    the same with heft_job_commit(job, NULL, &err), once all parts have run
 *     abort     heft_job_read, heft_job_abort: instead of the commit
 *
 * The result is, byte for byte, that of heft_convert_run. A part writes its share of the output into
 * temporary files beside the targets, ".NAME.ID.file-N", which all parts share, and leaves a receipt,
 * ".NAME.ID.part-K", with checksums. Parts may run in any order, at once, again after they were killed,
 * and twice: a part with a receipt has nothing to do. Until the commit no target is touched.
 *
 * The file of a plan is text: the options, the inputs with sizes, times and hashes of their ends, the
 * outputs, and what each part reads. Its ID is a hash of all that. Each process plans again and compares,
 * so that inputs or options that have changed are refused. All paths in it are absolute. */
#ifndef HEFT_JOB_H
#define HEFT_JOB_H

#include "confine.h"
#include "load.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_job;
#define HEFT_JOB_PARTS 4096 /* most parts of a plan */

/* Plans a conversion in `parts` parts. Errors as of heft_open and heft_convert_plan, and HEFT_USAGE for
 * an existing target without `overwrite`, and for what cannot be done in parts: standard input, inputs
 * of the program, a slice, salvage (which reads all data to plan). `threads` and `progress` are not
 * part of a plan. */
HEFT_API struct heft_job *heft_job_plan(const char *const *inputs, size_t n_inputs,
                                        const struct heft_open_options *open,
                                        const struct heft_convert_options *convert, size_t parts,
                                        struct heft_error *err);
/* Text of the plan, of *n bytes. */
HEFT_API const char *heft_job_text(const struct heft_job *job, size_t *n);
/* ID of the plan: 32 hexadecimal digits. */
HEFT_API const char *heft_job_id(const struct heft_job *job);
HEFT_API size_t heft_job_parts(const struct heft_job *job);

/* Reads the file of a plan, and nothing else: the inputs are not opened. HEFT_MALFORMED names the line;
 * HEFT_UNSUPPORTED for a plan of another version of heft; HEFT_USAGE if it was changed, or is no plan. */
HEFT_API struct heft_job *heft_job_read(const char *path, struct heft_error *err);
/* Paths that a job reads and writes, for heft_confine. False past the end. */
HEFT_API bool heft_job_path_at(const struct heft_job *job, size_t index,
                               struct heft_confine_path *out);

struct heft_job_options {
    size_t size;      /* HEFT_INIT */
    unsigned threads; /* 0: one per core, at most 4 */
    /* Progress in bytes of the part; returning false stops (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};
/* Opens the inputs of a job that was read, and plans again. options may be NULL. HEFT_USAGE if the
 * plan differs: it says which input has changed. */
HEFT_API bool heft_job_open(struct heft_job *job, const struct heft_job_options *options,
                            struct heft_error *err);
/* The inputs and the conversion of a job that is planned or open; else NULL. They belong to the job. */
HEFT_API struct heft_checkpoint *heft_job_checkpoint(const struct heft_job *job);
HEFT_API struct heft_conversion *heft_job_conversion(const struct heft_job *job);

/* Runs part `part`, from 1. *was_done (may be NULL): it had a receipt. HEFT_IO, HEFT_MALFORMED,
 * HEFT_MISMATCH as heft_convert_run. */
HEFT_API bool heft_job_run(struct heft_job *job, size_t part, bool *was_done,
                           struct heft_error *err);
/* Checks all receipts, compares stored checksums, writes the bytes that depend on checksums, and gives
 * the files their names. *overflowed as of heft_convert_run; may be NULL. HEFT_USAGE if a part has not
 * run, or a target exists; HEFT_MALFORMED if a receipt is damaged. Then nothing is renamed. A commit
 * that was killed may be repeated. */
HEFT_API bool heft_job_commit(struct heft_job *job, uint64_t *overflowed, struct heft_error *err);
/* Deletes the temporary files and receipts of the plan: their names contain its ID, so that nothing else
 * can be deleted. *removed (may be NULL): how many there were. */
HEFT_API bool heft_job_abort(struct heft_job *job, size_t *removed, struct heft_error *err);
HEFT_API void heft_job_free(struct heft_job *job);

#ifdef __cplusplus
}
#endif
#endif
