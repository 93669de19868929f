/* zip_salvage.c: archives that were truncated or damaged in places.
 *
 *     ┌ local header ┐┌ payload ┐┌ PK\7\8 crc packed size ┐┌ local header ┐┌ payl│ the file ends
 *     │ name, extra  ││         ││ the descriptor         ││ …            ││     │ here
 *
 * An interrupted download has no directory, but a chain of records: each begins at the end of the
 * one before. If a local header leaves the sizes to a descriptor, as torch's do, the descriptor is
 * searched: its packed size must equal the distance from the payload's begin, and a record or a
 * directory must follow it, or its CRC-32 must be that of the payload. Bytes of a payload that look
 * like zip structures are therefore skipped: a header counts only if the chain leads to it. The
 * walk ends where the chain breaks; nothing after that is guessed.
 *
 * An intact directory has everything except the exact begin of a payload, which is only in the
 * local header. If that is damaged, the payload is the data before the descriptor that precedes the
 * next record. */
#include "wire/zip_parts.h"

#include "base/checksum.h"
#include "base/map.h"

#define WINDOW ((size_t)1 << 20)
#define PIECE  ((size_t)64 << 10)
#define NARROW 16
#define WIDE   24
#define LEAST  96   /* bytes of an average record: no more than this are kept in memory */
#define RATIO  16   /* inflated to packed, of data that is inflated only for verification … */
#define SMALL  4096 /* … unless it is small */

struct walk {
    const struct heft_source *src;
    struct heft_zip_limits limits;
    struct heft_arena *arena;
    struct heft_error *err;
    uint8_t *window; /* bytes [at, at+n) of the file */
    uint64_t at;
    size_t n;
    uint8_t *piece;  /* buffer for computing the checksum of a payload; … */
    uint64_t crc_at; /* … the payload's bytes up to this offset … */
    uint32_t crc;    /* … have this CRC-32 */
    struct heft_zip_entry *entries;
    size_t count, cap;
    struct heft_strmap names;
    uint64_t room; /* bytes left for converting names that are not UTF-8 */
    bool zip64;
};

/* A record reached by the walk. */
struct step {
    struct heft_zip_entry entry;
    unsigned flags;
    bool is_wide; /* the local header has a zip64 field */
};

/* n bytes at off, which must be in the file; n is far below the window's size. */
static const uint8_t *view_bytes(struct walk *w, uint64_t off, size_t n)
{
    if (off >= w->at && heft_within(off - w->at, n, w->n))
        return w->window + (off - w->at);
    w->at = off;
    w->n = (size_t)heft_min_u64(w->src->size - off, WINDOW);
    if (!heft_source_read(w->src, off, w->window, w->n, w->err)) {
        w->n = 0;
        return NULL;
    }
    return w->window;
}

/* ---- finding the next record ----------------------------------------------------------------- */

/* *yes: a record, the directory, the end records or the end of the file is at `off`. */
static bool is_border(struct walk *w, uint64_t off, bool *yes)
{
    static const char *const signatures[] = {"PK\3\4", "PK\1\2", "PK\6\6", "PK\5\6"};
    const size_t n = (size_t)heft_min_u64(w->src->size - off, 4);
    const uint8_t *p = n ? view_bytes(w, off, n) : NULL;

    *yes = n == 0;
    for (size_t i = 0; p && i < HEFT_COUNT(signatures); i++)
        *yes |= memcmp(p, signatures[i], n) == 0;
    return p || n == 0;
}

/* True if the payload from `data` to `end` has that CRC-32. Continues the computation of an earlier
 * call for the same payload. */
