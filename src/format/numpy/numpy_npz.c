/* numpy_npz.c: archives of arrays, as numpy.savez and savez_compressed write them.
 *
 *     PK\3\4 … NAME.npy  [zip64 sizes]  │ npy header │ data       stored, or deflated together
 *     PK\3\4 … OTHER                    │ bytes                   not an array
 *     PK\1\2 … central directory, end records
 *
 * The directory's CRC covers header and data. The CRC of stored data alone is derived from it, so
 * that data to be copied need not be read twice: crc(header data) = crc(header)·x^8n +
 * crc(data). */
#include "format/numpy/numpy_parts.h"

#include "base/checksum.h"
#include "wire/zip.h"

#define HEADERS (UINT64_C(64) << 20) /* bytes of deflated headers beyond the file's size */
#define OTHER                                                                                      \
    (UINT64_C(1) << 20) /* bytes of a member whose name ends in .npy but that is
                                          not an array */
#define HEAD 256        /* bytes of a member read at once: most headers have 128 */

struct archive {
    struct heft_model *model;
    uint32_t source;
    struct heft_source src;
    struct heft_near near; /* for the headers of stored members */
    struct heft_zip zip;
    struct heft_arena mem;
    uint8_t *room; /* HEFT_NPY_LONGEST bytes, for a header */
    struct heft_numpy_texts texts;
    uint64_t headers; /* bytes of headers that may still be decompressed */
};

/* ---- probe ----------------------------------------------------------------------------------- */

/* An archive without entries: 22 bytes. */
static bool is_empty(const struct heft_probe *sample)
{
    static const uint8_t zeros[18];

    return sample->size == 22 && memcmp(sample->head.p, "PK\5\6", 4) == 0 &&
           memcmp(sample->head.p + 4, zeros, sizeof zeros) == 0;
}

static bool has_text(struct heft_bytes bytes, const char *text, size_t n)
{
    const uint8_t *p = bytes.p, *const end = p + bytes.n;

    while ((size_t)(end - p) >= n && (p = memchr(p, text[0], (size_t)(end - p) - n + 1))) {
        if (memcmp(p, text, n) == 0)
            return true;
        p++;
    }
    return false;
}

/* True if the first member's name ends in .npy, or a name in the directory does, followed by an
 * extra field or the next entry. */
static int probe(const struct heft_probe *sample)
{
    const struct heft_bytes head = sample->head;
    size_t name;

    if (head.n < 22)
        return 0;
    if (is_empty(sample))
        return 30;
    if (head.n < 30 || memcmp(head.p, "PK\3\4", 4) != 0)
        return 0;
    name = (size_t)head.p[26] | (size_t)head.p[27] << 8;
    if (name >= 4 && name <= head.n - 30 && memcmp(head.p + 30 + name - 4, ".npy", 4) == 0)
        return 60;
    return has_text(sample->tail, ".npyPK", 6) ? 40 : 0;
}

/* ---- members of the archive ------------------------------------------------------------------ */

/* What is read of a stored member at first. */
static bool head_range(const void *ctx, size_t index, uint64_t *begin, uint64_t *end)
{
    const struct archive *const a = ctx;
    const struct heft_zip_entry *const entry = &a->zip.entries[index];

    *begin = entry->data;
    *end = entry->data + heft_min_u64(entry->packed, HEAD);
    return entry->method == HEFT_ZIP_STORED && entry->fault == HEFT_ZIP_SOUND;
}

/* Reads the header, with a single read if it is short. */
static bool read_header(struct archive *a, const struct heft_zip_entry *entry,
                        struct heft_bytes *header, struct heft_error *err)
{
    const bool is_stored = entry->method == HEFT_ZIP_STORED;
    const struct heft_source *const src = is_stored ? &a->near.source : &a->src;
    const uint64_t base = is_stored ? entry->data : HEFT_NO_OFFSET;
    size_t n = HEAD, length;

