/* scan_packed.c: compressed bytes.
 *
 *     gzip   1f 8b 08 flags, 6 bytes, [extra] [name] [comment] [crc] │ deflate stream │ 8 bytes
 *     zlib   2 bytes: method and window, check                       │ deflate stream │ 4 bytes
 *     others bzip2, xz, lzma, lz4, zstd, 7z, rar: told, not unpacked
 *
 * Unpacking stops at HEFT_SCAN_UNPACKED bytes; what came out until then is judged. */
#include "format/scan_parts.h"

#include "base/endian.h"
#include "base/inflate.h"

#define PIECE ((size_t)64 << 10)

static const struct {
    size_t n;
    const char *magic, *name;
} others[] = {
    {3, "BZh", "bzip2"},
    {6, "\xfd\x37zXZ\0", "xz"},
    {4, "\x04\x22\x4d\x18", "lz4"},
    {4, "\x28\xb5\x2f\xfd", "zstd"},
    {6, "7z\xbc\xaf\x27\x1c", "7z"},
    {6, "Rar!\x1a\x07", "rar"},
    {13, "\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff", "lzma"},
};

static bool skip_text(struct heft_bytes head, size_t *at)
{
    const uint8_t *nul = *at < head.n ? memchr(head.p + *at, 0, head.n - *at) : NULL;

    if (nul)
        *at = (size_t)(nul - head.p) + 1;
    return nul != NULL;
}

/* Where the deflate stream of a gzip file begins; false where there is no such header. */
static bool gzip_begin(struct heft_bytes head, size_t *at)
{
    const unsigned flags = head.n > 10 ? head.p[3] : 0xFFU;

    if (head.n <= 10 || memcmp(head.p, "\x1f\x8b\x08", 3) != 0 || (flags & 0xE0))
        return false;
    *at = 10;
    if (flags & 4) {
        if (head.n < 12)
            return false;
        *at += 2 + (size_t)heft_le16(head.p + 10);
    }
    if (((flags & 8) && !skip_text(head, at)) || ((flags & 16) && !skip_text(head, at)))
        return false;
    *at += flags & 2;
    return *at < head.n;
}

static bool zlib_begin(struct heft_bytes head, size_t *at)
{
    *at = 2;
    return head.n > 2 && (head.p[0] & 0x0F) == 8 && head.p[0] <= 0x78 && !(head.p[1] & 0x20) &&
           (head.p[0] * 256 + head.p[1]) % 31 == 0;
}

struct unpacking {
    const struct heft_source *src;
    uint64_t at;
    struct heft_inflate *z;
    uint8_t *piece;
    struct heft_bytes in;
    struct heft_buf out;
    bool done, bad;
};

static bool refill(struct unpacking *u, struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(u->src->size - u->at, PIECE);

    if (u->in.n || n == 0)
        return true;
    if (!heft_source_read(u->src, u->at, u->piece, n, err))
        return false;
    u->in = (struct heft_bytes){u->piece, n};
    u->at += n;
    return true;
}

/* Until the stream ends, breaks, or has given enough. */
static bool unpack(struct unpacking *u, struct heft_error *err)
{
    struct heft_error bad = {0};

    while (!u->done && !u->bad && u->out.n < HEFT_SCAN_UNPACKED) {
        uint8_t *at;
        size_t room = PIECE;

        if (!refill(u, err))
            return false;
        if (!heft_buf_room(&u->out, PIECE))
            return heft_buf_ok(&u->out, err);
        at = (uint8_t *)u->out.p + u->out.n;
        u->bad = !heft_inflate_step(u->z, &u->in, &at, &room, &u->done, &bad) ||
                 (room == PIECE && !u->in.n && u->at == u->src->size);
        u->out.n += PIECE - room;
    }
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
        !heft_scan_tell(s, place, 0, HEFT_UNKNOWN, "packed",
                        heft_arena_printf(&s->mem, err,
                                          u->bad ? "%s data that is cut off or damaged"
                                                 : "%s data, only its beginning was looked into",
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

/* *real: the stream gave something. */
static bool inflate_place(struct heft_scan *s, const struct heft_scan_place *place, size_t begin,
                          const char *name, bool *real, struct heft_error *err)
{
    struct unpacking u = {.src = place->src, .at = begin};
    bool ok;

    u.piece = heft_alloc(PIECE, err);
    u.z = u.piece ? heft_inflate_new(err) : NULL;
    ok = u.z && unpack(&u, err);
    heft_inflate_free(u.z);
    heft_free(u.piece);
    *real = ok && u.out.n > 0;
    ok = ok && (!*real || judge_unpacked(s, place, &u, name, err));
    heft_buf_release(&u.out);
    return ok;
}

bool heft_scan_packed(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes head, bool *is_packed, struct heft_error *err)
{
    const bool deep = place->depth >= HEFT_SCAN_DEPTH;
    size_t begin;

    *is_packed = true;
    for (size_t i = 0; i < HEFT_COUNT(others); i++)
        if (head.n >= others[i].n && memcmp(head.p, others[i].magic, others[i].n) == 0)
            return heft_scan_tell(
                s, place, 0, HEFT_UNKNOWN, "packed",
                heft_arena_printf(&s->mem, err, "%s data, not looked into", others[i].name));
    if (gzip_begin(head, &begin) && !deep)
        return inflate_place(s, place, begin, "gzip", is_packed, err);
    if (place->packed && zlib_begin(head, &begin) && !deep)
        return inflate_place(s, place, begin, "zlib", is_packed, err);
    *is_packed = false;
    return true;
}
