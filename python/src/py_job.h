/* py_job.h: long calls of libheft, which signals and exceptions end. */
#ifndef HEFT_PY_JOB_H
#define HEFT_PY_JOB_H

#include "py_handle.h"

#include <stdatomic.h>

struct py_job {
    /* Calls libheft, in another thread, without the GIL. */
    bool (*work)(void *ctx, struct heft_error *err);
    void *ctx;
    const struct py_handle *handles[2]; /* checkpoints that it uses; or NULL */
    PyObject
        *progress; /* progress(done, total), in bytes; returning False stops. NULL, None: none */
    atomic_bool stop;
    atomic_uint_least64_t done, total;
};
/* The callback `progress` of libheft's options; ctx is the job. */
bool py_job_step(void *ctx, uint64_t done, uint64_t total);
/* Runs the job; false with an exception set. Needs the GIL, and releases it meanwhile. */
bool py_job_run(struct py_job *job, struct heft_error *err);

#endif
