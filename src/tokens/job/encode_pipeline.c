/* encode_pipeline.c: fills jobs of a quarter of a megabyte, split where the ids do not depend on
 * the other side; workers encode them; results are written in order. A text without such a position
 * is encoded job by job with one encoder. */
#include "tokens/job/encode_front.h"

#include "base/text.h"
#include "io/journal.h"
#include "io/pool.h"
#include "tokens/unicode/utf8.h"

#define JOB ((size_t)256 << 10)
#define FULL                                                                                       \
    (JOB + 8) /* larger than JOB, so that the split does not depend on the sizes of reads */
#define SHARE     ((size_t)1 << 20) /* bytes of text for each worker before another one is started */
#define JOB_ROOM  (JOB + ((size_t)64 << 10))
#define CACHES    ((size_t)96 << 20) /* limit for all workers together, in bytes */
#define CACHE     ((size_t)48 << 20)
#define LEAST     ((size_t)4 << 20)
#define OWN_CACHE ((size_t)1 << 20)
#define MARKS     4096 /* most marks in a job: short documents have many */

/* Size of a worker's cache. A larger one takes longer to initialise than it saves (100 MB of
 * English: 8 MiB of lines 0.28 s, 16 MiB 0.30 s). The distinct pre-tokens of a worker decrease more
 * slowly than its share of the text: of 100 MB of code, two workers learn 313 000 short ones with 4
 * MiB of lines each, 277 000 with 8; a single one learns 232 000. */
static size_t cache_of(const struct heft_encode_pipeline *l, unsigned i)
{
    const uint64_t size = heft_input_list_bytes(l->plan->list),
                   bytes = size > 0 ? size : UINT64_MAX;
    const size_t share = (size_t)heft_min_u64(CACHE, CACHES / l->n_workers);

    if (i == l->n_workers)
        return OWN_CACHE;
    return (size_t)heft_min_u64(share, heft_max_u64(LEAST, bytes / 2 / (l->n_workers + 2)));
}

/* Created by the thread that first needs it, so that threads do so in parallel. The input is
 * already validated UTF-8. */
static struct heft_encoder *encoder_of(const struct heft_encode_pipeline *l, unsigned i,
                                       struct heft_error *err)
{
    const struct heft_encoder_options how = {.size = sizeof how,
                                             .unicode = l->plan->options.unicode,
                                             .cache = cache_of(l, i),
                                             .special = l->plan->options.special};

    if (!l->encoders[i] &&
        (l->encoders[i] = heft_encoder_of_width(l->plan->v, &how, l->plan->width, err)))
        heft_encoder_trust(l->encoders[i]);
    return l->encoders[i];
}

static bool encode_in_worker(void *ctx, unsigned worker, unsigned slot, struct heft_error *err)
{
    const struct heft_encode_pipeline *l = ctx;
    struct heft_job *job = &l->jobs[slot];
    const bool is_part = job->is_next || job->is_open;
    struct heft_encoder *e = encoder_of(l, is_part ? l->n_workers : worker, err);

    return e && heft_job_encode(job, e, err) &&
           (!l->plan->out || heft_token_out_pack(l->plan->out, job, err));
}

static bool take_arrays(struct heft_encode_pipeline *l, uint64_t item, struct heft_error *err)
{
    struct heft_encoding *plan = l->plan;
    struct heft_input_item from;
    struct heft_buf path = {0};
    uint64_t tokens = 0;
    const bool ok = heft_input_list_get(plan->list, (size_t)item, &path, &from, err) &&
                    heft_token_out_arrays(plan->out, from.path, &tokens, err);

    plan->sum.tokens += tokens;
    heft_buf_release(&path);
    return ok;
}

