/* scan.c: what executing the pickles of a file would import and call, and tricks of the container.
 *
 *     file
 *      ├ zip that opens   its records named *.pkl, then every other record that begins as a pickle
 *      │                  (80 02 … 80 05), but for the storages that the first ones name
 *      ├ zip refused      a trick, if it has end records that other readers may accept; local
 *      │                  headers are then looked for one by one
 *      └ else             a pickle, or the five in a row of a legacy torch stream, or nothing
 *
 * Every GLOBAL that the machine made is an import, every CALL a call of its callee, also those that
 * the pickle threw away again, so hiding behind POP does not help. Nothing is resolved or run. */
#include "format/scan.h"

#include "base/endian.h"
#include "base/inflate.h"
#include "base/map.h"
#include "core/model.h"
#include "format/torch_globals.h"
#include "wire/pickle.h"
#include "wire/zip.h"

#define FIRST_WINDOW    ((uint64_t)1 << 20)  /* of a pickle whose end is not known */
#define DEFLATED_RECORD ((uint64_t)64 << 20) /* inflated in memory */
#define DIRECTORY       ((uint64_t)256 << 20)
#define MOST_CARVED     64    /* pickles looked at in a zip that does not open */
#define END_REACH       65557 /* bytes before the end of a zip where its end record may be */

struct scan {
    const struct heft_source *src;
    const char *path;
    const struct heft_limits *limits;
    void (*each)(void *ctx, const struct heft_scan_item *item);
    void *ctx;
    bool complete;
    size_t items;
    struct heft_error *err;  /* the first failure */
    struct heft_strmap keys; /* records that are storages: ROOT/data/KEY */
    struct heft_arena mem;   /* of their names */
};

/* A pickle, while it is being judged. */
struct judged {
    struct scan *scan;
    const char *record;
    uint64_t base; /* in the file; HEFT_NO_OFFSET: deflated */
    struct heft_pickle pickle;
    struct heft_strmap seen; /* "import module.name", "call …" */
    struct heft_buf key;     /* of the node at hand */
    struct heft_arena mem;
};

static struct heft_pickle_limits pickle_limits(const struct scan *s)
{
    return (struct heft_pickle_limits){.opcodes = s->limits->opcodes,
                                       .nodes = heft_limit_nodes(s->limits, s->src->size),
                                       .bare = true}; /* a call is judged, however it is written */
}

/* Judging goes on after a failure; the first one is what the caller hears of. */
static void break_off(struct scan *s, const struct heft_error *why)
{
    if (s->complete)
        *s->err = *why;
    s->complete = false;
}

static void report(struct scan *s, struct heft_scan_item *item)
{
    item->file = s->path;
    s->items++;
    s->each(s->ctx, item);
}

static void report_trick(struct scan *s, const char *record, uint64_t offset, uint64_t position,
                         const char *sentence)
{
    struct heft_scan_item item = {.danger = HEFT_DANGER,
                                  .record = record,
                                  .offset = offset,
                                  .position = position,
                                  .what = "trick",
                                  .name = sentence};

    report(s, &item);
}

/* ---- imports and calls ------------------------------------------------------------------- */

static enum heft_danger global_danger(const struct judged *j, uint32_t node)
{
    return heft_torch_danger(heft_pickle_text(&j->pickle, heft_pickle_at(&j->pickle, node)->module),
                             heft_pickle_text(&j->pickle, node));
}

/* Reports a node unless the same was reported before; j->key is "import module.name". */
static bool report_node(struct judged *j, uint32_t node, const char *what, enum heft_danger danger,
                        struct heft_error *err)
{
    const uint32_t at = heft_pickle_at(&j->pickle, node)->at;
    struct heft_scan_item item = {.danger = danger,
                                  .record = j->record,
                                  .offset =
                                      j->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : j->base + at,
                                  .position = at,
                                  .what = what};
    struct heft_str key;
    uint32_t found;

    if (!heft_buf_ok(&j->key, err))
        return false;
    key = (struct heft_str){j->key.p, j->key.n};
    if (heft_strmap_get(&j->seen, key) != HEFT_MAP_NONE)
        return true;
    key.p = heft_arena_text(&j->mem, key, err);
    if (!key.p || !heft_strmap_add(&j->seen, key, 1, &found, err))
        return false;
    item.name = key.p + strlen(what) + 1;
    report(j->scan, &item);
    return true;
}

static void begin_key(struct judged *j, const char *what)
{
    j->key.n = 0;
    heft_buf_text(&j->key, what);
    heft_buf_char(&j->key, ' ');
}

