/* zip_end.c: finds a zip's directory by the records at the end of the file.
 *
 *     … │ central directory │ zip64 end record │ zip64 locator │ end record │ comment │ trailing
 *                           ▲ tail: the directory must end exactly here
 *
 *     end record               zip64 end record            zip64 locator
 *      0 50 4B 05 06            0 50 4B 06 06               0 50 4B 06 07
 *      4 this disk              4 size of the rest          4 disk of the zip64 record
 *      6 directory's disk      12 made by, needed           8 its offset
 *      8 entries here          16 this disk                16 disks
 *     10 entries               20 directory's disk
 *     12 directory size        24 entries here
 *     16 directory offset      32 entries
 *     20 comment length        40 directory size
 *                              48 directory offset
 *
 * A field of the end record that is all ones stands for its 64-bit counterpart; any other value
 * must equal it.
 *
 * The end record is searched in the last 65557 bytes, as by torch. Every position with its
 * signature is validated, in constant time; exactly one must be valid: with two, readers would
 * disagree about the contents. Because the directory must end at the begin of the end records, an
 * archive after other bytes is only accepted if its offsets count from the begin of the file. */
#include "wire/zip_parts.h"

#define SIG_END64   UINT32_C(0x06064B50)
#define SIG_LOCATOR UINT32_C(0x07064B50)

const uint8_t *heft_zip_bytes(const struct heft_zip_tail *t, uint64_t off, size_t n, uint8_t *room,
                              struct heft_error *err)
{
    if (off >= t->at && heft_within(off - t->at, n, t->n))
        return t->bytes + (off - t->at);
    return heft_source_read(t->src, off, room, n, err) ? room : NULL;
}

/* Compares a field of the end record with its 64-bit counterpart: equal, or all ones. */
static bool fields_agree(struct heft_error *err, uint64_t where, const char *what, uint64_t narrow,
                         uint64_t ones, uint64_t wide)
{
    if (narrow == wide || narrow == ones)
        return true;
    return heft_fail(err, HEFT_MALFORMED, where,
                     "end record gives %s %" PRIu64 ", the zip64 record gives %" PRIu64, what,
                     narrow, wide);
}

static bool check_disks(struct heft_error *err, uint64_t where, uint64_t disk, uint64_t first)
{
    if (disk == first && disk <= 1)
        return true;
    return heft_fail(err, HEFT_UNSUPPORTED, where,
                     "directory on disk %" PRIu64 ", this is disk %" PRIu64
                     ": archives in several parts are not read",
                     first, disk);
}

static bool merge_end64(struct heft_zip_end *end, const uint8_t *wide, uint64_t wide_at,
                        const uint8_t *p, struct heft_error *err)
{
    if (!check_disks(err, wide_at + 16, heft_le32(wide + 16), heft_le32(wide + 20)) ||
        !fields_agree(err, end->at + 8, "entries here", end->here, 0xFFFF, heft_le64(wide + 24)) ||
        !fields_agree(err, end->at + 10, "entries", end->entries, 0xFFFF, heft_le64(wide + 32)) ||
        !fields_agree(err, end->at + 12, "directory size", end->size, HEFT_ZIP_MANY,
                      heft_le64(wide + 40)) ||
        !fields_agree(err, end->at + 16, "directory offset", end->directory, HEFT_ZIP_MANY,
                      heft_le64(wide + 48)))
        return false;
    if (heft_le16(p + 4) != 0xFFFF && heft_le16(p + 4) != heft_le32(wide + 16))
        return heft_fail(err, HEFT_MALFORMED, end->at + 4,
                         "end record is of disk %u, the zip64 record of disk %" PRIu32,
                         heft_le16(p + 4), heft_le32(wide + 16));
    heft_zip_end_widen(end, wide, wide_at);
    return true;
}

/* Reads the zip64 record to which the locator at `at` points; it must end exactly at the
 * locator. */
static bool read_end64(const struct heft_zip_tail *t, struct heft_zip_end *end, uint64_t at,
                       const uint8_t *locator, const uint8_t *p, struct heft_error *err)
{
    const uint64_t wide_at = heft_le64(locator + 8);
    uint8_t room[HEFT_ZIP_END64];
    const uint8_t *wide;

    if (heft_le32(locator + 4) > 1 || heft_le32(locator + 16) > 1)
        return heft_fail(err, HEFT_UNSUPPORTED, at + 4,
                         "an archive of %" PRIu32 " disks, 1 is read", heft_le32(locator + 16));
    if (at < HEFT_ZIP_END64 || wide_at > at - HEFT_ZIP_END64)
        return heft_fail(err, HEFT_MALFORMED, at + 8,
                         "zip64 end record at %" PRIu64 ", it must end before %" PRIu64, wide_at,
                         at);
    wide = heft_zip_bytes(t, wide_at, HEFT_ZIP_END64, room, err);
    if (!wide)
        return false;
    if (heft_le32(wide) != SIG_END64)
        return heft_fail(err, HEFT_MALFORMED, wide_at,
                         "no zip64 end record where its locator points: signature 0x%08" PRIx32
                         ", 0x%08" PRIx32 " is needed",
                         heft_le32(wide), SIG_END64);
    if (heft_le64(wide + 4) != at - wide_at - 12)
        return heft_fail(err, HEFT_MALFORMED, wide_at + 4,
                         "zip64 end record of %" PRIu64 " bytes, there are %" PRIu64
                         " up to its locator",
                         heft_le64(wide + 4), at - wide_at - 12);
    return merge_end64(end, wide, wide_at, p, err);
}

