/* zip_local.c: local headers, payloads and descriptors of a zip archive.
 *
 * The begin of a payload depends on the lengths in its local header, so each header must be read,
 * in the order of the file: by one read with the next ones, if these are close, else by a small
 * read of its own. Every record must end before the next one begins, which also keeps the work linear
 * in the file, whatever the directory claims. torch leaves crc and sizes zero (bit 3 set); if bit 3
 * is not set they must equal those of the directory. */
#include "wire/zip_parts.h"

#include "base/endian.h"

#include <stdlib.h>

/* Bytes that are read after header and name: usually all extra fields, also torch's padding to 64 bytes,
 * and the first bytes of the payload. */
#define GUESS 96
#define PIECE ((size_t)64 << 10)
#define PEEK  4096 /* packed bytes read for the begin of a record */

struct locals {
    const struct heft_zip *zip;
    const struct heft_zip_place *places; /* sorted */
    const struct heft_source *src;
    struct heft_error *err;
    struct heft_near near;
    uint8_t *room;  /* header, name and the begin of extra fields */
    uint8_t *extra; /* extra fields longer than GUESS; allocated on first use */
};

/* A local header that is being read. `limit` is the begin of the next record or of the
 * directory. */
struct local {
    const struct heft_zip_entry *e;
    size_t place; /* index in places */
    const uint8_t *p;
    size_t n; /* bytes at p */
    struct heft_zip_record r;
    uint64_t limit;
    unsigned flags; /* flags in the directory */
};

static bool fail_local(const struct locals *l, const struct local *h, unsigned field,
                       const char *what, uint64_t found, uint64_t wanted)
{
    return heft_fail(l->err, HEFT_MALFORMED, h->e->header + field,
                     "record \"%.*s\": local header has %s %" PRIu64 ", the directory has %" PRIu64,
                     heft_zip_shown(h->e->name), h->e->name.p, what, found, wanted);
}

/* ---- order and overlap ----------------------------------------------------------------------- */

