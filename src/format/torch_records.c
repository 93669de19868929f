/* torch_records.c: the records of a torch zip besides data.pkl, and the map of its bytes.
 *
 *     ROOT/data.pkl              the pickle                                  torch.c
 *     ROOT/.format_version       "1": storages lie where §layout says        since 2.7
 *     ROOT/.storage_alignment    "64"                                        since 2.8
 *     ROOT/byteorder             "little" or "big"; absent: little           since 2.1
 *     ROOT/data/KEY              the bytes of a storage
 *     ROOT/version               "3\n"; or ROOT/.data/version
 *     ROOT/.data/serialization_id  40 digits that nobody checks
 *
 * Layout: record k+1 begins right behind record k and its data descriptor; its payload is moved to
 * the next multiple of the alignment by padding within the local header's extra field. */
#include "format/torch_parts.h"

#include <stdlib.h>

#include "base/text.h"

#define SMALL_RECORD 256 /* bytes of a record that holds one number or word */
#define MOST_NOTES   16  /* of a kind: the rest is counted */
#define MOST_ALIGN   (UINT64_C(1) << 30)

static const struct heft_source *source_of(const struct heft_torch *t)
{
    return &t->model->sources[t->source].source;
}

/* ---- names ------------------------------------------------------------------------------- */

/* "data/0" of "archive/data/0". */
static struct heft_str inner_name(const struct heft_torch *t, const struct heft_zip_entry *entry)
{
    const size_t skip = t->root.n + 1;

    return (struct heft_str){entry->name.p + skip, entry->name.n - skip};
}

static bool is_inside(const struct heft_torch *t, const struct heft_zip_entry *entry)
{
    return heft_str_starts(entry->name, t->root) && entry->name.n > t->root.n &&
           entry->name.p[t->root.n] == '/';
}

/* torch numbers storages from 0: such a key indexes an array. False for all other keys. */
static bool key_number(const struct heft_torch *t, struct heft_str key, size_t *number)
{
    size_t n = 0;

    if (key.n == 0 || key.n > 9 || (key.p[0] == '0' && key.n > 1))
        return false;
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] < '0' || key.p[i] > '9')
            return false;
        n = 10 * n + (size_t)(key.p[i] - '0');
    }
    *number = n;
    return n < t->zip.count;
}

static bool map_record(struct heft_torch *t, uint32_t index, struct heft_error *err)
{
    const struct heft_str data = HEFT_STR("data/"), name = inner_name(t, &t->zip.entries[index]);
    uint32_t found;
    size_t number;

    if (!heft_str_starts(name, data) ||
        !key_number(t, (struct heft_str){name.p + data.n, name.n - data.n}, &number))
        return heft_strmap_add(&t->records, name, index, &found, err);
    t->numbered[number] = index;
    return true;
}

/* Nearly every entry becomes a storage, with a claim before it and one behind it. */
static bool reserve(struct heft_torch *t, struct heft_error *err)
{
    struct heft_model *model = t->model;
    const size_t n = t->zip.count;

    return heft_grow(&t->storages, &t->cap_storages, 0, n, sizeof *t->storages, err) &&
           heft_grow(&model->storages, &model->cap_storages, model->n_storages, n,
                     sizeof *model->storages, err) &&
           heft_grow(&model->claims, &model->cap_claims, model->n_claims, 2 * n + 8,
                     sizeof *model->claims, err);
}

bool heft_torch_map_records(struct heft_torch *t, struct heft_error *err)
{
    const size_t n = t->zip.count;

    t->entry_marks = heft_arena_zero(&t->scratch, n, 1, err);
    t->numbered = heft_arena_alloc(&t->scratch, n * sizeof *t->numbered, err);
    if (!t->entry_marks || !t->numbered || !reserve(t, err))
        return false;
    memset(t->numbered, 0xFF, n * sizeof *t->numbered); /* HEFT_NONE */
    for (uint32_t i = 0; i < n; i++) {                  /* at most limits.entries */
        if (!is_inside(t, &t->zip.entries[i]))
            t->entry_marks[i] = HEFT_TORCH_OUTSIDE;
        else if (!map_record(t, i, err))
            return false;
    }
    return true;
}

