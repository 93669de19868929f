/* zip.c: the central directory of a zip or zip64 archive, and opening one.
 *
 *     ┌ local header, name, extra │ payload │ [descriptor] ┐ …    zip_local.c
 *     ├ central entry 46 bytes │ name │ extra │ comment    ┤ …    this file
 *     └ end records                                        ┘      zip_end.c */
#include "wire/zip_parts.h"

#define CENTRAL    HEFT_ZIP_CENTRAL
#define AFTER      (CENTRAL + 1)
#define PIECE      ((size_t)4 << 20) /* bytes of the directory in memory at a time */
#define MOST_ENTRY (CENTRAL + 3 * 65535)

enum { MOST_TIMES = 64 }; /* decompressed bytes of all records for each byte of the archive … */
#define ALWAYS (UINT64_C(4) << 30) /* … or this many, which take some seconds to inflate */

static const struct heft_zip_limits defaults = {
    .entries = 1000000, .directory = 256 << 20, .ratio = 1100};

/* State while an archive is opened; owned memory is on the heap. */
struct opening {
    struct heft_zip *zip;
    struct heft_zip_limits limits;
    struct heft_arena *arena, *for_names;
    struct heft_error *err;
    struct heft_zip_tail tail;
    uint8_t *piece; /* a piece of the directory, unless the tail contains it */
    struct heft_zip_place *places;
    char *names;                 /* in the arena: memory for names to come … */
    size_t letters;              /* … and for how many bytes of them */
    struct heft_zip_names known; /* names so far */
    uint64_t unpacked;           /* sum of the sizes of deflated entries */
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool bad_name(struct heft_error *err, enum heft_code code, uint64_t where,
                     struct heft_str name, const char *what)
{
    return heft_fail(err, code, where, "record \"%.*s\": %s", heft_zip_shown(name), name.p, what);
}

/* Names must differ in more than case: torch looks them up case-insensitively. Labels are compared
 * exactly. */
static bool add_name(struct opening *o, uint64_t where, struct heft_str name, bool plain,
                     uint32_t index)
{
    const struct heft_zip_entry *other;
    uint32_t found;

    if (!heft_zip_names_add(&o->known, name, plain, index, &found, o->err))
        return false;
    if (found == HEFT_MAP_NONE)
        return true;
    other = &o->zip->entries[found];
    if (heft_str_eq(other->name, name))
        return bad_name(o->err, HEFT_MALFORMED, where, name, "two records have this name");
    return heft_fail(o->err, HEFT_MALFORMED, where,
                     "records \"%.*s\" and \"%.*s\" differ only in upper and lower case",
                     heft_zip_shown(other->name), other->name.p, heft_zip_shown(name), name.p);
}

/* ---- central entries ------------------------------------------------------------------------- */

/* Faults whose message has no number. */
static const struct {
    unsigned fault;
    enum heft_code code;
    unsigned field; /* offset in the entry; AFTER: of the data after the name */
    const char *text;
} refusals[] = {
    {HEFT_ZIP_NUL, HEFT_UNSAFE, CENTRAL, "a NUL in a name"},
    {HEFT_ZIP_BACKSLASH, HEFT_UNSAFE, CENTRAL, "a backslash in a name"},
    {HEFT_ZIP_ABSOLUTE, HEFT_UNSAFE, CENTRAL, "an absolute path, a relative one is needed"},
    {HEFT_ZIP_PARENT, HEFT_UNSAFE, CENTRAL, "a name that leads out with \"..\""},
    {HEFT_ZIP_NOT_UTF8, HEFT_MALFORMED, CENTRAL, "a name that is not UTF-8"},
    {HEFT_ZIP_EXTRA, HEFT_MALFORMED, AFTER, "extra fields that do not fit together"},
    {HEFT_ZIP_NARROW, HEFT_MALFORMED, AFTER,
     "the zip64 field lacks a number that its 32-bit field leaves to it"},
    {HEFT_ZIP_LINK, HEFT_UNSAFE, 38, "a symbolic link"},
    {HEFT_ZIP_FULL, HEFT_MALFORMED, 24, "a directory entry with content"},
};

/* Reports the first of the faults. */
static bool refuse_record(struct opening *o, uint64_t where, const struct heft_zip_record *r,
                          unsigned faults)
{
    const unsigned first = faults & (~faults + 1);
    const int shown = heft_zip_shown(r->name);

    for (size_t i = 0; i < HEFT_COUNT(refusals); i++) {
        const unsigned field = refusals[i].field;

        if (refusals[i].fault == first)
            return bad_name(o->err, refusals[i].code,
                            where + (field == AFTER ? CENTRAL + r->name.n : field), r->name,
                            refusals[i].text);
    }
    if (first == HEFT_ZIP_NAMELESS)
        return heft_fail(o->err, HEFT_MALFORMED, where + CENTRAL, "a record without a name");
    if (first == HEFT_ZIP_DISK)
        return heft_fail(o->err, HEFT_UNSUPPORTED, where + 34,
                         "record \"%.*s\" on disk %" PRIu32 ": archives in several parts are not "
                         "read",
                         shown, r->name.p, r->disk);
    if (first == HEFT_ZIP_ENCRYPTED)
        return heft_fail(o->err, HEFT_UNSUPPORTED, where + 8,
                         "record \"%.*s\": flags 0x%04x say that it is encrypted or a patch", shown,
                         r->name.p, r->flags);
    if (first == HEFT_ZIP_METHOD)
        return heft_fail(o->err, HEFT_UNSUPPORTED, where + 10,
                         "record \"%.*s\": compression method %u, 0 (stored) and 8 (deflated) are "
                         "read",
                         shown, r->name.p, r->method);
    return heft_fail(o->err, HEFT_MALFORMED, where + 20,
                     "record \"%.*s\": stored, but %" PRIu64 " bytes packed and %" PRIu64
                     " unpacked",
                     shown, r->name.p, r->packed, r->size);
}

static bool check_ratio(struct opening *o, uint64_t where, const struct heft_zip_record *r)
{
    uint64_t most;

    if (!heft_mul(r->packed, o->limits.ratio, &most))
        most = UINT64_MAX;
    return r->method == HEFT_ZIP_STORED || r->size <= most ||
           heft_fail(o->err, HEFT_LIMIT, where + 24,
                     "record \"%.*s\": %" PRIu64 " bytes from %" PRIu64 ", the limit is %" PRIu64
                     " to 1",
                     heft_zip_shown(r->name), r->name.p, r->size, r->packed, o->limits.ratio);
}

/* Although each record is within the ratio, all together could need hours. */
static bool check_whole(struct opening *o, uint64_t where, const struct heft_zip_record *e)
{
    const uint64_t size = o->tail.src->size;
    const uint64_t usual =
        heft_max_u64(size > UINT64_MAX / MOST_TIMES ? size : size * MOST_TIMES, ALWAYS);
    const uint64_t most = o->limits.unpacked ? o->limits.unpacked : usual;

    if (e->method != HEFT_ZIP_DEFLATED)
        return true;
    return (heft_add(o->unpacked, e->size, &o->unpacked) && o->unpacked <= most) ||
           heft_fail(o->err, HEFT_LIMIT, where + 24,
                     "record \"%.*s\": with it more than %" PRIu64 " bytes unpack from %" PRIu64
                     ": limits.unpacked",
                     heft_zip_shown(e->name), e->name.p, most, size);
}

static bool add_entry(struct opening *o, const struct heft_zip_record *r, uint64_t where)
{
    const unsigned of_kind = HEFT_ZIP_LINK | HEFT_ZIP_FULL;
    const unsigned faults = heft_zip_faults(r, o->limits.labels);
    const uint32_t index = (uint32_t)o->zip->count; /* below limits.entries */
    struct heft_zip_entry *e = &o->zip->entries[index];

    if (faults & ~of_kind)
        return refuse_record(o, where, r, faults);
    if (!check_ratio(o, where, r) || !check_whole(o, where, r))
        return false;
    if (faults)
        return refuse_record(o, where, r, faults);
    if (r->name.n > o->letters)
        return heft_fail(o->err, HEFT_MALFORMED, where + 28,
                         "record \"%.*s\": a name of %zu bytes, and the directory ends before the "
                         "entries that follow",
                         heft_zip_shown(r->name), r->name.p, r->name.n);
    o->letters -= r->name.n;
    memcpy(o->names, r->name.p, r->name.n);
    o->names[r->name.n] = 0;
    *e = heft_zip_entry_of(r, o->names);
    o->names += r->name.n + 1;
    if (!add_name(o, where + CENTRAL, e->name, r->is_plain, index))
        return false;
    if (e->header > o->zip->directory ||
        o->zip->directory - e->header < HEFT_ZIP_LOCAL_HEAD + e->name.n)
        return heft_fail(o->err, HEFT_MALFORMED, where + 42,
                         "record \"%.*s\": local header at %" PRIu64
                         ", it must end before the directory at %" PRIu64,
                         heft_zip_shown(e->name), e->name.p, e->header, o->zip->directory);
    o->places[index] = (struct heft_zip_place){e->header, index, r->flags};
    o->zip->count++;
    return true;
}

/* Reads entry i of the directory, at file offset `where`. */
static bool read_entry(struct opening *o, struct heft_bytes *left, uint64_t where, uint64_t i,
                       uint64_t entries)
{
    struct heft_zip_record record;

    switch (heft_zip_take_central(left, &record)) {
    case HEFT_ZIP_TAKEN:
        return add_entry(o, &record, where);
    case HEFT_ZIP_OTHER:
        return heft_fail(o->err, HEFT_MALFORMED, where,
                         "entry %" PRIu64 " of %" PRIu64 " begins with 0x%08" PRIx32
                         ", 0x%08" PRIx32 " is needed",
                         i + 1, entries, heft_le32(left->p), HEFT_ZIP_SIG_CENTRAL);
    case HEFT_ZIP_CUT:
        break;
    }
    return heft_fail(o->err, HEFT_MALFORMED, where,
                     "entry %" PRIu64 " of %" PRIu64
                     " reaches past the end of the directory at %" PRIu64,
                     i + 1, entries, o->zip->tail);
}

/* Reads the directory in pieces, each of which begins with an entry. */
static bool read_entries(struct opening *o, const struct heft_zip_end *end)
{
    uint64_t at = end->directory, left = end->size, i = 0;

    while (left > 0) {
        const size_t n = (size_t)heft_min_u64(left, PIECE);
        struct heft_bytes bytes = {heft_zip_bytes(&o->tail, at, n, o->piece, o->err), n};

        if (!bytes.p)
            return false;
        for (; i < end->entries && (n == left || bytes.n >= MOST_ENTRY); i++)
            if (!read_entry(o, &bytes, at + (n - bytes.n), i, end->entries))
                return false;
        at += n - bytes.n;
        left -= n - bytes.n;
        if (left > 0 && i == end->entries)
            return heft_fail(o->err, HEFT_MALFORMED, at,
                             "%" PRIu64 " bytes of the directory follow its %" PRIu64 " entries",
                             left, end->entries);
    }
    return i == end->entries || heft_fail(o->err, HEFT_MALFORMED, at,
                                          "entry %" PRIu64 " of %" PRIu64
                                          " reaches past the end of the directory at %" PRIu64,
                                          i + 1, end->entries, o->zip->tail);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool check_limits(struct opening *o, const struct heft_zip_end *end)
{
    const uint64_t most = o->limits.entries;

    if (end->entries > most)
        return heft_fail(o->err, HEFT_LIMIT, end->at + 10,
                         "%" PRIu64 " entries, the limit is %" PRIu64, end->entries, most);
    if (end->size > o->limits.directory)
        return heft_fail(o->err, HEFT_LIMIT, end->at + 12,
                         "central directory of %" PRIu64 " bytes, the limit is %" PRIu64, end->size,
                         o->limits.directory);
    return true;
}

/* Checks the directory's size against the file and the limit, and allocates memory for all
 * names. */
static bool read_directory(struct opening *o, const struct heft_zip_end *end)
{
    const size_t size = (size_t)end->size, n = (size_t)end->entries;
    const size_t letters = size - n * CENTRAL;
    const bool leaves = o->limits.may_leave_unread && o->tail.src->is_slow;
    bool done = heft_zip_names_init(&o->known, letters, n, o->limits.labels, o->err);

    o->letters = letters;
    o->places = heft_alloc(n * sizeof *o->places, o->err);
    o->zip->entries = heft_arena_alloc(o->arena, n * sizeof *o->zip->entries, o->err);
    o->names = heft_arena_alloc(o->for_names, letters + n, o->err);
    if (end->directory < o->tail.at)
        o->piece = heft_alloc((size_t)heft_min_u64(size, PIECE), o->err);
    if (leaves)
        o->zip->unread = heft_arena_alloc(o->arena, n * sizeof *o->zip->unread, o->err);
    done = done && o->places && o->zip->entries && o->names && (!leaves || o->zip->unread) &&
           (o->piece || end->directory >= o->tail.at) && read_entries(o, end);
    heft_free(o->piece);
    return done;
}

struct heft_zip_limits heft_zip_limits_of(const struct heft_limits *limits, uint64_t file_bytes)
{
    return (struct heft_zip_limits){.entries = heft_limit_entries(limits, file_bytes),
                                    .ratio = limits->ratio,
                                    .unpacked = limits->unpacked};
}

struct heft_zip_limits heft_zip_complete(const struct heft_zip_limits *limits)
{
    struct heft_zip_limits l = limits ? *limits : defaults;

    l.entries = heft_min_u64(l.entries ? l.entries : defaults.entries, UINT32_MAX - 1);
    l.directory = heft_min_u64(l.directory ? l.directory : defaults.directory, PTRDIFF_MAX);
    l.ratio = l.ratio ? l.ratio : defaults.ratio;
    return l;
}

static bool decode_names(struct opening *o)
{
    uint64_t room = HEFT_ZIP_FOREIGN;

    for (size_t i = 0; o->limits.labels && i < o->zip->count; i++) {
        const struct heft_zip_place *place = &o->places[i];

        if (!heft_zip_decode(&o->zip->entries[place->index], place->flags, &room, o->for_names,
                             o->err))
            return false;
    }
    return true;
}

bool heft_zip_read(struct heft_zip *out, const struct heft_source *src, struct heft_bytes tail,
                   const struct heft_zip_limits *limits, bool mending, struct heft_arena *arena,
                   struct heft_arena *names, struct heft_error *err)
{
    struct opening o = {.zip = out,
                        .limits = heft_zip_complete(limits),
                        .arena = arena,
                        .for_names = names,
                        .err = err};
    struct heft_zip_end end = {0};
    bool done = false;

    *out = (struct heft_zip){0};
    if (heft_zip_find_end(&o.tail, src, tail, &end, err) && check_limits(&o, &end)) {
        out->directory = end.directory;
        out->directory_size = end.size;
        out->tail = end.tail;
        out->tail_size = end.after - end.tail;
        out->trailing = src->size - end.after;
        out->zip64 = end.zip64;
        done = read_directory(&o, &end) && heft_zip_locals(out, src, o.places, mending, err) &&
               decode_names(&o);
    }
    heft_free(o.tail.read);
    heft_free(o.places);
    heft_zip_names_release(&o.known);
    return done;
}

bool heft_zip_open(struct heft_zip *out, const struct heft_source *src,
                   const struct heft_zip_limits *limits, struct heft_arena *arena,
                   struct heft_error *err)
{
    return heft_zip_read(out, src, (struct heft_bytes){NULL, 0}, limits, false, arena, arena, err);
}

bool heft_zip_open_apart(struct heft_zip *out, const struct heft_source *src,
                         struct heft_bytes tail, const struct heft_zip_limits *limits,
                         struct heft_arena *arena, struct heft_arena *names, struct heft_error *err)
{
    return heft_zip_read(out, src, tail, limits, false, arena, names, err);
}

const struct heft_zip_entry *heft_zip_find(const struct heft_zip *zip, struct heft_str name)
{
    for (size_t i = 0; i < zip->count; i++)
        if (heft_str_eq(zip->entries[i].name, name))
            return &zip->entries[i];
    return NULL;
}
