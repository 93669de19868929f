/* encode_job.c: encodes the text of a job. Marks in the text become ids and events. */
#include "tokens/output/encode_job.h"

#include "base/endian.h"

#define FEED                                                                                       \
    ((size_t)128 << 10) /* bytes of text encoded at a time, so that they stay in the CPU's cache */

bool heft_job_mark(struct heft_job *job, enum heft_mark_kind kind, uint64_t value,
                   struct heft_error *err)
{
    if (!heft_grow(&job->marks, &job->cap_marks, job->n_marks, 1, sizeof *job->marks, err))
        return false;
    job->marks[job->n_marks++] = (struct heft_mark){value, job->n, kind};
    return true;
}

/* Returns room after the existing ids; NULL without memory. */
static uint8_t *room_for_ids(void *ctx, size_t bytes, struct heft_error *err)
{
    struct heft_job *job = ctx;
    const size_t used = job->n_ids * job->width;

    return heft_grow(&job->ids, &job->cap_ids, used, bytes, 1, err) ? job->ids + used : NULL;
}

/* The ids are already in the room returned by room(), or only counted. */
static bool take_ids(void *ctx, const void *ids, size_t count)
{
    struct heft_job *job = ctx;

    (void)ids;
    job->n_ids += count;
    return true;
}

/* For counting, the same room is used again. */
static struct heft_taker taker_of(struct heft_job *job)
{
    return (struct heft_taker){take_ids, job, job->count_only ? NULL : room_for_ids};
}

static bool feed_text(struct heft_job *job, struct heft_encoder *e, size_t from, size_t to,
                      struct heft_error *err)
{
    const struct heft_taker taker = taker_of(job);
    bool ok = true;

    for (; ok && from < to; from += FEED)
        ok = heft_encoder_put(e, job->text + from, (size_t)heft_min_u64(to - from, FEED), &taker,
                              err);
    return ok;
}

static bool end_text(struct heft_job *job, struct heft_encoder *e, struct heft_error *err)
{
    const struct heft_taker taker = taker_of(job);

    return heft_encoder_end(e, &taker, err);
}

static bool put_id(struct heft_job *job, uint32_t id, struct heft_error *err)
{
    uint8_t bytes[4], *to;

    heft_put_le32(bytes, id); /* the low half is the id of two bytes */
    if (!job->count_only) {
        to = room_for_ids(job, job->width, err);
        if (!to)
            return false;
        memcpy(to, bytes, job->width);
    }
    return take_ids(job, bytes, 1);
}

bool heft_job_encode(struct heft_job *job, struct heft_encoder *e, struct heft_error *err)
{
    size_t at = 0;

    job->width = heft_encoder_width(e);
    job->n_ids = 0;
    /* English has more than two bytes a token; jobs of equal length need about as much */
    if (!job->count_only &&
        !heft_grow(&job->ids, &job->cap_ids, 0,
                   ((job->n + FEED) / 2 / FEED + 2) * FEED * job->width, 1, err))
        return false;
    for (size_t i = 0; i < job->n_marks; i++) {
        struct heft_mark *mark = &job->marks[i];

        if (!feed_text(job, e, at, mark->at, err))
            return false;
        at = mark->at;
        if ((mark->kind == HEFT_MARK_BREAK && !end_text(job, e, err)) ||
            (mark->kind == HEFT_MARK_ID && !put_id(job, (uint32_t)mark->value, err)))
            return false;
        mark->at = job->n_ids;
    }
    return feed_text(job, e, at, job->n, err) && (job->is_open || end_text(job, e, err));
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
