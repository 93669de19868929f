/* npz_in.c: members of an .npz.
 *
 *     member    "\x93NUMPY" | version 1 0 | u16 n (2 0: u32 n) | n bytes of a Python dict | data */
#include "tokens/input/npz_in.h"

#include "base/endian.h"
#include "tokens/input/npy_ids.h"
#include "wire/zip.h"

#define COPY ((size_t)256 << 10)
#define SOME 4096 /* ids handed over at a time */

struct npz {
    struct heft_source src;
    struct heft_arena mem;
    struct heft_zip zip;
    struct heft_buf header; /* header of the current array */
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

/* ---- the header of an array ------------------------------------------------------------------- */

/* Opens a member and reads its header, valid until the next one is read; the data follows. A reader
 * that failed to open may be closed. */
static bool open_array(struct npz *npz, const struct heft_zip_entry *entry,
                       struct heft_stream_reader *r, struct heft_bytes *header,
                       struct heft_error *err)
{
    const struct heft_stream stream = heft_zip_stream(&npz->src, entry);
    struct heft_buf *all = &npz->header;
    uint8_t head[HEFT_NPY_HEAD];
    const size_t n = (size_t)heft_min_u64(entry->size, sizeof head);
    size_t length;

    if (!heft_stream_open(r, &stream, COPY, err) || !heft_stream_take(r, head, n, err) ||
        !heft_npy_length((struct heft_bytes){head, n}, HEFT_NO_OFFSET, &length, err))
        return false;
    if (length < n || length - n > heft_stream_left(r))
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "a header of %zu bytes exceeds the %" PRIu64 " bytes left", length,
                         heft_stream_left(r));
    all->n = 0;
    heft_buf_put(all, head, n);
    if (!heft_buf_room(all, length - n))
        return heft_buf_ok(all, err);
    *header = (struct heft_bytes){(uint8_t *)all->p, length};
    return heft_stream_take(r, (uint8_t *)all->p + n, length - n, err);
}

/* Adds the member's name and its offset to an error. */
static bool name_member(const struct heft_zip_entry *entry, struct heft_error *err)
{
    if (err->code != HEFT_NOMEM && err->code != HEFT_IO)
        err->offset = entry->data;
    return heft_error_about(err, "array", entry->name);
}

/* ---- copying members -------------------------------------------------------------------------- */

static bool check_array(struct npz *npz, const struct heft_zip_entry *entry, struct heft_error *err)
{
    struct heft_stream stream = heft_zip_stream(&npz->src, entry);
    struct heft_stream_reader r;
    struct heft_bytes header;
    struct heft_npy npy;
    const bool ok = open_array(npz, entry, &r, &header, err) &&
                    heft_npy_parse(&npy, header, HEFT_NO_OFFSET, err) &&
                    heft_npy_is_safe(header, &npy, err);

    heft_stream_close(&r);
    stream.check_crc = true;
    return (ok && heft_stream_check(&stream, err)) || name_member(entry, err);
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

/* ---- reading ids ------------------------------------------------------------------------------ */

static bool read_id(const uint8_t *p, const struct heft_npy_ids *type, uint64_t *id)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < type->width; i++)
        v |= (uint64_t)p[type->is_big ? type->width - 1 - i : i] << (8 * i);
    *id = v;
    return !type->is_signed || !(v >> (8 * type->width - 1) & 1);
}

static bool tell_ids(const struct heft_npz_ids *to, struct heft_stream_reader *r,
                     const struct heft_zip_entry *entry, const struct heft_npy_ids *type,
                     struct heft_error *err)
{
    uint8_t raw[SOME * 8], ids[SOME * 4];

    while (heft_stream_left(r) >= type->width) {
        const size_t n = (size_t)heft_min_u64(SOME, heft_stream_left(r) / type->width);

        if (!heft_stream_take(r, raw, n * type->width, err))
            return name_member(entry, err);
        for (size_t i = 0; i < n; i++) {
            uint64_t id;

            if (!read_id(raw + i * type->width, type, &id) || id >= to->vocab_size)
                return heft_fail(
                    err, HEFT_MALFORMED, entry->data,
                    "%s has a number that is not an id; expected 0 or higher and below %" PRIu32,
                    entry->name.p, to->vocab_size);
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
        struct heft_stream_reader r = {0};

        ok = check_array(&npz, entry, err) &&
             ((open_array(&npz, entry, &r, &header, err) && heft_npy_ids(header, &type, err)) ||
              name_member(entry, err)) &&
             tell_ids(to, &r, entry, &type, err);
        heft_stream_close(&r);
    }
    close_npz(&npz);
    return ok || heft_error_file(err, path);
}
