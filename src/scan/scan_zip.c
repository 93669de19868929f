/* scan_zip.c: the records of a zip that opens.
 *
 *     *.pkl              pickles by their names. The storages that their persistent ids refer to,
 *                        ROOT/data/KEY of ROOT/data.pkl, are not scanned: they are numbers
 *     all other records  by their first bytes, whatever their names: pickles, .npy, zips, tars …
 *
 * A TorchScript archive (constants.pkl or model.json in the root) is read by torch's own C++
 * reader. It creates classes from code/, so names below __torch__ are not imports there. */
#include "scan/scan_parts.h"

#include "base/checksum.h"

#define MOST_HELD ((uint64_t)64 << 20) /* bytes of a record read into memory */
#define INNER     ((uint64_t)8 << 20)  /* the same if compressed, and the archive is in memory */
#define HEAD      512

bool heft_scan_is_named(struct heft_str name)
{
    return heft_str_ends(name, ".pkl") || heft_str_ends(name, ".pickle");
}

/* ---- properties of the archive ----------------------------------------------------------- */

struct archive {
    const struct heft_zip_entry *data;  /* first entry named data.pkl */
    const struct heft_zip_entry *other; /* another one, in another directory; NULL if absent */
    bool script;                        /* TorchScript: has constants.pkl or model.json */
    bool package;                       /* torch.package: its importer runs the Python in it */
    bool exported, has_version;         /* torch.export: has archive_format; archive_version */
    bool program;             /* a compiled program: has models/….json or data/aotinductor/ */
    bool weights, has_config; /* Keras: has model.weights.h5 or .npz; config.json */
};

/* True for the name of the record that torch.package reads first, in upper or lower case, as
 * torch finds records. */
static bool ends_package(struct heft_str name)
{
    static const char end[] = "/.data/extern_modules";
    const size_t n = sizeof end - 1;

    for (size_t i = 0; i < n && n <= name.n; i++) {
        const char c = name.p[name.n - n + i];

        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != end[i])
            return false;
    }
    return n <= name.n;
}

/* Returns NAME of "ROOT/NAME". */
static struct heft_str inner_name(struct heft_str name)
{
    const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
    const size_t root = slash ? (size_t)(slash - name.p) + 1 : name.n;

    return (struct heft_str){name.p + root, name.n - root};
}

/* Notes records by which the loaders of torch.export and Keras decide. */
static void note_member(struct archive *found, struct heft_str name)
{
    const struct heft_str inner = inner_name(name);

    found->exported |= heft_str_is(inner, "archive_format");
    found->has_version |= heft_str_is(inner, "archive_version") || heft_str_is(inner, "version");
    found->program |=
        (heft_str_starts(inner, HEFT_STR("models/")) && heft_str_ends(inner, ".json")) ||
        heft_str_starts(inner, HEFT_STR("data/aotinductor/"));
    found->weights |=
        heft_str_is(name, "model.weights.h5") || heft_str_is(name, "model.weights.npz");
    found->has_config |= heft_str_is(name, "config.json");
}

static struct archive find_members(const struct heft_zip *zip)
{
    struct archive found = {0};

    for (size_t i = 0; i < zip->count; i++) {
        const struct heft_str name = zip->entries[i].name, last = heft_scan_last_part(name);
        const struct heft_str directory = {name.p, name.n - last.n};

        found.package |= ends_package(name);
        note_member(&found, name);
        if (directory.n == 0 || memchr(directory.p, '/', directory.n - 1))
            continue;
        if (heft_str_is(last, "constants.pkl") || heft_str_is(last, "model.json"))
            found.script = true;
        if (!heft_str_is(last, "data.pkl"))
            continue;
        if (found.data)
            found.other = &zip->entries[i];
        else
            found.data = &zip->entries[i];
    }
    return found;
}

bool heft_scan_report_trick(struct heft_scan *s, const struct heft_scan_place *zip,
                            const struct heft_zip_entry *entry, const char *sentence)
{
    struct heft_scan_place place = *zip;

    place.record = entry->name.p;
    place.base = heft_scan_offset(zip, entry->header);
    return heft_scan_report_text(s, &place, 0, HEFT_DANGER, "trick", sentence);
}