static bool check_end(const struct heft_zip_tail *t, const struct heft_zip_end *end,
                      struct heft_error *err)
{
    uint8_t room[4];
    const uint8_t *p;
    uint64_t stop;

    if (end->here != end->entries)
        return heft_fail(err, HEFT_UNSUPPORTED, end->at + 8,
                         "%" PRIu64 " of %" PRIu64
                         " entries on this disk: archives in several parts are not read",
                         end->here, end->entries);
    if (!heft_add(end->directory, end->size, &stop) || stop != end->tail)
        return heft_fail(err, HEFT_MALFORMED, end->at + 12,
                         "central directory of %" PRIu64 " bytes at %" PRIu64
                         ", it must end at %" PRIu64
                         " where the end records begin: bytes were cut out or put in",
                         end->size, end->directory, end->tail);
    if (end->entries > end->size / HEFT_ZIP_CENTRAL)
        return heft_fail(err, HEFT_MALFORMED, end->at + 10,
                         "%" PRIu64 " entries in a directory of %" PRIu64
                         " bytes, each takes at least %d",
                         end->entries, end->size, HEFT_ZIP_CENTRAL);
    if (end->entries == 0)
        return true;
    p = heft_zip_bytes(t, end->directory, 4, room, err); /* inside the file: it ends at the tail */
    if (p && heft_le32(p) != HEFT_ZIP_SIG_CENTRAL)
        return heft_fail(err, HEFT_MALFORMED, end->directory,
                         "central directory begins with 0x%08" PRIx32 ", 0x%08" PRIx32 " is needed",
                         heft_le32(p), HEFT_ZIP_SIG_CENTRAL);
    return p != NULL;
}

/* Validates the end record at `at`, with the records before it. Constant time. */
static bool read_end(const struct heft_zip_tail *t, uint64_t at, struct heft_zip_end *end,
                     struct heft_error *err)
{
    const uint8_t *p = t->bytes + (at - t->at);
    const uint64_t room = t->src->size - at - HEFT_ZIP_END; /* at most HEFT_ZIP_REACH */
    uint8_t locator_room[HEFT_ZIP_LOCATOR];
    const uint8_t *locator = NULL;

    *end = heft_zip_read_end(p, at);
    if (heft_le16(p + 20) > room)
        return heft_fail(err, HEFT_MALFORMED, at + 20,
                         "archive comment of %u bytes, the file has %" PRIu64 " left",
                         heft_le16(p + 20), room);
    if (at >= HEFT_ZIP_LOCATOR) {
        locator = heft_zip_bytes(t, at - HEFT_ZIP_LOCATOR, HEFT_ZIP_LOCATOR, locator_room, err);
        if (!locator)
            return false;
    }
    if (locator && heft_le32(locator) == SIG_LOCATOR) {
        if (!read_end64(t, end, at - HEFT_ZIP_LOCATOR, locator, p, err))
            return false;
    } else if (!check_disks(err, at + 4, heft_le16(p + 4), heft_le16(p + 6))) {
        return false;
    }
    return check_end(t, end, err);
}

static bool no_end(const struct heft_zip_tail *t, struct heft_error *err)
{
    if (t->src->size < HEFT_ZIP_END)
        return heft_fail(err, HEFT_MALFORMED, t->src->size,
                         "a file of %" PRIu64 " bytes, the smallest zip has %d", t->src->size,
                         HEFT_ZIP_END);
    return heft_fail(err, HEFT_MALFORMED, t->src->size,
                     "no end of central directory in the last %zu of %" PRIu64
                     " bytes; the file is truncated or not a zip (a torch file whose download or "
                     "copy was cut off looks like this)",
                     t->n, t->src->size);
}

/* An error of the system rather than of the file. */
static bool is_grave(const struct heft_error *err)
{
    return err->code == HEFT_IO || err->code == HEFT_NOMEM;
}

/* Picks the only valid end record. If there is none, the error is that of the last one. */
static bool pick_end(const struct heft_zip_tail *t, struct heft_zip_end *found,
                     struct heft_error *err)
{
    struct heft_error why = {0};
    struct heft_zip_end end;
    bool good = false;

    for (size_t at = 0; heft_zip_next_end((struct heft_bytes){t->bytes, t->n}, &at); at++) {
        if (!read_end(t, t->at + at, &end, &why)) {
            if (is_grave(&why))
                break;
            continue;
        }
        if (good)
            return heft_fail(err, HEFT_MALFORMED, end.at,
                             "two end records hold up, at %" PRIu64 " and %" PRIu64
                             ": the archive is ambiguous",
                             found->at, end.at);
        *found = end;
        good = true;
    }
    if (is_grave(&why) || (!good && why.code)) {
        *err = why;
        return false;
    }
    return good || no_end(t, err);
}

static bool read_tail(struct heft_zip_tail *tail, struct heft_error *err)
{
    tail->bytes = tail->read = heft_alloc(tail->n, err);
    return tail->read && heft_source_read(tail->src, tail->at, tail->read, tail->n, err);
}

bool heft_zip_find_end(struct heft_zip_tail *tail, const struct heft_source *src,
                       struct heft_bytes known, struct heft_zip_end *end, struct heft_error *err)
{
    tail->src = src;
    tail->n = (size_t)heft_min_u64(src->size, HEFT_ZIP_REACH);
    tail->at = src->size - tail->n;
    if (known.n >= tail->n && known.n > 0)
        tail->bytes = known.p + (known.n - tail->n);
    else if (!read_tail(tail, err))
        return false;
    return pick_end(tail, end, err);
}
