/* scan_broken.c: zips that heft's strict reader refuses, as other readers see them.
 *
 *     file = [front] records … directory [directory …] end record [end record …]
 *
 * torch, Python and other readers follow the directory wherever it points, and check different
 * parts of the rest. So every end record with a directory is followed, each property that makes
 * readers disagree is reported with its own sentence, and every record is scanned at its
 * position in the directory. If there is no directory (a truncated download), local headers are
 * searched one by one. wire/zip_record.c decodes them. */
#include "scan/scan_parts.h"

#include "wire/zip_record.h"

#include <stdlib.h>

#define CENTRAL       HEFT_ZIP_CENTRAL
#define LOCAL         HEFT_ZIP_LOCAL_HEAD
#define MOST_DIRS     4
#define MOST_CARVED   64     /* pickles scanned in a zip without a directory */
#define MOST_REPORTED 16     /* tricks reported for one archive */
#define MOST_IN_ROW   100000 /* consecutive archives */
#define MOST_LISTED   200000 /* records of one directory: bounds memory */

struct directory {
    uint64_t at, size;
    uint64_t shift; /* bytes before the archive, added to its offsets */
};

struct loose {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct directory dirs[MOST_DIRS];
    size_t n_dirs;
    struct heft_arena mem;
    struct heft_zip zip;
    size_t cap;
    struct heft_zip_names names; /* names in the directory */
    size_t reported;
    struct heft_error *err;
};

/* ---- central directories ----------------------------------------------------------------- */

static bool has_magic(const struct heft_source *src, uint64_t at, const char *magic)
{
    struct heft_error ignored = {0}; /* past the end of the file: no magic */
    uint8_t bytes[4];

    return heft_within(at, 4, src->size) && heft_source_read(src, at, bytes, 4, &ignored) &&
           memcmp(bytes, magic, 4) == 0;
}

/* Reads the zip64 end record if its locator is before the end record. */
static void widen_end(const struct heft_source *src, struct heft_zip_end *end)
{
    struct heft_error ignored = {0};
    uint8_t locator[HEFT_ZIP_LOCATOR], wide[HEFT_ZIP_END64];
    uint64_t where;

    if (end->at < sizeof locator + sizeof wide ||
        !heft_source_read(src, end->at - sizeof locator, locator, sizeof locator, &ignored) ||
        memcmp(locator, "PK\6\7", 4) != 0)
        return;
    /* Right before the locator, where it is even if bytes were put before the archive. */
    where = end->at - sizeof locator - sizeof wide;
    if (!has_magic(src, where, "PK\6\6"))
        where = heft_le64(locator + 8);
    if (has_magic(src, where, "PK\6\6") && heft_within(where, sizeof wide, src->size) &&
        heft_source_read(src, where, wide, sizeof wide, &ignored))
        heft_zip_end_widen(end, wide, where);
}

/* The shift of an archive may be below 0: all its arithmetic is modulo 2^64. */
HEFT_WRAPS static uint64_t shift_between(uint64_t from, uint64_t to)
{
    return to - from;
}

HEFT_WRAPS static uint64_t shifted(uint64_t offset, uint64_t shift)
{
    return offset + shift;
}

/* Finds the directory of the end record at `at`: at its stored offset, or right before the end
 * record. */
static bool find_directory(const struct heft_source *src, uint64_t at, const uint8_t *p,
                           struct directory *d)
{
    struct heft_zip_end end = heft_zip_read_end(p, at);
    uint64_t tail;

    widen_end(src, &end);
    tail = end.tail ? end.tail : at;
    *d = (struct directory){end.directory, end.size, 0};
    if (end.entries == 0 || d->size < CENTRAL || d->size > tail)
        return false;
    if (tail - d->size != d->at && has_magic(src, tail - d->size, "PK\1\2")) {
        d->shift = shift_between(d->at, tail - d->size);
        d->at = tail - d->size;
        return true;
    }
    return has_magic(src, d->at, "PK\1\2");
}

