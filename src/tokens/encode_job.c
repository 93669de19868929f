/* encode_job.c: text and marks → ids and events. */
#include "tokens/encode_job.h"

#include "base/endian.h"

#define FEED ((size_t)128 << 10) /* of the text at a time, so that it stays near the processor */

struct collecting {
    struct heft_job *job;
    struct heft_error *err;
    bool failed;
};

bool heft_job_mark(struct heft_job *job, enum heft_mark_kind kind, uint64_t value,
                   struct heft_error *err)
{
    if (!heft_grow(&job->marks, &job->cap_marks, job->n_marks, 1, sizeof *job->marks, err))
        return false;
    job->marks[job->n_marks++] = (struct heft_mark){value, job->n, kind};
    return true;
}

static bool room_for(struct heft_job *job, size_t count, struct heft_error *err)
{
    return heft_grow(&job->ids, &job->cap_ids, job->n_ids * job->width, count * job->width, 1, err);
}

static bool collect(void *ctx, const void *ids, size_t count)
{
    struct collecting *c = ctx;
    struct heft_job *job = c->job;

    if (!job->count_only) {
        c->failed = !room_for(job, count, c->err);
        if (c->failed)
            return false;
        memcpy(job->ids + job->n_ids * job->width, ids, count * job->width);
    }
    job->n_ids += count;
    return true;
}

/* The encoder says "interrupted" where there was no memory: what was said first counts. */
static bool told(const struct collecting *c, bool ok, const struct heft_error *said,
                 struct heft_error *err)
{
    if (!ok && !c->failed)
        *err = *said;
    return ok;
}

static bool feed(struct heft_job *job, struct heft_encoder *e, size_t from, size_t to,
                 struct heft_error *err)
{
    struct collecting c = {job, err, false};
    const struct heft_taker taker = {collect, &c};
    struct heft_error said = {0};
    bool ok = true;

    for (; ok && from < to; from += FEED) {
        const size_t n = (size_t)heft_min_u64(to - from, FEED);

        ok = told(&c, heft_encoder_put(e, job->text + from, n, &taker, &said), &said, err);
    }
    return ok;
}

static bool end_text(struct heft_job *job, struct heft_encoder *e, struct heft_error *err)
{
    struct collecting c = {job, err, false};
    struct heft_error said = {0};

    return told(&c, heft_encoder_end(e, &(struct heft_taker){collect, &c}, &said), &said, err);
}

static bool put_id(struct heft_job *job, uint32_t id, struct heft_error *err)
{
    struct collecting c = {job, err, false};
    uint8_t bytes[4];

    heft_put_le32(bytes, id); /* its low half is the id of two bytes */
    return collect(&c, bytes, 1);
}

bool heft_job_encode(struct heft_job *job, struct heft_encoder *e, struct heft_error *err)
{
    size_t at = 0;

    job->width = heft_encoder_width(e);
    job->n_ids = 0;
    for (size_t i = 0; i < job->n_marks; i++) {
        struct heft_mark *mark = &job->marks[i];

        if (!feed(job, e, at, mark->at, err))
            return false;
        at = mark->at;
        if ((mark->kind == HEFT_MARK_BREAK && !end_text(job, e, err)) ||
            (mark->kind == HEFT_MARK_ID && !put_id(job, (uint32_t)mark->value, err)))
            return false;
        mark->at = job->n_ids;
    }
    return feed(job, e, at, job->n, err) && (job->is_open || end_text(job, e, err));
}

bool heft_job_units(struct heft_job *job, heft_job_unit_fn *each, struct heft_error *err)
{
    size_t from = 0;

    for (size_t i = 0; i < job->n_marks; i++)
        if (job->marks[i].kind == HEFT_MARK_UNIT) {
            if (!each(job, from, job->marks[i].at, err))
                return false;
            from = job->marks[i].at;
        }
    return each(job, from, job->n_ids, err);
}

void heft_job_clear(struct heft_job *job)
{
    job->n = job->n_marks = job->n_ids = job->n_pieces = 0;
    job->packed.n = job->place.n = 0;
    job->is_next = job->is_open = false;
}

void heft_job_release(struct heft_job *job)
{
    heft_free(job->text);
    heft_free(job->marks);
    heft_free(job->ids);
    heft_free(job->pieces);
    heft_buf_release(&job->packed);
    heft_buf_release(&job->place);
    *job = (struct heft_job){0};
}
