/* scan_broken.c: zips that heft's strict reader refuses, as other readers see them.
 *
 *     file = [front] records … directory [directory …] end record [end record …]
 *
 * torch, Python and other readers take what the directory says, wherever it leads, and look at
 * other parts of the rest. So every end record that leads to a directory is followed, each property
 * that makes readers disagree is told by a sentence of its own, and every record is judged where the
 * directory has it. Where there is no directory (a download that was cut off), local headers are
 * looked for one by one.
 *
 *     end record 22 bytes   8 entries  12 directory size  16 offset  20 comment length
 *     central entry 46      8 flags  10 method  16 crc  20 packed  24 size  28 name, extra,
 *                           comment lengths  38 attributes  42 header
 *     local header 30       6 flags  8 method  26 name, extra lengths */
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "base/text.h"

#include <stdlib.h>

#define END         22
#define CENTRAL     46
#define LOCAL       30
#define REACH       65557   /* bytes before the end where an end record may be */
#define SEALED      0x2061U /* flags: encrypted, patch, strong encryption, masked */
#define MOST_DIRS   4
#define MOST_CARVED 64     /* pickles looked at in a zip without a directory */
#define MOST_TOLD   16     /* tricks of one archive */
#define MOST_IN_ROW 100000 /* archives one behind the other */
#define MOST_LISTED 200000 /* records of one directory: memory */

struct directory {
    uint64_t at, size, entries;
    uint64_t shift; /* added to offsets: bytes that were put before the archive */
};

struct loose {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct directory dirs[MOST_DIRS];
    size_t n_dirs;
    struct heft_arena mem;
    struct heft_zip zip;
    size_t cap;
    struct heft_strmap names; /* in lower case → index of the entry */
    size_t told;
    struct heft_error *err;
};

/* ---- directories ------------------------------------------------------------------------- */

static bool has_magic(const struct heft_source *src, uint64_t at, const char *magic)
{
    struct heft_error ignored = {0}; /* out of the file: no magic */
    uint8_t bytes[4];

    return heft_within(at, 4, src->size) && heft_source_read(src, at, bytes, 4, &ignored) &&
           memcmp(bytes, magic, 4) == 0;
}

/* Values of the zip64 end record, where its locator stands before the end record at `at`. */
static void widen_end(const struct heft_source *src, uint64_t at, struct directory *d)
{
    struct heft_error ignored = {0};
    uint8_t locator[20], wide[56];
    uint64_t where;

    if (at < 76 || !heft_source_read(src, at - 20, locator, 20, &ignored) ||
        memcmp(locator, "PK\6\7", 4) != 0)
        return;
    where = at - 76; /* also where bytes were put before the archive */
    if (!has_magic(src, where, "PK\6\6"))
        where = heft_le64(locator + 8);
    if (!heft_within(where, 56, src->size) || !heft_source_read(src, where, wide, 56, &ignored) ||
        memcmp(wide, "PK\6\6", 4) != 0)
        return;
    *d = (struct directory){heft_le64(wide + 48), heft_le64(wide + 40), heft_le64(wide + 32), 0};
    d->shift = where; /* where the directory should end */
}

/* The directory that the end record at `at` leads to: at its offset, or right before the record. */
static bool find_directory(const struct heft_source *src, uint64_t at, const uint8_t *p,
                           struct directory *d)
{
    uint64_t tail = at;

