/* sampler_file.c: files of ids → arrays: mapped if stored uncompressed, else decompressed once into
 * a spool.
 *
 *     .npz    a zip of .npy, in the order of its directory
 *     .npy    "\x93NUMPY" version header, then integers of 1 to 8 bytes, one dimension
 *     llm.c   256 × i32: 20240520, 1, count (u16 follow), or 20240801, 7, count (u32)
 *     other   raw stream of u16 (or u32, if the caller says so)
 *
 * Decimals and Megatron's index would also be valid raw streams: they are detected and refused. */
#include "base/endian.h"
#include "tokens/decode/decode.h"
#include "tokens/input/npy_ids.h"
#include "tokens/sampler/sampler.h"
#include "wire/zip.h"

#define LLMC_BYTES 1024
#define HANDFUL    4096 /* bytes read at a time from the spool */

/* ---- reading ids of an array ------------------------------------------------------------- */

static bool read_bytes(const struct heft_sampler *s, const struct heft_id_array *a, uint64_t off,
                       void *dst, size_t n, struct heft_error *err)
{
    if (a->in_spool)
        return heft_spool_read(&s->spool, a->spooled + off, dst, n, err);
    memcpy(dst, a->map.data + off, n);
    return true;
}

static bool take_id(const struct heft_id_array *a, const uint8_t *p, uint32_t *id)
{
    uint64_t value;

    switch (a->width) {
    case 1:
        value = a->is_signed && p[0] >> 7 ? UINT64_MAX : p[0];
        break;
    case 2:
        value = heft_le16(p);
        value = a->is_signed && value >> 15 ? UINT64_MAX : value;
        break;
    case 4:
        value = heft_le32(p);
        value = a->is_signed && value >> 31 ? UINT64_MAX : value;
        break;
    default:
        value = heft_le64(p);
        break;
    }
    *id = (uint32_t)value;
    return value <= UINT32_MAX;
}

bool heft_id_array_read(const struct heft_sampler *s, const struct heft_id_array *a, uint64_t at,
                        size_t n, uint32_t *ids, struct heft_error *err)
{
    const size_t most = HANDFUL / a->width;
    uint8_t bytes[HANDFUL];

    while (n > 0) {
        const size_t k = n < most ? n : most;

        if (!read_bytes(s, a, a->off + at * a->width, bytes, k * a->width, err))
            return false;
        for (size_t i = 0; i < k; i++)
            if (!take_id(a, bytes + i * a->width, &ids[i]))
                return heft_fail(err, HEFT_MALFORMED, a->off + (at + i) * a->width,
                                 "a number is not an id: negative or more than 32 bits");
        ids += k;
        at += k;
        n -= k;
    }
    return true;
}

static struct heft_id_array *new_array(struct heft_sampler *s, struct heft_error *err)
{
    if (!heft_grow(&s->arrays, &s->cap, s->n, 1, sizeof *s->arrays, err))
        return NULL;
    s->arrays[s->n] = (struct heft_id_array){0};
    return &s->arrays[s->n++]; /* from here on released with the other arrays */
}

/* ---- .npy -------------------------------------------------------------------------------- */

/* size: bytes of the whole array with its header. */
static bool read_npy(const struct heft_sampler *s, struct heft_id_array *a, uint64_t size,
                     struct heft_arena *mem, struct heft_error *err)
{
    uint8_t head[HEFT_NPY_HEAD], *header;
    const size_t n = (size_t)heft_min_u64(size, sizeof head);
    struct heft_npy_ids ids;
    uint64_t bytes;
    size_t length;

    if (!read_bytes(s, a, 0, head, n, err) ||
        !heft_npy_length((struct heft_bytes){head, n}, 0, &length, err))
        return false;
    if (length > size)
        return heft_fail(err, HEFT_MALFORMED, 8,
                         "an .npy header of %zu bytes exceeds the file or is too short", length);
    header = heft_arena_alloc(mem, length, err);
    if (!header || !read_bytes(s, a, 0, header, length, err) ||
        !heft_npy_plain_ids((struct heft_bytes){header, length}, &ids, err))
        return false;
    if (ids.rank != 1)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "an array of %u dimensions; expected one", ids.rank);
    a->off = ids.data;
    a->n = ids.count;
    a->width = ids.width;
    a->is_signed = ids.is_signed;
    return (heft_mul(a->n, a->width, &bytes) && bytes == size - a->off) ||
           heft_fail(err, HEFT_MALFORMED, a->off,
                     "%" PRIu64 " integers of %u bytes do not match the %" PRIu64 " bytes of data",
                     a->n, a->width, size - a->off);
}

/* ---- .npz -------------------------------------------------------------------------------- */

static bool spool_entry(struct heft_sampler *s, const struct heft_source *source,
                        const struct heft_zip_entry *entry, struct heft_id_array *a,
                        struct heft_error *err)
{
    struct heft_stream stream = heft_zip_stream(source, entry);

