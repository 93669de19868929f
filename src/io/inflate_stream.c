/* inflate_stream.c: members of archives from front to back.
 *
 *     parent ─pread→ [piece] ─inflate→ the caller's memory      deflated
 *     parent ─pread→ the caller's memory                        stored
 *
 * The decoder may hold bytes that were read long ago: a step that consumes nothing may still give
 * something, and the stream is cut off only if nothing is left to be read and a step gives
 * nothing. */
#include "io/inflate_stream.h"

#include "base/checksum.h"
#include "base/inflate.h"

#define PIECE     ((size_t)256 << 10) /* bytes that heft_stream_read reads at a time */
#define MAX_RATIO 1032 /* most bytes from one byte of a deflate stream: 258 from 2 bits */

bool heft_stream_open(struct heft_stream_reader *r, const struct heft_stream *stream, size_t piece,
                      struct heft_error *err)
{
    *r = (struct heft_stream_reader){.of = *stream,
                                     .at = stream->off,
                                     .left = stream->packed,
                                     .room = (size_t)heft_min_u64(piece, stream->packed)};
    if (!stream->is_stored)
        r->z = heft_inflate_new(err);
    return r->z || stream->is_stored;
}

void heft_stream_close(struct heft_stream_reader *r)
{
    heft_inflate_free(r->z);
    heft_free(r->piece);
    *r = (struct heft_stream_reader){0};
}

bool heft_stream_refill(struct heft_stream_reader *r, struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(r->left, r->room);

    if (r->waiting.n > 0 || n == 0)
        return true;
    if (!r->piece && !(r->piece = heft_alloc(r->room, err)))
        return false;
    if (!heft_source_read(r->of.parent, r->at, r->piece, n, err))
        return false;
    r->waiting = (struct heft_bytes){r->piece, n};
    r->at += n;
    r->left -= n;
    return true;
}

void heft_stream_restart(struct heft_stream_reader *r)
{
    heft_inflate_reset(r->z);
    r->is_done = false;
}

/* ---- reading decompressed bytes ------------------------------------------------------------ */

static bool inflate_some(struct heft_stream_reader *r, uint8_t *out, size_t *n,
                         struct heft_error *err)
{
    size_t room = *n;
    bool ok = true, is_dry = false;

    while (ok && room > 0 && !r->is_done && !is_dry) {
        const size_t before = room;

        ok = heft_stream_refill(r, err) &&
             heft_inflate_step(r->z, &r->waiting, &out, &room, &r->is_done, err);
        is_dry = room == before && r->waiting.n == 0 && r->left == 0;
    }
    *n -= room;
    return ok;
}

bool heft_stream_take_some(struct heft_stream_reader *r, uint8_t *out, size_t *n,
                           struct heft_error *err)
{
    const bool ok = inflate_some(r, out, n, err);

    if (r->of.check_crc)
        r->crc = heft_crc32(r->crc, out, *n);
    r->made += *n;
    return ok;
}

static bool fail_early(const struct heft_stream_reader *r, struct heft_error *err)
{
    if (r->is_done)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream gives %" PRIu64 " bytes, %" PRIu64 " are declared",
                         r->made, r->of.size);
    return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                     "the deflate stream ends early, after %" PRIu64 " of %" PRIu64 " bytes",
                     r->made, r->of.size);
}

static bool take_stored(struct heft_stream_reader *r, void *out, size_t n, struct heft_error *err)
{
    if (!heft_source_read(r->of.parent, r->of.off + r->made, out, n, err))
        return false;
    if (r->of.check_crc)
        r->crc = heft_crc32(r->crc, out, n);
    r->made += n;
    return true;
}

bool heft_stream_take(struct heft_stream_reader *r, void *out, size_t n, struct heft_error *err)
{
    size_t some = n;

    if (n > heft_stream_left(r))
        return heft_fail(err, HEFT_MALFORMED,
                         r->of.is_stored ? r->of.off + r->of.size : HEFT_NO_OFFSET,
                         "the data ends early: %zu bytes are needed, %" PRIu64 " are left", n,
                         heft_stream_left(r));
    if (r->of.is_stored)
        return take_stored(r, out, n, err);
    return heft_stream_take_some(r, out, &some, err) && (some == n || fail_early(r, err));
}

/* ---- checking the end of a member ---------------------------------------------------------- */

/* A decoder that has given its last byte may still have to read the end of its stream. */
static bool check_deflate_end(struct heft_stream_reader *r, struct heft_error *err)
{
    uint8_t beyond;
    size_t n = 1;

    if (!inflate_some(r, &beyond, &n, err))
        return false;
    if (n > 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream gives more than the %" PRIu64 " bytes declared",
                         r->of.size);
    if (!r->is_done)
        return fail_early(r, err);
    if (r->waiting.n > 0 || r->left > 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes follow the end of the deflate stream",
                         r->waiting.n + r->left);
    return true;
}

bool heft_stream_end(struct heft_stream_reader *r, struct heft_error *err)
{
    if (r->z && !check_deflate_end(r, err))
        return false;
    if (!r->of.check_crc || r->crc == r->of.crc)
        return true;
    return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                     "CRC-32 is %08" PRIx32 ", the file says %08" PRIx32, r->crc, r->of.crc);
}

/* ---- reading whole members ----------------------------------------------------------------- */

bool heft_stream_check_range(const struct heft_stream *stream, struct heft_error *err)
{
    if (!heft_within(stream->off, stream->packed, stream->parent->size))
        return heft_fail(err, HEFT_MALFORMED, stream->off,
                         "the data needs %" PRIu64 " bytes, the file ends at %" PRIu64,
                         stream->packed, stream->parent->size);
    if (stream->size / MAX_RATIO > stream->packed)
        return heft_fail(err, HEFT_MALFORMED, stream->off,
                         "%" PRIu64 " bytes declared for a deflate stream of %" PRIu64,
                         stream->size, stream->packed);
    return true;
}

static bool read_all(struct heft_stream_reader *r, uint8_t *out, heft_stream_take_fn *take,
                     void *ctx, struct heft_error *err)
{
    while (heft_stream_left(r) > 0) {
        const uint64_t at = r->made;
        const size_t n = (size_t)heft_min_u64(heft_stream_left(r), PIECE);

        if (!heft_stream_take(r, out, n, err) || (take && !take(ctx, at, out, n, err)))
            return false;
    }
    return heft_stream_end(r, err);
}

bool heft_stream_read(const struct heft_stream *stream, heft_stream_take_fn *take, void *ctx,
                      struct heft_error *err)
{
    struct heft_stream_reader r = {0};
    uint8_t *out = NULL;
    bool ok = heft_stream_check_range(stream, err) && heft_stream_open(&r, stream, PIECE, err);

    if (ok)
        out = heft_alloc((size_t)heft_min_u64(stream->size, PIECE), err);
    ok = out && read_all(&r, out, take, ctx, err);
    heft_free(out);
    heft_stream_close(&r);
    return ok || heft_error_file(err, stream->parent->label);
}

bool heft_stream_check(const struct heft_stream *stream, struct heft_error *err)
{
    return heft_stream_read(stream, NULL, NULL, err);
}
