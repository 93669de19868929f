/* scan_packed.c: compressed bytes.
 *
 *     gzip   1f 8b 08 flags, 6 bytes, [extra] [name] [comment] [crc] │ deflate stream │ 8 bytes
 *     zlib   2 bytes: method and window, check                       │ deflate stream │ 4 bytes
 *     joblib "ZF", 19 digits          │ zlib data
 *     others bzip2, xz, lzma, lz4, zstd, 7z, rar: reported, not unpacked
 *
 * Python's gzip and joblib read consecutive streams as one; those of gzip may have zeros between
 * them. Neither stops at reserved flags or wrong checksums. Unpacking stops at
 * HEFT_SCAN_UNPACKED bytes; the bytes up to there are scanned. */
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "io/inflate_stream.h"

#define PIECE ((size_t)64 << 10)

static const struct {
    size_t n;
    const char *magic, *name;
} others[] = {
    {3, "BZh", "bzip2"},
    {6, "\xfd\x37zXZ\0", "xz"},
    {4, "\x04\x22\x4d\x18", "lz4"},
    {4, "\x02\x21\x4c\x18", "lz4"},
    {4, "\x28\xb5\x2f\xfd", "zstd"},
    {6, "7z\xbc\xaf\x27\x1c", "7z"},
    {6, "Rar!\x1a\x07", "rar"},
};

/* True for a skippable frame of zstd and lz4: 50..5f 2a 4d 18. */
static bool is_skippable(struct heft_bytes head)
{
    return head.n >= 8 && head.p[0] >> 4 == 5 && memcmp(head.p + 1, "\x2a\x4d\x18", 3) == 0;
}

/* True for an .lzma file, by the rule of liblzma: the dictionary has 2^n or 2^n + 2^(n-1) bytes,
 * and the size is unknown or below 2^38. Small integers look like a file with a tiny dictionary,
 * so a dictionary below 4096 bytes is accepted only with the usual properties byte 5D. As there, 0
 * is 2^n modulo 2^32. */
HEFT_WRAPS static bool is_lzma(struct heft_bytes head)
{
    uint64_t size;
    uint32_t dictionary, rest;

    if (head.n < 14 || head.p[0] >= 225 || head.p[13] != 0)
        return false;
    dictionary = heft_le32(head.p + 1);
    size = heft_le64(head.p + 5);
    rest = dictionary - 1;
    for (unsigned shift = 2; shift < 32; shift += shift < 4 ? 1 : shift)
        rest |= rest >> shift;
    if (rest + 1 != dictionary || size == 0 || (size != UINT64_MAX && size >> 38))
        return dictionary == UINT32_MAX && size == UINT64_MAX;
    return dictionary >= 4096 || head.p[0] == 0x5D;
}

static const char *other_name(struct heft_bytes head)
{
    for (size_t i = 0; i < HEFT_COUNT(others); i++)
        if (head.n >= others[i].n && memcmp(head.p, others[i].magic, others[i].n) == 0)
            return others[i].name;
    return is_skippable(head) ? "zstd or lz4" : is_lzma(head) ? "lzma" : NULL;
}

struct unpacking {
    struct heft_stream_reader r; /* reads all bytes of the place */
    bool gzip;
    struct heft_buf out;
    bool done, bad; /* done: the last stream has ended; bad: a stream is malformed */
};

/* ---- headers of streams ------------------------------------------------------------------ */

/* Reads the next byte; *some is false at the end. */
static bool take_byte(struct unpacking *u, uint8_t *byte, bool *some, struct heft_error *err)
{
    struct heft_bytes *const in = &u->r.waiting;

    if (!heft_stream_refill(&u->r, err))
        return false;
    *some = in->n > 0;
    if (*some) {
        *byte = *in->p;
        *in = (struct heft_bytes){in->p + 1, in->n - 1};
    }
    return true;
}

static bool skip_bytes(struct unpacking *u, size_t n, bool *some, struct heft_error *err)
{
    uint8_t byte;

    *some = true;
    for (; n > 0 && *some; n--)
        if (!take_byte(u, &byte, some, err))
            return false;
    return true;
}

static bool skip_text(struct unpacking *u, bool *some, struct heft_error *err)
{
    uint8_t byte = 1;

    *some = true;
    while (byte != 0 && *some)
        if (!take_byte(u, &byte, some, err))
            return false;
    return true;
}

static bool skip_extra(struct unpacking *u, bool *some, struct heft_error *err)
{
    uint8_t low = 0, high = 0;

    return take_byte(u, &low, some, err) && take_byte(u, &high, some, err) &&
           (!*some || skip_bytes(u, low | (size_t)high << 8, some, err));
}

/* Skips a gzip header after 1f 8b 08. */
static bool skip_header(struct unpacking *u, bool *some, struct heft_error *err)
{
    uint8_t flags = 0;

    if (!take_byte(u, &flags, some, err) || !skip_bytes(u, 6, some, err))
        return false;
    if (*some && (flags & 4) && !skip_extra(u, some, err))
        return false;
    for (unsigned bit = 8; bit <= 16; bit *= 2)
        if (*some && (flags & bit) && !skip_text(u, some, err))
            return false;
    return !*some || !(flags & 2) || skip_bytes(u, 2, some, err);
}

static bool is_zlib(const uint8_t p[2])
{
    return (p[0] & 0x0F) == 8 && p[0] <= 0x78 && !(p[1] & 0x20) && (p[0] * 256 + p[1]) % 31 == 0;
}

/* Skips zeros between streams, the magic number and header of the next stream. *some is false if
 * there is none. */