    *d = (struct directory){heft_le32(p + 16), heft_le32(p + 12), heft_le16(p + 10), 0};
    widen_end(src, at, d);
    if (d->shift)
        tail = d->shift;
    d->shift = 0;
    if (d->entries == 0 || d->size < CENTRAL || d->size > tail)
        return false;
    if (tail - d->size != d->at && has_magic(src, tail - d->size, "PK\1\2")) {
        d->shift = tail - d->size - d->at; /* may wrap: added again below */
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

/* Of very many, the last ones stay: readers begin at the end. */
static void add_directory(struct loose *l, const struct directory *d)
{
    if (l->n_dirs == MOST_DIRS) {
        memmove(l->dirs, l->dirs + 1, (MOST_DIRS - 1) * sizeof *l->dirs);
        l->n_dirs--;
    }
    l->dirs[l->n_dirs++] = *d;
}

/* What stands before a directory that holds for the whole file is its records, also where one of
 * them is an archive. */
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
    const size_t n = (size_t)heft_min_u64(src->size, REACH);
    struct heft_arena mem = {0};
    struct heft_bytes tail;
    struct directory d;
    const bool ok = heft_source_fetch(src, src->size - n, n, &mem, &tail, l->err);

    for (size_t i = 0; ok && i + END <= n; i++)
        if (tail.p[i] == 'P' && memcmp(tail.p + i, "PK\5\6", 4) == 0 &&
            find_directory(src, src->size - n + i, tail.p + i, &d) && !is_listed(l, &d))
            add_directory(l, &d);
    drop_inner(l);
    heft_arena_release(&mem);
    return ok;
}

/* ---- entries ----------------------------------------------------------------------------- */

/* A trick of one record. Of an archive that consists of them, not all are told. */
static bool tell(struct loose *l, const struct heft_zip_entry *e, const char *sentence)
{
    if (l->told == MOST_TOLD)
        return true;
    l->told++;
    return heft_scan_tell_record(l->s, l->place, e, sentence);
}

static bool leads_out(struct heft_str name)
{
    for (size_t i = 0; i + 2 <= name.n; i++)
        if (name.p[i] == '.' && name.p[i + 1] == '.' && (i == 0 || name.p[i - 1] == '/') &&
            (i + 2 == name.n || name.p[i + 2] == '/'))
            return true;
    return name.n > 0 && name.p[0] == '/';
}

static bool check_name(struct loose *l, const struct heft_zip_entry *e, const uint8_t *central)
{
    const struct heft_bytes bytes = {(const uint8_t *)e->name.p, e->name.n};

    if (memchr(e->name.p, 0, e->name.n) &&
        !tell(l, e, "a NUL in its name: readers cut the name there, or not"))
        return false;
    if (memchr(e->name.p, '\\', e->name.n) && !tell(l, e, "a backslash in its name"))
        return false;
    if (leads_out(e->name) && !tell(l, e, "its name leads out of the archive"))
        return false;
    if (heft_utf8_check(bytes) < bytes.n && !tell(l, e, "its name is not UTF-8"))
        return false;
    return central[5] != 3 || heft_le32(central + 38) >> 28 != 0xA || tell(l, e, "a symbolic link");
}

/* Names that readers cannot tell apart: torch does not look at upper and lower case. */
static bool check_twice(struct loose *l, const struct heft_zip_entry *e)
{
    struct heft_str folded = e->name;
    uint32_t found;
    char *p = heft_arena_text(&l->mem, e->name, l->err);

    if (!p)
        return false;
    for (size_t i = 0; i < folded.n; i++)
        p[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] | 0x20) : p[i];
    folded.p = p;
    if (!heft_strmap_add(&l->names, folded, (uint32_t)(l->zip.count - 1), &found, l->err))
        return false;
    if (found == HEFT_MAP_NONE)
        return true;
    return tell(l, e,
                heft_str_eq(l->zip.entries[found].name, e->name)
                    ? "another record has the same name"
                    : "another record's name differs only in upper and lower case");
}

/* What the local header says otherwise than the directory. */
static bool check_local(struct loose *l, struct heft_zip_entry *e, const uint8_t *head)
{
    const uint16_t flags = heft_le16(head + 6), n = heft_le16(head + 26);
    struct heft_arena *mem = &l->s->mem;
    struct heft_bytes name;

    if ((flags & SEALED) &&
        !tell(l, e,
              heft_arena_printf(mem, l->err,
                                "its local header has flags 0x%04x (encrypted, patched): others "
                                "stop at them, torch does not look",
                                flags)))
        return false;
    if (heft_le16(head + 8) != e->method &&
        !tell(l, e,
              heft_arena_printf(mem, l->err, "its local header has method %u, the directory has %u",
                                heft_le16(head + 8), e->method)))
        return false;
    if (!heft_within(e->header + LOCAL, n, l->place->src->size))
        return tell(l, e, "its local header reaches past the end");
    if (!heft_source_fetch(l->place->src, e->header + LOCAL, n, &l->mem, &name, l->err))
        return false;
    if (n == e->name.n && memcmp(name.p, e->name.p, n) == 0)
        return true;
    return tell(l, e,
                heft_arena_printf(mem, l->err,
                                  "its local header names it \"%.*s\": others stop at that, torch "
                                  "does not look",
                                  (int)heft_min_u64(n, 120), (const char *)name.p));
}

