/* scan_other.c: tars.
 *
 *     tar   512-byte headers: 0 name, 124 size, 148 checksum, 156 type, 257 "ustar", 345 prefix;
 *           data padded to 512
 *
 * The oldest torch checkpoints are tars of sys_info, pickle, tensors and storages. In the last
 * two, pickles and numbers alternate:
 *
 *     tensors   n │ n × (pickle │ i32 rank │ 4 bytes │ rank × i64 │ rank × i64 │ i64)
 *     storages  n │ n × (pickle │ i64 count │ numbers) │ pickle */
#include "scan/scan_parts.h"

#include "base/endian.h"

#define BLOCK   512
#define LONGEST (1 << 16) /* longest long name in bytes */

/* ---- tar: headers ------------------------------------------------------------------------ */

struct member {
    struct heft_str name;
    uint64_t data, size;
    char type;
};

static size_t text_length(const uint8_t *p, size_t n)
{
    const uint8_t *nul = memchr(p, 0, n);

    return nul ? (size_t)(nul - p) : n;
}

/* Returns "prefix/name", or the long name from a header before this one. */
static const char *member_name(struct heft_scan *s, const uint8_t *head, const char *longer,
                               struct heft_error *err)
{
    const int n = (int)text_length(head, 100);
    const int prefix =
        memcmp(head + 257, "ustar\0", 6) == 0 ? (int)text_length(head + 345, 155) : 0;

    if (longer)
        return longer;
    return heft_arena_printf(&s->mem, err, "%.*s%s%.*s", prefix, (const char *)head + 345,
                             prefix ? "/" : "", n, (const char *)head);
}

/* Properties of the next member from headers before its own. */
struct extension {
    const char *name; /* NULL if absent */
    uint64_t size;
    bool has_size;
};

static bool keep_name(struct heft_scan *s, struct extension *before, struct heft_str name,
                      struct heft_error *err)
{
    before->name = heft_arena_text(&s->mem, name, err);
    return before->name != NULL;
}

/* Reports properties of a member that readers interpret differently. */
static bool report_pax(struct heft_scan *s, const struct heft_scan_place *place,
                       const struct member *m, const struct heft_scan_pax *pax)
{
    const bool all = m->type == 'g' && (pax->has_size || pax->has_path || pax->sparse);

    if (pax->odd || all)
        return heft_scan_report_text(s, place, m->data, HEFT_DANGER, "trick",
                                     all ? "a pax header with a name or size for all members"
                                         : "a pax header that readers interpret differently");
    return !pax->sparse ||
           heft_scan_report_text(s, place, m->data, HEFT_DANGER, "trick", "a sparse member");
}

static bool take_pax(struct heft_scan *s, const struct heft_scan_place *place,
                     const struct member *m, struct heft_bytes bytes, struct extension *before,
                     struct heft_error *err)
{
    struct heft_scan_pax pax;

    heft_scan_read_pax(bytes, &pax);
    if (!report_pax(s, place, m, &pax))
        return false;
    if (m->type == 'g')
        return true;
    if (pax.has_size) {
        before->has_size = true;
        before->size = pax.size;
    }
    return !pax.has_path || keep_name(s, before, pax.path, err);
}

/* Reads a header about the next member, or about all following ones. */
static bool take_extension(struct heft_scan *s, const struct heft_scan_place *place,
                           const struct member *m, struct extension *before, struct heft_error *err)
{
    const uint64_t n = heft_min_u64(m->size, LONGEST);
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    bool ok = heft_source_fetch(place->src, m->data, n, &mem, &bytes, err);

    if (ok && m->type == 'L')
        ok = keep_name(
            s, before,
            (struct heft_str){(const char *)bytes.p, bytes.n ? text_length(bytes.p, bytes.n) : 0},
            err);
    else if (ok && m->type != 'K')
        ok = take_pax(s, place, m, bytes, before, err);
    heft_arena_release(&mem);
    return ok;
}

/* ---- tar: the oldest torch checkpoints --------------------------------------------------- */

struct parts {
    struct heft_scan *s;
    struct heft_scan_place *place; /* the tar, under the member's name */
    uint64_t at, end;
    int64_t integer; /* value of the last pickle; -1 if it is not an integer */
    uint32_t width;  /* bytes of an element of the class in the last pickle; 0 if unknown */
};