static void put_global(struct judged *j, uint32_t node)
{
    heft_buf_str(&j->key, heft_pickle_text(&j->pickle, heft_pickle_at(&j->pickle, node)->module));
    heft_buf_char(&j->key, '.');
    heft_buf_str(&j->key, heft_pickle_text(&j->pickle, node));
}

/* What a call calls: a global, or what another call gave back, which nobody knows beforehand.
 * inner: the global at the bottom of a chain of calls, NIL for none. */
static bool judge_call(struct judged *j, uint32_t call, uint32_t inner, struct heft_error *err)
{
    const uint32_t callee = heft_pickle_at(&j->pickle, call)->u.call.callee;
    enum heft_danger danger = inner == HEFT_PICKLE_NIL ? HEFT_UNKNOWN : global_danger(j, inner);

    begin_key(j, "call");
    if (inner != callee && danger == HEFT_ALLOWED)
        danger = HEFT_UNKNOWN;
    if (inner != callee)
        heft_buf_text(&j->key, "the result of ");
    if (inner == HEFT_PICKLE_NIL)
        heft_buf_text(&j->key, "a persistent id");
    else
        put_global(j, inner);
    return report_node(j, call, "call", danger, err);
}

static bool judge_nodes(struct judged *j, struct heft_error *err)
{
    /* For a CALL, the global at the bottom: a callee is always made before its call. */
    uint32_t *inner = heft_arena_zero(&j->mem, j->pickle.count, sizeof *inner, err);

    if (!inner)
        return false;
    for (uint32_t i = 0; i < j->pickle.count; i++) {
        const struct heft_pickle_node *node = heft_pickle_at(&j->pickle, i);

        inner[i] = HEFT_PICKLE_NIL;
        if (node->kind == HEFT_PICKLE_GLOBAL) {
            inner[i] = i;
            begin_key(j, "import");
            put_global(j, i);
            if (!report_node(j, i, "import", global_danger(j, i), err))
                return false;
        } else if (node->kind == HEFT_PICKLE_CALL) {
            inner[i] = inner[node->u.call.callee];
            if (!judge_call(j, i, inner[i], err))
                return false;
        }
    }
    return true;
}

/* ---- one pickle -------------------------------------------------------------------------- */

static void release(struct judged *j)
{
    heft_strmap_release(&j->seen);
    heft_buf_release(&j->key);
    heft_arena_release(&j->mem);
}

/* "data/" of "archive/data.pkl": where the storages of that pickle are. */
static struct heft_str storage_folder(const char *record)
{
    const size_t n = strlen(record);

    return (struct heft_str){record, n > 4 ? n - 4 : 0};
}

/* Remembers which records are storages of this pickle: their bytes are numbers, not pickles. */
static bool keep_keys(struct judged *j, struct heft_error *err)
{
    const struct heft_str folder = storage_folder(j->record);
    uint32_t found;

    for (uint32_t i = 0; i < j->pickle.count; i++) {
        const struct heft_pickle_node *node = heft_pickle_at(&j->pickle, i);
        uint32_t key = HEFT_PICKLE_NIL;
        struct heft_str text;
        char *name;

        if (node->kind == HEFT_PICKLE_PERSID &&
            heft_pickle_at(&j->pickle, node->u.call.args)->kind == HEFT_PICKLE_TUPLE)
            key = heft_pickle_item(&j->pickle, node->u.call.args, 2);
        if (key == HEFT_PICKLE_NIL || heft_pickle_at(&j->pickle, key)->kind != HEFT_PICKLE_STR)
            continue;
        text = heft_pickle_text(&j->pickle, key);
        if (text.n > 1024)
            continue; /* no record has such a name; copies of a shared long key add up */
        name = heft_arena_printf(&j->scan->mem, err, "%.*s/%.*s", (int)folder.n, folder.p,
                                 (int)text.n, text.p);
        if (!name || !heft_strmap_add(&j->scan->keys, heft_str_of(name), 1, &found, err))
            return false;
    }
    return true;
}

/* Runs and judges the pickle at data[0]. *done: it reached its STOP. False only on lack of memory.
 */
static bool judge(struct judged *j, struct heft_bytes data, bool *done, struct heft_error *why,
                  struct heft_error *err)
{
    const struct heft_pickle_limits limits = pickle_limits(j->scan);

    *done = heft_pickle_run(&j->pickle, data, j->base, &limits, &j->mem, why);
    if (!*done && why->code == HEFT_NOMEM) {
        *err = *why;
        return false;
    }
    return judge_nodes(j, err);
}

