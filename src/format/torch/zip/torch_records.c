/* torch_records.c: the records of a torch zip besides data.pkl, and the map of all its bytes.
 *
 *     ROOT/data.pkl              the pickle                                  torch.c
 *     ROOT/.format_version       "1": storages follow the layout below       since 2.7
 *     ROOT/.storage_alignment    "64"                                        since 2.8
 *     ROOT/byteorder             "little" or "big"; absent: little           since 2.1
 *     ROOT/data/KEY              the bytes of a storage
 *     ROOT/version               "3\n"; or ROOT/.data/version
 *     ROOT/.data/serialization_id  40 digits that no reader checks
 *
 * Layout: record k+1 begins directly after record k and its data descriptor; padding in the extra
 * field of its local header moves its payload to the next multiple of the alignment. */
#include "format/torch/zip/torch_archive.h"

#include "base/text.h"

#define SMALL_RECORD 256 /* most bytes of a record that holds one number or word */
#define MOST_NOTES   16  /* most notes of a kind; further ones are counted */
#define MOST_ALIGN   (UINT64_C(1) << 30)

/* ---- small records ----------------------------------------------------------------------- */

/* Reads the content of a small record; *entry is NULL if there is no such record. */
static bool fetch_small(struct heft_torch_zip *z, const char *name,
                        const struct heft_zip_entry **entry, struct heft_str *out,
                        struct heft_error *err)
{
    const uint32_t found = heft_torch_record(z, heft_str_of(name));
    struct heft_bytes bytes;

    *entry = NULL;
    if (found == HEFT_NONE)
        return true;
    *entry = &z->zip.entries[found];
    if ((*entry)->fault == HEFT_ZIP_LOST || (*entry)->fault == HEFT_ZIP_OPEN)
        return heft_fail(err, HEFT_MALFORMED, (*entry)->header, "record %s is %s", name,
                         (*entry)->fault == HEFT_ZIP_OPEN ? "truncated" : "damaged");
    if ((*entry)->size > SMALL_RECORD)
        return heft_fail(err, HEFT_MALFORMED, (*entry)->data,
                         "record %s has %" PRIu64 " bytes, the limit is %d", name, (*entry)->size,
                         SMALL_RECORD);
    if (!heft_zip_fetch(&z->model->sources[z->source].source, *entry, SMALL_RECORD,
                        (*entry)->crc != 0, &z->scratch, &bytes, err))
        return false;
    z->marks[found] = HEFT_TORCH_PARSED;
    *out = (struct heft_str){(const char *)bytes.p, bytes.n};
    return true;
}

/* Parses a leading decimal as torch does; `rest` is what follows. False without a digit. Numbers
 * beyond 64 bits become the largest. */
static bool leading_number(struct heft_str text, uint64_t *out, struct heft_str *rest)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        if (!heft_mul(n, 10, &n) || !heft_add(n, (uint64_t)(text.p[i] - '0'), &n))
            n = UINT64_MAX;
    *out = n;
    *rest = (struct heft_str){text.p + i, text.n - i};
    return i > 0;
}

static bool bad_record(const struct heft_zip_entry *entry, const char *name, struct heft_str text,
                       const char *allowed, struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, entry->data, "record %s contains \"%.*s\", %s", name,
                     (int)heft_min_u64(text.n, 40), text.p, allowed);
}

static bool read_version(struct heft_torch_zip *z, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text, rest;
    uint64_t version;

    if (!fetch_small(z, "version", &entry, &text, err) ||
        (!entry && !fetch_small(z, ".data/version", &entry, &text, err)))
        return false;
    if (!entry)
        return heft_fail(err, HEFT_MALFORMED, z->zip.directory,
                         "record version is missing: torch needs it");
    if (!leading_number(text, &version, &rest) || version == 0)
        return bad_record(entry, "version", text, "expected a number from 1 to 10", err);
    if (version > 10)
        return heft_fail(err, HEFT_UNSUPPORTED, entry->data,
                         "record version contains \"%.*s\", expected 1 to 10",
                         (int)heft_min_u64(text.n, 40), text.p);
    z->version = version;
    return rest.n == 0 || heft_str_is(rest, "\n") ||
           heft_model_note(z->model, HEFT_NOTE, z->source, entry->data, err,
                           "record version has %zu bytes after the number", rest.n);
}

