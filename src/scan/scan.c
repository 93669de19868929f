/* scan.c: what executing the pickles of a file would import and call, and tricks of the container.
 *
 *     place
 *      ├ zip            scan_zip.c: its records *.pkl, then the others, but for the storages that
 *      │                the first ones name; scan_broken.c where heft's reader refuses it
 *      ├ .npy, tar      scan_npy.c, scan_other.c
 *      ├ compressed     scan_packed.c: gzip and zlib are unpacked, others told
 *      └ all else       scan_pickle.c: a pickle, several, a legacy torch stream; or else
 *                       scan_content.c: graphs, configurations, native code, and what is not judged
 *
 * Content decides, as it does for whoever loads the file. Every GLOBAL that the machine made is an
 * import, every CALL a call of its callee, also those that the pickle threw away again, so hiding
 * behind POP does not help. Nothing is resolved or run. */
#include "scan/scan_parts.h"

#define HEAD 512 /* bytes that tell what a place holds */

void heft_scan_break_off(struct heft_scan *s, const struct heft_error *why)
{
    struct heft_scan_item item = {.danger = HEFT_UNKNOWN,
                                  .record = "",
                                  .offset = why->offset,
                                  .position = HEFT_NO_OFFSET,
                                  .what = "refused",
                                  .name = why->text};

    if (s->complete)
        *s->err = *why;
    s->complete = false;
    heft_scan_report(s, &item);
}

void heft_scan_report(struct heft_scan *s, struct heft_scan_item *item)
{
    item->file = s->path;
    s->items++;
    if (item->danger > s->worst)
        s->worst = item->danger;
    s->each(s->ctx, item);
}

uint64_t heft_scan_offset(const struct heft_scan_place *place, uint64_t position)
{
    return place->base == HEFT_NO_OFFSET || position == HEFT_NO_OFFSET ? HEFT_NO_OFFSET
                                                                       : place->base + position;
}

bool heft_scan_tell(struct heft_scan *s, const struct heft_scan_place *place, uint64_t position,
                    enum heft_danger danger, const char *what, const char *sentence)
{
    struct heft_scan_item item = {.danger = danger,
                                  .record = place->record,
                                  .offset = heft_scan_offset(place, position),
                                  .position = position,
                                  .what = what,
                                  .name = sentence};

    if (sentence)
        heft_scan_report(s, &item);
    return sentence != NULL;
}

bool heft_scan_pay(struct heft_scan *s, const struct heft_scan_place *place, uint64_t n)
{
    struct heft_error why = {0};

    if (n <= s->budget) {
        s->budget -= n;
        return true;
    }
    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(place, 0),
              "the parts of this file add up to much more than the file; the rest was not looked "
              "into");
    heft_scan_break_off(s, &why);
    return false;
}

#define LONGEST_OUTER 256

const char *heft_scan_label(struct heft_buf *buf, const struct heft_scan_place *outer,
                            struct heft_str name, struct heft_error *err)
{
    const size_t n = strlen(outer->record);

    buf->n = 0;
    heft_buf_text(buf, outer->record + (n > LONGEST_OUTER ? n - LONGEST_OUTER : 0));
    if (n)
        heft_buf_char(buf, ':');
    heft_buf_str(buf, name);
    heft_buf_char(buf, 0);
    return heft_buf_ok(buf, err) ? buf->p : NULL;
}

/* ---- which of the others looks at it ----------------------------------------------------- */

static bool read_head(const struct heft_scan_place *place, uint8_t room[HEAD],
                      struct heft_bytes *head, struct heft_error *err)
{
    *head = (struct heft_bytes){room, (size_t)heft_min_u64(place->src->size, HEAD)};
    return heft_source_read(place->src, 0, room, head->n, err);
}

static bool begins(struct heft_bytes head, const char *magic, size_t n)
{
    return head.n >= n && memcmp(head.p, magic, n) == 0;
}

/* Of the file itself. Always true. */
static bool set_kind(struct heft_scan *s, const struct heft_scan_place *place, const char *name)
{
    if (place->depth == 0)
        s->kind = (struct heft_scan_kind){name, true};
    return true;
}

static bool scan_plain(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes head, struct heft_error *err)
{
    const size_t before = s->pickles;

    if (!heft_scan_pickles(s, place, 0, err))
        return false;
    return s->pickles > before ? set_kind(s, place, "pickle")
                               : heft_scan_content(s, place, head, err);
}

/* A tar or compressed bytes may be a pickle to whoever reads them as that: each can begin with
 * opcodes. */
static bool scan_also(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_error *err)
{
    struct heft_scan_place plain = *place;

    plain.named = false;
    plain.quiet = true;
    return heft_scan_pickles(s, &plain, 0, err);
}

static bool scan_tar(struct heft_scan *s, const struct heft_scan_place *place,
                     struct heft_error *err)
{
    if (place->depth < HEFT_SCAN_DEPTH)
        return heft_scan_tar(s, place, err);
    return heft_scan_tell(s, place, 0, HEFT_UNKNOWN, "packed", HEFT_SCAN_DEEP);
}