static bool is_listed(const struct loose *l, const struct directory *d)
{
    for (size_t i = 0; i < l->n_dirs; i++)
        if (l->dirs[i].at == d->at)
            return true;
    return false;
}

/* Adds a directory. Keeps the last MOST_DIRS, because readers search from the end. */
static void add_directory(struct loose *l, const struct directory *d)
{
    if (l->n_dirs == MOST_DIRS) {
        memmove(l->dirs, l->dirs + 1, (MOST_DIRS - 1) * sizeof *l->dirs);
        l->n_dirs--;
    }
    l->dirs[l->n_dirs++] = *d;
}

/* Drops directories before the last one if its offsets count from the start of the file: they
 * are inside its records, which may be archives themselves. */
static void drop_inner(struct loose *l)
{
    const struct directory *last = l->n_dirs ? &l->dirs[l->n_dirs - 1] : NULL;
    size_t kept = 0;

    if (!last || last->shift)
        return;
    for (size_t i = 0; i < l->n_dirs; i++)
        if (l->dirs[i].at >= last->at)
            l->dirs[kept++] = l->dirs[i];
    l->n_dirs = kept;
}

static bool find_directories(struct loose *l)
{
    const struct heft_source *src = l->place->src;
    const size_t n = (size_t)heft_min_u64(src->size, HEFT_ZIP_REACH);
    struct heft_arena mem = {0};
    struct heft_bytes tail;
    struct directory d;
    const bool ok = heft_source_fetch(src, src->size - n, n, &mem, &tail, l->err);

    for (size_t i = 0; ok && heft_zip_next_end(tail, &i); i++)
        if (find_directory(src, src->size - n + i, tail.p + i, &d) && !is_listed(l, &d))
            add_directory(l, &d);
    drop_inner(l);
    heft_arena_release(&mem);
    return ok;
}

/* ---- their entries ----------------------------------------------------------------------- */

/* Reports a trick of one record, up to MOST_REPORTED in an archive. */
static bool report_trick(struct loose *l, const struct heft_zip_entry *e, const char *sentence)
{
    if (l->reported == MOST_REPORTED)
        return true;
    l->reported++;
    return heft_scan_report_trick(l->s, l->place, e, sentence);
}

/* Reports names and kinds of entries that readers interpret differently. */
static bool report_faults(struct loose *l, const struct heft_zip_entry *e, unsigned faults)
{
    static const struct {
        unsigned fault;
        const char *sentence;
    } tricks[] = {
        {HEFT_ZIP_NUL, "a NUL in its name: some readers truncate the name there"},
        {HEFT_ZIP_BACKSLASH, "a backslash in its name"},
        {HEFT_ZIP_ABSOLUTE | HEFT_ZIP_PARENT, "its name points out of the archive"},
        {HEFT_ZIP_NOT_UTF8, "its name is not UTF-8"},
        {HEFT_ZIP_LINK, "a symbolic link"},
    };

    for (size_t i = 0; i < HEFT_COUNT(tricks); i++)
        if ((faults & tricks[i].fault) && !report_trick(l, e, tricks[i].sentence))
            return false;
    return true;
}

/* Reports names that readers cannot tell apart; torch ignores the case of letters. */
static bool check_name(struct loose *l, const struct heft_zip_entry *e)
{
    uint32_t found;

    if (!heft_zip_names_add(&l->names, e->name, false, (uint32_t)(l->zip.count - 1), &found,
                            l->err))
        return false;
    if (found == HEFT_MAP_NONE)
        return true;
    return report_trick(l, e,
                        heft_str_eq(l->zip.entries[found].name, e->name)
                            ? "another record has the same name"
                            : "another record's name differs only in upper and lower case");
}