static bool read_byteorder(struct heft_torch_zip *z, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text;

    if (!fetch_small(z, "byteorder", &entry, &text, err))
        return false;
    if (!entry)
        return true;
    z->has_byteorder = true;
    z->is_big = heft_str_is(text, "big");
    return z->is_big || heft_str_is(text, "little") ||
           bad_record(entry, "byteorder", text, "expected \"little\" or \"big\"", err);
}

static bool read_number(struct heft_torch_zip *z, const char *name, uint64_t most,
                        const char *allowed, uint64_t *out, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text, rest;
    uint64_t number;

    if (!fetch_small(z, name, &entry, &text, err))
        return false;
    if (!entry)
        return true;
    if (!leading_number(text, &number, &rest) || number == 0 || number > most ||
        (rest.n && !heft_str_is(rest, "\n")))
        return bad_record(entry, name, text, allowed, err);
    *out = number;
    return true;
}

static bool read_format(struct heft_torch_zip *z, struct heft_error *err)
{
    return read_number(z, ".format_version", UINT32_MAX, "expected a positive number", &z->format,
                       err);
}

static bool read_alignment(struct heft_torch_zip *z, struct heft_error *err)
{
    return read_number(z, ".storage_alignment", MOST_ALIGN, "expected 1 to 2^30", &z->alignment,
                       err);
}

static bool read_id(struct heft_torch_zip *z, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text;

    return fetch_small(z, ".data/serialization_id", &entry, &text, err);
}

static const struct {
    bool (*read)(struct heft_torch_zip *z, struct heft_error *err);
    const char *if_damaged; /* the assumption made then; NULL if nothing depends on it */
} SMALL[] = {
    {read_version, NULL}, {read_byteorder, "assumed little-endian"},
    {read_format, NULL},  {read_alignment, NULL},
    {read_id, NULL},
};

/* Salvage: a damaged or missing small record does not matter, with one exception. */
static bool read_damaged(struct heft_torch_zip *z, size_t i, struct heft_error *err)
{
    struct heft_error found = {0};

    if (SMALL[i].read(z, &found))
        return true;
    if (!heft_model_forgives(z->model, &found)) {
        *err = found;
        return false;
    }
    return SMALL[i].if_damaged
               ? heft_model_damage(z->model, z->source, SMALL[i].if_damaged, &found, err)
               : heft_model_note(z->model, HEFT_FINDING, z->source, found.offset, err, "%s",
                                 found.text);
}

bool heft_torch_read_records(struct heft_torch_zip *z, struct heft_error *err)
{
    z->alignment = 64;
    for (size_t i = 0; i < HEFT_COUNT(SMALL); i++)
        if (!(z->model->salvage ? read_damaged(z, i, err) : SMALL[i].read(z, err)))
            return false;
    return true;
}

/* ---- notes ------------------------------------------------------------------------------- */

static bool note_outside(struct heft_torch_zip *z, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < z->zip.count; i++) {
        const struct heft_zip_entry *entry = &z->zip.entries[i];

        if (z->marks[i] != HEFT_TORCH_OUTSIDE || n++ >= MOST_NOTES)
            continue;
        if (!heft_model_note(
                z->model, HEFT_FINDING, z->source, entry->header, err,
                "record %.200s is outside the root %.100s/: torch refuses such an archive",
                entry->name.p, z->root.p))
            return false;
    }
    return n <= MOST_NOTES || heft_model_note(z->model, HEFT_FINDING, z->source, HEFT_NO_OFFSET,
                                              err, "%zu records in all are outside the root", n);
}

static bool is_in_storage_folder(struct heft_str name)
{
    return heft_str_starts(name, HEFT_STR("data/")) ||
           heft_str_starts(name, HEFT_STR("constants/")) ||
           heft_str_starts(name, HEFT_STR("bytecode/"));
}