/* Reports records because of which other readers see different records than torch, or another
 * first one. */
static bool report_tricks(struct heft_scan *s, const struct heft_scan_place *place,
                          const struct heft_zip *zip, const struct archive *archive)
{
    const struct heft_str first = zip->count ? zip->entries[0].name : HEFT_STR("");
    const char *slash = first.n ? memchr(first.p, '/', first.n) : NULL;
    const struct heft_str root = {first.p, slash ? (size_t)(slash - first.p) + 1 : 0};

    if (archive->other &&
        !heft_scan_report_trick(s, place, archive->other,
                                "a second data.pkl, in another directory than the first"))
        return false;
    for (size_t i = 0; i < zip->count && (archive->data || archive->script); i++)
        if (!heft_str_starts(zip->entries[i].name, root))
            return heft_scan_report_trick(s, place, &zip->entries[i],
                                          "records outside of the archive's directory");
    return true;
}

/* Reports that the record with the program is missing: the loader fails, or takes the program
 * from elsewhere. */
static bool report_missing(struct heft_scan *s, const struct heft_scan_place *place,
                           const struct archive *archive)
{
    const bool is_keras = archive->weights || heft_str_ends(heft_scan_name(s, place), ".keras");
    const char *sentence = NULL;

    if (is_keras && !archive->has_config)
        sentence = "a Keras archive without config.json, which defines the code of its layers";
    else if (archive->exported && !archive->program)
        sentence = "a torch.export archive without models/….json, which contains its program";
    else if (archive->exported && !archive->has_version)
        sentence = "a torch.export archive without archive_version, which its loader needs";
    return !sentence ||
           heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused", sentence);
}

/* ---- one record -------------------------------------------------------------------------- */

/* True if a record may hold a pickle. Every pickle begins with one of these opcodes (INST only
 * in the Python unpickler, NEXT_BUFFER only for programs that pass buffers). Also true for .npy,
 * compressed data and tars. */
static bool is_worth(struct heft_bytes head)
{
    static const char opcodes[] =
        "(c)]}NKMJIGFLSTUVXCBPi\x80\x82\x83\x84\x88\x89\x8a\x8b\x8c\x8d\x8e"
        "\x8f\x95\x96\x97";

    return head.n >= 2 && (memchr(opcodes, head.p[0], sizeof opcodes - 1) ||
                           head.p[0] == 0x93 /* 0x93: begin of an array of NumPy */ ||
                           heft_scan_is_packed(head) || heft_scan_is_tar(head));
}

/* Scans a record in memory. Reports a wrong checksum only if it contains a pickle: other readers
 * refuse the record then, torch ignores the checksum. */
static bool scan_held(struct heft_scan *s, const struct heft_scan_place *place,
                      const struct heft_zip_entry *entry, struct heft_bytes bytes,
                      struct heft_error *err)
{
    const size_t before = s->pickles;
    uint32_t crc;

    if (!heft_scan_memory(s, place, bytes, err) || !heft_scan_script(s, place, bytes, err))
        return false;
    if (s->pickles == before || entry->crc == 0)
        return true;
    crc = heft_crc32(0, bytes.p, bytes.n);
    return crc == entry->crc ||
           heft_scan_report_text(
               s, place, 0, HEFT_DANGER, "trick",
               heft_arena_printf(&s->mem, err,
                                 "CRC-32 is %08" PRIx32 ", the directory has %08" PRIx32
                                 ": other readers refuse the record, torch ignores the CRC",
                                 crc, entry->crc));
}

static bool fetch_record(struct heft_scan *s, const struct heft_scan_place *zip,
                         const struct heft_zip_entry *entry, const struct heft_scan_place *place,
                         struct heft_error *err)
{
    const uint64_t unpacked = zip->bytes.p ? INNER : MOST_HELD;
    const uint64_t cap = entry->method == HEFT_ZIP_STORED ? MOST_HELD : unpacked;
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    struct heft_bytes bytes;
    bool ok = true;