/* A record's bytes, whole: one pickle, and nothing may follow it. */
static bool scan_bytes(struct scan *s, const char *record, uint64_t base, struct heft_bytes data,
                       struct heft_error *err)
{
    struct judged j = {.scan = s, .record = record, .base = base};
    struct heft_error why = {0};
    const char *sentence;
    bool done, ok;

    ok = judge(&j, data, &done, &why, err) && keep_keys(&j, err);
    if (ok && !done)
        break_off(s, &why);
    if (ok && done && j.pickle.length < data.n) {
        const size_t extra = data.n - j.pickle.length;

        sentence = heft_arena_printf(&j.mem, err, "%zu bytes after the pickle's STOP", extra);
        ok = sentence != NULL;
        if (ok)
            report_trick(s, record, base == HEFT_NO_OFFSET ? base : base + j.pickle.length,
                         j.pickle.length, sentence);
        base = base == HEFT_NO_OFFSET ? base : base + j.pickle.length;
        data = (struct heft_bytes){data.p + j.pickle.length, extra};
    } else {
        data.n = 0;
    }
    release(&j);
    if (!ok || data.n < 2 || data.p[0] != 0x80)
        return ok;
    /* What follows begins as a pickle too; what follows that is not looked at again. */
    j = (struct judged){.scan = s, .record = record, .base = base};
    ok = judge(&j, data, &done, &why, err);
    release(&j);
    return ok;
}

/* ---- pickles of unknown length ----------------------------------------------------------- */

static bool is_pickle_start(const uint8_t *p)
{
    return p[0] == 0x80 && p[1] >= 2 && p[1] <= 5;
}

/* The first integer of a legacy torch stream: 0x1950A86A20F9469CFC6C. */
static bool is_legacy_magic(const struct heft_pickle *pickle)
{
    static const uint8_t magic[] = {0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19};
    const struct heft_pickle_node *root = heft_pickle_at(pickle, pickle->root);

    return root->kind == HEFT_PICKLE_BIGINT && root->len == sizeof magic &&
           memcmp(root->u.text.p, magic, sizeof magic) == 0;
}

struct run {
    uint64_t length; /* of the pickle, up to and with its STOP */
    bool done;       /* it has one */
    bool is_magic;
    bool judged; /* its names were reported */
};

/* Whether a name in a pickle that broke off, and has no PROTO, is worth a report: text files begin
 * as such pickles too. */
static bool has_danger(const struct judged *j)
{
    for (uint32_t i = 0; i < j->pickle.count; i++)
        if (heft_pickle_at(&j->pickle, i)->kind == HEFT_PICKLE_GLOBAL &&
            global_danger(j, i) == HEFT_DANGER)
            return true;
    return false;
}

/* Whether a pickle that failed at data[at] may have failed for want of bytes. */
static bool wants_more(struct heft_bytes data, uint64_t at)
{
    static const char long_arguments[] = "XTBUCVSFLIPcipg\x8b\x8c\x8d\x8e\x95\x96";

    if (at >= data.n || data.n - at < 16)
        return true;
    return memchr(long_arguments, data.p[at], sizeof long_arguments - 1) != NULL;
}

/* Reads more and more of [off, end) until the pickle that begins there is whole. */
static bool scan_window(struct scan *s, const char *record, uint64_t off, uint64_t end,
                        struct run *run, struct heft_error *err)
{
    const uint64_t cap = heft_min_u64(end - off, s->limits->pickle);
    const struct heft_pickle_limits limits = pickle_limits(s);
    uint64_t n = heft_min_u64(cap, FIRST_WINDOW);
    struct judged j = {.scan = s, .record = record, .base = off};
    struct heft_error why = {0};
    struct heft_bytes data;
    bool ok = false;

    *run = (struct run){0};
    for (;;) {
        if (!heft_source_fetch(s->src, off, n, &j.mem, &data, err))
            break;
        run->done = heft_pickle_run(&j.pickle, data, off, &limits, &j.mem, &why);
        if (!run->done && n < cap && why.code == HEFT_MALFORMED &&
            wants_more(data, why.offset - off)) {
            heft_arena_release(&j.mem);
            n = heft_min_u64(cap, 4 * n);
            continue;
        }
        run->length = j.pickle.length;
        run->is_magic = run->done && is_legacy_magic(&j.pickle);
        run->judged =
            run->done || (data.n >= 2 && data.p[0] == 0x80 && data.p[1] <= 5) || has_danger(&j);
        ok = !run->judged || judge_nodes(&j, err);
        if (run->judged && !run->done)
            break_off(s, &why);
        break;
    }
    release(&j);
    return ok;
}