static bool has_crc(struct walk *w, uint64_t data, uint64_t end, uint32_t crc, bool *yes)
{
    if (w->crc_at < data) {
        w->crc_at = data;
        w->crc = 0;
    }
    while (w->crc_at < end) {
        const bool seen = w->crc_at >= w->at && w->crc_at - w->at < w->n;
        const size_t skip = seen ? (size_t)(w->crc_at - w->at) : 0;
        const size_t n = (size_t)heft_min_u64(end - w->crc_at, seen ? w->n - skip : PIECE);

        if (!seen && !heft_source_read(w->src, w->crc_at, w->piece, n, w->err))
            return false;
        w->crc = heft_crc32(w->crc, seen ? w->window + skip : w->piece, n);
        w->crc_at += n;
    }
    *yes = w->crc == crc;
    return true;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool fits_ratio(const struct walk *w, const struct heft_zip_entry *e)
{
    uint64_t most;

    return !heft_mul(e->packed, w->limits.ratio, &most) || e->size <= most;
}

/* Reads a descriptor of `form` bytes at `at`; true if its sizes match, and the entry is filled. */
static bool take_form(const struct walk *w, const uint8_t *p, unsigned form, uint64_t at,
                      struct heft_zip_entry *e)
{
    struct heft_zip_entry found = *e;

    found.end = at + form;
    if (!heft_zip_read_descriptor(p, form, &found) || found.packed != at - e->data)
        return false;
    if (e->method == HEFT_ZIP_STORED ? found.size != found.packed : !fits_ratio(w, &found))
        return false;
    *e = found;
    return true;
}

/* Checks whether `at`, which has the signature, is the entry's descriptor; the entry is complete
 * then. Sizes have 64 bits if the local header has a zip64 field. */
static bool judge_place(struct walk *w, uint64_t at, struct step *s, bool *yes)
{
    const unsigned form = s->is_wide ? WIDE : NARROW;
    struct heft_zip_entry e = s->entry;
    const uint8_t *p;

    *yes = false;
    if (!heft_within(at, form, w->src->size))
        return true;
    p = view_bytes(w, at, form);
    if (!p || !take_form(w, p, form, at, &e))
        return p != NULL;
    /* The end of the file is weaker evidence: a truncated file can end anywhere. */
    *yes = e.end == w->src->size && (e.method != HEFT_ZIP_STORED || !e.crc);
    if (e.end < w->src->size && !is_border(w, e.end, yes))
        return false;
    if (!*yes && e.method == HEFT_ZIP_STORED && e.crc && !has_crc(w, e.data, at, e.crc, yes))
        return false;
    if (*yes)
        s->entry = e;
    return true;
}

/* The next position from *at on with a descriptor's signature; UINT64_MAX if there is none. */
static bool next_place(struct walk *w, uint64_t *at)
{
    while (heft_within(*at, NARROW, w->src->size)) {
        const uint8_t *const p = view_bytes(w, *at, 4);
        const size_t n = p ? w->n - (size_t)(*at - w->at) : 0;
        const uint8_t *const found = p ? memchr(p, 'P', n - 3) : NULL;

        if (!p)
            return false;
        *at += found ? (size_t)(found - p) : n - 3;
        if (found && heft_le32(found) == HEFT_ZIP_SIG_DATA)
            return true;
        *at += found != NULL;
    }
    *at = UINT64_MAX;
    return true;
}

/* Searches the descriptor after the payload; without one the entry is open. */
static bool find_descriptor(struct walk *w, struct step *s)
{
    uint64_t at = s->entry.data;
    bool found = false;

    for (; !found; at++) {
        if (!next_place(w, &at))
            return false;
        if (at == UINT64_MAX)
            break;
        if (!judge_place(w, at, s, &found))
            return false;
    }
    if (!found) {
        s->entry.fault = HEFT_ZIP_OPEN;
        s->entry.packed = s->entry.size = w->src->size - s->entry.data;
        s->entry.end = w->src->size;
    }
    return true;
}

/* ---- local headers --------------------------------------------------------------------------- */

/* Takes the sizes in the local header. */
static bool take_sizes(const struct walk *w, struct heft_zip_entry *e)
{
    if (e->method == HEFT_ZIP_STORED ? e->size != e->packed : !fits_ratio(w, e))
        return false;
    if (!heft_within(e->data, e->packed, w->src->size)) {
        e->fault = HEFT_ZIP_OPEN;
        e->crc = 0;
        e->packed = e->size = w->src->size - e->data;
    }
    e->end = e->data + e->packed;
    return true;
}

/* Fills the step from a local header with its name and extra fields; false if it is invalid. */
static bool take_header(const struct walk *w, const uint8_t *p, uint64_t at, struct step *s)
{
    struct heft_zip_record r = heft_zip_local(p, at);
    struct heft_bytes field;

    r.extra.p = p + HEFT_ZIP_LOCAL_HEAD + r.name.n;
    r.faults |= heft_zip_name_faults(r.name);
    if (heft_zip_faults(&r, w->limits.labels) || !heft_zip_find_zip64(r.extra, &field))
        return false;
    s->flags = r.flags;
    s->is_wide = field.p != NULL;
    heft_zip_local_widen(&r, field);
    if (r.flags & HEFT_ZIP_DESCRIPTOR)
        r.packed = r.size = r.crc = 0;
    s->entry = heft_zip_entry_of(&r, r.name.p);
    return (r.flags & HEFT_ZIP_DESCRIPTOR) || take_sizes(w, &s->entry);
}

/* Reads the record at `at`; *there is false if none begins there. */
static bool read_step(struct walk *w, uint64_t at, struct step *s, bool *there)
{
    const uint8_t *p;
    size_t n;

    *there = false;
    if (!heft_within(at, HEFT_ZIP_LOCAL_HEAD, w->src->size))
        return true;
    p = view_bytes(w, at, HEFT_ZIP_LOCAL_HEAD);
    if (!p || heft_le32(p) != HEFT_ZIP_SIG_LOCAL)
        return p != NULL;
    n = (size_t)HEFT_ZIP_LOCAL_HEAD + heft_le16(p + 26) + heft_le16(p + 28);
    if (!heft_within(at, n, w->src->size))
        return true;
    p = view_bytes(w, at, n);
    if (!p || !take_header(w, p, at, s))
        return p != NULL;
    s->entry.name.p = heft_arena_text(w->arena, s->entry.name, w->err);
    *there = s->entry.name.p != NULL;
    if (*there && w->limits.labels &&
        !heft_zip_decode(&s->entry, s->flags, &w->room, w->arena, w->err))
        return false;
    return *there && (!(s->flags & HEFT_ZIP_DESCRIPTOR) || find_descriptor(w, s));
}

/* ---- walking from record to record ----------------------------------------------------------- */

/* Doubles the capacity. The arena enlarges large arrays in place. */
static bool make_room(struct walk *w)
{
    const size_t each = sizeof *w->entries, cap = w->cap ? 2 * w->cap : 256;
    struct heft_zip_entry *wider;

    if (w->count < w->cap)
        return true;
    wider = heft_arena_widen(w->arena, w->entries, w->cap * each, cap * each, w->err);
    if (!wider)
        return false;
    w->entries = wider;
    w->cap = cap;
    return true;
}

/* A second record with the same name is skipped: the first one counts. */
static bool keep_step(struct walk *w, const struct step *s)
{
    uint32_t same;

    if (w->count >= w->limits.entries)
        return heft_fail(w->err, HEFT_LIMIT, s->entry.header,
                         "more than %" PRIu64 " records, which is the limit", w->limits.entries);
    if (!heft_strmap_add(&w->names, s->entry.name, (uint32_t)w->count, &same, w->err) ||
        !make_room(w))
        return false;
    w->zip64 |= s->is_wide;
    if (same == HEFT_MAP_NONE)
        w->entries[w->count++] = s->entry;
    return true;
}

static bool walk_all(struct walk *w, uint64_t *end)
{
    struct step s;
    bool there = true;

    *end = 0;
    while (there) {
        s = (struct step){0};
        if (!read_step(w, *end, &s, &there) || (there && !keep_step(w, &s)))
            return false;
        if (there)
            *end = s.entry.end;
    }
    return true;
}

static void hand_over(const struct walk *w, uint64_t end, struct heft_zip *out)
{
    *out = (struct heft_zip){.entries = w->entries,
                             .count = w->count,
                             .directory = end,
                             .tail = end,
                             .trailing = w->src->size - end,
                             .zip64 = w->zip64,
                             .walked = true};
}

/* *whole: the walk reached the begin of the directory. */
static bool walk_archive(struct heft_zip *out, const struct heft_source *src,
                         const struct heft_zip_limits *limits, struct heft_arena *arena,
                         bool *whole, struct heft_error *err)
{
    struct walk w = {.src = src,
                     .limits = heft_zip_complete(limits),
                     .arena = arena,
                     .err = err,
                     .room = HEFT_ZIP_FOREIGN};
    uint64_t end;
    bool ok;

    w.window = heft_alloc((size_t)heft_min_u64(src->size, WINDOW), err);
    w.piece = w.window ? heft_alloc((size_t)heft_min_u64(src->size, PIECE), err) : NULL;
    w.limits.entries = heft_min_u64(w.limits.entries, src->size / LEAST + 256);
    ok = w.piece && walk_all(&w, &end) && is_border(&w, end, whole);
    if (ok)
        hand_over(&w, end, out);
    if (ok && w.count && w.entries[w.count - 1].fault == HEFT_ZIP_OPEN)
        *whole = false;
    heft_free(w.window);
    heft_free(w.piece);
    heft_strmap_release(&w.names);
    return ok;
}

/* ---- mending entries of an intact directory -------------------------------------------------- */

static bool is_described(const struct heft_source *src, const struct heft_zip_entry *e,
                         struct heft_error *err, bool *yes)
{
    struct heft_error found = {0};
    uint64_t length;

    *yes = heft_zip_check_descriptor(src, e, &length, &found);
    if (*yes || found.code == HEFT_MALFORMED)
        return true;
    *err = found;
    return false;
}

/* Finds the payload whose descriptor of `form` bytes ends at `limit`. */
static bool find_before(const struct heft_source *src, uint64_t limit, unsigned form,
                        struct heft_zip_entry *e, bool *found, struct heft_error *err)
{
    const uint64_t low = e->header + HEFT_ZIP_LOCAL_HEAD;
    uint8_t bytes[WIDE];

    *found = false;
    if (low > limit || limit - low < form || limit - low - form < e->packed)
        return true;
    if (form && !heft_source_read(src, limit - form, bytes, form, err))
        return false;
    if (form && !heft_zip_is_descriptor(bytes, form, e))
        return true;
    *found = true;
    e->data = limit - form - e->packed;
    e->end = limit;
    return true;
}

/* True if the payload at e->data has the checksum in the directory; false if that is 0, not
 * computed. */
static bool prove_payload(const struct heft_source *src, const struct heft_zip_entry *e,
                          bool *proven, struct heft_error *err)
{
    const struct heft_stream stream = heft_zip_stream(src, e);
    struct heft_error found = {0};

    *proven = false;
    if (e->crc == 0 || (e->size > SMALL && e->size / RATIO > e->packed))
        return true;
    *proven = heft_stream_check(&stream, &found);
    if (found.code == HEFT_NOMEM || found.code == HEFT_IO)
        *err = found;
    return found.code != HEFT_NOMEM && found.code != HEFT_IO;
}

/* Searches the payload after an invalid header: by a descriptor, whatever the flags say, or else by
 * the directory's size. */
static bool find_payload(const struct heft_source *src, uint64_t limit, struct heft_zip_entry *e,
                         struct heft_error *err)
{
    bool found, proven;

    if (!find_before(src, limit, NARROW, e, &found, err) ||
        (!found && !find_before(src, limit, WIDE, e, &found, err)))
        return false;
    if (found) {
        if (e->packed == e->size) /* the two headers may disagree: so many bytes are stored */
            e->method = HEFT_ZIP_STORED;
        e->fault = HEFT_ZIP_MENDED;
        return true;
    }
    if (!find_before(src, limit, 0, e, &found, err) ||
        (found && !prove_payload(src, e, &proven, err)))
        return false;
    if (found && proven) {
        e->fault = HEFT_ZIP_MENDED;
        return true;
    }
    e->data = e->end = e->header;
    e->packed = 0;
    e->fault = HEFT_ZIP_LOST;
    return true;
}

/* The header is valid, but not the descriptor: one of the two, or the directory, is wrong. */
static bool judge_doubtful(const struct heft_source *src, uint64_t limit, struct heft_zip_entry *e,
                           struct heft_error *err)
{
    const struct heft_zip_entry as_read = *e;
    bool proven;

    if (!find_payload(src, limit, e, err))
        return false;
    if (e->fault != HEFT_ZIP_LOST)
        return true;
    *e = as_read;
    if (!prove_payload(src, e, &proven, err))
        return false;
    e->fault = proven || e->crc == 0 ? HEFT_ZIP_SOUND : HEFT_ZIP_DOUBTFUL;
    return true;
}

bool heft_zip_mend(const struct heft_source *src, struct heft_zip_entry *e, bool has_header,
                   unsigned flags, uint64_t limit, struct heft_error *err)
{
    bool fine = has_header;

    if (!has_header)
        return find_payload(src, limit, e, err);
    if ((flags & HEFT_ZIP_DESCRIPTOR) && e->size && !is_described(src, e, err, &fine))
        return false;
    return fine || judge_doubtful(src, limit, e, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The worst fault of all entries. */
static enum heft_zip_fault worst_fault(const struct heft_zip *zip)
{
    enum heft_zip_fault fault = HEFT_ZIP_SOUND;

    for (size_t i = 0; i < zip->count; i++)
        if (zip->entries[i].fault > fault)
            fault = (enum heft_zip_fault)zip->entries[i].fault;
    return fault;
}

/* Adds the records of `other` whose names `base` lacks: if one of two names of the same record is
 * damaged, both are present. */
static bool unite_records(struct heft_zip *base, const struct heft_zip *other,
                          struct heft_arena *arena, struct heft_error *err)
{
    struct heft_strmap names = {0};
    struct heft_zip_entry *all =
        heft_arena_alloc(arena, (base->count + other->count) * sizeof *all, err);
    size_t n = base->count;
    uint32_t same;
    bool ok = all != NULL;

    if (ok && n)
        memcpy(all, base->entries, n * sizeof *all);
    for (uint32_t i = 0; ok && i < base->count; i++)
        ok = heft_strmap_add(&names, base->entries[i].name, i, &same, err);
    for (uint32_t i = 0; ok && i < other->count; i++) {
        const struct heft_zip_entry *e = &other->entries[i];

        ok = heft_strmap_add(&names, e->name, i, &same, err);
        if (ok && same == HEFT_MAP_NONE &&
            (e->fault == HEFT_ZIP_SOUND || e->fault == HEFT_ZIP_MENDED))
            all[n++] = *e;
    }
    base->entries = all;
    base->count = n;
    heft_strmap_release(&names);
    return ok;
}

bool heft_zip_salvage(struct heft_zip *out, const struct heft_source *src,
                      const struct heft_zip_limits *limits, struct heft_arena *arena,
                      struct heft_error *why, struct heft_error *err)
{
    const bool has_directory =
        heft_zip_read(out, src, (struct heft_bytes){NULL, 0}, limits, true, arena, arena, why);
    struct heft_zip walked;
    bool whole;

    if (has_directory && worst_fault(out) == HEFT_ZIP_SOUND)
        return true;
    if (!has_directory && (why->code == HEFT_NOMEM || why->code == HEFT_IO)) {
        *err = *why;
        return false;
    }
    if (!walk_archive(&walked, src, limits, arena, &whole, err))
        return false;
    if (!has_directory) {
        *out = walked;
        if (walked.count == 0)
            *err = *why;
        return walked.count > 0;
    }
    if (!whole || walked.count < out->count || worst_fault(out) == HEFT_ZIP_MENDED)
        return unite_records(out, &walked, arena, err);
    if (!unite_records(&walked, out, arena, err))
        return false;
    *out = walked;
    return true;
}