/* Where the payload is. A record that is not there is left empty. */
static bool find_payload(struct loose *l, struct heft_zip_entry *e)
{
    const uint64_t size = l->place->src->size;
    uint8_t head[LOCAL];

    if (!has_magic(l->place->src, e->header, "PK\3\4") || !heft_within(e->header, LOCAL, size)) {
        e->size = e->packed = 0;
        return tell(l, e, "no local header where the directory has it");
    }
    if (!heft_source_read(l->place->src, e->header, head, LOCAL, l->err))
        return false;
    e->data = e->header + LOCAL + heft_le16(head + 26) + heft_le16(head + 28);
    if (e->data > size)
        e->data = size;
    if (e->packed > size - e->data)
        e->packed = size - e->data;
    if (e->method == HEFT_ZIP_STORED)
        e->size = e->packed;
    return check_local(l, e, head);
}

/* Sizes and offset that stand in the zip64 field. */
static void widen(struct heft_zip_entry *e, const uint8_t *p, size_t n)
{
    uint64_t *const fields[] = {&e->size, &e->packed, &e->header};

    while (n >= 4 && heft_le16(p) != 1 && (size_t)heft_le16(p + 2) + 4 <= n) {
        const size_t step = (size_t)heft_le16(p + 2) + 4;

        p += step;
        n -= step;
    }
    if (n < 4 || heft_le16(p) != 1)
        return;
    p += 4;
    n -= 4;
    for (size_t i = 0; i < HEFT_COUNT(fields); i++) {
        if (*fields[i] != UINT32_MAX || n < 8)
            continue;
        *fields[i] = heft_le64(p);
        p += 8;
        n -= 8;
    }
}

static bool check_coding(struct loose *l, struct heft_zip_entry *e, uint16_t flags)
{
    if ((flags & SEALED) && !tell(l, e, "the directory says that it is encrypted or a patch"))
        return false;
    if (e->method == HEFT_ZIP_STORED || e->method == HEFT_ZIP_DEFLATED)
        return true;
    if (!tell(l, e,
              heft_arena_printf(&l->s->mem, l->err, "compression method %u, not looked into",
                                e->method)))
        return false;
    e->size = e->packed = 0;
    e->method = HEFT_ZIP_STORED;
    return true;
}

static bool add_entry(struct loose *l, const struct directory *d, const uint8_t *p)
{
    const size_t name_n = heft_le16(p + 28), extra_n = heft_le16(p + 30);
    struct heft_zip_entry *e;
    char *name;

    if (!heft_grow(&l->zip.entries, &l->cap, l->zip.count, 1, sizeof *e, l->err))
        return false;
    name = heft_arena_text(&l->mem, (struct heft_str){(const char *)p + CENTRAL, name_n}, l->err);
    if (!name)
        return false;
    e = &l->zip.entries[l->zip.count++];
    *e = (struct heft_zip_entry){.name = {name, name_n},
                                 .method = heft_le16(p + 10),
                                 .crc = heft_le32(p + 16),
                                 .packed = heft_le32(p + 20),
                                 .size = heft_le32(p + 24),
                                 .header = heft_le32(p + 42),
                                 .is_folder = name_n && name[name_n - 1] == '/'};
    widen(e, p + CENTRAL + name_n, extra_n);
    if (has_magic(l->place->src, e->header + d->shift, "PK\3\4"))
        e->header += d->shift; /* as Python does; others count from the beginning all the same */
    e->header = heft_min_u64(e->header, l->place->src->size);
    return check_name(l, e, p) && check_twice(l, e) && check_coding(l, e, heft_le16(p + 8)) &&
           find_payload(l, e);
}

static void too_many(const struct loose *l, uint64_t at)
{
    struct heft_error why = {0};

    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(l->place, at),
              "more than %d entries in a directory that is not sound", MOST_LISTED);
    heft_scan_break_off(l->s, &why);
}

/* The entries of one directory, as many as hold together. */
static bool read_directory(struct loose *l, const struct directory *d)
{
    const uint64_t n = heft_min_u64(l->place->src->size - d->at, d->size);
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    bool ok;
    size_t at = 0;

    if (!heft_scan_pay(l->s, l->place, n))
        return true;
    ok = heft_source_fetch(l->place->src, d->at, n, &mem, &bytes, l->err);
    while (ok && bytes.n - at >= CENTRAL && memcmp(bytes.p + at, "PK\1\2", 4) == 0) {
        const uint8_t *p = bytes.p + at;
        const size_t whole =
            (size_t)CENTRAL + heft_le16(p + 28) + heft_le16(p + 30) + heft_le16(p + 32);

        if (whole > bytes.n - at)
            break;
        if (l->zip.count == MOST_LISTED) {
            too_many(l, d->at + at);
            break;
        }
        ok = add_entry(l, d, p);
        at += whole;
    }
    heft_arena_release(&mem);
    return ok;
}