bool heft_torch_find_record(const struct heft_torch *t, struct heft_str key, struct heft_buf *name,
                            uint32_t *entry, struct heft_error *err)
{
    size_t number;

    if (key_number(t, key, &number)) {
        *entry = t->numbered[number];
        return true;
    }
    name->n = 0;
    heft_buf_text(name, "data/");
    heft_buf_str(name, key);
    if (!heft_buf_ok(name, err))
        return false;
    *entry = heft_strmap_get(&t->records, (struct heft_str){name->p, name->n});
    return true;
}

/* ---- small records ----------------------------------------------------------------------- */

/* The content of a small record; *entry is NULL where there is none of that name. */
static bool fetch_small(struct heft_torch *t, const char *name, const struct heft_zip_entry **entry,
                        struct heft_str *out, struct heft_error *err)
{
    const uint32_t found = heft_strmap_get(&t->records, heft_str_of(name));
    struct heft_bytes bytes;

    *entry = NULL;
    if (found == HEFT_MAP_NONE)
        return true;
    *entry = &t->zip.entries[found];
    if ((*entry)->size > SMALL_RECORD)
        return heft_fail(err, HEFT_MALFORMED, (*entry)->data,
                         "record %s has %" PRIu64 " bytes, at most %d make sense", name,
                         (*entry)->size, SMALL_RECORD);
    if (!heft_zip_fetch(source_of(t), *entry, SMALL_RECORD, (*entry)->crc != 0, &t->scratch, &bytes,
                        err))
        return false;
    t->entry_marks[found] = HEFT_TORCH_PARSED;
    *out = (struct heft_str){(const char *)bytes.p, bytes.n};
    return true;
}

/* A leading decimal, as torch reads it; `rest` is what follows. False without a digit. A number
 * beyond 64 bits becomes the largest. */
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
    return heft_fail(err, HEFT_MALFORMED, entry->data, "record %s says \"%.*s\", %s", name,
                     (int)heft_min_u64(text.n, 40), text.p, allowed);
}

static bool read_version(struct heft_torch *t, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text, rest;
    uint64_t version;

    if (!fetch_small(t, "version", &entry, &text, err) ||
        (!entry && !fetch_small(t, ".data/version", &entry, &text, err)))
        return false;
    if (!entry)
        return heft_fail(err, HEFT_MALFORMED, t->zip.directory,
                         "the archive has no record version, which torch needs");
    if (!leading_number(text, &version, &rest) || version == 0)
        return bad_record(entry, "version", text, "a number from 1 to 10 is allowed", err);
    if (version > 10)
        return heft_fail(err, HEFT_UNSUPPORTED, entry->data,
                         "record version says \"%.*s\"; versions 1 to 10 are known",
                         (int)heft_min_u64(text.n, 40), text.p);
    return rest.n == 0 || heft_str_is(rest, "\n") ||
           heft_model_note(t->model, HEFT_NOTE, t->source, entry->data, err,
                           "record version has %zu bytes after the number", rest.n);
}

static bool read_byteorder(struct heft_torch *t, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text;

    if (!fetch_small(t, "byteorder", &entry, &text, err))
        return false;
    if (!entry)
        return true;
    t->has_byteorder = true;
    t->is_big = heft_str_is(text, "big");
    return t->is_big || heft_str_is(text, "little") ||
           bad_record(entry, "byteorder", text, "\"little\" and \"big\" are allowed", err);
}

static bool read_number(struct heft_torch *t, const char *name, uint64_t most, const char *allowed,
                        uint64_t *out, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text, rest;
    uint64_t number;

    if (!fetch_small(t, name, &entry, &text, err))
        return false;
    if (!entry)
        return true;
    if (!leading_number(text, &number, &rest) || number == 0 || number > most ||
        (rest.n && !heft_str_is(rest, "\n")))
        return bad_record(entry, name, text, allowed, err);
    *out = number;
    return true;
}

bool heft_torch_read_records(struct heft_torch *t, struct heft_error *err)
{
    const struct heft_zip_entry *entry;
    struct heft_str text;

    t->alignment = 64;
    return read_version(t, err) && read_byteorder(t, err) &&
           read_number(t, ".format_version", UINT32_MAX, "a number from 1 on is allowed",
                       &t->format, err) &&
           read_number(t, ".storage_alignment", MOST_ALIGN, "1 to 2^30 are allowed", &t->alignment,
                       err) &&
           fetch_small(t, ".data/serialization_id", &entry, &text, err);
}