/* Reports differences between the local header and the directory. */
static bool check_local(struct loose *l, struct heft_zip_entry *e,
                        const struct heft_zip_record *local)
{
    struct heft_arena *mem = &l->s->mem;
    const size_t n = local->name.n;
    struct heft_bytes name;

    if ((local->faults & HEFT_ZIP_ENCRYPTED) &&
        !report_trick(
            l, e,
            heft_arena_printf(mem, l->err,
                              "its local header has flags 0x%04x (encrypted, patched): other "
                              "readers refuse them, torch ignores them",
                              local->flags)))
        return false;
    if (local->method != e->method &&
        !report_trick(l, e,
                      heft_arena_printf(mem, l->err,
                                        "its local header has method %u, the directory has %u",
                                        local->method, e->method)))
        return false;
    if (!heft_within(e->header + LOCAL, n, l->place->src->size))
        return report_trick(l, e, "its local header extends past the end of the file");
    if (!heft_source_fetch(l->place->src, e->header + LOCAL, n, &l->mem, &name, l->err))
        return false;
    if (n == e->name.n && memcmp(name.p, e->name.p, n) == 0)
        return true;
    return report_trick(
        l, e,
        heft_arena_printf(
            mem, l->err,
            "its local header names it \"%.*s\": other readers refuse that, torch ignores it",
            (int)heft_min_u64(n, 120), (const char *)name.p));
}

/* Finds the payload of a record. A missing record becomes empty. */
static bool place_payload(struct loose *l, struct heft_zip_entry *e)
{
    const uint64_t size = l->place->src->size;
    struct heft_zip_record local;
    uint8_t head[LOCAL];

    if (!has_magic(l->place->src, e->header, "PK\3\4") || !heft_within(e->header, LOCAL, size)) {
        e->size = e->packed = 0;
        return report_trick(l, e, "no local header at the offset in the directory");
    }
    if (!heft_source_read(l->place->src, e->header, head, LOCAL, l->err))
        return false;
    local = heft_zip_local(head, e->header);
    e->data = heft_min_u64(local.data, size);
    e->packed = heft_min_u64(e->packed, size - e->data);
    if (e->method == HEFT_ZIP_STORED)
        e->size = e->packed;
    return check_local(l, e, &local);
}

static bool check_coding(struct loose *l, struct heft_zip_entry *e, unsigned faults)
{
    if ((faults & HEFT_ZIP_ENCRYPTED) &&
        !report_trick(l, e, "the directory marks it as encrypted or as a patch"))
        return false;
    if (!(faults & HEFT_ZIP_METHOD))
        return true;
    if (!report_trick(
            l, e,
            heft_arena_printf(&l->s->mem, l->err, "compression method %u, not scanned", e->method)))
        return false;
    e->size = e->packed = 0;
    e->method = HEFT_ZIP_STORED;
    return true;
}

static bool add_entry(struct loose *l, const struct directory *d, const struct heft_zip_record *r)
{
    struct heft_zip_entry *e;
    char *name;

    if (!heft_grow(&l->zip.entries, &l->cap, l->zip.count, 1, sizeof *e, l->err))
        return false;
    name = heft_arena_text(&l->mem, r->name, l->err);
    if (!name)
        return false;
    e = &l->zip.entries[l->zip.count++];
    *e = heft_zip_entry_of(r, name);
    /* Python adds the shift; other readers use the stored offset. */
    if (has_magic(l->place->src, shifted(e->header, d->shift), "PK\3\4"))
        e->header = shifted(e->header, d->shift);
    e->header = heft_min_u64(e->header, l->place->src->size);
    return report_faults(l, e, r->faults) && check_name(l, e) && check_coding(l, e, r->faults) &&
           place_payload(l, e);
}

static void too_many(const struct loose *l, uint64_t at)
{
    struct heft_error why = {0};

    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(l->place, at),
              "more than %d entries in a malformed directory", MOST_LISTED);
    heft_scan_report_failure(l->s, &why);
}

