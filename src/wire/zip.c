/* zip.c: the central directory of a zip or zip64 archive, and opening one.
 *
 *     ┌ local header, name, extra │ payload │ [descriptor] ┐ …    zip_local.c
 *     ├ central entry 46 bytes │ name │ extra │ comment    ┤ …    this file
 *     └ end records                                        ┘      zip_end.c
 *
 *     central entry
 *      0 signature 50 4B 01 02      24 size
 *      4 made by      6 needed      28 name length    30 extra length    32 comment length
 *      8 flags       10 method      34 disk           36 internal attributes
 *     12 time        14 date        38 external attributes
 *     16 crc         20 packed      42 offset of the local header
 *
 * A size, packed size or offset that is all ones stands in the extra field 1, as 64 bits, in that
 * order, and only those that do. */
#include "wire/zip_parts.h"

#include "base/cursor.h"
#include "base/map.h"
#include "base/text.h"

#define CENTRAL HEFT_ZIP_CENTRAL

#define PIECE      ((size_t)4 << 20) /* of the directory, in memory at once */
#define MOST_ENTRY (CENTRAL + 3 * 65535)

enum { MOST_TIMES = 64 }; /* an archive's bytes, that its deflated records unpack to in all … */
#define ALWAYS (UINT64_C(4) << 30) /* … or this: seconds of inflating */

static const struct heft_zip_limits defaults = {1000000, 256 << 20, 1100, 0, false};

/* While it is being opened. What is not the caller's lives on the heap. */
struct opening {
    struct heft_zip *zip;
    struct heft_zip_limits limits;
    struct heft_arena *arena, *for_names;
    struct heft_error *err;
    struct heft_zip_tail tail;
    uint8_t *piece; /* of the directory, where the tail does not hold it */
    struct heft_zip_place *places;
    char *folded;           /* names in lower case, where that changes them, one behind the other */
    char *names;            /* the same as they are, in the arena */
    struct heft_str prefix; /* "archive/data/", of the first name that ends in a number … */
    uint32_t *numbered;     /* … which number is in which entry */
    size_t entries;         /* numbers from 0 on that have a place there */
    uint64_t unpacked;      /* bytes of deflated entries so far */
    struct heft_strmap seen; /* all other names */
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool bad_name(struct heft_error *err, enum heft_code code, uint64_t where,
                     struct heft_str name, const char *what)
{
    return heft_fail(err, code, where, "record \"%.*s\": %s", heft_zip_shown(name), name.p, what);
}

static bool has_parent(struct heft_str name)
{
    size_t begin = 0;

    for (size_t i = 0; i <= name.n; i++) {
        if (i < name.n && name.p[i] != '/')
            continue;
        if (i - begin == 2 && name.p[begin] == '.' && name.p[begin + 1] == '.')
            return true;
        begin = i + 1;
    }
    return false;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOPS       EACH(0x80)

/* Not zero where one of 8 bytes is NUL, `\\`, `.`, a capital or no ASCII. */
static inline uint64_t odd_bytes(const char *p)
{
    const uint64_t word = heft_le64((const uint8_t *)p);
    const uint64_t slash = word ^ EACH('\\'), dot = word ^ EACH('.'), low = word & ~TOPS;
    const uint64_t capital = (low + EACH(0x80 - 'A')) & ~(low + EACH(0x80 - 'Z' - 1));
    /* In w - 1 without w's own, a top bit shows a byte that was 0. */
    const uint64_t zero =
        ((word - EACH(1)) & ~word) | ((slash - EACH(1)) & ~slash) | ((dot - EACH(1)) & ~dot);

    return (word | capital | zero) & TOPS;
}

/* Nothing in the name needs a closer look, and folding would not change it. False may be wrong. */
static bool is_plain(struct heft_str name)
{
    uint64_t odd;

    if (name.n < 8 || name.p[0] == '/')
        return false;
    odd = odd_bytes(name.p + name.n - 8);
    for (size_t i = 0; name.n - i > 8; i += 8)
        odd |= odd_bytes(name.p + i);
    return odd == 0;
}

static bool check_path(uint64_t where, struct heft_str name, struct heft_error *err)
{
    if (memchr(name.p, '\\', name.n))
        return bad_name(err, HEFT_UNSAFE, where, name, "a backslash in a name");
    if (name.p[0] == '/')
        return bad_name(err, HEFT_UNSAFE, where, name,
                        "an absolute path, a relative one is needed");
    return !has_parent(name) ||
           bad_name(err, HEFT_UNSAFE, where, name, "a name that leads out with \"..\"");
}

bool heft_zip_check_name(uint64_t where, struct heft_str name, bool label, unsigned flags,
                         struct heft_error *err)
{
    if (name.n == 0)
        return heft_fail(err, HEFT_MALFORMED, where, "a record without a name");
    if (memchr(name.p, 0, name.n))
        return bad_name(err, HEFT_UNSAFE, where, name, "a NUL in a name");
    if (!label && !check_path(where, name, err))
        return false;
    if (label && !(flags & HEFT_ZIP_UTF8))
        return true;
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)name.p, name.n}) < name.n)
        return bad_name(err, HEFT_MALFORMED, where, name, "a name that is not UTF-8");
    return true;
}

