/* npz_in.c: members of an .npz.
 *
 *     member   "\x93NUMPY" | version 1 0 | u16 n (2 0: u32 n) | n bytes of a Python dict | data */
#include "tokens/input/npz_in.h"

#include "base/checksum.h"
#include "base/endian.h"
#include "base/inflate.h"
#include "io/source.h"
#include "tokens/input/npy_ids.h"
#include "wire/zip.h"

#define COPY ((size_t)256 << 10)
#define SOME 4096 /* ids told at a time */

struct npz {
    struct heft_source src;
    struct heft_arena mem;
    struct heft_zip zip;
    uint8_t *packed;        /* COPY bytes of the member that is read */
    struct heft_buf header; /* of the array that is looked at */
};

static bool open_npz(struct npz *npz, const char *path, struct heft_error *err)
{
    *npz = (struct npz){0};
    if (!heft_source_open_file(&npz->src, path, err))
        return false;
    return heft_zip_open(&npz->zip, &npz->src, NULL, &npz->mem, err) || heft_error_file(err, path);
}

static void close_npz(struct npz *npz)
{
    heft_source_close(&npz->src);
    heft_arena_release(&npz->mem);
    heft_buf_release(&npz->header);
    heft_free(npz->packed);
}

bool heft_npz_count(const char *path, uint64_t *count, struct heft_error *err)
{
    struct npz npz;
    const bool ok = open_npz(&npz, path, err);

    if (ok)
        *count = npz.zip.count;
    close_npz(&npz);
    return ok;
}

/* ---- a member's bytes, unpacked --------------------------------------------------------------- */

struct member {
    struct npz *npz;
    const struct heft_zip_entry *entry;
    struct heft_inflate *inflate; /* NULL: stored */
    struct heft_bytes waiting;
    uint64_t at;   /* of the payload: read so far */
    uint64_t left; /* bytes to be unpacked still */
    bool done;
};

/* One at a time. */
static bool open_member(struct member *m, struct npz *npz, const struct heft_zip_entry *entry,
                        struct heft_error *err)
{
    *m = (struct member){.npz = npz, .entry = entry, .left = entry->size};
    if (!npz->packed)
        npz->packed = heft_alloc(COPY, err);
    if (npz->packed && entry->method == HEFT_ZIP_DEFLATED)
        m->inflate = heft_inflate_new(err);
    return npz->packed && (m->inflate || entry->method == HEFT_ZIP_STORED);
}

static void close_member(struct member *m)
{
    heft_inflate_free(m->inflate);
}

static bool refill(struct member *m, struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(COPY, m->entry->packed - m->at);

    if (!heft_source_read(&m->npz->src, m->entry->data + m->at, m->npz->packed, n, err))
        return false;
    m->waiting = (struct heft_bytes){m->npz->packed, n};
    m->at += n;
    return true;
}

static bool ends_early(const struct member *m, struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, m->entry->data, "%s ends before its end",
                     m->entry->name.p);
}

/* Some of what was packed: it may have been read long ago, and be within the inflater. */
static bool inflate_some(struct member *m, uint8_t **to, size_t *n, struct heft_error *err)
{
    const size_t wanted = *n;

    if (m->done)
        return ends_early(m, err);
    return heft_inflate_step(m->inflate, &m->waiting, to, n, &m->done, err) &&
           (*n < wanted || m->waiting.n > 0 || m->at < m->entry->packed || ends_early(m, err));
}

/* Exactly n bytes, n <= left. */
static bool read_member(struct member *m, uint8_t *to, size_t n, struct heft_error *err)
{
    m->left -= n;
    while (n > 0) {
        size_t some;

        if (m->waiting.n == 0 && m->at < m->entry->packed && !refill(m, err))
            return false;
        if (m->inflate) {
            if (!inflate_some(m, &to, &n, err))
                return false;
            continue;
        }
        some = (size_t)heft_min_u64(n, m->waiting.n);
        if (some == 0)
            return ends_early(m, err);
        memcpy(to, m->waiting.p, some);
        m->waiting.p += some;
        m->waiting.n -= some;
        to += some;
        n -= some;
    }
    return true;
}

/* ---- an array's header ------------------------------------------------------------------------ */

/* The header of a member, until the next is read; the member then stands at its data. */
static bool read_header(struct member *m, struct heft_bytes *header, struct heft_error *err)
{
    struct heft_buf *all = &m->npz->header;
    uint8_t head[HEFT_NPY_HEAD];
    const size_t n = (size_t)heft_min_u64(m->left, sizeof head);
    size_t length;

    if (!read_member(m, head, n, err) ||
        !heft_npy_length((struct heft_bytes){head, n}, HEFT_NO_OFFSET, &length, err))
        return false;
    if (length < n || length - n > m->left)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "a header of %zu bytes, %" PRIu64 " are left", length, m->left);
    all->n = 0;
    heft_buf_put(all, head, n);
    if (!heft_buf_room(all, length - n))
        return heft_buf_ok(all, err);
    *header = (struct heft_bytes){(uint8_t *)all->p, length};
    return read_member(m, (uint8_t *)all->p + n, length - n, err);
}

/* Where in the file a member is that is wrong, and which it is. */
static bool blame(const struct heft_zip_entry *entry, struct heft_error *err)
{
    if (err->code != HEFT_NOMEM && err->code != HEFT_IO)
        err->offset = entry->data;
    return heft_error_about(err, "array", entry->name);
}