/* Reads the entries of one directory up to the first malformed one. */
static bool read_directory(struct loose *l, const struct directory *d)
{
    const uint64_t n = heft_min_u64(l->place->src->size - d->at, d->size);
    struct heft_arena mem = {0};
    struct heft_zip_record record;
    struct heft_bytes left;
    bool ok;

    if (!heft_scan_pay(l->s, l->place, n))
        return true;
    ok = heft_source_fetch(l->place->src, d->at, n, &mem, &left, l->err) &&
         heft_zip_names_init(&l->names, left.n, heft_min_size(left.n / CENTRAL, MOST_LISTED), false,
                             l->err);
    while (ok && heft_zip_take_central(&left, &record) == HEFT_ZIP_TAKEN) {
        if (l->zip.count == MOST_LISTED) {
            too_many(l, d->at + (n - left.n));
            break;
        }
        ok = add_entry(l, d, &record);
    }
    heft_arena_release(&mem);
    return ok;
}

/* ---- overlapping entries ----------------------------------------------------------------- */

static int by_header(const void *a, const void *b)
{
    const struct heft_zip_entry *x = *(const struct heft_zip_entry *const *)a;
    const struct heft_zip_entry *y = *(const struct heft_zip_entry *const *)b;

    return (x->header > y->header) - (x->header < y->header);
}

/* Reports overlapping records. Entries with the same local header are one record with several
 * names, which is scanned once. */
static bool check_overlap(struct loose *l)
{
    struct heft_zip_entry **sorted =
        heft_arena_alloc(&l->mem, l->zip.count * sizeof *sorted, l->err);

    if (!sorted)
        return false;
    for (size_t i = 0; i < l->zip.count; i++)
        sorted[i] = &l->zip.entries[i];
    if (l->zip.count)
        qsort(sorted, l->zip.count, sizeof *sorted, by_header);
    for (size_t i = 1; i < l->zip.count; i++) {
        const struct heft_zip_entry *before = sorted[i - 1];

        if (sorted[i]->header < before->data + before->packed &&
            !report_trick(l, sorted[i], "it overlaps another record"))
            return false;
        if (sorted[i]->header == before->header && sorted[i]->packed == before->packed)
            sorted[i]->is_folder = true;
    }
    return true;
}

/* ---- consecutive archives ---------------------------------------------------------------- */

/* Finds the first byte of the archive that ends at `end` and has no comment; false if no archive
 * ends there. */
static bool find_start(const struct heft_source *src, uint64_t end, uint64_t *start)
{
    struct heft_error ignored = {0}; /* bytes that cannot be read are not an archive */
    struct directory d;
    uint8_t record[HEFT_ZIP_END];

    if (end < sizeof record ||
        !heft_source_read(src, end - sizeof record, record, sizeof record, &ignored) ||
        memcmp(record, "PK\5\6", 4) != 0 || record[20] || record[21] ||
        !find_directory(src, end - sizeof record, record, &d))
        return false;
    *start = d.shift;
    return d.shift < end && has_magic(src, d.shift, "PK\3\4");
}

static bool scan_starts(struct heft_scan *s, const struct heft_scan_place *place,
                        const uint64_t *starts, size_t n, struct heft_error *err)
{
    uint64_t end = place->src->size;

    for (size_t i = 0; i < n; end = starts[i], i++)
        if (!heft_scan_within(s, place, starts[i], end - starts[i], place->record, err))
            return false;
    return true;
}

bool heft_scan_zip_row(struct heft_scan *s, const struct heft_scan_place *place, bool *is_row,
                       struct heft_error *err)
{
    uint64_t end = place->src->size, start = 0, *starts = NULL;
    size_t n = 0, cap = 0;
    bool ok = true;

    while (ok && end > 0 && n < MOST_IN_ROW && find_start(place->src, end, &start)) {
        ok = heft_grow(&starts, &cap, n, 1, sizeof *starts, err);
        if (ok)
            end = starts[n++] = start;
    }
    *is_row = ok && end == 0 && n > 1;
    if (*is_row)
        ok = scan_starts(s, place, starts, n, err);
    heft_free(starts);
    return ok;
}

/* ---- damaged archives -------------------------------------------------------------------- */

