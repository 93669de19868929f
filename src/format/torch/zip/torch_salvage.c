/* torch_salvage.c: recovers the intact part of a torch zip that is truncated or damaged.
 *
 *     data.pkl │ byteorder │ data/0 │ data/1 │ data/2 … end of the file
 *     └ states the size of each storage        └ fewer bytes than that: lost
 *
 * The pickle comes first and lists every storage with its size, so a file truncated after it still
 * tells what is missing. The record at the cut is complete only if the file ends within its data
 * descriptor: a file that continues with other bytes may have been filled with zeros.
 *
 * A pickle with a wrong checksum, or one that is truncated, is used as far as it goes, with a note:
 * nothing can then prove that its names and shapes are right. */
#include "base/checksum.h"
#include "base/endian.h"
#include "format/torch/zip/torch_archive.h"

/* ---- records ----------------------------------------------------------------------------- */

#define NARROW 16 /* bytes of a data descriptor … */
#define WIDE   24 /* … with 64-bit sizes */

static bool is_far(const struct heft_zip_entry *entry, uint64_t size)
{
    return size >= UINT32_MAX || entry->header >= UINT32_MAX;
}

/* True if the n bytes at p begin a descriptor with that size. */
static bool begins_descriptor(const uint8_t *p, size_t n, bool wide, uint64_t size)
{
    uint8_t whole[WIDE] = {'P', 'K', 7, 8};

    if (n > 8)
        memcpy(whole + 4, p + 4, 4);
    else if (n > 4)
        memcpy(whole + 4, p + 4, n - 4);
    for (unsigned i = 0; i < (wide ? 8U : 4U); i++) {
        whole[8 + i] = (uint8_t)(size >> 8 * i);
        whole[(wide ? 16 : 12) + i] = whole[8 + i];
    }
    return memcmp(p, whole, n) == 0;
}

static bool close_open(const struct heft_source *src, struct heft_zip_entry *entry, uint64_t bytes,
                       struct heft_error *err)
{
    const bool wide = is_far(entry, bytes);
    const uint64_t rest = entry->packed - bytes;
    uint8_t tail[WIDE] = {0};

    if (rest <= (wide ? WIDE : NARROW)) {
        if (!heft_source_read(src, entry->data + bytes, tail, (size_t)rest, err))
            return false;
        if (begins_descriptor(tail, (size_t)rest, wide, bytes)) {
            entry->packed = entry->size = bytes;
            entry->crc = rest >= 8 ? heft_le32(tail + 4) : 0;
            entry->fault = HEFT_ZIP_SOUND;
            return true;
        }
    }
    return heft_fail(err, HEFT_MALFORMED, entry->data + bytes,
                     "record %.200s may be truncated: its data descriptor is missing here",
                     entry->name.p);
}

bool heft_torch_close_record(struct heft_torch_zip *z, struct heft_zip_entry *entry, uint64_t bytes,
                             struct heft_error *err)
{
    if (entry->fault == HEFT_ZIP_LOST)
        return heft_fail(err, HEFT_MALFORMED, entry->header,
                         "record %.200s: its local header is damaged and its bytes were not found",
                         entry->name.p);
    if (entry->fault != HEFT_ZIP_OPEN)
        return true;
    if (entry->method != HEFT_ZIP_STORED)
        return heft_fail(err, HEFT_MALFORMED, entry->data,
                         "record %.200s is deflated and truncated", entry->name.p);
    if (entry->packed < bytes)
        return heft_fail(err, HEFT_MALFORMED, entry->data,
                         "record %.200s is truncated: the file has %" PRIu64 " of its %" PRIu64
                         " bytes",
                         entry->name.p, entry->packed, bytes);
    return close_open(&z->model->sources[z->source].source, entry, bytes, err);
}

/* ---- damaged records with a pickle ------------------------------------------------------- */

bool heft_torch_fetch_damaged(struct heft_torch_zip *z, const struct heft_zip_entry *entry,
                              const char *what, uint64_t cap, struct heft_arena *arena,
                              struct heft_bytes *out, struct heft_error *err)
{
    struct heft_zip_entry open = *entry;
    struct heft_error found = {0};
    uint32_t crc;

    if (entry->fault == HEFT_ZIP_LOST)
        return heft_torch_close_record(z, &open, 0, err);
    if (entry->fault == HEFT_ZIP_OPEN)
        open.packed = open.size = heft_min_u64(entry->packed, cap);
    if (!heft_zip_fetch(&z->model->sources[z->source].source, &open, cap, false, arena, out, err))
        return false;
    crc = heft_crc32(0, out->p, out->n);
    if (entry->crc == 0 || crc == entry->crc)
        return true;
    heft_fail(&found, HEFT_MISMATCH, entry->data,
              "its CRC-32 is %08" PRIx32 ", expected %08" PRIx32
              ": names, shapes and offsets of tensors may be wrong",
              crc, entry->crc);
    return heft_model_damage(z->model, z->source, what, &found, err);
}

/* ---- expected length of the file --------------------------------------------------------- */

#define CENTRAL 46
#define TAIL    (56 + 20 + 22) /* bytes of the end records */

