/* scan.c: scan of one file: what executing its pickles would import and call, and tricks of
 * containers.
 *
 *     place
 *      ├ zip            scan_zip_open.c: its records *.pkl, then all others except the storages
 *      │                that the former refer to; as other readers see it if heft refuses it
 *      ├ .npy, tar      scan_npy.c, scan_other.c
 *      ├ compressed     scan_packed.c: gzip and zlib are unpacked, others reported
 *      └ all others     scan_pickle.c: a pickle, several, a legacy torch stream; or else
 *                       scan_content.c: graphs, configurations, native code, and kinds not judged
 *
 * The content decides, as it does for the programs that load the file. Every GLOBAL that the
 * pickle machine has created is an import and every CALL a call, even if the pickle discarded
 * the result, so POP hides nothing. Nothing is imported or executed. */
#include "scan/scan_parts.h"

#define HEAD 512 /* bytes that are read to find the kind of a place */

/* ---- choosing the kind of a file --------------------------------------------------------- */

static bool read_head(const struct heft_scan_place *place, uint8_t room[HEAD],
                      struct heft_bytes *head, struct heft_error *err)
{
    *head = (struct heft_bytes){room, (size_t)heft_min_u64(place->src->size, HEAD)};
    return heft_source_read(place->src, 0, room, head->n, err);
}

static bool begins_with(struct heft_bytes head, const char *magic, size_t n)
{
    return head.n >= n && memcmp(head.p, magic, n) == 0;
}

/* Sets the kind of the file, unless the place is within it. Always returns true. */
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

/* Scans a tar or compressed bytes as a pickle, too, because both can begin with opcodes. */
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
    return heft_scan_report_text(s, place, 0, HEFT_UNKNOWN, "packed", HEFT_SCAN_DEEP);
}

/* Scans a place that is neither a zip nor a tar, by its first bytes. */
static bool scan_begin(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes head, struct heft_error *err)
{
    bool is_packed;

    if (begins_with(head, "\x93NUMPY", 6))
        return set_kind(s, place, "npy") && heft_scan_npy(s, place, err);
    if (!heft_scan_packed(s, place, head, &is_packed, err))
        return false;
    if (!is_packed)
        return scan_plain(s, place, head, err);
    return set_kind(s, place, "compressed") && scan_also(s, place, err);
}

static bool scan_place(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_error *err)
{
    uint8_t room[HEAD];
    struct heft_bytes head;

    if (place->src->size == 0)
        return true;
    if (!read_head(place, room, &head, err))
        return false;
    if (begins_with(head, "PK\3\4", 4) && place->depth >= HEFT_SCAN_DEPTH)
        return heft_scan_report_text(s, place, 0, HEFT_UNKNOWN, "packed", HEFT_SCAN_DEEP);
    if (begins_with(head, "PK\3\4", 4))
        return set_kind(s, place, "zip") && heft_scan_zip(s, place, err);
    if (heft_scan_is_tar(head))
        return set_kind(s, place, "tar") && scan_tar(s, place, err) && scan_also(s, place, err);
    if (!scan_begin(s, place, head, err))
        return false;
    /* a zip is found by its end, so it may have other bytes before it */
    return place->depth >= HEFT_SCAN_DEPTH || heft_scan_hidden_zip(s, place, err);
}

/* ---- entry points ------------------------------------------------------------------------ */

/* Scans an HDF5 file after a user block, which may be a file of any other kind and is ignored by
 * readers of HDF5. */
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

/* A file whose reads are watched: some callers take a failed read for the end of the file, or for
 * another kind of file. Such a scan is incomplete. */
struct watched {
    const struct heft_source *src;
    struct heft_error failed; /* the first error of a read */
};

static bool read_watched(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                         struct heft_error *err)
{
    struct watched *w = src->self;

    if (heft_source_read(w->src, off, dst, n, err))
        return true;
    if (w->failed.code == HEFT_OK)
        w->failed = *err;
    return false;
}

static const struct heft_source_ops watched_ops = {.read = read_watched};

static struct heft_source watch(struct watched *w)
{
    struct heft_source src = *w->src; /* the descriptor is for the process of libhdf5 */

    src.ops = &watched_ops;
    src.self = w;
    return src;
}

bool heft_scan_source(const struct heft_source *src, const char *path,
                      const struct heft_limits *limits,
                      void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                      struct heft_scan_kind *kind, bool *complete, struct heft_error *err)
{
    struct heft_error first = {0}, fatal = {0};
    struct watched watched = {.src = src};
    const struct heft_source bytes = watch(&watched);
    struct heft_scan s = {.path = path,
                          .limits = limits,
                          .look = scan_place,
                          .each = each,
                          .ctx = ctx,
                          .complete = true,
                          /* the other eighth is for scan's own notes on each node */
                          .nodes = heft_limit_nodes(limits, src->size) / 8 * 7,
                          .kind = {"unknown", false},
                          .err = &first};
    const struct heft_scan_place place = {.src = &bytes, .record = "", .packed = true};
    bool ok;

    *complete = false;
    *kind = (struct heft_scan_kind){"empty", false};
    if (src->size == 0)
        return heft_fail(err, HEFT_MALFORMED, 0, "the file is empty");
    if (!heft_mul(src->size, 3, &s.budget) ||
        !heft_add(s.budget, 4 * HEFT_SCAN_UNPACKED, &s.budget))
        s.budget = UINT64_MAX;
    ok = scan_place(&s, &place, &fatal) && scan_user_block(&s, &place, &fatal);
    if (ok && watched.failed.code != HEFT_OK) {
        fatal = watched.failed;
        ok = false;
    }
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