static bool take_result(void *ctx, unsigned slot, struct heft_error *err)
{
    struct heft_encode_pipeline *l = ctx;
    struct heft_encoding *plan = l->plan;
    struct heft_token_out *out = plan->out;
    struct heft_job *job = &l->jobs[slot];
    const bool packed = out && plan->format->pack;
    size_t from = 0, piece = 0;
    bool ok = job->place.n == 0 || heft_encode_record(plan, &job->place, err);

    for (size_t i = 0; ok && i < job->n_marks; i++) {
        const struct heft_mark *m = &job->marks[i];

        if (m->kind == HEFT_MARK_BREAK || m->kind == HEFT_MARK_ID)
            continue;
        plan->sum.tokens += m->at - from;
        if (out && !packed)
            ok = heft_token_out_ids(out, job, from, m->at, err);
        from = m->at;
        if (m->kind == HEFT_MARK_UNIT) {
            ok = ok && (!packed || heft_token_out_piece(out, job, piece++, err)) &&
                 heft_token_out_unit(out, err);
            plan->sum.arrays++;
        } else if (m->kind == HEFT_MARK_ARRAYS) {
            ok = ok && take_arrays(l, m->value, err);
        } else {
            plan->word_tokens[m->value] += plan->sum.tokens - plan->told;
            plan->told = plan->sum.tokens;
        }
    }
    plan->sum.tokens += job->n_ids - from;
    if (!ok || !out)
        return ok;
    return packed ? heft_token_out_piece(out, job, piece, err)
                  : heft_token_out_ids(out, job, from, job->n_ids, err);
}

/* ---- filling jobs --------------------------------------------------------------------------- */

/* Begins the next job with the rest of the previous one. */
static bool begin_job(struct heft_encode_pipeline *l, struct heft_error *err)
{
    unsigned slot;

    if (!heft_pipeline_slot(l->line, &slot, err))
        return false;
    l->job = &l->jobs[slot];
    heft_job_clear(l->job);
    l->job->is_next = l->goes_on;
    if (!heft_grow(&l->job->text, &l->job->cap, 0, JOB_ROOM, 1, err))
        return false;
    if (l->n_rest > 0)
        memcpy(l->job->text, l->rest, l->n_rest);
    l->job->n = l->n_rest;
    l->n_rest = 0;
    return true;
}

/* Whether a text ends at the job's last mark: ends of inputs and arrays may come within a text,
 * too. */
static bool is_broken(const struct heft_job *job)
{
    const size_t last = job->n_marks ? job->marks[job->n_marks - 1].at : 0;

    for (size_t i = job->n_marks; i > 0 && job->marks[i - 1].at == last; i--)
        if (job->marks[i - 1].kind != HEFT_MARK_INPUT && job->marks[i - 1].kind != HEFT_MARK_ARRAYS)
            return true;
    return last == 0 && !job->is_next;
}

/* Returns the position at which the job is split: at most JOB, and after its last mark. *is_open:
 * there is no safe position. */
static size_t cut_of(const struct heft_encode_pipeline *l, bool *is_open)
{
    const struct heft_job *job = l->job;
    const size_t begin = job->n_marks ? job->marks[job->n_marks - 1].at : 0;
    size_t most = job->n >= FULL ? JOB : job->n, cut;

    *is_open = most <= begin && !is_broken(job);
    if (most <= begin)
        return begin;
    cut = heft_safe_split_find(&l->cuts, job->text + begin, job->n - begin, most - begin);
    if (cut > 0 || (begin > 0 && is_broken(job)))
        return begin + cut;
    *is_open = true;
    while (most < job->n && heft_utf8_is_tail(job->text[most]))
        most--;
    return most;
}

/* Submits the job up to the split position. */
static bool submit_job(struct heft_encode_pipeline *l, struct heft_error *err)
{
    struct heft_job *job = l->job;
    const size_t cut = cut_of(l, &job->is_open);

    l->n_rest = job->n - cut;
    if (l->n_rest > 0)
        memcpy(l->rest, job->text + cut, l->n_rest);
    job->n = cut;
    l->goes_on = job->is_open;
    l->job = NULL;
    /* texts that span jobs share an encoder, so they are encoded in order */
    return heft_pipeline_submit(l->line, job->is_next || job->is_open, err);
}