/* ---- storages ---------------------------------------------------------------------------- */

bool heft_torch_store_record(struct heft_torch *t, uint32_t index, uint32_t *storage,
                             struct heft_error *err)
{
    const struct heft_zip_entry *entry = &t->zip.entries[index];
    const struct heft_storage s = {
        .off = entry->data,
        .packed = entry->packed,
        .len = entry->size,
        .label = t->entry_marks[index] == HEFT_TORCH_OUTSIDE ? entry->name : inner_name(t, entry),
        .source = t->source,
        .crc = entry->crc,
        .coding = entry->method == HEFT_ZIP_STORED ? HEFT_CODING_RAW : HEFT_CODING_DEFLATE,
        .has_crc = entry->crc != 0};

    t->entry_marks[index] = HEFT_TORCH_STORED;
    return heft_model_add_storage(t->model, &s, storage, err);
}

/* ---- notes ------------------------------------------------------------------------------- */

static bool note_outside(struct heft_torch *t, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < t->zip.count; i++) {
        const struct heft_zip_entry *entry = &t->zip.entries[i];

        if (t->entry_marks[i] != HEFT_TORCH_OUTSIDE || n++ >= MOST_NOTES)
            continue;
        if (!heft_model_note(t->model, HEFT_FINDING, t->source, entry->header, err,
                             "record %.200s is outside of the root %.100s/: torch refuses such an "
                             "archive",
                             entry->name.p, t->root.p))
            return false;
    }
    return n <= MOST_NOTES || heft_model_note(t->model, HEFT_FINDING, t->source, HEFT_NO_OFFSET,
                                              err, "%zu records in all are outside of the root", n);
}

static bool note_unused(struct heft_torch *t, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < t->zip.count; i++) {
        const struct heft_zip_entry *entry = &t->zip.entries[i];

        if (t->entry_marks[i] != HEFT_TORCH_LOOSE || entry->is_folder ||
            !heft_str_starts(inner_name(t, entry), HEFT_STR("data/")) || n++ >= MOST_NOTES)
            continue;
        if (!heft_model_note(t->model, HEFT_NOTE, t->source, entry->data, err,
                             "storage %.200s of %" PRIu64 " bytes, unused by any tensor",
                             inner_name(t, entry).p, entry->size))
            return false;
    }
    return n <= MOST_NOTES || heft_model_note(t->model, HEFT_NOTE, t->source, HEFT_NO_OFFSET, err,
                                              "%zu storages in all are unused by any tensor", n);
}

static bool note_crc(struct heft_torch *t, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < t->zip.count; i++)
        n += t->zip.entries[i].crc == 0 && t->zip.entries[i].size > 0;
    return n == 0 || heft_model_note(t->model, HEFT_NOTE, t->source, HEFT_NO_OFFSET, err,
                                     "%zu record%s no CRC-32 (0: not computed)", n,
                                     n == 1 ? " has" : "s have");
}

static bool note_pickle(struct heft_torch *t, struct heft_error *err)
{
    const size_t extra = t->pickle.data.n - t->pickle.length;
    const uint64_t at = t->base == HEFT_NO_OFFSET ? t->pkl->data : t->base + t->pickle.length;

    if (extra && !heft_model_note(t->model, HEFT_FINDING, t->source, at, err,
                                  "%zu bytes after the pickle's STOP", extra))
        return false;
    return t->pickle.left_over == 0 ||
           heft_model_note(t->model, HEFT_NOTE, t->source, at, err,
                           "the pickle leaves %" PRIu32 " value%s on its stack",
                           t->pickle.left_over, t->pickle.left_over == 1 ? "" : "s");
}

/* Where torch would look for the payload after `end` under a name of n bytes, without reading the
 * local header. */
static uint64_t computed_offset(const struct heft_torch *t, uint64_t end, size_t n, uint64_t size)
{
    const bool is_large = size >= UINT32_MAX, is_far = end >= UINT32_MAX;
    const uint64_t zip64 = is_large || is_far ? 4 + (is_large ? 16U : 0U) + (is_far ? 8U : 0U) : 0;
    const uint64_t start = end + 30 + n + zip64 + 4;
    const uint64_t beyond = start % t->alignment;

    return beyond ? start + (t->alignment - beyond) : start;
}