static struct heft_str fold(struct opening *o, struct heft_str name)
{
    const struct heft_str folded = {o->folded, name.n};

    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];

        o->folded[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    o->folded += name.n;
    return folded;
}

/* "archive/data/12" → "archive/data/" and 12. False where there is no such number. */
static bool split_number(struct heft_str name, struct heft_str *prefix, size_t *number)
{
    size_t begin = name.n, scale = 1;

    *number = 0;
    for (; begin > 0 && name.p[begin - 1] >= '0' && name.p[begin - 1] <= '9'; begin--) {
        if (name.n - begin == 9)
            return false;
        *number += scale * (size_t)(name.p[begin - 1] - '0');
        scale *= 10;
    }
    *prefix = (struct heft_str){name.p, begin};
    return begin < name.n && begin > 0 && name.p[begin - 1] == '/' &&
           (name.p[begin] != '0' || name.n - begin == 1);
}

/* The entry that has this name already, else HEFT_MAP_NONE. torch numbers its storages: nearly all
 * names differ in a small number alone, and an array tells those apart. */
static bool find_same(struct opening *o, struct heft_str folded, uint32_t index, uint32_t *found)
{
    struct heft_str prefix;
    size_t number;

    if (!split_number(folded, &prefix, &number) || number >= o->entries)
        return heft_strmap_add(&o->seen, folded, index, found, o->err);
    if (!o->prefix.p)
        o->prefix = prefix;
    if (!heft_str_eq(prefix, o->prefix))
        return heft_strmap_add(&o->seen, folded, index, found, o->err);
    *found = o->numbered[number];
    if (*found == HEFT_MAP_NONE)
        o->numbered[number] = index;
    return true;
}

/* Names must differ even where upper and lower case do not count: torch looks them up so. Labels
 * are what they are. */