static bool keep_root(void *ctx, const struct heft_pickle *pickle, struct heft_error *err)
{
    const struct heft_pickle_node *root = heft_pickle_at(pickle, pickle->root);
    struct parts *t = ctx;

    (void)err;
    t->integer = root->kind == HEFT_PICKLE_INT ? root->u.integer : -1;
    t->width = 0;
    for (uint32_t i = 0; i < pickle->count; i++)
        if (!t->width)
            t->width = heft_scan_element_size(pickle, i);
    return true;
}

/* Runs the next pickle of the member. */
static bool scan_next_pickle(struct parts *t, bool *done, struct heft_error *err)
{
    struct heft_scan_run run = {.visit = keep_root, .ctx = t};

    if (!heft_scan_pickle(t->s, t->place, t->at, &run, err))
        return false;
    t->at += run.length;
    *done = run.done && t->at <= t->end;
    return true;
}

/* Skips the numbers after a pickle; false if they exceed the member. */
static bool step_numbers(struct parts *t, bool tensors)
{
    struct heft_error ignored = {0}; /* past the end of the file; the caller reports it */
    uint64_t n = 0, bytes;
    uint8_t count[8] = {0};

    if (!heft_within(t->at, 8, t->end) ||
        !heft_source_read(t->place->src, t->at, count, tensors ? 4 : 8, &ignored))
        return false;
    n = heft_le64(count);
    if (!heft_mul(n, tensors ? 16 : t->width, &bytes) || (!tensors && !t->width) ||
        !heft_add(bytes, tensors ? 16 : 8, &bytes) || !heft_within(t->at, bytes, t->end))
        return false;
    t->at += bytes;
    return true;
}

static bool scan_parts(struct parts *t, bool tensors, struct heft_error *err)
{
    struct heft_error why = {0};
    bool done;
    int64_t n;

    if (!scan_next_pickle(t, &done, err))
        return false;
    n = t->integer;
    for (int64_t i = 0; done && i < n; i++) {
        if (!scan_next_pickle(t, &done, err))
            return false;
        done = done && step_numbers(t, tensors);
    }
    if (done && !tensors && !scan_next_pickle(t, &done, err))
        return false;
    if (!done) {
        heft_fail(&why, HEFT_MALFORMED, heft_scan_offset(t->place, t->at),
                  "%s: pickles and numbers do not alternate as torch writes them",
                  t->place->record);
        heft_scan_report_failure(t->s, &why);
        return true;
    }
    return t->at == t->end ||
           heft_scan_report_text(t->s, t->place, t->at, HEFT_DANGER, "trick",
                                 heft_arena_printf(&t->s->mem, err,
                                                   "%" PRIu64 " bytes after the last of its parts",
                                                   t->end - t->at));
}

/* ---- tar: members ------------------------------------------------------------------------ */

static bool is_torch_name(const char *name)
{
    return strcmp(name, "sys_info") == 0 || strcmp(name, "pickle") == 0 ||
           strcmp(name, "tensors") == 0 || strcmp(name, "storages") == 0;
}

static bool scan_labelled(struct heft_scan *s, const struct heft_scan_place *place,
                          const struct member *m, struct heft_scan_place *member,
                          struct heft_error *err)
{
    const bool tensors = heft_str_is(m->name, "tensors");
    struct parts parts = {.s = s, .place = member, .at = m->data, .end = m->data + m->size};

    if ((m->type == '1' || m->type == '2') &&
        !heft_scan_report_text(s, member, m->data - BLOCK, HEFT_DANGER, "trick", "a link"))
        return false;
    if ((m->name.p[0] == '/' || strstr(m->name.p, "../")) &&
        !heft_scan_report_text(s, member, m->data - BLOCK, HEFT_DANGER, "trick",
                               "its name points out of the archive"))
        return false;
    if (m->size == 0 || m->type == '5' || !heft_scan_pay(s, place, heft_min_u64(m->size, BLOCK)))
        return true;
    if (is_torch_name(m->name.p) && (tensors || heft_str_is(m->name, "storages")))
        return scan_parts(&parts, tensors, err);
    return heft_scan_within(s, member, m->data, m->size, member->record, err);
}