/* .format_version promises a layout from which torch computes offsets where it is asked to, instead
 * of reading them. Zip tools that repack a file break that promise. */
static bool note_layout(struct heft_torch *t, struct heft_error *err)
{
    const struct heft_zip_entry *last = NULL, *entry;

    for (size_t i = 0; t->format && i < t->n_storages; i++, last = entry) {
        const uint32_t index = i < t->zip.count ? t->numbered[i] : HEFT_NONE;
        uint64_t want;

        entry = &t->zip.entries[index == HEFT_NONE ? 0 : index];
        if (index == HEFT_NONE)
            return heft_model_note(t->model, HEFT_NOTE, t->source, t->zip.directory, err,
                                   "no record data/%zu: .format_version promises storages numbered "
                                   "in the order of their use",
                                   i);
        want = last ? computed_offset(t, last->end, entry->name.n, entry->size) : entry->data;
        if (entry->data != want)
            return heft_model_note(t->model, HEFT_NOTE, t->source, entry->data, err,
                                   "record data/%zu begins here, .format_version promises it at "
                                   "0x%" PRIx64 ", where torch may look for it",
                                   i, want);
    }
    return true;
}

/* ---- claims ------------------------------------------------------------------------------ */

static bool claim(struct heft_torch *t, uint64_t off, uint64_t len, const char *what,
                  struct heft_error *err)
{
    return len == 0 || heft_model_claim(t->model, t->source, off, len, what, err);
}

static bool claim_named(struct heft_torch *t, uint64_t off, uint64_t len, const char *what,
                        struct heft_str name, struct heft_error *err)
{
    return len == 0 || heft_model_claim_of(t->model, t->source, off, len, what, name, err);
}

static int compare_spans(const void *a, const void *b)
{
    const struct heft_torch_span *x = a, *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

/* data.pkl: what lies between the arrays that stand in it, and what follows STOP. */
static bool claim_pickle(struct heft_torch *t, struct heft_error *err)
{
    const uint64_t end = t->pkl->data + t->pkl->packed;
    const uint64_t stop = t->base == HEFT_NO_OFFSET ? end : t->base + t->pickle.length;
    uint64_t at = t->pkl->data;

    if (t->n_spans)
        qsort(t->spans, t->n_spans, sizeof *t->spans, compare_spans);
    for (size_t i = 0; i < t->n_spans; i++) {
        if (!claim(t, at, t->spans[i].off - at, "pickle data.pkl", err))
            return false;
        at = t->spans[i].off + t->spans[i].len;
    }
    return claim(t, at, stop - at, "pickle data.pkl", err) &&
           claim(t, stop, end - stop, "bytes after the pickle's STOP", err);
}

static bool claim_entry(struct heft_torch *t, uint32_t index, struct heft_error *err)
{
    const struct heft_zip_entry *entry = &t->zip.entries[index];
    const uint64_t end = entry->data + entry->packed;
    uint32_t storage;

    if (!claim_named(t, entry->header, entry->data - entry->header, "local header of ", entry->name,
                     err) ||
        !claim_named(t, end, entry->end - end, "data descriptor of ", entry->name, err))
        return false;
    if (entry == t->pkl)
        return claim_pickle(t, err);
    if (t->entry_marks[index] == HEFT_TORCH_PARSED || entry->is_folder)
        return claim_named(t, entry->data, entry->packed, "record ", inner_name(t, entry), err);
    return t->entry_marks[index] == HEFT_TORCH_STORED ||
           heft_torch_store_record(t, index, &storage, err);
}

bool heft_torch_claim_all(struct heft_torch *t, struct heft_error *err)
{
    if (!note_outside(t, err) || !note_pickle(t, err) || !note_layout(t, err) ||
        !note_unused(t, err) || !note_crc(t, err))
        return false;
    for (uint32_t i = 0; i < t->zip.count; i++) /* at most limits.entries */
        if (!claim_entry(t, i, err))
            return false;
    return claim(t, t->zip.directory, t->zip.directory_size, "zip central directory", err) &&
           claim(t, t->zip.tail, t->zip.tail_size, "zip end records", err);
}