    if (!heft_zip_peek(src, entry, a->room, &n, err) ||
        !heft_npy_length((struct heft_bytes){a->room, n}, base, &length, err))
        return false;
    if (length > n && length > HEAD) {
        n = length;
        if (!heft_zip_peek(src, entry, a->room, &n, err))
            return false;
    }
    *header = (struct heft_bytes){a->room, length};
    if (length > a->headers)
        return heft_fail(err, HEFT_LIMIT, entry->data,
                         "the npy headers inflate to much more than the file");
    a->headers -= length;
    return length <= n || heft_fail(err, HEFT_MALFORMED, entry->data,
                                    "npy header of %zu bytes, %zu are there", length, n);
}

static struct heft_storage member_storage(const struct archive *a,
                                          const struct heft_zip_entry *entry)
{
    return (struct heft_storage){
        .off = entry->data,
        .packed = entry->packed,
        .len = entry->size,
        .label = entry->name,
        .source = a->source,
        .crc = entry->crc,
        .sum = HEFT_SUM_CRC32,
        .coding = entry->method == HEFT_ZIP_STORED ? HEFT_CODING_RAW : HEFT_CODING_DEFLATE,
    };
}

/* Skips the header of a stored member: the storage begins after it, with the CRC of the data
 * alone. */
static void step_over(struct heft_storage *s, struct heft_bytes header)
{
    s->off += header.n;
    s->len -= header.n;
    s->packed = s->len;
    s->crc ^= heft_crc32_combine(heft_crc32(0, header.p, header.n), 0, s->len);
}

static bool note_rest(struct archive *a, const struct heft_numpy_array *array,
                      const struct heft_zip_entry *entry, struct heft_error *err)
{
    const uint64_t end = array->npy.data + array->npy.bytes;

    return array->npy.type.each == 0 || end >= entry->size ||
           heft_model_leave(a->model, a->source, entry->data, err,
                            "%.200s has %" PRIu64
                            " bytes after its array: ignored, as by numpy.load",
                            entry->name.p, entry->size - end);
}

static bool add_array(struct archive *a, const struct heft_zip_entry *entry, struct heft_error *err)
{
    struct heft_numpy_array array = {.name = {entry->name.p, entry->name.n - 4},
                                     .where = entry->data,
                                     .storage = member_storage(a, entry)};
    const bool is_stored = entry->method == HEFT_ZIP_STORED;
    struct heft_bytes header;

    if (!read_header(a, entry, &header, err) ||
        !heft_npy_parse(&array.npy, header, is_stored ? entry->data : HEFT_NO_OFFSET, err))
        return false;
    if (is_stored)
        step_over(&array.storage, header);
    else
        array.begin = array.storage.front = (uint32_t)header.n;
    array.name.p = heft_arena_text(&a->model->mem, array.name, err);
    /* the byte map has the name three times: of both zip headers and of the tensor */
    return array.name.p && heft_model_weigh_name(a->model, entry->name, 0, err) &&
           (!is_stored || heft_model_claim_of(a->model, a->source, entry->data, header.n,
                                              "npy header of ", entry->name, err)) &&
           heft_numpy_add(a->model, &array, &a->texts, err) && note_rest(a, &array, entry, err);
}

static bool add_other(struct archive *a, const struct heft_zip_entry *entry, struct heft_error *err)
{
    struct heft_storage storage = member_storage(a, entry);
    uint32_t index;

    if (entry->is_folder)
        return entry->packed == 0 ||
               heft_model_claim_of(a->model, a->source, entry->data, entry->packed, "record ",
                                   entry->name, err);
    return heft_model_add_storage(a->model, &storage, &index, err) &&
           heft_model_add_blob(a->model, entry->name, index, "member", err);
}

/* numpy.load recognises arrays by their first bytes, whatever their names: `__MACOSX/._x.npy` is
 * not an array. An array with damaged first bytes must not be taken for plain bytes, so the
 * checksum must match. */
