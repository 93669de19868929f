/* block_walk.c: see block_walk.h. A job is a slot of the pipeline: a list of blocks, and their
 * results. It is full when it has enough bytes to be worth the hand-over to another thread. */
#include "measure/block_walk.h"

#include "base/mem.h"
#include "io/ordered_pipeline.h"

#define JOB_BYTES  ((size_t)1 << 20)
#define JOB_BLOCKS 256
#define SLOTS_FOR_A_THREAD                                                                         \
    3 /* jobs for each thread: one worked on, one waiting, one being delivered */

struct job {
    size_t n, bytes;
    struct heft_block blocks[JOB_BLOCKS];
    uint8_t *results; /* JOB_BLOCKS of result_size bytes */
};

struct walk {
    const struct heft_block_walk *of;
    struct heft_pipeline *line;
    struct job *jobs; /* by slot */
    unsigned slots;
    struct job *open; /* the job being filled; NULL: none */
};

static void *result_of(const struct walk *w, const struct job *job, size_t i)
{
    return job->results + i * w->of->result_size;
}

static bool work_on_job(void *ctx, unsigned worker, unsigned slot, struct heft_error *err)
{
    struct walk *const w = ctx;
    struct job *const job = &w->jobs[slot];

    memset(job->results, 0, job->n * w->of->result_size);
    for (size_t i = 0; i < job->n; i++)
        if (!w->of->work(w->of->ctx, worker, &job->blocks[i], result_of(w, job, i), err))
            return false;
    return true;
}

static bool take_job(void *ctx, unsigned slot, struct heft_error *err)
{
    struct walk *const w = ctx;
    const struct job *const job = &w->jobs[slot];

    for (size_t i = 0; i < job->n; i++)
        if (!w->of->take(w->of->ctx, &job->blocks[i], result_of(w, job, i), err))
            return false;
    return true;
}

/* Submits the open job, if there is one. */
static bool close_job(struct walk *w, struct heft_error *err)
{
    if (!w->open)
        return true;
    w->open = NULL;
    return heft_pipeline_submit(w->line, false, err);
}

static bool add_block(struct walk *w, const struct heft_block *block, struct heft_error *err)
{
    unsigned slot;

    if (!w->open) {
        if (!heft_pipeline_slot(w->line, &slot, err))
            return false;
        w->open = &w->jobs[slot];
        w->open->n = w->open->bytes = 0;
    }
    w->open->blocks[w->open->n++] = *block;
    w->open->bytes += block->n;
    return (w->open->n < JOB_BLOCKS && w->open->bytes < JOB_BYTES) || close_job(w, err);
}

static bool add_item(struct walk *w, size_t item, struct heft_error *err)
{
    const uint64_t bytes = w->of->bytes(w->of->ctx, item);
    const size_t most = w->of->block_bytes(w->of->ctx, item);
    uint64_t off = 0;

    do {
        const size_t n = (size_t)heft_min_u64(bytes - off, most);
        const struct heft_block block = {item, off, n, off + n == bytes};

        if (!add_block(w, &block, err))
            return false;
        off += n;
    } while (off < bytes);
    return true;
}

static bool init_jobs(struct walk *w, struct heft_error *err)
{
    w->slots = SLOTS_FOR_A_THREAD * w->of->threads;
    w->jobs = heft_calloc(w->slots, sizeof *w->jobs, err);
    for (unsigned i = 0; w->jobs && i < w->slots; i++) {
        w->jobs[i].results = heft_calloc(JOB_BLOCKS, w->of->result_size, err);
        if (!w->jobs[i].results)
            return false;
    }
    return w->jobs != NULL;
}

static void release_jobs(struct walk *w)
{
    for (unsigned i = 0; w->jobs && i < w->slots; i++)
        heft_free(w->jobs[i].results);
    heft_free(w->jobs);
}

static bool run(struct walk *w, struct heft_error *err)
{
    const struct heft_pipeline_work work = {.work = work_on_job,
                                            .take = take_job,
                                            .ctx = w,
                                            .threads = w->of->threads,
                                            .slots = w->slots};
    bool ok;

    w->line = heft_pipeline_new(&work, err);
    ok = w->line != NULL;
    for (size_t item = 0; ok && item < w->of->items; item++)
        ok = add_item(w, item, err);
    ok = ok && close_job(w, err) && heft_pipeline_finish(w->line, err);
    heft_pipeline_free(w->line);
    return ok;
}

bool heft_block_walk(const struct heft_block_walk *of, struct heft_error *err)
{
    struct walk w = {.of = of};
    const bool ok = init_jobs(&w, err) && run(&w, err);

    release_jobs(&w);
    return ok;
}