static int by_header(const void *a, const void *b)
{
    const struct heft_zip_place *x = a, *y = b;

    if (x->header != y->header)
        return x->header < y->header ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void sort_places(struct heft_zip_place *places, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (places[i].header < places[i - 1].header) {
            qsort(places, n, sizeof *places, by_header);
            return;
        }
}

static bool refuse_overlap(const struct locals *l, const struct local *h, uint64_t reach,
                           const struct heft_zip_entry *next)
{
    const struct heft_str a = h->e->name;

    if (!next)
        return heft_fail(l->err, HEFT_MALFORMED, h->e->header,
                         "record \"%.*s\" reaches to %" PRIu64
                         ", the central directory begins at %" PRIu64,
                         heft_zip_shown(a), a.p, reach, h->limit);
    return heft_fail(
        l->err, HEFT_MALFORMED, h->e->header,
        "record \"%.*s\" reaches to %" PRIu64 ", into record \"%.*s\" that begins at %" PRIu64,
        heft_zip_shown(a), a.p, reach, heft_zip_shown(next->name), next->name.p, next->header);
}

/* ---- extra fields ---------------------------------------------------------------------------- */

/* Reads all of the extra fields. The record is known to be within its limit. */
static const uint8_t *load_extra(struct locals *l, const struct local *h)
{
    const size_t before = HEFT_ZIP_LOCAL_HEAD + h->e->name.n;

    if (h->r.extra.n <= h->n - before)
        return h->p + before;
    if (!l->extra)
        l->extra = heft_alloc(HEFT_ZIP_LONGEST, l->err);
    if (!l->extra ||
        !heft_source_read(l->src, h->e->header + before, l->extra, h->r.extra.n, l->err))
        return NULL;
    return l->extra;
}

/* True if the last extra field begins in the `have` bytes at p and is not a zip64 field: then its
 * content need not be read. torch's padding is such a field, and may be long. */
static bool ends_in_padding(const uint8_t *p, size_t have, size_t n, size_t *begin)
{
    size_t at = 0;

    while (have - at >= 4) {
        const size_t len = heft_le16(p + at + 2);

        *begin = at;
        if (len == n - at - 4)
            return heft_le16(p + at) != 1;
        if (len > have - at - 4)
            return false;
        at += 4 + len;
    }
    return false;
}

/* Looks for a zip64 field, and reads it. */
static bool local_zip64(struct locals *l, const struct local *h, struct heft_bytes *field)
{
    const size_t before = HEFT_ZIP_LOCAL_HEAD + h->e->name.n, have = h->n - before;
    const uint8_t *p = h->p + before;
    size_t n = h->r.extra.n, padding;

    *field = (struct heft_bytes){NULL, 0};
    if (n < 4)
        return true;
    if (n > have && ends_in_padding(p, have, n, &padding))
        n = padding;
    else
        p = load_extra(l, h);
    if (!p)
        return false;
    if (heft_zip_find_zip64((struct heft_bytes){p, n}, field))
        return true;
    return heft_fail(l->err, HEFT_MALFORMED, h->e->header + before,
                     "record \"%.*s\": extra fields of the local header that do not fit together",
                     heft_zip_shown(h->e->name), h->e->name.p);
}

/* ---- one local header ------------------------------------------------------------------------ */

/* What is read of the header at a place: up to its name and the begin of its extra fields. */
static bool head_range(const void *ctx, size_t place, uint64_t *begin, uint64_t *end)
{
    const struct locals *const l = ctx;
    const struct heft_zip_entry *const e = &l->zip->entries[l->places[place].index];

    *begin = e->header;
    *end = heft_min_u64(e->header + HEFT_ZIP_LOCAL_HEAD + e->name.n + GUESS, l->zip->directory);
    return true;
}

static bool read_local(struct locals *l, struct local *h)
{
    const uint64_t span = h->limit - h->e->header;

    h->n = (size_t)heft_min_u64(span, HEFT_ZIP_LOCAL_HEAD + h->e->name.n + GUESS);
    h->p = l->room;
    heft_near_look(&l->near, head_range, l, h->place, l->zip->count);
    if (!heft_source_read(&l->near.source, h->e->header, l->room, h->n, l->err))
        return false;
    h->r = heft_zip_local(h->p, h->e->header);
    return true;
}

static bool check_same(const struct locals *l, const struct local *h)
{
    const struct heft_zip_entry *e = h->e;
    const unsigned mask = HEFT_ZIP_SEALED | HEFT_ZIP_DESCRIPTOR;

    if (heft_le32(h->p) != HEFT_ZIP_SIG_LOCAL)
        return heft_fail(l->err, HEFT_MALFORMED, e->header,
                         "record \"%.*s\": local header begins with 0x%08" PRIx32 ", 0x%08" PRIx32
                         " is needed",
                         heft_zip_shown(e->name), e->name.p, heft_le32(h->p), HEFT_ZIP_SIG_LOCAL);
    if ((h->r.flags & mask) != (h->flags & mask))
        return fail_local(l, h, 6, "flags", h->r.flags, h->flags);
    if (h->r.method != e->method)
        return fail_local(l, h, 8, "method", h->r.method, e->method);
    if (h->r.name.n != e->name.n)
        return fail_local(l, h, 26, "a name of length", h->r.name.n, e->name.n);
    if (!heft_str_eq(h->r.name, e->name))
        return heft_fail(l->err, HEFT_MALFORMED, e->header + HEFT_ZIP_LOCAL_HEAD,
                         "record \"%.*s\": local header names it \"%.*s\"", heft_zip_shown(e->name),
                         e->name.p, heft_zip_shown(e->name), h->r.name.p);
    return true;
}

/* Checks checksum and sizes, unless they follow in a descriptor. */
static bool check_sizes(struct locals *l, struct local *h)
{
    struct heft_bytes field;

    if (h->flags & HEFT_ZIP_DESCRIPTOR)
        return true;
    if (h->r.crc != h->e->crc)
        return fail_local(l, h, 14, "CRC-32", h->r.crc, h->e->crc);
    if (h->r.packed == HEFT_ZIP_MANY || h->r.size == HEFT_ZIP_MANY) {
        if (!local_zip64(l, h, &field))
            return false;
        heft_zip_local_widen(&h->r, field);
    }
    if (h->r.packed != h->e->packed)
        return fail_local(l, h, 18, "a packed size of", h->r.packed, h->e->packed);
    if (h->r.size != h->e->size)
        return fail_local(l, h, 22, "a size of", h->r.size, h->e->size);
    return true;
}

/* Computes the end of the descriptor. Its form follows from the zip64 field and from the space
 * before the next record; it is not read here (see heft_zip_check_descriptor). */
static bool descriptor_end(struct locals *l, const struct local *h, uint64_t *end)
{
    const uint64_t room = h->limit - *end;
    struct heft_bytes field;
    unsigned wide;

    if (!(h->flags & HEFT_ZIP_DESCRIPTOR))
        return true;
    if (!local_zip64(l, h, &field))
        return false;
    wide = field.p ? 24 : 16;
    if (room >= wide)
        *end += wide;
    else if (room >= wide - 4)
        *end += wide - 4; /* without signature */
    else if (h->e->size)
        return heft_fail(l->err, HEFT_MALFORMED, *end,
                         "record \"%.*s\": %" PRIu64
                         " bytes after the payload, its data descriptor needs %u",
                         heft_zip_shown(h->e->name), h->e->name.p, room, wide);
    return true; /* an empty record may have none */
}

/* Keeps the first byte of a payload that is stored, if it was read with the header. */
static void keep_first(const struct local *h, struct heft_zip_entry *entry)
{
    const uint64_t at = entry->data - entry->header;

    entry->has_first = entry->method == HEFT_ZIP_STORED && entry->size > 0 && at < h->n;
    entry->first = entry->has_first ? h->p[at] : 0;
}

static bool do_local(struct locals *l, struct local *h, const struct heft_zip_entry *next,
                     struct heft_zip_entry *entry)
{
    const uint64_t span = h->limit - h->e->header;
    const uint64_t least = HEFT_ZIP_LOCAL_HEAD + h->e->name.n;
    uint64_t data, end;

    if (span < least)
        return refuse_overlap(l, h, h->e->header + least, next);
    if (!read_local(l, h) || !check_same(l, h))
        return false;
    data = h->r.data;
    if (data > h->limit)
        return refuse_overlap(l, h, data, next);
    if (!heft_add(data, h->e->packed, &end) || end > h->limit)
        return refuse_overlap(l, h, h->e->packed > UINT64_MAX - data ? UINT64_MAX : end, next);
    if (!check_sizes(l, h) || !descriptor_end(l, h, &end))
        return false;
    entry->data = data;
    entry->end = end;
    keep_first(h, entry);
    return true;
}

/* ---- all local headers ----------------------------------------------------------------------- */

static bool prepare_room(struct locals *l)
{
    size_t longest = 0;

    for (size_t i = 0; i < l->zip->count; i++)
        if (l->zip->entries[i].name.n > longest)
            longest = l->zip->entries[i].name.n;
    l->room = heft_alloc(HEFT_ZIP_LOCAL_HEAD + longest + GUESS, l->err);
    return l->room && heft_near_open(&l->near, l->src, l->err);
}

static void close_locals(struct locals *l)
{
    heft_near_close(&l->near);
    heft_free(l->room);
    heft_free(l->extra);
}

bool heft_zip_check_local(const struct heft_source *src, struct heft_zip_entry *entry,
                          const struct heft_zip_entry *next, unsigned flags, uint64_t limit,
                          struct heft_error *err)
{
    const struct heft_zip one = {.entries = entry, .count = 1, .directory = limit};
    const struct heft_zip_place place = {.header = entry->header};
    struct locals l = {.zip = &one, .places = &place, .src = src, .err = err};
    struct local h = {.e = entry, .limit = limit, .flags = flags};
    const bool ok = prepare_room(&l) && do_local(&l, &h, next, entry);

    close_locals(&l);
    return ok;
}

/* Whether the local header of places[i] is not needed now. */
static bool leave_unread(struct heft_zip *zip, const struct heft_zip_place *places, size_t i,
                         const struct local *h)
{
    const size_t next = i + 1 < zip->count ? places[i + 1].index : zip->count;

    if (!zip->unread || !heft_zip_find_payload(&zip->entries[places[i].index], h->flags, h->limit))
        return false;
    zip->unread[zip->n_unread++] = (struct heft_zip_unread){.limit = h->limit,
                                                            .index = places[i].index,
                                                            .next = (uint32_t)next,
                                                            .flags = places[i].flags};
    return true;
}

/* Like do_local, for an archive that may be damaged: an invalid header is not an error. */
static bool mend_local(struct locals *l, struct local *h, const struct heft_zip_entry *next,
                       struct heft_zip_entry *entry)
{
    struct heft_error *const err = l->err;
    struct heft_error found = {0};
    bool has_header;

    l->err = &found;
    has_header = do_local(l, h, next, entry);
    l->err = err;
    if (!has_header && (found.code == HEFT_NOMEM || found.code == HEFT_IO)) {
        *err = found;
        return false;
    }
    return heft_zip_mend(l->src, entry, has_header, h->flags, h->limit, err);
}

static struct local local_at(const struct heft_zip *zip, const struct heft_zip_place *places,
                             size_t i)
{
    return (struct local){.e = &zip->entries[places[i].index],
                          .place = i,
                          .limit = i + 1 == zip->count ? zip->directory : places[i + 1].header,
                          .flags = places[i].flags};
}

/* The record after places[i]; NULL: it is the last. */
static const struct heft_zip_entry *next_of(const struct heft_zip *zip,
                                            const struct heft_zip_place *places, size_t i)
{
    return i + 1 == zip->count ? NULL : &zip->entries[places[i + 1].index];
}

/* Reads the local header at places[i]; false if its payload is not where leave_unread assumes it. */
static bool is_as_assumed(struct locals *l, size_t i)
{
    struct heft_error *const err = l->err;
    struct local h = local_at(l->zip, l->places, i);
    struct heft_zip_entry found = *h.e, assumed = *h.e;
    struct heft_error ignored = {0};
    bool ok;

    if (!heft_zip_find_payload(&assumed, h.flags, h.limit))
        return true;
    l->err = &ignored;
    ok = do_local(l, &h, next_of(l->zip, l->places, i), &found);
    l->err = err;
    return ok && found.data == assumed.data;
}

/* Writers lay out all records alike: an archive with gaps has them in its first record, or in the
 * last one. */
static bool has_layout_of_torch(struct locals *l)
{
    const size_t n = l->zip->count;

    return n == 0 || (is_as_assumed(l, n - 1) && is_as_assumed(l, 0));
}

bool heft_zip_locals(struct heft_zip *zip, const struct heft_source *src,
                     struct heft_zip_place *places, bool mending, struct heft_error *err)
{
    struct locals l = {.zip = zip, .places = places, .src = src, .err = err};
    bool done = prepare_room(&l);

    sort_places(places, zip->count);
    if (done && zip->unread && !has_layout_of_torch(&l))
        zip->unread = NULL;
    for (size_t i = 0; done && i < zip->count; i++) {
        struct local h = local_at(zip, places, i);

        done = leave_unread(zip, places, i, &h) ||
               (mending ? mend_local : do_local)(&l, &h, next_of(zip, places, i),
                                                 &zip->entries[places[i].index]);
    }
    close_locals(&l);
    return done;
}

/* ---- payloads -------------------------------------------------------------------------------- */

static bool name_record(struct heft_error *err, const struct heft_zip_entry *entry)
{
    if (err->offset == HEFT_NO_OFFSET && err->code != HEFT_NOMEM)
        err->offset = entry->data;
    return heft_error_about(err, "record", entry->name);
}

struct heft_stream heft_zip_stream(const struct heft_source *src,
                                   const struct heft_zip_entry *entry)
{
    return (struct heft_stream){.parent = src,
                                .off = entry->data,
                                .packed = entry->packed,
                                .size = entry->size,
                                .crc = entry->crc,
                                .check_crc = entry->crc != 0,
                                .is_stored = entry->method == HEFT_ZIP_STORED};
}

static bool peek_deflated(const struct heft_stream *stream, uint8_t *out, size_t *n,
                          struct heft_error *err)
{
    struct heft_stream_reader r;
    struct heft_error found = {0};
    const bool ok =
        heft_stream_open(&r, stream, PEEK, &found) && heft_stream_take_some(&r, out, n, &found);

    heft_stream_close(&r);
    if (!ok && found.code != HEFT_MALFORMED)
        *err = found;
    return ok || found.code == HEFT_MALFORMED;
}

bool heft_zip_peek(const struct heft_source *src, const struct heft_zip_entry *entry, uint8_t *out,
                   size_t *n, struct heft_error *err)
{
    struct heft_stream stream = heft_zip_stream(src, entry);

    stream.check_crc = false;
    *n = (size_t)heft_min_u64(*n, entry->size);
    return (stream.is_stored ? heft_source_read(src, entry->data, out, *n, err)
                             : peek_deflated(&stream, out, n, err)) ||
           name_record(err, entry);
}

static bool fetch_payload(const struct heft_stream *stream, uint8_t *bytes, size_t n,
                          struct heft_error *err)
{
    struct heft_stream_reader r;
    const bool ok = heft_stream_open(&r, stream, PIECE, err) &&
                    heft_stream_take(&r, bytes, n, err) && heft_stream_end(&r, err);

    heft_stream_close(&r);
    return ok;
}

bool heft_zip_fetch(const struct heft_source *src, const struct heft_zip_entry *entry, uint64_t cap,
                    bool check, struct heft_arena *arena, struct heft_bytes *out,
                    struct heft_error *err)
{
    struct heft_stream stream = heft_zip_stream(src, entry);
    uint8_t *bytes = NULL;
    size_t n;

    stream.check_crc &= check;
    if (entry->size > cap || !heft_size(entry->size, &n)) {
        heft_fail(err, HEFT_LIMIT, entry->data, "%" PRIu64 " bytes, the limit is %" PRIu64,
                  entry->size, cap);
        return name_record(err, entry);
    }
    if (heft_stream_check_range(&stream, err))
        bytes = heft_arena_alloc(arena, n, err);
    *out = (struct heft_bytes){bytes, n};
    return (bytes && fetch_payload(&stream, bytes, n, err)) || name_record(err, entry);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

bool heft_zip_is_descriptor(const uint8_t *p, unsigned length, const struct heft_zip_entry *entry)
{
    struct heft_zip_entry said = *entry;

    return heft_zip_read_descriptor(p, length, &said) && said.crc == entry->crc &&
           said.packed == entry->packed && said.size == entry->size;
}

bool heft_zip_check_descriptor(const struct heft_source *src, const struct heft_zip_entry *entry,
                               uint64_t *length, struct heft_error *err)
{
    const uint64_t at = entry->data + entry->packed;
    const size_t n = (size_t)heft_min_u64(src->size - at, 24);
    /* the expected form first: a short one can look like the begin of a long one */
    const unsigned forms[] = {(unsigned)(entry->end - at), 16, 24, 12, 20};
    uint8_t bytes[24] = {0};

    *length = 0;
    if (entry->end == at)
        return true;
    if (!heft_source_read(src, at, bytes, n, err))
        return false;
    for (size_t i = 0; i < HEFT_COUNT(forms); i++)
        if (forms[i] <= n && heft_zip_is_descriptor(bytes, forms[i], entry)) {
            *length = forms[i];
            return true;
        }
    if (entry->size == 0)
        return true; /* an empty record may have none */
    heft_fail(err, HEFT_MALFORMED, at,
              "the data descriptor does not say what the directory says: CRC-32 %08" PRIx32
              ", %" PRIu64 " bytes packed, %" PRIu64 " unpacked",
              entry->crc, entry->packed, entry->size);
    return name_record(err, entry);
}

bool heft_zip_check_descriptors(const struct heft_source *src, const struct heft_zip_limits *limits,
                                void (*tell)(void *ctx, uint64_t offset, const char *text),
                                void *ctx, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_zip zip;
    bool ok = heft_zip_open(&zip, src, limits, &mem, err);

    for (size_t i = 0; ok && i < zip.count; i++) {
        struct heft_error found = {0};
        uint64_t length;

        if (heft_zip_check_descriptor(src, &zip.entries[i], &length, &found))
            continue;
        ok = found.code == HEFT_MALFORMED;
        if (ok)
            tell(ctx, found.offset, found.text);
        else
            *err = found;
    }
    heft_arena_release(&mem);
    return ok;
}