/* ---- copying ---------------------------------------------------------------------------------- */

static bool check_stored(const struct npz *npz, const struct heft_zip_entry *entry,
                         struct heft_error *err)
{
    uint8_t *const piece = heft_alloc(COPY, err);
    bool ok = piece != NULL;
    uint32_t crc = 0;
    size_t n;

    for (uint64_t at = 0; ok && at < entry->size; at += n) {
        n = (size_t)heft_min_u64(COPY, entry->size - at);
        ok = heft_source_read(&npz->src, entry->data + at, piece, n, err);
        crc = ok ? heft_crc32(crc, piece, n) : 0;
    }
    heft_free(piece);
    if (ok && crc != entry->crc)
        ok = heft_fail(err, HEFT_MISMATCH, entry->data,
                       "CRC-32 is %08" PRIx32 ", the archive says %08" PRIx32, crc, entry->crc);
    return ok;
}

static bool check_data(const struct npz *npz, const struct heft_zip_entry *entry,
                       struct heft_error *err)
{
    const struct heft_stream stream = {&npz->src,   entry->data, entry->packed,
                                       entry->size, entry->crc,  true};

    return (entry->method == HEFT_ZIP_STORED ? check_stored(npz, entry, err)
                                             : heft_stream_check(&stream, err)) ||
           blame(entry, err);
}

static bool check_array(struct npz *npz, const struct heft_zip_entry *entry, struct heft_error *err)
{
    struct heft_bytes header;
    struct heft_npy npy;
    struct member m;
    const bool ok =
        open_member(&m, npz, entry, err) &&
        ((read_header(&m, &header, err) && heft_npy_parse(&npy, header, HEFT_NO_OFFSET, err) &&
          heft_npy_is_safe(header, &npy, err)) ||
         blame(entry, err));

    close_member(&m);
    return ok && check_data(npz, entry, err);
}

bool heft_npz_copy(const char *path,
                   bool (*begin)(void *ctx, const struct heft_npz_array *array,
                                 struct heft_error *err),
                   bool (*bytes)(void *ctx, const uint8_t *p, size_t n, struct heft_error *err),
                   void *ctx, struct heft_error *err)
{
    struct npz npz;
    uint8_t *piece = heft_alloc(COPY, err);
    bool ok = piece && open_npz(&npz, path, err);

    for (size_t i = 0; ok && i < npz.zip.count; i++) {
        const struct heft_zip_entry *e = &npz.zip.entries[i];
        const struct heft_npz_array array = {e->size, e->packed, e->crc, e->method};

        ok = (check_array(&npz, e, err) || heft_error_file(err, path)) && begin(ctx, &array, err);
        for (uint64_t at = 0; ok && at < e->packed; at += COPY) {
            const size_t n = (size_t)heft_min_u64(COPY, e->packed - at);

            ok = heft_source_read(&npz.src, e->data + at, piece, n, err) &&
                 bytes(ctx, piece, n, err);
        }
    }
    if (piece)
        close_npz(&npz);
    heft_free(piece);
    return ok;
}

/* ---- ids -------------------------------------------------------------------------------------- */

static bool read_id(const uint8_t *p, const struct heft_npy_ids *type, uint64_t *id)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < type->width; i++)
        v |= (uint64_t)p[type->is_big ? type->width - 1 - i : i] << (8 * i);
    *id = v;
    return !type->is_signed || !(v >> (8 * type->width - 1) & 1);
}

static bool tell_ids(const struct heft_npz_ids *to, struct member *m,
                     const struct heft_npy_ids *type, struct heft_error *err)
{
    uint8_t raw[SOME * 8], ids[SOME * 4];

    while (m->left >= type->width) {
        const size_t n = (size_t)heft_min_u64(SOME, m->left / type->width);

        if (!read_member(m, raw, n * type->width, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            uint64_t id;

            if (!read_id(raw + i * type->width, type, &id) || id >= to->vocab_size)
                return heft_fail(err, HEFT_MALFORMED, m->entry->data,
                                 "%s has a number that is no id, ids are below %" PRIu32,
                                 m->entry->name.p, to->vocab_size);
            if (to->width == 2)
                heft_put_le16(ids + 2 * i, (uint16_t)id);
            else
                heft_put_le32(ids + 4 * i, (uint32_t)id);
        }
        if (!to->ids(to->ctx, ids, n, err))
            return false;
    }
    return true;
}

bool heft_npz_read_ids(const char *path, const struct heft_npz_ids *to, struct heft_error *err)
{
    struct npz npz;
    bool ok = open_npz(&npz, path, err);

    for (size_t i = 0; ok && i < npz.zip.count; i++) {
        const struct heft_zip_entry *entry = &npz.zip.entries[i];
        struct heft_npy_ids type;
        struct heft_bytes header;
        struct member m;

        ok = check_array(&npz, entry, err) && open_member(&m, &npz, entry, err);
        if (!ok)
            break;
        ok = (read_header(&m, &header, err) && heft_npy_ids(header, &type, err)) ||
             blame(entry, err);
        ok = ok && tell_ids(to, &m, &type, err);
        close_member(&m);
    }
    close_npz(&npz);
    return ok || heft_error_file(err, path);
}
