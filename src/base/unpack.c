/* unpack.c: gzip by ISA-L, zstd by libzstd.
 *
 * Headers of gzip members are parsed here: ISA-L refuses those with a header CRC, and zeros after
 * the last member are padding to gzip and to Python.
 *
 *     1F 8B 08 FLAGS, 4 bytes time, 2 bytes more
 *     2 bytes length and so many        if FLAGS has 4
 *     name, 0                           8
 *     comment, 0                        16
 *     2 bytes of the header's CRC-32    2
 *     deflate, CRC-32 of the data, 4 bytes length */
#include "base/unpack.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/checksum.h"
#include "base/simd_state.h"

#define PIECE       ((size_t)1 << 30) /* bytes per call: ISA-L counts in 32 bits */
#define WINDOW_BITS 27 /* window of a zstd frame: 128 MiB at most, the default of zstd -d */

enum part { PART_FIXED, PART_LENGTH, PART_EXTRA, PART_NAME, PART_COMMENT, PART_SUM, PART_DATA };

struct head {
    enum part part;
    uint32_t n; /* bytes of this part consumed so far */
    uint32_t number, crc;
    uint8_t flags;
};

struct heft_unpack {
    enum heft_pack pack;
    bool is_open; /* inside a member */
    struct head head;
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
    u->gzip.crc_flag = ISAL_GZIP_NO_HDR_VER;
    u->head = (struct head){0};
}

static bool begin_zstd(struct heft_unpack *u, struct heft_error *err)
{
    u->zstd = ZSTD_createDCtx();
    if (!u->zstd)
        return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory for zstd");
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

/* ---- header of a gzip member ---------------------------------------------------------------- */

static bool take_fixed(struct head *h, uint8_t c, struct heft_error *err)
{
    static const uint8_t magic[] = {0x1f, 0x8b, 8};

    if (h->n < sizeof magic && c != magic[h->n])
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "gzip: byte %02x after a member, expected another one (1f 8b 08)", c);
    if (h->n == 3)
        h->flags = c;
    if (h->n == 3 && c >= 0x20)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "gzip: flags are %02x, expected at most 1f", c);
    return true;
}

static bool is_over(const struct head *h, uint8_t c)
{
    switch (h->part) {
    case PART_FIXED:
        return h->n == 10;
    case PART_EXTRA:
        return h->n == h->number;
    case PART_NAME:
    case PART_COMMENT:
        return c == 0;
    default:
        return h->n == 2; /* the part is a number */
    }
}

/* Goes on to the next part that this header has. */
static void go_on(struct head *h)
{
    static const uint8_t flag_of[] = {0, 4, 4, 8, 16, 2};

    h->n = 0;
    do
        h->part++;
    while (h->part < PART_DATA &&
           (!(h->flags & flag_of[h->part]) || (h->part == PART_EXTRA && h->number == 0)));
}

static bool take_byte(struct head *h, uint8_t c, struct heft_error *err)
{
    const uint32_t sum = h->crc & 0xffff;

    if (h->part == PART_FIXED && !take_fixed(h, c, err))
        return false;
    if (h->part == PART_LENGTH || h->part == PART_SUM)
        h->number = h->n == 0 ? c : h->number | (uint32_t)c << 8;
    if (h->part != PART_SUM)
        h->crc = heft_crc32(h->crc, &c, 1);
    h->n++;
    if (!is_over(h, c))
        return true;
    if (h->part == PART_SUM && h->number != sum)
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "gzip: header checksum mismatch");
    go_on(h);
    return true;
}

/* Consumes as much of the header as is available, including the zeros before a header that is not
 * the first. */
static bool step_head(struct heft_unpack *u, struct heft_bytes *in, struct heft_error *err)
{
    while (in->n > 0 && u->head.part != PART_DATA) {
        const bool is_zero = !u->is_open && *in->p == 0;

        if (!is_zero && !take_byte(&u->head, *in->p, err))
            return false;
        u->is_open = !is_zero;
        in->p++;
        in->n--;
    }
    return true;
}

/* ---- compressed data ------------------------------------------------------------------------ */

/* Returns bytes that the bit reader took ahead and that belong to the next member. */
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
    const uint32_t room = (uint32_t)heft_min_u64(*out_n, PIECE);
    uint32_t given;
    int status;

    if (!step_head(u, in, err))
        return false;
    if (u->head.part != PART_DATA)
        return true;
    given = (uint32_t)heft_min_u64(in->n, PIECE);
    z->next_in = (uint8_t *)(uintptr_t)in->p; /* ISA-L does not write to its input */
    z->avail_in = given;
    z->next_out = *out;
    z->avail_out = room;
    status = isal_inflate(z);
    heft_simd_clear();
    if (z->block_state == ISAL_BLOCK_FINISH)
        give_back(u);
    in->p += given - z->avail_in;
    in->n -= given - z->avail_in;
    *out += room - z->avail_out;
    *out_n -= room - z->avail_out;
    if (status == ISAL_INCORRECT_CHECKSUM)
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "gzip: checksum mismatch");
    if (status < 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "gzip: invalid deflate data");
    if (z->block_state == ISAL_BLOCK_FINISH) {
        begin_gzip(u);
        u->is_open = false;
    }
    return true;
}

static bool fail_zstd(size_t status, struct heft_error *err)
{
    switch (ZSTD_getErrorCode(status)) {
    case ZSTD_error_checksum_wrong:
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "zstd: checksum mismatch");
    case ZSTD_error_frameParameter_windowTooLarge:
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "zstd: a frame needs a window of more than 128 MiB (zstd -dc --long=31 "
                         "decompresses it into a pipe)");
    case ZSTD_error_prefix_unknown:
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "zstd: the bytes after a frame do not begin another one");
    default:
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "zstd: %s",
                         ZSTD_getErrorName(status));
    }
}

static bool step_zstd(struct heft_unpack *u, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                      struct heft_error *err)
{
    ZSTD_inBuffer from = {in->p, in->n, 0};
    ZSTD_outBuffer to = {*out, *out_n, 0};
    const size_t left = ZSTD_decompressStream(u->zstd, &to, &from);

    in->p += from.pos;
    in->n -= from.pos;
    if (ZSTD_isError(left))
        return fail_zstd(left, err);
    if (from.pos > 0 || to.pos > 0) /* at the end of the input no other frame has begun */
        u->is_open = left != 0;
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
           heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "the compressed data is truncated");
}

void heft_unpack_free(struct heft_unpack *u)
{
    if (!u)
        return;
    ZSTD_freeDCtx(u->zstd);
    heft_free(u);
}