/* The file as torch would lay it out, record by record. */
struct layout {
    const struct heft_torch_zip *z;
    uint64_t data;    /* offset of the last record's payload */
    uint64_t end;     /* end of the records so far, with their descriptors */
    uint64_t central; /* bytes of their entries in the zip directory */
    uint64_t lacking; /* missing bytes of payloads */
    bool exact;
};

/* Small records with a size that follows from the name. */
static const struct {
    const char *name;
    uint64_t size;
} SIZES[] = {{"version", 2},
             {"byteorder", 6},
             {".data/serialization_id", 40},
             {".format_version", 1},
             {".storage_alignment", 2}};

/* Adds a record with a name of n bytes. False if the sum overflows. */
static bool add_record(struct layout *l, uint64_t n, uint64_t size)
{
    const bool large = size >= UINT32_MAX, far = l->end >= UINT32_MAX;
    const uint64_t begin = l->end, descriptor = size == 0 ? 0 : large || far ? WIDE : NARROW;

    l->central += CENTRAL + n + (large || far ? 4U + (large ? 16U : 0U) + (far ? 8U : 0U) : 0U);
    l->data = heft_torch_computed_offset(l->z, begin, (size_t)n, size);
    return l->data >= begin && heft_add(l->data, size, &l->end) &&
           heft_add(l->end, descriptor, &l->end);
}

/* Expected size of an unfinished record, from the pickle or from its name. */
static bool open_size(const struct heft_torch *t, const struct heft_torch_zip *z, uint32_t index,
                      uint64_t *size, struct heft_error *err)
{
    const struct heft_zip_entry *entry = &z->zip.entries[index];
    uint32_t found;

    *size = entry->size;
    if (entry == z->pkl)
        *size = t->pickle.length;
    for (size_t i = 0; i < HEFT_COUNT(SIZES); i++)
        if (heft_str_is(heft_torch_inner_name(z, entry), SIZES[i].name))
            *size = SIZES[i].size;
    for (size_t i = 0; i < t->n_storages; i++) {
        if (!t->storages[i].lost || !t->storages[i].type)
            continue;
        if (!heft_torch_find_entry(z, t->storages[i].key, &found, err))
            return false;
        if (found == index)
            *size = t->storages[i].bytes;
    }
    return true;
}

/* Adds the records of the file. If they do not follow torch's layout, neither will the missing
 * ones, and only the missing payload bytes are certain. */
static bool add_present(struct layout *l, const struct heft_torch *t, bool *fits,
                        struct heft_error *err)
{
    bool has_storage = false;

    for (uint32_t i = 0; *fits && i < l->z->zip.count; i++) {
        const struct heft_zip_entry *entry = &l->z->zip.entries[i];
        uint64_t size = entry->size;

        if (entry->fault == HEFT_ZIP_OPEN && !open_size(t, l->z, i, &size, err))
            return false;
        has_storage |= heft_str_starts(heft_torch_inner_name(l->z, entry), l->z->folder);
        *fits = add_record(l, entry->name.n, size);
        l->exact &= entry->data == l->data;
        *fits =
            *fits && heft_add(l->lacking, size - heft_min_u64(size, entry->packed), &l->lacking);
    }
    l->exact &= has_storage; /* newer releases put more records before the first storage */
    return true;
}

/* Adds the missing storages in the order of their use. If the existing ones are not a prefix of
 * that order, the padding between the missing ones is unknown. */
static bool add_absent(struct layout *l, const struct heft_torch *t, bool *fits,
                       struct heft_error *err)
{
    const uint64_t root = l->z->root.n + 1;
    uint32_t found, last = 0;
    bool is_missing = false;

    for (size_t i = 0; *fits && i < t->n_storages; i++) {
        const struct heft_torch_storage *s = &t->storages[i];

        if (!s->lost && s->storage == HEFT_NONE) /* on the meta device */
            continue;
        l->exact &= s->type != NULL;
        if (!heft_torch_find_entry(l->z, s->key, &found, err))
            return false;
        if (found != HEFT_NONE) {
            l->exact &= !is_missing && found >= last;
            last = found;
        } else if (s->type) {
            is_missing = true;
            *fits = add_record(l, root + l->z->folder.n + s->key.n, s->bytes) &&
                    heft_add(l->lacking, s->bytes, &l->lacking);
        }
    }
    if (heft_torch_record(l->z, HEFT_STR("version")) == HEFT_NONE &&
        heft_torch_record(l->z, HEFT_STR(".data/version")) == HEFT_NONE)
        *fits = *fits && add_record(l, root + strlen("version"), 2);
    if (l->z->has_byteorder &&
        heft_torch_record(l->z, HEFT_STR(".data/serialization_id")) == HEFT_NONE)
        *fits = *fits && add_record(l, root + strlen(".data/serialization_id"), 40);
    return true;
}

bool heft_torch_measure(struct heft_torch_zip *z, struct heft_torch *t, struct heft_error *err)
{
    struct layout l = {.z = z, .exact = !t->broken};
    bool fits = z->zip.walked;

    if (!add_present(&l, t, &fits, err) || !add_absent(&l, t, &fits, err))
        return false;
    if (fits && l.exact && heft_add(l.end, l.central + TAIL, &l.end))
        heft_model_expect(z->model, z->source, l.end, false);
    else if (fits && heft_add(l.lacking, z->model->sources[z->source].source.size, &l.lacking))
        heft_model_expect(z->model, z->source, l.lacking, true);
    return true;
}