    stream.check_crc = true;
    if (!s->has_spool && !heft_spool_init(&s->spool, err))
        return false;
    s->has_spool = a->in_spool = true;
    return heft_spool_place(&s->spool, &stream, &a->spooled, err) &&
           heft_spool_fill(&s->spool, a->spooled, &stream, err);
}

/* Converts offsets in an array to offsets in the file; for a compressed array, to its beginning. */
static bool place_error(const struct heft_zip_entry *entry, struct heft_error *err)
{
    const bool is_known = err->offset != HEFT_NO_OFFSET && entry->method == HEFT_ZIP_STORED;

    if (err->code != HEFT_NOMEM && err->code != HEFT_IO)
        err->offset = entry->data + (is_known ? err->offset : 0);
    return false;
}

static bool add_entry(struct heft_sampler *s, const struct heft_source *source,
                      const struct heft_zip_entry *entry, struct heft_arena *mem,
                      struct heft_error *err)
{
    struct heft_id_array *a = new_array(s, err);
    const bool ok =
        a &&
        (entry->method == HEFT_ZIP_DEFLATED
             ? spool_entry(s, source, entry, a, err)
             : heft_source_map(source, entry->data, entry->size, false, &a->map, err)) &&
        (read_npy(s, a, entry->size, mem, err) || place_error(entry, err));

    return ok || heft_error_about(err, "member", entry->name);
}

static bool add_npz(struct heft_sampler *s, const struct heft_source *source,
                    struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_zip zip;
    bool ok = heft_zip_open(&zip, source, NULL, &mem, err);

    for (size_t i = 0; ok && i < zip.count; i++)
        ok = add_entry(s, source, &zip.entries[i], &mem, err);
    heft_arena_release(&mem);
    return ok;
}

/* ---- .npy and streams -------------------------------------------------------------------- */

static bool read_stream(struct heft_id_array *a, uint64_t size, unsigned width,
                        struct heft_error *err)
{
    const uint8_t *const head = a->map.data;
    const uint32_t magic = size >= LLMC_BYTES ? heft_le32(head) : 0;
    const uint32_t version = size >= LLMC_BYTES ? heft_le32(head + 4) : 0;

    a->width = (uint8_t)width;
    a->n = size / width;
    if (magic == 20240520 || magic == 20240801) {
        if (version != (magic == 20240520 ? 1 : 7))
            return heft_fail(err, HEFT_UNSUPPORTED, 4,
                             "version %" PRIu32
                             " of llm.c's format; expected 1 (ids of 2 bytes) or 7 (4 bytes)",
                             version);
        a->off = LLMC_BYTES;
        a->width = version == 1 ? 2 : 4;
        a->n = heft_le32(head + 8);
    }
    if (size - a->off != a->n * a->width) /* n is below 2^32, or a part of size: no overflow */
        return heft_fail(err, HEFT_MALFORMED, a->off,
                         "%" PRIu64 " ids of %u bytes do not match the %" PRIu64 " bytes of data",
                         a->n, a->width, size - a->off);
    return true;
}

static bool add_plain(struct heft_sampler *s, const struct heft_source *source, bool is_npy,
                      unsigned width, struct heft_error *err)
{
    struct heft_id_array *a = new_array(s, err);
    struct heft_arena mem = {0};
    bool ok = a && heft_source_map(source, 0, source->size, false, &a->map, err);

    ok = ok && (is_npy ? read_npy(s, a, source->size, &mem, err)
                       : read_stream(a, source->size, width, err));
    heft_arena_release(&mem);
    return ok;
}

/* Refuses files that are not ids, though their bytes would be valid as a raw stream. */
static bool check_stream(const struct heft_source *source, struct heft_bytes head, unsigned width,
                         struct heft_error *err)
{
    if (head.n >= 9 && !memcmp(head.p, HEFT_MEGATRON_MAGIC, 9))
        return heft_fail(err, HEFT_UNSUPPORTED, 0,
                         "a Megatron index has no ids; use the .bin beside it");
    if (heft_decimals_are(head, source->size, source->label, width))
        return heft_fail(err, HEFT_UNSUPPORTED, 0, "decimals; expected binary ids of 2 or 4 bytes");
    return true;
}

bool heft_sampler_add_source(struct heft_sampler *s, const struct heft_source *source,
                             unsigned width, struct heft_error *err)
{
    uint8_t head[HEFT_IDS_HEAD] = {0};
    const size_t n = (size_t)heft_min_u64(sizeof head, source->size);

    if (!heft_source_read(source, 0, head, n, err) ||
        !check_stream(source, (struct heft_bytes){head, n}, width, err))
        return false;
    if (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4))
        return add_npz(s, source, err);
    return add_plain(s, source, !memcmp(head, "\x93NUMPY", 6), width, err);
}

bool heft_sampler_add(struct heft_sampler *s, const char *path, unsigned width,
                      struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (!heft_source_open_file(&source, path, err))
        return false;
    ok = heft_sampler_add_source(s, &source, width, err);
    heft_source_close(&source);
    return ok;
}