static bool note_unused(struct heft_torch_zip *z, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < z->zip.count; i++) {
        const struct heft_zip_entry *entry = &z->zip.entries[i];

        if (z->marks[i] != HEFT_TORCH_LOOSE || entry->is_folder ||
            !is_in_storage_folder(heft_torch_inner_name(z, entry)) || n++ >= MOST_NOTES)
            continue;
        if (!heft_model_note(z->model, HEFT_NOTE, z->source, entry->data, err,
                             "storage %.200s (%" PRIu64 " bytes) is not used by any tensor",
                             heft_torch_inner_name(z, entry).p, entry->size))
            return false;
    }
    return n <= MOST_NOTES || heft_model_note(z->model, HEFT_NOTE, z->source, HEFT_NO_OFFSET, err,
                                              "%zu storages in all are not used by any tensor", n);
}

static bool note_crc(struct heft_torch_zip *z, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < z->zip.count; i++)
        n += z->zip.entries[i].crc == 0 && z->zip.entries[i].size > 0;
    return n == 0 || heft_model_note(z->model, HEFT_NOTE, z->source, HEFT_NO_OFFSET, err,
                                     "%zu record%s no CRC-32 (0: not computed)", n,
                                     n == 1 ? " has" : "s have");
}

/* Checks the layout that .format_version promises. On request torch computes offsets from it
 * instead of reading them; zip tools that repack a file break the promise. */
static bool note_layout(struct heft_torch_zip *z, struct heft_error *err)
{
    const struct heft_zip_entry *last = NULL, *entry;

    for (size_t i = 0; z->format && i < z->n_taken; i++, last = entry) {
        const uint32_t index = i < z->zip.count ? z->numbered[i] : HEFT_NONE;
        uint64_t want;

        entry = &z->zip.entries[index == HEFT_NONE ? 0 : index];
        if (index == HEFT_NONE)
            return heft_model_note(z->model, HEFT_NOTE, z->source, z->zip.directory, err,
                                   "record data/%zu is missing: .format_version promises storages "
                                   "numbered in the order of use",
                                   i);
        want = last ? heft_torch_computed_offset(z, last->end, entry->name.n, entry->size)
                    : entry->data;
        if (entry->data != want)
            return heft_model_note(z->model, HEFT_NOTE, z->source, entry->data, err,
                                   "record data/%zu begins here, .format_version promises it at "
                                   "0x%" PRIx64 ", where torch may look for it",
                                   i, want);
    }
    return true;
}

/* ---- claims ------------------------------------------------------------------------------ */

static bool claim_range(struct heft_torch_zip *z, uint64_t off, uint64_t len, const char *what,
                        struct heft_error *err)
{
    return len == 0 || heft_model_claim(z->model, z->source, off, len, what, err);
}

static bool claim_named(struct heft_torch_zip *z, uint64_t off, uint64_t len, const char *what,
                        struct heft_str name, struct heft_error *err)
{
    return len == 0 || heft_model_claim_of(z->model, z->source, off, len, what, name, err);
}

static bool claim_entry(struct heft_torch_zip *z, uint32_t index, struct heft_error *err)
{
    const struct heft_zip_entry *entry = &z->zip.entries[index];
    const uint64_t end = entry->data + entry->packed;
    uint32_t storage;

    if (!claim_named(z, entry->header, entry->data - entry->header, "local header of ", entry->name,
                     err) ||
        !claim_named(z, end, entry->end - end, "data descriptor of ", entry->name, err))
        return false;
    if (z->marks[index] == HEFT_TORCH_CLAIMED)
        return true;
    if (z->marks[index] == HEFT_TORCH_PARSED || entry->is_folder)
        return claim_named(z, entry->data, entry->packed, "record ",
                           heft_torch_inner_name(z, entry), err);
    if (z->marks[index] == HEFT_TORCH_STORED)
        return true;
    if (!heft_torch_store_record(z, index, &storage, err))
        return false;
    z->model->storages[storage].is_other =
        !heft_str_starts(heft_torch_inner_name(z, entry), HEFT_STR("data/"));
    return true;
}

bool heft_torch_claim_zip(struct heft_torch_zip *z, struct heft_error *err)
{
    if (!note_outside(z, err) || !note_layout(z, err) || !note_unused(z, err) || !note_crc(z, err))
        return false;
    for (uint32_t i = 0; i < z->zip.count; i++) /* fits: at most limits.entries */
        if (!claim_entry(z, i, err))
            return false;
    return claim_range(z, z->zip.directory, z->zip.directory_size, "zip central directory", err) &&
           claim_range(z, z->zip.tail, z->zip.tail_size, "zip end records", err);
}