/* What it is by its first bytes, neither of a zip nor of a tar. */
static bool scan_begin(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes head, struct heft_error *err)
{
    bool is_packed;

    if (begins(head, "\x93NUMPY", 6))
        return set_kind(s, place, "npy") && heft_scan_npy(s, place, err);
    if (!heft_scan_packed(s, place, head, &is_packed, err))
        return false;
    if (!is_packed)
        return scan_plain(s, place, head, err);
    return set_kind(s, place, "compressed") && scan_also(s, place, err);
}

bool heft_scan_place(struct heft_scan *s, const struct heft_scan_place *place,
                     struct heft_error *err)
{
    uint8_t room[HEAD];
    struct heft_bytes head;

    if (place->src->size == 0)
        return true;
    if (!read_head(place, room, &head, err))
        return false;
    if (begins(head, "PK\3\4", 4) && place->depth >= HEFT_SCAN_DEPTH)
        return heft_scan_tell(s, place, 0, HEFT_UNKNOWN, "packed", HEFT_SCAN_DEEP);
    if (begins(head, "PK\3\4", 4))
        return set_kind(s, place, "zip") && heft_scan_zip(s, place, err);
    if (heft_scan_is_tar(head))
        return set_kind(s, place, "tar") && scan_tar(s, place, err) && scan_also(s, place, err);
    if (!scan_begin(s, place, head, err))
        return false;
    /* What is no zip at its beginning may be one at its end. */
    return place->depth >= HEFT_SCAN_DEPTH || heft_scan_hidden_zip(s, place, err);
}

bool heft_scan_memory(struct heft_scan *s, const struct heft_scan_place *like,
                      struct heft_bytes bytes, struct heft_error *err)
{
    struct heft_scan_place place = *like;
    struct heft_source src;
    bool ok;

    heft_source_open_memory(&src, bytes, s->path);
    place.src = &src;
    place.bytes = bytes;
    ok = heft_scan_place(s, &place, err);
    heft_source_close(&src);
    return ok;
}

bool heft_scan_within(struct heft_scan *s, const struct heft_scan_place *outer, uint64_t off,
                      uint64_t n, const char *record, struct heft_error *err)
{
    struct heft_scan_place place = *outer;
    struct heft_source src;
    bool ok;

    place.record = record;
    place.base = heft_scan_offset(outer, off);
    place.depth++;
    if (outer->bytes.p) /* the caller knows that it is within */
        return heft_scan_memory(s, &place, (struct heft_bytes){outer->bytes.p + off, (size_t)n},
                                err);
    if (!heft_source_open_slice(&src, outer->src, off, n, s->path, err))
        return false;
    place.src = &src;
    ok = heft_scan_place(s, &place, err);
    heft_source_close(&src);
    return ok;
}

/* ---- the door ---------------------------------------------------------------------------- */

/* HDF5 behind a user block, which may be a file of any other kind: HDF5's readers see no more of it. */
static bool scan_user_block(struct heft_scan *s, const struct heft_scan_place *place,
                            struct heft_error *err)
{
    bool is_h5;

    if (strcmp(s->kind.name, "h5") == 0)
        return true;
    if (!heft_scan_is_h5(place, &is_h5, err))
        return false;
    return !is_h5 || (set_kind(s, place, "h5") && heft_scan_h5(s, place, err));
}

bool heft_scan_source(const struct heft_source *src, const char *path,
                      const struct heft_limits *limits,
                      void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                      struct heft_scan_kind *kind, bool *complete, struct heft_error *err)
{
    struct heft_error first = {0}, fatal = {0};
    struct heft_scan s = {.path = path,
                          .limits = limits,
                          .each = each,
                          .ctx = ctx,
                          .complete = true,
                          /* scan keeps more for each than readers do */
                          .nodes = heft_limit_nodes(limits, src->size) / 8 * 7,
                          .kind = {"unknown", false},
                          .err = &first};
    const struct heft_scan_place place = {.src = src, .record = "", .packed = true};
    bool ok;

    *complete = false;
    *kind = (struct heft_scan_kind){"empty", false};
    if (src->size == 0)
        return heft_fail(err, HEFT_MALFORMED, 0, "the file is empty");
    if (!heft_mul(src->size, 3, &s.budget) ||
        !heft_add(s.budget, 4 * HEFT_SCAN_UNPACKED, &s.budget))
        s.budget = UINT64_MAX;
    ok = heft_scan_place(&s, &place, &fatal) && scan_user_block(&s, &place, &fatal);
    *kind = s.kind;
    heft_strmap_release(&s.keys);
    heft_arena_release(&s.mem);
    *complete = ok && s.complete;
    if (!*complete)
        *err = ok ? first : fatal;
    return ok && (s.complete || s.items > 0);
}

bool heft_scan_file(const struct heft_source *src, const char *path,
                    const struct heft_limits *limits,
                    void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                    bool *complete, struct heft_error *err)
{
    struct heft_scan_kind ignored;

    return heft_scan_source(src, path, limits, each, ctx, &ignored, complete, err);
}
