/* spool.c: raw-deflate streams inflated, to nowhere or into a region of a spool.
 *
 *     parent ─pread→ [256 KiB] ─inflate→ [256 KiB] ─→ region
 *
 *     regions   0 … 1 MiB      memory
 *               1 MiB …        temporary file, from its begin on
 *
 * The declared size is a wall: one byte more than it is asked for, to see that none comes, and no
 * stream inflates further than that. */
#include "io/source.h"

#include "base/checksum.h"
#include "base/inflate.h"
#include "io/pool.h"
#include "io/whole.h"

#define PIECE     ((size_t)256 << 10)
#define MEMORY    ((uint64_t)1 << 20)
#define WHAT      "inflated data"
#define MAX_RATIO 1032 /* bytes that a byte of a deflate stream gives at most: 258 for 2 bits */

/* ---- regions ------------------------------------------------------------------------------- */

bool heft_spool_init(struct heft_spool *spool, struct heft_error *err)
{
    *spool = (struct heft_spool){.lock = heft_lock_new(err)};
    return spool->lock != NULL;
}

void heft_spool_release(struct heft_spool *spool)
{
    heft_source_close(&spool->file);
    heft_free(spool->memory);
    if (spool->lock)
        heft_lock_free(spool->lock);
    *spool = (struct heft_spool){0};
}

static bool open_file(struct heft_spool *spool, struct heft_error *err)
{
    int fd;

    if (spool->file.ops)
        return true;
    fd = heft_temp_open(WHAT, err);
    if (fd < 0)
        return false;
    heft_source_open_fd(&spool->file, fd, INT64_MAX, "temporary file for " WHAT);
    return true;
}

static bool place_in_memory(struct heft_spool *spool, uint64_t size, uint64_t *at,
                            struct heft_error *err)
{
    if (!spool->memory && !(spool->memory = heft_alloc(MEMORY, err)))
        return false;
    *at = spool->in_memory;
    spool->in_memory += size;
    return true;
}

static bool place_in_file(struct heft_spool *spool, uint64_t size, uint64_t *at,
                          struct heft_error *err)
{
    if (size > INT64_MAX - MEMORY - spool->in_file)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes of inflated data after %" PRIu64 " others", size,
                         spool->in_file);
    if (!open_file(spool, err))
        return false;
    *at = MEMORY + spool->in_file;
    spool->in_file += size;
    return true;
}

/* Before anything is taken for it: no file can declare more than its streams could give. */
static bool check_stream(const struct heft_stream *stream, struct heft_error *err)
{
    if (!heft_within(stream->off, stream->packed, stream->parent->size))
        return heft_fail(err, HEFT_MALFORMED, stream->off,
                         "file ends at %" PRIu64 ", a deflate stream of %" PRIu64 " bytes wanted",
                         stream->parent->size, stream->packed);
    if (stream->size / MAX_RATIO > stream->packed)
        return heft_fail(err, HEFT_MALFORMED, stream->off,
                         "%" PRIu64 " bytes declared for a deflate stream of %" PRIu64,
                         stream->size, stream->packed);
    return true;
}

bool heft_spool_place(struct heft_spool *spool, const struct heft_stream *stream, uint64_t *at,
                      struct heft_error *err)
{
    bool ok = check_stream(stream, err);

    if (ok) {
        heft_lock_take(spool->lock);
        ok = stream->size <= MEMORY - spool->in_memory
                 ? place_in_memory(spool, stream->size, at, err)
                 : place_in_file(spool, stream->size, at, err);
        heft_lock_drop(spool->lock);
    }
    return ok || heft_error_file(err, stream->parent->label);
}

bool heft_spool_read(const struct heft_spool *spool, uint64_t at, void *dst, size_t n,
                     struct heft_error *err)
{
    if (at >= MEMORY)
        return heft_source_read(&spool->file, at - MEMORY, dst, n, err);
    if (n > 0)
        memcpy(dst, spool->memory + at, n);
    return true;
}

/* A region that is being filled. */
struct region {
    const struct heft_spool *spool;
    uint64_t begin;
};

static bool fill_region(void *ctx, uint64_t off, const uint8_t *p, size_t n, struct heft_error *err)
{
    const struct region *region = ctx;
    const struct heft_spool *spool = region->spool;
    const uint64_t at = region->begin + off;

    if (at < MEMORY) {
        memcpy(spool->memory + at, p, n);
        return true;
    }
    return heft_temp_write(spool->file.fd, p, n, at - MEMORY, WHAT, err);
}

