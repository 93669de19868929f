/* fuzz_inflate_zlib.c: decompression compared with zlib: raw deflate streams, and .gz files of
 * several members.
 *
 *     byte 0    bit 0: 0 for deflate, 1 for gzip; bits 1 to 3: size of the pieces of input; bits 4
 *               to 6: of the pieces of output
 *     byte 1…   the stream
 *
 * Invariants: a stream that zlib accepts gives the same bytes and ends at the same place; one that
 * is truncated is never complete; where zlib refuses a stream and ISA-L accepts it, the reason is
 * one of `lax`, and what zlib had decoded until there is the same. */
#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "base/inflate.h"
#include "base/unpack.h"
#include "expect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM ((size_t)1 << 16)

enum state { COMPLETE, TRUNCATED, REFUSED, FULL };

struct result {
    uint8_t bytes[ROOM];
    size_t n, left; /* bytes of output, bytes of input after the end */
    enum state state;
    const char *why; /* message of zlib */
};

/* Reasons for which zlib refuses a stream that ISA-L may accept: ISA-L allows incomplete Huffman
 * codes, as long as no undefined code occurs. */
static const char *const lax[] = {"invalid code lengths set", "invalid literal/lengths set",
                                  "invalid distances set", "invalid code -- missing end-of-block",
                                  "too many length or distance symbols"};

/* ---- zlib ------------------------------------------------------------------------------------ */

/* Skips zeros between members. Returns whether another member follows; sets the state if not. */
static bool next_member(z_stream *z, struct result *r)
{
    while (z->avail_in > 0 && *z->next_in == 0) {
        z->next_in++;
        z->avail_in--;
    }
    r->state = z->avail_in > 0 ? REFUSED : COMPLETE;
    return z->avail_in > 0 && inflateReset(z) == Z_OK;
}

static void run_zlib(struct result *r, struct heft_bytes in, bool is_gzip)
{
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in.p,
                  .avail_in = (uInt)in.n,
                  .next_out = r->bytes,
                  .avail_out = ROOM};
    int status;

    expect(inflateInit2(&z, is_gzip ? 31 : -15) == Z_OK);
    r->why = "";
    do {
        status = inflate(&z, Z_NO_FLUSH);
        r->state = status == Z_STREAM_END                ? COMPLETE
                   : status < 0 && status != Z_BUF_ERROR ? REFUSED
                   : z.avail_out == 0                    ? FULL
                                                         : TRUNCATED;
        if (r->state == REFUSED)
            r->why = z.msg ? z.msg : "";
    } while (status == Z_STREAM_END && is_gzip && next_member(&z, r));
    r->n = ROOM - z.avail_out;
    r->left = z.avail_in;
    (void)inflateEnd(&z);
}

/* ---- heft ------------------------------------------------------------------------------------ */

/* A step of either decoder. */
struct decoder {
    struct heft_inflate *raw;
    struct heft_unpack *gzip;
    bool is_done;
};

static bool step(struct decoder *d, struct heft_bytes *in, uint8_t **out, size_t *room,
                 struct heft_error *err)
{
    return d->raw ? heft_inflate_step(d->raw, in, out, room, &d->is_done, err)
                  : heft_unpack_step(d->gzip, in, out, room, err);
}

static void run_decoder(struct result *r, struct decoder *d, struct heft_bytes in, size_t in_step,
                        size_t out_step)
{
    struct heft_error err = {0};
    bool is_stuck = false;

    r->n = 0;
    r->state = TRUNCATED;
    while (!d->is_done && !is_stuck) {
        const size_t given = heft_min_size(in_step, in.n),
                     room = heft_min_size(out_step, ROOM - r->n);
        struct heft_bytes piece = {in.p, given};
        uint8_t *out = r->bytes + r->n;
        size_t left = room;

        if (!step(d, &piece, &out, &left, &err)) {
            expect(err.code == HEFT_MALFORMED || err.code == HEFT_MISMATCH);
            r->state = REFUSED;
            break;
        }
        is_stuck = piece.n == given && left == room;
        in.p += given - piece.n;
        in.n -= given - piece.n;
        r->n += room - left;
    }
    r->left = in.n;
    if (r->state == REFUSED)
        return;
    if (d->is_done || (d->gzip && in.n == 0 && heft_unpack_end(d->gzip, &err)))
        r->state = COMPLETE;
    else if (r->n == ROOM)
        r->state = FULL;
}

static void run_heft(struct result *r, struct heft_bytes in, uint8_t how)
{
    static const size_t steps[] = {1, 2, 7, 40, 100, 700, 5000, ROOM};
    struct heft_error err = {0};
    struct decoder d = {0};

    if (how & 1)
        d.gzip = heft_unpack_new(HEFT_PACK_GZIP, &err);
    else
        d.raw = heft_inflate_new(&err);
    expect(d.gzip || d.raw);
    run_decoder(r, &d, in, steps[how >> 1 & 7], steps[how >> 4 & 7]);
    if (d.raw)
        heft_inflate_free(d.raw);
    if (d.gzip)
        heft_unpack_free(d.gzip);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool is_lax(const char *why)
{
    for (size_t i = 0; i < sizeof lax / sizeof *lax; i++)
        if (strcmp(why, lax[i]) == 0)
            return true;
    return false;
}

static bool agree(const struct result *ours, const struct result *zlib)
{
    const size_t n = heft_min_size(ours->n, zlib->n);

    if (n > 0 && memcmp(ours->bytes, zlib->bytes, n) != 0)
        return false;
    switch (zlib->state) {
    case COMPLETE:
        return ours->state == COMPLETE && ours->n == zlib->n && ours->left == zlib->left;
    case TRUNCATED:
        return ours->state != COMPLETE;
    case REFUSED:
        return ours->state != COMPLETE || is_lax(zlib->why);
    default:
        return true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct result ours, zlib;

    if (size < 2 || size > 1 << 16 ||
        (data[0] & 1 && heft_pack_of((struct heft_bytes){data + 1, size - 1}) != HEFT_PACK_GZIP))
        return 0;
    run_zlib(&zlib, (struct heft_bytes){data + 1, size - 1}, data[0] & 1);
    run_heft(&ours, (struct heft_bytes){data + 1, size - 1}, data[0]);
    if (!agree(&ours, &zlib)) {
        fprintf(stderr,
                "heft: state %d, %zu bytes, %zu left; zlib: state %d, %zu bytes, %zu left: %s\n",
                ours.state, ours.n, ours.left, zlib.state, zlib.n, zlib.left, zlib.why);
        abort();
    }
    return 0;
}