/* ---- files that are no zip --------------------------------------------------------------- */

static bool scan_plain(struct scan *s, struct heft_error *err)
{
    uint64_t at = 0;
    struct run run;
    const char *sentence;
    unsigned pickles = 1;

    for (unsigned i = 0; i < pickles && at < s->src->size; i++) {
        if (!scan_window(s, "", at, s->src->size, &run, err))
            return false;
        if (!run.done)
            return true;
        at += run.length;
        if (i == 0 && run.is_magic)
            pickles = 5; /* then come storages */
    }
    if (pickles == 5 || at >= s->src->size)
        return true;
    sentence = heft_arena_printf(&s->mem, err, "%" PRIu64 " bytes after the pickle's STOP",
                                 s->src->size - at);
    if (!sentence)
        return false;
    report_trick(s, "", at, at, sentence);
    return scan_window(s, "", at, s->src->size, &run, err);
}

/* ---- zips -------------------------------------------------------------------------------- */

static bool ends_with_pkl(struct heft_str name)
{
    return name.n >= 4 && memcmp(name.p + name.n - 4, ".pkl", 4) == 0;
}

/* The first two bytes of a deflated record; false where it does not inflate so far. */
static bool peek_deflated(struct scan *s, const struct heft_zip_entry *entry, uint8_t out[2],
                          struct heft_error *err)
{
    uint8_t packed[4096], *at = out;
    const size_t n = (size_t)heft_min_u64(sizeof packed, entry->packed);
    struct heft_bytes in = {packed, n};
    struct heft_inflate *z;
    size_t left = 2;
    bool done = false, ok;

    if (!heft_source_read(s->src, entry->data, packed, n, err))
        return false;
    z = heft_inflate_new(err);
    ok = z != NULL;
    while (ok && left && !done && in.n)
        ok = heft_inflate_step(z, &in, &at, &left, &done, err);
    heft_inflate_free(z);
    return ok && left == 0;
}

static bool begins_as_pickle(struct scan *s, const struct heft_zip_entry *entry)
{
    struct heft_error ignored = {0}; /* a record that cannot be read is no pickle to anyone */
    uint8_t head[2];

    if (entry->size < 2)
        return false;
    if (entry->method == HEFT_ZIP_DEFLATED)
        return peek_deflated(s, entry, head, &ignored) && is_pickle_start(head);
    return heft_source_read(s->src, entry->data, head, 2, &ignored) && is_pickle_start(head);
}

static bool scan_record(struct scan *s, const struct heft_zip_entry *entry, struct heft_error *err)
{
    const bool is_stored = entry->method == HEFT_ZIP_STORED;
    const uint64_t cap =
        is_stored ? s->limits->pickle : heft_min_u64(s->limits->pickle, DEFLATED_RECORD);
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    struct heft_bytes data;
    bool ok = true;

    /* A wrong checksum stops no other reader, so it does not stop this one. */
    if (heft_zip_fetch(s->src, entry, cap, false, &mem, &data, &why))
        ok = scan_bytes(s, entry->name.p, is_stored ? entry->data : HEFT_NO_OFFSET, data, err);
    else
        break_off(s, &why);
    heft_arena_release(&mem);
    return ok;
}

static bool scan_entries(struct scan *s, const struct heft_zip *zip, struct heft_error *err)
{
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; i < zip->count; i++) {
            const struct heft_zip_entry *entry = &zip->entries[i];

            if (ends_with_pkl(entry->name) == others || entry->is_folder)
                continue;
            if (others && (heft_strmap_get(&s->keys, entry->name) != HEFT_MAP_NONE ||
                           !begins_as_pickle(s, entry)))
                continue;
            if (!scan_record(s, entry, err))
                return false;
        }
    }
    return true;
}

/* Records outside of the first one's folder: some readers see them, torch refuses them. */
static void report_outside(struct scan *s, const struct heft_zip *zip)
{
    const struct heft_str first = zip->count ? zip->entries[0].name : HEFT_STR("");
    const char *slash = first.n ? memchr(first.p, '/', first.n) : NULL;
    const struct heft_str root = {first.p, slash ? (size_t)(slash - first.p) + 1 : 0};
    size_t outside = 0, at = 0;

    for (size_t i = 0; i < zip->count; i++) {
        if (heft_str_starts(zip->entries[i].name, root))
            continue;
        at = outside++ ? at : i;
    }
    if (outside)
        report_trick(s, zip->entries[at].name.p, zip->entries[at].header, 0,
                     "records outside of the archive's folder");
}