/* ---- inflating ----------------------------------------------------------------------------- */

/* One pass over the stream. */
struct pass {
    const struct heft_stream *stream;
    heft_stream_take_fn *take; /* NULL: to nowhere */
    void *ctx;
    uint64_t at, left; /* of the packed bytes: what has not been read yet */
    uint64_t size;     /* declared */
    uint64_t made;
    uint32_t crc;
    struct heft_inflate *z;
    uint8_t *in, *out;
    struct heft_bytes view; /* read, not yet consumed */
};

static bool refill(struct pass *pass, struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(pass->left, PIECE);

    if (pass->view.n != 0 || n == 0)
        return true;
    if (!heft_source_read(pass->stream->parent, pass->at, pass->in, n, err))
        return false;
    pass->view = (struct heft_bytes){pass->in, n};
    pass->at += n;
    pass->left -= n;
    return true;
}

/* Inflates one buffer's worth. */
static bool inflate_some(struct pass *pass, bool *done, struct heft_error *err)
{
    const size_t room = (size_t)heft_min_u64(pass->size - pass->made + 1, PIECE);
    const size_t before = pass->view.n;
    uint8_t *end = pass->out;
    size_t free_n = room;
    size_t n;

    if (!refill(pass, err) || !heft_inflate_step(pass->z, &pass->view, &end, &free_n, done, err))
        return false;
    n = room - free_n;
    if (n > pass->size - pass->made)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream gives more than the %" PRIu64 " bytes declared",
                         pass->size);
    if (!*done && n == 0 && pass->left == 0 && pass->view.n == before)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream breaks off after %" PRIu64 " of %" PRIu64 " bytes",
                         pass->made, pass->size);
    pass->crc = heft_crc32(pass->crc, pass->out, n);
    if (pass->take && n > 0 && !pass->take(pass->ctx, pass->made, pass->out, n, err))
        return false;
    pass->made += n;
    return true;
}

static bool inflate_all(struct pass *pass, struct heft_error *err)
{
    bool done = false;

    while (!done)
        if (!inflate_some(pass, &done, err))
            return false;
    if (pass->made != pass->size)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream gives %" PRIu64 " bytes, %" PRIu64 " are declared",
                         pass->made, pass->size);
    if (pass->view.n != 0 || pass->left != 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes follow the end of the deflate stream",
                         pass->view.n + pass->left);
    return true;
}

static bool check_crc(const struct pass *pass, struct heft_error *err)
{
    if (!pass->stream->check_crc || pass->crc == pass->stream->crc)
        return true;
    return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                     "CRC-32 of the inflated data is %08" PRIx32 ", %08" PRIx32 " is stored",
                     pass->crc, pass->stream->crc);
}

static bool run_pass(const struct heft_stream *stream, heft_stream_take_fn *take, void *ctx,
                     struct heft_error *err)
{
    struct pass pass = {.stream = stream,
                        .take = take,
                        .ctx = ctx,
                        .at = stream->off,
                        .left = stream->packed,
                        .size = stream->size};
    bool ok;

    pass.z = heft_inflate_new(err);
    pass.in = pass.z ? heft_alloc(2 * PIECE, err) : NULL;
    if (pass.in)
        pass.out = pass.in + PIECE;
    ok = pass.in && inflate_all(&pass, err) && check_crc(&pass, err);
    heft_free(pass.in);
    heft_inflate_free(pass.z);
    return ok || heft_error_file(err, stream->parent->label);
}

bool heft_spool_fill(const struct heft_spool *spool, uint64_t at, const struct heft_stream *stream,
                     struct heft_error *err)
{
    struct region region = {spool, at};

    return run_pass(stream, fill_region, &region, err);
}

bool heft_stream_read(const struct heft_stream *stream, heft_stream_take_fn *take, void *ctx,
                      struct heft_error *err)
{
    if (!check_stream(stream, err))
        return heft_error_file(err, stream->parent->label);
    return run_pass(stream, take, ctx, err);
}

bool heft_stream_check(const struct heft_stream *stream, struct heft_error *err)
{
    return heft_stream_read(stream, NULL, NULL, err);
}