/* ---- overlap ----------------------------------------------------------------------------- */

static int by_header(const void *a, const void *b)
{
    const struct heft_zip_entry *x = *(const struct heft_zip_entry *const *)a;
    const struct heft_zip_entry *y = *(const struct heft_zip_entry *const *)b;

    return (x->header > y->header) - (x->header < y->header);
}

/* Entries that share a local header are one record by several names: it is looked at once. */
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
            !tell(l, sorted[i], "it lies over another record"))
            return false;
        if (sorted[i]->header == before->header && sorted[i]->packed == before->packed)
            sorted[i]->is_folder = true;
    }
    return true;
}

/* ---- archives in a row ------------------------------------------------------------------- */

/* The first byte of the archive that ends at `end`, without a comment; false where none does. */
static bool find_start(const struct heft_source *src, uint64_t end, uint64_t *start)
{
    struct heft_error ignored = {0}; /* what cannot be read is no archive */
    struct directory d;
    uint8_t record[END];

    if (end < END || !heft_source_read(src, end - END, record, END, &ignored) ||
        memcmp(record, "PK\5\6", 4) != 0 || record[20] || record[21] ||
        !find_directory(src, end - END, record, &d))
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

/* ---- archives ---------------------------------------------------------------------------- */

static bool scan_directories(struct loose *l)
{
    bool ok = true;

    for (size_t i = 0; ok && i < l->n_dirs; i++) {
        l->zip.count = 0;
        heft_strmap_release(&l->names);
        ok = read_directory(l, &l->dirs[i]) && check_overlap(l) &&
             heft_scan_entries(l->s, l->place, &l->zip, l->err);
    }
    heft_strmap_release(&l->names);
    heft_free(l->zip.entries);
    heft_arena_release(&l->mem);
    return ok;
}

/* The stored pickle behind the local header at `off`, if there is one. */
static bool carve_record(struct heft_scan *s, const struct heft_scan_place *place, uint64_t off,
                         size_t *carved, struct heft_error *err)
{
    struct heft_scan_place record = *place;
    struct heft_scan_run run = {0};
    uint8_t head[LOCAL], start[2];
    uint64_t data;

    if (!heft_within(off, sizeof head, place->src->size))
        return true;
    if (!heft_source_read(place->src, off, head, sizeof head, err))
        return false;
    data = off + sizeof head + heft_le16(head + 26) + heft_le16(head + 28);
    if (heft_le16(head + 8) != HEFT_ZIP_STORED || !heft_within(data, 2, place->src->size))
        return true;
    if (!heft_source_read(place->src, data, start, 2, err))
        return false;
    if (!heft_scan_is_start(start))
        return true;
    ++*carved;
    record.record = "a record found by its local header";
    return heft_scan_pickle(s, &record, data, &run, err);
}

static bool carve(struct heft_scan *s, const struct heft_scan_place *place, struct heft_error *err)
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
        heft_scan_break_off(s, why);
        return carve(s, place, err) && heft_scan_pickles(s, place, 0, err); /* PERSID "K\3\4…" */
    }
    if (l.n_dirs > 1 && !heft_scan_tell(s, place, l.dirs[1].at, HEFT_DANGER, "trick",
                                        "two directories: readers do not agree which one counts"))
        return false;
    if (!scan_directories(&l))
        return false;
    return l.told || l.n_dirs > 1 ||
           heft_scan_tell(s, place, 0, HEFT_DANGER, "trick",
                          heft_arena_printf(&s->mem, err,
                                            "a zip that other readers may open, heft refuses: %s",
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

    if (place->src->size < END)
        return true;
    if (!find_directories(&l))
        return false;
    if (l.n_dirs == 0)
        return true;
    return heft_scan_tell(s, place, l.dirs[0].at, HEFT_DANGER, "trick",
                          "a zip behind other bytes: Python's zipfile opens it, torch reads what "
                          "stands before it") &&
           scan_directories(&l);
}