static bool add_name(struct opening *o, uint64_t where, struct heft_str name, bool plain,
                     uint32_t index)
{
    const struct heft_str folded = plain || o->limits.labels ? name : fold(o, name);
    const struct heft_zip_entry *other;
    uint32_t found;

    if (!find_same(o, folded, index, &found))
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

bool heft_zip_find_zip64(const uint8_t *p, size_t n, struct heft_bytes *field)
{
    *field = (struct heft_bytes){NULL, 0};
    while (n >= 4) { /* up to 3 bytes of padding may follow */
        const uint16_t id = heft_le16(p);
        const size_t len = heft_le16(p + 2);

        if (len > n - 4 || (id == 1 && field->p))
            return false;
        if (id == 1)
            *field = (struct heft_bytes){p + 4, len};
        p += 4 + len;
        n -= 4 + len;
    }
    return true;
}

/* A 64-bit value where the 32-bit one is all ones; they come in a fixed order. */
static bool widen(struct heft_bytes *field, uint64_t *value)
{
    if (*value != HEFT_ZIP_MANY)
        return true;
    if (field->n < 8)
        return false;
    *value = heft_le64(field->p);
    *field = (struct heft_bytes){field->p + 8, field->n - 8};
    return true;
}

static bool read_zip64(struct opening *o, uint64_t where, const uint8_t *p, struct heft_bytes extra,
                       struct heft_zip_entry *entry)
{
    struct heft_bytes field;
    uint64_t disk = heft_le16(p + 34);

    if (!heft_zip_find_zip64(extra.p, extra.n, &field))
        return bad_name(o->err, HEFT_MALFORMED, where + CENTRAL + entry->name.n, entry->name,
                        "extra fields that do not fit together");
    if (!widen(&field, &entry->size) || !widen(&field, &entry->packed) ||
        !widen(&field, &entry->header))
        return bad_name(o->err, HEFT_MALFORMED, where + CENTRAL + entry->name.n, entry->name,
                        "the zip64 field lacks a number that its 32-bit field leaves to it");
    if (disk == 0xFFFF && field.n >= 4)
        disk = heft_le32(field.p);
    if (disk > 1)
        return heft_fail(o->err, HEFT_UNSUPPORTED, where + 34,
                         "record \"%.*s\" on disk %" PRIu64 ": archives in several parts are not "
                         "read",
                         heft_zip_shown(entry->name), entry->name.p, disk);
    return true;
}

static bool check_coding(struct opening *o, uint64_t where, const uint8_t *p,
                         const struct heft_zip_entry *e)
{
    const unsigned flags = heft_le16(p + 8);
    uint64_t most;

    if (flags & HEFT_ZIP_SEALED)
        return heft_fail(o->err, HEFT_UNSUPPORTED, where + 8,
                         "record \"%.*s\": flags 0x%04x say that it is encrypted or a patch",
                         heft_zip_shown(e->name), e->name.p, flags);
    if (e->method != HEFT_ZIP_STORED && e->method != HEFT_ZIP_DEFLATED)
        return heft_fail(o->err, HEFT_UNSUPPORTED, where + 10,
                         "record \"%.*s\": compression method %u, 0 (stored) and 8 (deflated) are "
                         "read",
                         heft_zip_shown(e->name), e->name.p, e->method);
    if (e->method == HEFT_ZIP_STORED && e->packed != e->size)
        return heft_fail(o->err, HEFT_MALFORMED, where + 20,
                         "record \"%.*s\": stored, but %" PRIu64 " bytes packed and %" PRIu64
                         " unpacked",
                         heft_zip_shown(e->name), e->name.p, e->packed, e->size);
    if (!heft_mul(e->packed, o->limits.ratio, &most))
        most = UINT64_MAX;
    if (e->method == HEFT_ZIP_DEFLATED && e->size > most)
        return heft_fail(o->err, HEFT_LIMIT, where + 24,
                         "record \"%.*s\": %" PRIu64 " bytes from %" PRIu64
                         ", the limit is %" PRIu64 " to 1",
                         heft_zip_shown(e->name), e->name.p, e->size, e->packed, o->limits.ratio);
    return true;
}

/* Each record may be within the ratio, and all of them hours of work. */
static bool check_whole(struct opening *o, uint64_t where, const struct heft_zip_entry *e)
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

/* What the entry is on the system that wrote it, from the external attributes. */
static bool check_kind(struct opening *o, uint64_t where, const uint8_t *p,
                       const struct heft_zip_entry *e)
{
    const bool unix_made = p[5] == 3;
    const uint32_t type = heft_le32(p + 38) >> 28;

    if (unix_made && type == 0xA)
        return bad_name(o->err, HEFT_UNSAFE, where + 38, e->name, "a symbolic link");
    if (e->is_folder && e->size)
        return bad_name(o->err, HEFT_MALFORMED, where + 24, e->name, "a folder that holds bytes");
    return true;
}

static bool add_entry(struct opening *o, const uint8_t *p, uint64_t where, struct heft_bytes name,
                      struct heft_bytes extra)
{
    const uint32_t index = (uint32_t)o->zip->count; /* below limits.entries */
    struct heft_zip_entry *e = &o->zip->entries[index];
    bool plain;

    if (name.n)
        memcpy(o->names, name.p, name.n);
    o->names[name.n] = 0;
    *e = (struct heft_zip_entry){.name = {o->names, name.n},
                                 .crc = heft_le32(p + 16),
                                 .packed = heft_le32(p + 20),
                                 .size = heft_le32(p + 24),
                                 .header = heft_le32(p + 42),
                                 .method = heft_le16(p + 10),
                                 .is_folder = name.n && name.p[name.n - 1] == '/'};
    o->names += name.n + 1;
    plain = is_plain(e->name);
    if ((!plain && !heft_zip_check_name(where + CENTRAL, e->name, o->limits.labels,
                                        heft_le16(p + 8), o->err)) ||
        !read_zip64(o, where, p, extra, e) || !check_coding(o, where, p, e) ||
        !check_whole(o, where, e) || !check_kind(o, where, p, e) ||
        !add_name(o, where + CENTRAL, e->name, plain, index))
        return false;
    if (e->header > o->zip->directory ||
        o->zip->directory - e->header < HEFT_ZIP_LOCAL_HEAD + name.n)
        return heft_fail(o->err, HEFT_MALFORMED, where + 42,
                         "record \"%.*s\": local header at %" PRIu64
                         ", it must end before the directory at %" PRIu64,
                         heft_zip_shown(e->name), e->name.p, e->header, o->zip->directory);
    o->places[index] = (struct heft_zip_place){e->header, index, heft_le16(p + 8)};
    o->zip->count++;
    return true;
}

/* Entry i, which the cursor stands at. */
static bool read_entry(struct opening *o, struct heft_cur *cur, uint64_t i, uint64_t entries)
{
    const uint64_t where = heft_cur_where(cur);
    const struct heft_bytes head = heft_cur_take(cur, CENTRAL);
    struct heft_bytes name, extra;

    if (head.n && heft_le32(head.p) != HEFT_ZIP_SIG_CENTRAL)
        return heft_fail(o->err, HEFT_MALFORMED, where,
                         "entry %" PRIu64 " of %" PRIu64 " begins with 0x%08" PRIx32
                         ", 0x%08" PRIx32 " is needed",
                         i + 1, entries, heft_le32(head.p), HEFT_ZIP_SIG_CENTRAL);
    name = heft_cur_take(cur, head.n ? heft_le16(head.p + 28) : 0U);
    extra = heft_cur_take(cur, head.n ? heft_le16(head.p + 30) : 0U);
    heft_cur_take(cur, head.n ? heft_le16(head.p + 32) : 0U);
    if (!heft_cur_ok(cur))
        return heft_fail(o->err, HEFT_MALFORMED, where,
                         "entry %" PRIu64 " of %" PRIu64
                         " reaches past the end of the directory at %" PRIu64,
                         i + 1, entries, o->zip->tail);
    return add_entry(o, head.p, where, name, extra);
}

/* The directory in pieces, each of which begins with an entry. */
static bool read_entries(struct opening *o, const struct heft_zip_end *end)
{
    uint64_t at = end->directory, left = end->size, i = 0;

    while (left > 0) {
        const size_t n = (size_t)heft_min_u64(left, PIECE);
        const struct heft_bytes bytes = {heft_zip_bytes(&o->tail, at, n, o->piece, o->err), n};
        struct heft_cur cur = heft_cur_of(bytes, at);

        if (!bytes.p)
            return false;
        for (; i < end->entries && (n == left || heft_cur_left(&cur) >= MOST_ENTRY); i++)
            if (!read_entry(o, &cur, i, end->entries))
                return false;
        at += n - heft_cur_left(&cur);
        left -= n - heft_cur_left(&cur);
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

/* The directory's size is within the file and the limit, and holds all names. */
static bool read_directory(struct opening *o, const struct heft_zip_end *end)
{
    const size_t size = (size_t)end->size, n = (size_t)end->entries;
    const size_t letters = size - n * CENTRAL;
    char *folded = heft_alloc(letters, o->err);
    bool done = false;

    o->folded = folded;
    o->places = heft_alloc(n * sizeof *o->places, o->err);
    o->numbered = heft_alloc(n * sizeof *o->numbered, o->err);
    o->zip->entries = heft_arena_alloc(o->arena, n * sizeof *o->zip->entries, o->err);
    o->names = heft_arena_alloc(o->for_names, letters + n, o->err);
    if (end->directory < o->tail.at)
        o->piece = heft_alloc((size_t)heft_min_u64(size, PIECE), o->err);
    if (folded && o->places && o->numbered && o->zip->entries && o->names &&
        (o->piece || end->directory >= o->tail.at)) {
        if (n)
            memset(o->numbered, 0xFF, n * sizeof *o->numbered); /* HEFT_MAP_NONE */
        o->entries = n;
        done = read_entries(o, end);
    }
    heft_free(folded);
    heft_free(o->piece);
    return done;
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
    heft_free(o.numbered);
    heft_strmap_release(&o.seen);
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