static bool is_no_array(struct archive *a, const struct heft_zip_entry *entry, bool *yes,
                        struct heft_error *err)
{
    struct heft_error found = {0};
    struct heft_arena mem = {0};
    struct heft_bytes bytes;

    *yes = false;
    if (entry->fault != HEFT_ZIP_SOUND || entry->size > heft_min_u64(a->headers, OTHER) ||
        (entry->crc == 0 && entry->size > 0))
        return true;
    a->headers -= entry->size;
    if (heft_zip_fetch(&a->src, entry, OTHER, true, &mem, &bytes, &found))
        *yes = bytes.n < 6 || memcmp(bytes.p, "\x93NUMPY", 6) != 0;
    else if (found.code == HEFT_NOMEM || found.code == HEFT_IO)
        *err = found;
    heft_arena_release(&mem);
    return found.code != HEFT_NOMEM && found.code != HEFT_IO;
}

/* Salvage: records an unreadable array as lost. */
static bool lose_array(struct archive *a, const struct heft_zip_entry *entry,
                       struct heft_error *found, struct heft_error *err)
{
    const struct heft_str name = {entry->name.p, entry->name.n - 4};

    if (found->offset == HEFT_NO_OFFSET)
        found->offset = entry->data;
    if (found->code != HEFT_NOMEM && found->code != HEFT_IO)
        heft_error_about(found, "array", name);
    if (heft_model_forgives(a->model, found))
        return heft_model_lose(a->model, name, a->source, found, err);
    *err = *found;
    return false;
}

static bool check_whole(const struct heft_zip_entry *entry, struct heft_error *err)
{
    static const char *const faults[] = {[HEFT_ZIP_DOUBTFUL] = "said in two ways",
                                         [HEFT_ZIP_OPEN] = "cut off",
                                         [HEFT_ZIP_LOST] = "damaged in front"};

    return entry->fault == HEFT_ZIP_SOUND || entry->fault == HEFT_ZIP_MENDED ||
           heft_fail(err, HEFT_MALFORMED, entry->header, "record %.200s is %s", entry->name.p,
                     faults[entry->fault]);
}

static bool add_member(struct archive *a, const struct heft_zip_entry *entry,
                       struct heft_error *err)
{
    const uint64_t end = entry->data + entry->packed;
    struct heft_error found = {0};
    bool is_other = false;

    if (entry->fault != HEFT_ZIP_LOST &&
        (!heft_model_claim_of(a->model, a->source, entry->header, entry->data - entry->header,
                              "local header of ", entry->name, err) ||
         (entry->end > end && !heft_model_claim_of(a->model, a->source, end, entry->end - end,
                                                   "data descriptor of ", entry->name, err))))
        return false;
    if (!heft_str_ends(entry->name, ".npy"))
        return add_other(a, entry, err);
    if (check_whole(entry, &found) && add_array(a, entry, &found))
        return true;
    if (found.code == HEFT_MALFORMED && !is_no_array(a, entry, &is_other, err))
        return false;
    if (!is_other)
        return lose_array(a, entry, &found, err);
    return heft_model_note(a->model, HEFT_NOTE, a->source, entry->data, err,
                           "%.200s is not an array", entry->name.p) &&
           add_other(a, entry, err);
}

/* ---- verifying descriptors ------------------------------------------------------------------- */

static struct heft_zip_limits limits_of(const struct heft_model *model)
{
    struct heft_zip_limits limits = heft_zip_limits_of(&model->limits, model->file_bytes);

    limits.labels = true;
    return limits;
}

struct telling {
    const struct heft_reporter *to;
    uint32_t source;
};

static void report_finding(void *ctx, uint64_t offset, const char *text)
{
    const struct telling *t = ctx;

    t->to->report(t->to->ctx, HEFT_FINDING, t->source, offset, text);
}

static bool verify_npz(const struct heft_model *model, uint32_t source,
                       const struct heft_reporter *to, struct heft_error *err)
{
    const struct heft_zip_limits limits = limits_of(model);
    struct telling telling = {to, source};

    return heft_zip_check_descriptors(&model->sources[source].source, &limits, report_finding,
                                      &telling, err);
}

