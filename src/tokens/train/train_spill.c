/* train_spill.c: counted pre-tokens in a temporary file (external aggregation, partitioned by
 * hash).
 *
 *     table  ─ full ─→ run  │ part 0 │ part 1 │ … │ part 15 │     in each: (count, bytes, text) …
 *     table  ─ full ─→ run  │ part 0 │ part 1 │ … │ part 15 │
 *     then, part by part:     └────────┴→ table → each pre-token once (train_gather.c)
 *
 * Memory is bounded, however many distinct pre-tokens there are. */
#include "io/os.h"
#include "io/whole.h"
#include "tokens/train/train.h"
#include "tokens/train/train_number.h"

#define WHAT  "counted words"
#define PIECE ((size_t)1 << 20)
#define HEAD  (2 * HEFT_NUMBER_ROOM)

/* ---- writing ----------------------------------------------------------------------------- */

static bool write_out(struct heft_spill *spill, struct heft_buf *buf, struct heft_error *err)
{
    if (!heft_buf_ok(buf, err) ||
        !heft_temp_write(spill->fd, buf->p, buf->n, spill->size, WHAT, err))
        return false;
    spill->size += buf->n;
    buf->n = 0;
    return true;
}

static bool put_word(struct heft_spill *spill, struct heft_buf *buf, const char *text,
                     const struct heft_counted *word, struct heft_error *err)
{
    uint8_t head[HEAD];
    const size_t n = heft_train_number_put(head, word->count);

    heft_buf_put(buf, head, n + heft_train_number_put(head + n, word->n));
    heft_buf_put(buf, text + word->at, word->n);
    return buf->n < PIECE || write_out(spill, buf, err);
}

static unsigned part_of(const struct heft_counted *word)
{
    return word->hash >> 28; /* the slots use the lower bits */
}

static bool put_run(struct heft_spill *spill, const struct heft_counts *counts,
                    struct heft_buf *buf, struct heft_spill_run *run, struct heft_error *err)
{
    for (unsigned part = 0; part < HEFT_SPILL_PARTS; part++) {
        run->at[part] = spill->size;
        for (size_t w = 0; w < counts->n; w++)
            if (part_of(&counts->words[w]) == part &&
                !put_word(spill, buf, counts->text, &counts->words[w], err))
                return false;
        if (!write_out(spill, buf, err))
            return false;
    }
    run->at[HEFT_SPILL_PARTS] = spill->size;
    return true;
}

bool heft_spill_put(struct heft_spill *spill, const struct heft_counts *counts,
                    struct heft_error *err)
{
    struct heft_buf buf = {0};
    bool ok;

    if (!spill->has_file) {
        spill->fd = heft_temp_open(WHAT, err);
        spill->has_file = spill->fd >= 0;
    }
    ok = spill->has_file &&
         heft_grow(&spill->runs, &spill->cap_runs, spill->n_runs, 1, sizeof *spill->runs, err) &&
         put_run(spill, counts, &buf, &spill->runs[spill->n_runs], err);
    spill->n_runs += ok;
    heft_buf_release(&buf);
    return ok;
}

void heft_spill_release(struct heft_spill *spill)
{
    if (spill->has_file)
        (void)heft_os->close(spill->fd);
    heft_free(spill->runs);
    *spill = (struct heft_spill){0};
}

/* ---- reading ----------------------------------------------------------------------------- */

struct reader {
    const struct heft_spill *spill;
    uint64_t at, end; /* range that is not read yet */
    uint8_t *p;       /* buffer */
    size_t n, used, cap;
};

/* Reads until `wanted` bytes are in the buffer, or the part ends. */
static bool refill_buffer(struct reader *r, size_t wanted, struct heft_error *err)
{
    size_t got, room;

    if (r->n - r->used >= wanted || r->at == r->end)
        return true;
    if (r->used > 0) /* no buffer before the first read */
        memmove(r->p, r->p + r->used, r->n - r->used);
    r->n -= r->used;
    r->used = 0;
    if (!heft_grow(&r->p, &r->cap, r->n, wanted > PIECE ? wanted : PIECE, 1, err))
        return false;
    room = (size_t)heft_min_u64(r->cap - r->n, r->end - r->at);
    if (!heft_temp_read(r->spill->fd, r->p + r->n, room, r->at, &got, WHAT, err))
        return false;
    if (got < room)
        return heft_fail(err, HEFT_IO, r->at + got, "the temporary file for " WHAT " ends early");
    r->at += got;
    r->n += got;
    return true;
}

static bool read_words(struct reader *r, heft_count_fn *each, void *ctx, struct heft_error *err)
{
    while (r->at < r->end || r->used < r->n) {
        uint64_t count, n;
        const uint8_t *p;

        if (!refill_buffer(r, HEAD, err))
            return false;
        p = r->p + r->used;
        p += heft_train_number_get(p, &count);
        p += heft_train_number_get(p, &n);
        r->used = (size_t)(p - r->p);
        if (!refill_buffer(r, (size_t)n, err) ||
            !each(ctx, (struct heft_str){(const char *)r->p + r->used, (size_t)n}, count, err))
            return false;
        r->used += (size_t)n;
    }
    return true;
}

bool heft_spill_each(const struct heft_spill *spill, unsigned part, heft_count_fn *each, void *ctx,
                     struct heft_error *err)
{
    struct reader r = {.spill = spill};
    bool ok = true;

    for (size_t i = 0; ok && i < spill->n_runs; i++) {
        r.at = spill->runs[i].at[part];
        r.end = spill->runs[i].at[part + 1];
        r.n = r.used = 0;
        ok = read_words(&r, each, ctx, err);
    }
    heft_free(r.p);
    return ok;
}