/* Submits the job and begins another one, if it has `most` bytes of text or more, or most_marks marks. */
static bool turn_job(struct heft_encode_pipeline *l, size_t most, size_t most_marks,
                     struct heft_error *err)
{
    l->is_fresh = false;
    while (l->job && (l->job->n >= most || l->job->n_marks >= most_marks)) {
        if (!submit_job(l, err) || !begin_job(l, err))
            return false;
        l->is_fresh = !l->goes_on;
    }
    return l->job || begin_job(l, err);
}

bool heft_encode_room(struct heft_encode_pipeline *l, uint8_t **to, size_t *room,
                      struct heft_error *err)
{
    if (!turn_job(l, FULL, MARKS, err))
        return false;
    *to = l->job->text + l->job->n;
    /* the rest is moved to the next job: limits how much is read after the split */
    *room = (l->job->n < JOB ? JOB_ROOM : FULL + HEFT_TEXT_ROOM) - l->job->n;
    return true;
}

bool heft_encode_mark(struct heft_encode_pipeline *l, enum heft_mark_kind kind, uint64_t value,
                      struct heft_error *err)
{
    /* Checkpoints are saved after heft_encode_room, which should end most jobs: a mark needs no room
     * for text, and more marks are allowed. */
    return turn_job(l, SIZE_MAX, 2 * MARKS, err) && heft_job_mark(l->job, kind, value, err);
}

void heft_encode_save_rest(const struct heft_encode_pipeline *l, struct heft_buf *place)
{
    heft_journal_bytes(place, l->job->text, l->job->n);
}

bool heft_encode_load_rest(struct heft_encode_pipeline *l, struct heft_cur *place,
                           struct heft_error *err)
{
    const struct heft_bytes rest = heft_journal_take(place);

    if (rest.n > JOB_ROOM || heft_utf8_check(rest) < rest.n)
        return heft_fail(err, HEFT_MALFORMED, heft_cur_where(place),
                         "the journal has an invalid text");
    if (rest.n > 0)
        memcpy(l->rest, rest.p, rest.n);
    l->n_rest = rest.n;
    return begin_job(l, err);
}

bool heft_encode_finish(struct heft_encode_pipeline *l, struct heft_error *err)
{
    while (l->job)
        if (!submit_job(l, err) || (l->n_rest > 0 && !begin_job(l, err)))
            return false;
    return heft_pipeline_finish(l->line, err);
}

/* ---- setup and release ---------------------------------------------------------------------- */

bool heft_encode_pipeline_init(struct heft_encode_pipeline *l, struct heft_encoding *plan,
                               struct heft_error *err)
{
    struct heft_pipeline_work how = {.work = encode_in_worker, .take = take_result, .ctx = l};
    const uint64_t bytes = heft_input_list_bytes(plan->list), shares = bytes / SHARE + 1;

    *l = (struct heft_encode_pipeline){.plan = plan};
    l->n_workers = heft_pool_threads(plan->options.threads, bytes > 0 ? shares : UINT64_MAX);
    l->n_slots = l->n_workers > 1 ? 2 * l->n_workers + 1 : 1;
    how.threads = l->n_workers;
    how.slots = l->n_slots;
    l->jobs = heft_calloc(l->n_slots, sizeof *l->jobs, err);
    l->encoders = l->jobs ? heft_calloc(l->n_workers + 1, sizeof *l->encoders, err) : NULL;
    l->rest = l->encoders ? heft_alloc(JOB_ROOM, err) : NULL;
    if (!l->rest ||
        !heft_safe_split_init(&l->cuts, plan->v, plan->options.unicode, plan->options.special, err))
        return false;
    for (unsigned i = 0; i < l->n_slots; i++)
        l->jobs[i].count_only = !plan->format;
    l->line = heft_pipeline_new(&how, err);
    return l->line != NULL;
}

void heft_encode_pipeline_release(struct heft_encode_pipeline *l)
{
    heft_pipeline_free(l->line);
    heft_safe_split_release(&l->cuts);
    for (unsigned i = 0; l->encoders && i <= l->n_workers; i++)
        heft_encoder_free(l->encoders[i]);
    for (unsigned i = 0; l->jobs && i < l->n_slots; i++)
        heft_job_release(&l->jobs[i]);
    heft_free(l->encoders);
    heft_free(l->jobs);
    heft_free(l->rest);
}