/* ---- open ------------------------------------------------------------------------------------ */

static bool open_directory(struct archive *a, struct heft_error *err)
{
    const struct heft_zip_limits limits = limits_of(a->model);
    struct heft_error why = {0};

    if (!a->model->salvage)
        return heft_zip_open_apart(&a->zip, &a->src, heft_model_tail(a->model, a->source), &limits,
                                   &a->mem, &a->model->mem, err);
    return heft_zip_salvage(&a->zip, &a->src, &limits, &a->model->mem, &why, err) &&
           (why.code == HEFT_OK ||
            heft_model_damage(a->model, a->source, "members may be missing", &why, err));
}

static bool claim_ends(struct archive *a, struct heft_error *err)
{
    const struct heft_zip *zip = &a->zip;

    return (zip->directory_size == 0 ||
            heft_model_claim(a->model, a->source, zip->directory, zip->directory_size,
                             "zip central directory", err)) &&
           (zip->tail_size == 0 || heft_model_claim(a->model, a->source, zip->tail, zip->tail_size,
                                                    "zip end records", err));
}

/* Each member has a storage and a claim for its local header; a stored one also a claim for its
 * array header. */
static bool reserve_rows(const struct archive *a, size_t deflated, struct heft_error *err)
{
    return heft_model_reserve(a->model, a->zip.count, 0, err) &&
           heft_model_reserve_claims(a->model, 2 * a->zip.count - deflated + 2, err);
}

static bool describe_archive(struct archive *a, struct heft_error *err)
{
    size_t deflated = 0;

    for (size_t i = 0; i < a->zip.count; i++)
        deflated += a->zip.entries[i].method == HEFT_ZIP_DEFLATED;
    a->model->format = "npz";
    a->model->version = !deflated                  ? "stored"
                        : deflated == a->zip.count ? "deflated"
                                                   : "stored and deflated";
    return reserve_rows(a, deflated, err) &&
           (a->zip.count > 0 || heft_model_note(a->model, HEFT_NOTE, a->source, 0, err,
                                                "an empty zip archive: an .npz without arrays"));
}

static bool open_npz(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct archive a = {.model = model, .source = source, .src = model->sources[source].source};
    bool ok = open_directory(&a, err) && describe_archive(&a, err);

    if (!heft_add(a.src.size, HEADERS, &a.headers))
        a.headers = UINT64_MAX; /* a sparse file can claim such a size */

    if (ok)
        ok = (a.room = heft_alloc(HEFT_NPY_LONGEST, err)) != NULL;
    ok = ok && heft_near_open(&a.near, &a.src, err);
    for (size_t i = 0; ok && i < a.zip.count; i++) {
        heft_near_look(&a.near, head_range, &a, i, a.zip.count);
        ok = add_member(&a, &a.zip.entries[i], err);
    }
    ok = ok && claim_ends(&a, err);
    if (ok)
        heft_numpy_give_texts(model, &a.texts);
    heft_near_close(&a.near);
    heft_free(a.room);
    heft_arena_release(&a.mem);
    return ok;
}

static const char *const extensions[] = {"npz", NULL};

static const char *const synonyms[] = {"numpy", NULL};

static const struct heft_file_name names[] = {
    {".npz", .rank = HEFT_FILE_DATA},
    {0},
};

extern const struct heft_format heft_format_npz;
const struct heft_format heft_format_npz = {
    .name = "npz",
    .summary = "NumPy archive of arrays (savez)",
    .synonyms = synonyms,
    .names = names,
    .probe = probe,
    .open = open_npz,
    .verify = verify_npz,
    .plan = heft_npz_plan,
    .options = heft_npz_options,
    .extensions = extensions,
    .sum = HEFT_SUM_CRC32,
    .supports_dtype = heft_numpy_supports_dtype,
};