static bool begin_stream(struct unpacking *u, bool first, bool *some, struct heft_error *err)
{
    uint8_t magic[3] = {0};

    do {
        if (!take_byte(u, &magic[0], some, err))
            return false;
    } while (*some && u->gzip && !first && magic[0] == 0);
    for (size_t i = 1; *some && i < (u->gzip ? 3U : 2U); i++)
        if (!take_byte(u, &magic[i], some, err))
            return false;
    if (!*some)
        return true;
    *some = u->gzip ? memcmp(magic, "\x1f\x8b\x08", 3) == 0 : is_zlib(magic);
    return !*some || !u->gzip || skip_header(u, some, err);
}

/* ---- decompressing streams --------------------------------------------------------------- */

/* Unpacks until the stream ends, is malformed, or HEFT_SCAN_UNPACKED bytes are reached. */
static bool unpack_stream(struct unpacking *u, struct heft_error *err)
{
    struct heft_error found = {0};

    heft_stream_restart(&u->r);
    while (!u->r.is_done && !u->bad && u->out.n < HEFT_SCAN_UNPACKED) {
        size_t n = PIECE;

        if (!heft_buf_room(&u->out, PIECE))
            return heft_buf_ok(&u->out, err);
        u->bad = !heft_stream_take_some(&u->r, (uint8_t *)u->out.p + u->out.n, &n, &found) ||
                 (n < PIECE && !u->r.is_done);
        u->out.n += n;
    }
    if (found.code == HEFT_OK || found.code == HEFT_MALFORMED)
        return true;
    *err = found;
    return false;
}

static bool unpack_all(struct unpacking *u, struct heft_error *err)
{
    bool some = true;

    if (!begin_stream(u, true, &some, err))
        return false;
    u->bad = !some;
    while (some && !u->bad && u->out.n < HEFT_SCAN_UNPACKED) {
        if (!unpack_stream(u, err))
            return false;
        if (!u->r.is_done)
            return true;
        if (!skip_bytes(u, u->gzip ? 8 : 4, &some, err) ||
            (some && !begin_stream(u, false, &some, err)))
            return false;
    }
    u->done = !some;
    return true;
}

static bool judge_unpacked(struct heft_scan *s, const struct heft_scan_place *place,
                           const struct unpacking *u, const char *name, struct heft_error *err)
{
    struct heft_scan_place inner = *place;
    struct heft_buf label = {0};
    bool ok;

    if (!heft_scan_pay(s, place, u->out.n))
        return true;
    if (!u->done &&
        !heft_scan_report_text(s, place, 0, HEFT_UNKNOWN, "packed",
                               heft_arena_printf(&s->mem, err,
                                                 u->bad ? "%s data that is truncated or damaged"
                                                        : "%s data; only its beginning was scanned",
                                                 name)))
        return false;
    inner.record = heft_scan_label(&label, place, heft_str_of(name), err);
    inner.base = HEFT_NO_OFFSET;
    inner.depth++;
    ok = inner.record &&
         heft_scan_memory(s, &inner, (struct heft_bytes){(const uint8_t *)u->out.p, u->out.n}, err);
    heft_buf_release(&label);
    return ok;
}

/* *real: at least one byte was unpacked. */
static bool inflate_place(struct heft_scan *s, const struct heft_scan_place *place, bool gzip,
                          bool *real, struct heft_error *err)
{
    const uint64_t n = place->src->size;
    const struct heft_stream all = {.parent = place->src, .packed = n, .size = UINT64_MAX};
    struct unpacking u = {.gzip = gzip};
    bool ok = heft_stream_open(&u.r, &all, PIECE, err) && unpack_all(&u, err);

    heft_stream_close(&u.r);
    *real = ok && u.out.n > 0;
    ok = ok && (!*real || judge_unpacked(s, place, &u, gzip ? "gzip" : "zlib", err));
    heft_buf_release(&u.out);
    return ok;
}

static bool is_gzip(struct heft_bytes head)
{
    return head.n > 10 && memcmp(head.p, "\x1f\x8b\x08", 3) == 0;
}

/* Returns the offset of zlib data after "ZF" and 19 bytes of digits (20 from Python 2), which
 * joblib up to 0.9 wrote and newer ones read; 0 if the bytes are not of this format. */
static size_t joblib_offset(struct heft_bytes head)
{
    if (head.n < 24 || memcmp(head.p, "ZF", 2) != 0)
        return 0;
    return is_zlib(head.p + 21) ? 21 : head.p[21] == ' ' && is_zlib(head.p + 22) ? 22 : 0;
}

bool heft_scan_is_packed(struct heft_bytes head)
{
    return other_name(head) || is_gzip(head) || joblib_offset(head) ||
           (head.n > 2 && is_zlib(head.p));
}

bool heft_scan_packed(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes head, bool *is_packed, struct heft_error *err)
{
    const bool gzip = is_gzip(head);
    const bool zlib = place->packed && head.n > 2 && is_zlib(head.p);
    const char *const other = other_name(head);
    const size_t joblib = joblib_offset(head);

    *is_packed = other || joblib || ((gzip || zlib) && place->depth >= HEFT_SCAN_DEPTH);
    if (other)
        return heft_scan_report_text(
            s, place, 0, HEFT_UNKNOWN, "packed",
            heft_arena_printf(&s->mem, err, "%s data, not scanned", other));
    if (*is_packed && place->depth >= HEFT_SCAN_DEPTH)
        return heft_scan_report_text(s, place, 0, HEFT_UNKNOWN, "packed", HEFT_SCAN_DEEP);
    if (joblib)
        return heft_scan_within(s, place, joblib, place->src->size - joblib, place->record, err);
    return (!gzip && !zlib) || inflate_place(s, place, gzip, is_packed, err);
}