    if (heft_zip_fetch(zip->src, entry, cap, false, &mem, &bytes, &why)) {
        ok = scan_held(s, place, entry, bytes, err);
    } else if (why.code == HEFT_NOMEM || why.code == HEFT_IO) {
        *err = why;
        ok = false;
    } else {
        heft_scan_report_refused(s, zip, &why);
    }
    heft_arena_release(&mem);
    return ok;
}

/* Sets *idle if a record, by its first bytes and name, holds nothing that scan judges. */
static bool is_idle(const struct heft_source *src, const struct heft_zip_entry *entry, bool *idle,
                    struct heft_error *err)
{
    uint8_t head[HEAD] = {0};
    size_t n = sizeof head;

    *idle = true;
    if (!heft_zip_peek(src, entry, head, &n, err)) /* no bytes if it does not inflate */
        return false;
    *idle = heft_scan_is_numbers((struct heft_bytes){head, n}, entry->size) ||
            (!is_worth((struct heft_bytes){head, n}) &&
             !heft_scan_is_content(entry->name, (struct heft_bytes){head, n}));
    return true;
}

static bool scan_labelled(struct heft_scan *s, const struct heft_scan_place *zip,
                          const struct heft_zip_entry *entry, struct heft_scan_place *place,
                          struct heft_error *err)
{
    const bool stored = entry->method == HEFT_ZIP_STORED;
    bool idle = false;

    if (!place->named && !is_idle(zip->src, entry, &idle, err))
        return false;
    if (idle || !heft_scan_pay(s, zip, heft_min_u64(entry->size, s->limits->pickle)))
        return true;
    if (stored && entry->size > MOST_HELD && !zip->bytes.p)
        return heft_scan_within(s, place, entry->data, entry->size, place->record, err);
    place->base = stored ? heft_scan_offset(zip, entry->data) : HEFT_NO_OFFSET;
    place->depth++;
    if (stored && zip->bytes.p)
        return scan_held(s, place, entry,
                         (struct heft_bytes){zip->bytes.p + entry->data, (size_t)entry->size}, err);
    return fetch_record(s, zip, entry, place, err);
}

static bool scan_record(struct heft_scan *s, const struct heft_scan_place *zip,
                        const struct heft_zip_entry *entry, const struct archive *archive,
                        struct heft_error *err)
{
    struct heft_scan_place place = *zip;
    struct heft_buf label = {0};
    bool ok;

    place.named = heft_scan_is_named(entry->name);
    place.script = archive->script;
    place.member = entry->name;
    place.record = *zip->record ? heft_scan_label(&label, zip, entry->name, err) : entry->name.p;
    ok = place.record != NULL;
    if (ok && archive->package && heft_str_ends(entry->name, ".py"))
        ok = heft_scan_report_text(
            s, &place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "code",
            "Python module that the importer of torch.package may run under any name");
    ok = ok && scan_labelled(s, zip, entry, &place, err);
    heft_buf_release(&label);
    return ok;
}

/* ---- all records ------------------------------------------------------------------------- */

static bool scan_entries(struct heft_scan *s, const struct heft_scan_place *place,
                         const struct heft_zip *zip, const struct archive *archive,
                         struct heft_error *err)
{
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; i < zip->count; i++) {
            const struct heft_zip_entry *entry = &zip->entries[i];
            bool storage = false;

            if (heft_str_ends(entry->name, ".pkl") == others || entry->is_folder)
                continue;
            if (others && !heft_scan_is_storage(s, place, entry, &storage, err))
                return false;
            if (!storage && !scan_record(s, place, entry, archive, err))
                return false;
        }
    }
    return true;
}

bool heft_scan_entries(struct heft_scan *s, const struct heft_scan_place *place,
                       const struct heft_zip *zip, struct heft_error *err)
{
    const struct archive archive = find_members(zip);
    const struct heft_strmap outer = s->keys; /* keys of the outer archive */
    bool ok;

    s->keys = (struct heft_strmap){0};
    ok = report_tricks(s, place, zip, &archive) && report_missing(s, place, &archive) &&
         scan_entries(s, place, zip, &archive, err);
    heft_strmap_release(&s->keys);
    s->keys = outer;
    return ok;
}
