/* unpack.c: gzip through ISA-L, zstd through libzstd. */
#include "base/unpack.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#define PIECE       ((size_t)1 << 30) /* ISA-L counts in 32 bits */
#define WINDOW_BITS 26 /* of a zstd frame: 64 MiB at most, what zstd -19 and less write is 8 */

struct heft_unpack {
    enum heft_pack pack;
    bool is_open; /* within a member */
    struct inflate_state gzip;
    ZSTD_DCtx *zstd;
};

enum heft_pack heft_pack_of(struct heft_bytes head)
{
    if (head.n >= 3 && memcmp(head.p, "\x1f\x8b\x08", 3) == 0)
        return HEFT_PACK_GZIP;
    if (head.n >= 4 && memcmp(head.p, "\x28\xb5\x2f\xfd", 4) == 0)
        return HEFT_PACK_ZSTD;
    if (head.n >= 4 && head.p[0] >> 4 == 5 && memcmp(head.p + 1, "\x2a\x4d\x18", 3) == 0)
        return HEFT_PACK_ZSTD;
    return HEFT_PACK_NONE;
}

static void begin_gzip(struct heft_unpack *u)
{
    isal_inflate_init(&u->gzip);
    u->gzip.crc_flag = ISAL_GZIP;
}

static bool begin_zstd(struct heft_unpack *u, struct heft_error *err)
{
    u->zstd = ZSTD_createDCtx();
    if (!u->zstd)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "no memory to unpack zstd");
    (void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_BITS);
    return true;
}

struct heft_unpack *heft_unpack_new(enum heft_pack pack, struct heft_error *err)
{
    struct heft_unpack *u = heft_alloc(sizeof *u, err);

    if (!u)
        return NULL;
    u->pack = pack;
    u->is_open = false;
    u->zstd = NULL;
    begin_gzip(u);
    if (pack != HEFT_PACK_ZSTD || begin_zstd(u, err))
        return u;
    heft_free(u);
    return NULL;
}

/* Bytes that the bit reader took ahead and that begin the next member. */
static void give_back(struct heft_unpack *u)
{
    const int bits = u->gzip.read_in_length;
    const uint32_t ahead = bits > 0 ? (uint32_t)bits / 8 : 0;

    u->gzip.next_in -= ahead;
    u->gzip.avail_in += ahead;
}

static bool step_gzip(struct heft_unpack *u, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                      struct heft_error *err)
{
    struct inflate_state *z = &u->gzip;
    const uint32_t given = (uint32_t)heft_min_u64(in->n, PIECE);
    const uint32_t room = (uint32_t)heft_min_u64(*out_n, PIECE);
    int status;

    z->next_in = (uint8_t *)(uintptr_t)in->p; /* never written to */
    z->avail_in = given;
    z->next_out = *out;
    z->avail_out = room;
    status = isal_inflate(z);
    if (status == ISAL_INCORRECT_CHECKSUM)
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "gzip: the checksum does not agree");
    if (status < 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "gzip: data that is not deflate");
    u->is_open = u->is_open || given > 0; /* asked at the end it has not begun another */
    if (z->block_state == ISAL_BLOCK_FINISH) {
        give_back(u);
        u->is_open = false;
    }
    in->p += given - z->avail_in;
    in->n -= given - z->avail_in;
    *out += room - z->avail_out;
    *out_n -= room - z->avail_out;
    if (!u->is_open)
        begin_gzip(u);
    return true;
}

static bool step_zstd(struct heft_unpack *u, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                      struct heft_error *err)
{
    ZSTD_inBuffer from = {in->p, in->n, 0};
    ZSTD_outBuffer to = {*out, *out_n, 0};
    const size_t left = ZSTD_decompressStream(u->zstd, &to, &from);

    if (ZSTD_isError(left))
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "zstd: %s", ZSTD_getErrorName(left));
    if (from.pos > 0 || to.pos > 0) /* asked at the end it has not begun another */
        u->is_open = left != 0;
    in->p += from.pos;
    in->n -= from.pos;
    *out += to.pos;
    *out_n -= to.pos;
    return true;
}

bool heft_unpack_step(struct heft_unpack *u, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                      struct heft_error *err)
{
    return u->pack == HEFT_PACK_ZSTD ? step_zstd(u, in, out, out_n, err)
                                     : step_gzip(u, in, out, out_n, err);
}

bool heft_unpack_end(const struct heft_unpack *u, struct heft_error *err)
{
    return !u->is_open ||
           heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "packed data that ends before its end");
}

void heft_unpack_free(struct heft_unpack *u)
{
    if (!u)
        return;
    ZSTD_freeDCtx(u->zstd);
    heft_free(u);
}