static bool scan_directories(struct loose *l)
{
    bool ok = true;

    for (size_t i = 0; ok && i < l->n_dirs; i++) {
        l->zip.count = 0;
        heft_zip_names_release(&l->names);
        ok = read_directory(l, &l->dirs[i]) && check_overlap(l) &&
             heft_scan_entries(l->s, l->place, &l->zip, l->err);
    }
    heft_zip_names_release(&l->names);
    heft_free(l->zip.entries);
    heft_arena_release(&l->mem);
    return ok;
}

/* Scans the stored pickle after the local header at `off`, if there is one. */
static bool carve_record(struct heft_scan *s, const struct heft_scan_place *place, uint64_t off,
                         size_t *carved, struct heft_error *err)
{
    struct heft_scan_place record = *place;
    struct heft_scan_run run = {0};
    uint8_t head[LOCAL], start[2];
    struct heft_zip_record local;

    if (!heft_within(off, sizeof head, place->src->size))
        return true;
    if (!heft_source_read(place->src, off, head, sizeof head, err))
        return false;
    local = heft_zip_local(head, off);
    if (local.method != HEFT_ZIP_STORED || !heft_within(local.data, 2, place->src->size))
        return true;
    if (!heft_source_read(place->src, local.data, start, 2, err))
        return false;
    if (!heft_scan_is_start(start))
        return true;
    ++*carved;
    record.record = "a record found by its local header";
    return heft_scan_pickle(s, &record, local.data, &run, err);
}

static bool carve_records(struct heft_scan *s, const struct heft_scan_place *place,
                          struct heft_error *err)
{
    uint8_t window[65536];
    size_t carved = 0;

    for (uint64_t at = 0; at + 4 <= place->src->size; at += sizeof window - 3) {
        const size_t n = (size_t)heft_min_u64(sizeof window, place->src->size - at);

        if (!heft_source_read(place->src, at, window, n, err))
            return false;
        for (size_t i = 0; i + 4 <= n && carved < MOST_CARVED; i++)
            if (memcmp(window + i, "PK\3\4", 4) == 0 &&
                !carve_record(s, place, at + i, &carved, err))
                return false;
    }
    return true;
}

bool heft_scan_broken_zip(struct heft_scan *s, const struct heft_scan_place *place,
                          const struct heft_error *why, struct heft_error *err)
{
    struct loose l = {.s = s, .place = place, .err = err};

    if (why->code == HEFT_NOMEM || why->code == HEFT_IO) {
        *err = *why;
        return false;
    }
    if (!find_directories(&l))
        return false;
    if (l.n_dirs == 0) {
        heft_scan_report_refused(s, place, why);
        return carve_records(s, place, err) &&
               heft_scan_pickles(s, place, 0, err); /* as a pickle, "PK\3\4" begins with PERSID */
    }
    if (l.n_dirs > 1 &&
        !heft_scan_report_text(s, place, l.dirs[1].at, HEFT_DANGER, "trick",
                               "two directories: readers disagree on which one counts"))
        return false;
    if (!scan_directories(&l))
        return false;
    return l.reported || l.n_dirs > 1 ||
           heft_scan_report_text(
               s, place, 0, HEFT_DANGER, "trick",
               heft_arena_printf(&s->mem, err,
                                 "a zip that heft refuses but other readers may open: %s",
                                 why->text));
}

bool heft_scan_second_zip(struct heft_scan *s, const struct heft_scan_place *place, bool *second,
                          struct heft_error *err)
{
    struct loose l = {.s = s, .place = place, .err = err};

    *second = false;
    if (!find_directories(&l))
        return false;
    *second = l.n_dirs > 1;
    return true;
}

bool heft_scan_hidden_zip(struct heft_scan *s, const struct heft_scan_place *place,
                          struct heft_error *err)
{
    struct loose l = {.s = s, .place = place, .err = err};

    if (place->src->size < HEFT_ZIP_END)
        return true;
    if (!find_directories(&l))
        return false;
    if (l.n_dirs == 0)
        return true;
    return heft_scan_report_text(
               s, place, l.dirs[0].at, HEFT_DANGER, "trick",
               "a zip after other bytes: Python's zipfile opens the zip, torch reads "
               "the bytes before it") &&
           scan_directories(&l);
}