static bool scan_member(struct heft_scan *s, const struct heft_scan_place *place,
                        const struct member *m, struct heft_error *err)
{
    struct heft_scan_place member = *place;
    struct heft_buf label = {0};
    bool ok;

    member.named = is_torch_name(m->name.p) || heft_scan_is_named(m->name);
    member.record = heft_scan_label(&label, place, m->name, err);
    ok = member.record && scan_labelled(s, place, m, &member, err);
    heft_buf_release(&label);
    return ok;
}

static bool report_cut(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at)
{
    struct heft_error why = {0};

    heft_fail(&why, HEFT_MALFORMED, heft_scan_offset(place, at),
              "a malformed tar header, or a member that extends past the end of the file");
    heft_scan_report_failure(s, &why);
    return true;
}

static bool is_zero(const uint8_t head[BLOCK])
{
    static const uint8_t zeros[BLOCK];

    return memcmp(head, zeros, BLOCK) == 0;
}

/* True for links and directories, which have no data, whatever their size field says. In the
 * oldest tars, a name with a slash at its end is a directory. */
static bool has_no_data(const struct member *m, const uint8_t head[BLOCK])
{
    const size_t n = text_length(head, 100);

    return (m->type >= '1' && m->type <= '6') || (m->type == 0 && n && head[n - 1] == '/');
}

/* Scans a member. head: its header. */
static bool take_member(struct heft_scan *s, const struct heft_scan_place *place, struct member *m,
                        const uint8_t head[BLOCK], struct extension *before, struct heft_error *err)
{
    const bool empty = has_no_data(m, head);

    if ((empty && m->size > 0) || m->type == 'S') {
        if (!heft_scan_report_text(s, place, m->data - BLOCK, HEFT_DANGER, "trick",
                                   empty ? "a link or directory with a size" : "a sparse member"))
            return false;
    }
    m->size = empty ? 0 : m->size;
    m->name.p = member_name(s, head, before->name, err);
    *before = (struct extension){0};
    if (!m->name.p)
        return false;
    m->name.n = strlen(m->name.p);
    return scan_member(s, place, m, err);
}

/* Decodes a header. False if it is malformed or the member is truncated. */
static bool read_member(const struct heft_scan_place *place, const uint8_t head[BLOCK],
                        const struct extension *before, struct member *m)
{
    int64_t size;

    m->type = (char)head[156];
    if (!heft_scan_is_tar((struct heft_bytes){head, BLOCK}) ||
        !heft_scan_tar_number(head + 124, 12, &size) || size < 0)
        return false;
    m->size = (uint64_t)size;
    if (before->has_size && !memchr("LKxXg", m->type, 5))
        m->size = before->size;
    return heft_within(m->data, m->size, place->src->size) || has_no_data(m, head);
}

/* Scans the bytes after the last member: zeros, and possibly a zip after them. */
static bool scan_after(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                       struct heft_error *err)
{
    return heft_scan_within(s, place, at, place->src->size - at, place->record, err);
}

bool heft_scan_tar(struct heft_scan *s, const struct heft_scan_place *place, struct heft_error *err)
{
    const uint64_t end = place->src->size, most = heft_limit_entries(s->limits, end);
    struct extension before = {0};
    uint64_t at = 0, members = 0;

    for (; end - at >= BLOCK && members < most; members++) {
        uint8_t head[BLOCK];
        struct member m = {.data = at + BLOCK};
        uint64_t padded;

        if (!heft_source_read(place->src, at, head, BLOCK, err))
            return false;
        if (is_zero(head))
            return scan_after(s, place, at, err);
        if (!read_member(place, head, &before, &m))
            return report_cut(s, place, at);
        if (m.type && memchr("LKxXg", m.type, 5)) {
            if (!take_extension(s, place, &m, &before, err))
                return false;
        } else if (!take_member(s, place, &m, head, &before, err)) {
            return false;
        }
        padded = m.size + (BLOCK - m.size % BLOCK) % BLOCK;
        at = heft_within(m.data, padded, end) ? m.data + padded : end;
    }
    return members < most ? scan_after(s, place, at, err) : report_cut(s, place, at);
}