/* ---- zips that do not open --------------------------------------------------------------- */

static bool has_end_record(const struct heft_source *src, struct heft_error *err)
{
    const uint64_t n = heft_min_u64(src->size, END_REACH);
    struct heft_arena mem = {0};
    struct heft_bytes tail;
    bool found = false;

    if (heft_source_fetch(src, src->size - n, n, &mem, &tail, err))
        for (size_t i = 0; i + 4 <= tail.n && !found; i++)
            found = memcmp(tail.p + i, "PK\5\6", 4) == 0;
    heft_arena_release(&mem);
    return found;
}

/* The stored pickle behind the local header at `off`, if there is one. */
static bool carve_record(struct scan *s, uint64_t off, size_t *carved, struct heft_error *err)
{
    uint8_t head[30], start[2];
    struct run run;
    uint64_t data;

    if (!heft_within(off, sizeof head, s->src->size))
        return true;
    if (!heft_source_read(s->src, off, head, sizeof head, err))
        return false;
    data = off + sizeof head + heft_le16(head + 26) + heft_le16(head + 28);
    if (heft_le16(head + 8) != HEFT_ZIP_STORED || !heft_within(data, 2, s->src->size))
        return true;
    if (!heft_source_read(s->src, data, start, 2, err))
        return false;
    if (!is_pickle_start(start))
        return true;
    ++*carved;
    return scan_window(s, "a record found by its local header", data, s->src->size, &run, err);
}

static bool carve(struct scan *s, struct heft_error *err)
{
    uint8_t window[65536];
    size_t carved = 0;

    for (uint64_t at = 0; at + 4 <= s->src->size; at += sizeof window - 3) {
        const size_t n = (size_t)heft_min_u64(sizeof window, s->src->size - at);

        if (!heft_source_read(s->src, at, window, n, err))
            return false;
        for (size_t i = 0; i + 4 <= n && carved < MOST_CARVED; i++)
            if (memcmp(window + i, "PK\3\4", 4) == 0 && !carve_record(s, at + i, &carved, err))
                return false;
    }
    return true;
}

/* heft is stricter with zips than torch and Python: a refused one may still open there. */
static bool scan_refused(struct scan *s, const struct heft_error *why, struct heft_error *err)
{
    const char *sentence;

    break_off(s, why);
    if (why->code == HEFT_NOMEM || why->code == HEFT_IO) {
        *err = *why;
        return false;
    }
    if (has_end_record(s->src, err)) {
        sentence = heft_arena_printf(
            &s->mem, err, "a zip that other readers may open, heft refuses: %s", why->text);
        if (!sentence)
            return false;
        report_trick(s, "", why->offset, 0, sentence);
    }
    return carve(s, err);
}

static bool scan_zip(struct scan *s, struct heft_error *err)
{
    const struct heft_zip_limits limits = {s->limits->entries, DIRECTORY, s->limits->ratio};
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    struct heft_zip zip;
    bool ok;

    if (heft_zip_open(&zip, s->src, &limits, &mem, &why)) {
        report_outside(s, &zip);
        ok = scan_entries(s, &zip, err);
    } else {
        ok = scan_refused(s, &why, err);
    }
    heft_arena_release(&mem);
    return ok;
}

bool heft_scan_file(const struct heft_source *src, const char *path,
                    const struct heft_limits *limits,
                    void (*each)(void *ctx, const struct heft_scan_item *item), void *ctx,
                    bool *complete, struct heft_error *err)
{
    struct heft_error first = {0}, fatal = {0};
    struct scan s = {.src = src,
                     .path = path,
                     .limits = limits,
                     .each = each,
                     .ctx = ctx,
                     .complete = true,
                     .err = &first};
    uint8_t head[4] = {0};
    bool ok;

    *complete = false;
    if (src->size == 0)
        return heft_fail(err, HEFT_MALFORMED, 0, "the file is empty");
    ok = heft_source_read(src, 0, head, (size_t)heft_min_u64(src->size, sizeof head), &fatal) &&
         (memcmp(head, "PK\3\4", 4) == 0 ? scan_zip(&s, &fatal) : scan_plain(&s, &fatal));
    heft_strmap_release(&s.keys);
    heft_arena_release(&s.mem);
    *complete = ok && s.complete;
    if (!*complete)
        *err = ok ? first : fatal;
    return ok && (s.complete || s.items > 0);
}
