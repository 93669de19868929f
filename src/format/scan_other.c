/* scan_other.c: tars.
 *
 *     tar   512-byte headers: 0 name, 124 size, 148 checksum, 156 type, 257 "ustar", 345 prefix;
 *           data padded to 512
 *
 * The oldest torch checkpoints are tars of sys_info, pickle, tensors and storages; in the last two,
 * pickles and numbers take turns:
 *
 *     tensors   n │ n × (pickle │ i32 rank │ 4 bytes │ rank × i64 │ rank × i64 │ i64)
 *     storages  n │ n × (pickle │ i64 count │ numbers) │ pickle */
#include "format/scan_parts.h"

#include "base/endian.h"

#define BLOCK   512
#define LONGEST (1 << 16) /* bytes of a long name */

/* ---- tar: headers ------------------------------------------------------------------------ */

struct member {
    struct heft_str name;
    uint64_t data, size;
    char type;
};

/* An octal number, or one in base 256. False where it is neither. */
static bool number(const uint8_t *p, size_t n, uint64_t *out)
{
    size_t i = 0;

    *out = 0;
    if (p[0] == 0x80) {
        for (i = n - 8; i < n; i++)
            *out = *out << 8 | p[i];
        return true;
    }
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        *out = *out << 3 | (uint64_t)(p[i] - '0');
    return i == n || p[i] == 0 || p[i] == ' ';
}

bool heft_scan_is_tar(struct heft_bytes head)
{
    uint64_t stored, sum = 0;

    if (head.n < BLOCK || head.p[0] == 0 || !number(head.p + 148, 8, &stored))
        return false;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : head.p[i];
    return sum == stored;
}

static size_t text_length(const uint8_t *p, size_t n)
{
    const uint8_t *nul = memchr(p, 0, n);

    return nul ? (size_t)(nul - p) : n;
}

/* "prefix/name", or the long name that stood before. */
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

/* The value of a record "len key=value\n" of a pax header. */
static bool pax_value(struct heft_bytes pax, const char *key, struct heft_str *value)
{
    const size_t key_n = strlen(key);

    for (size_t i = 0; i + key_n < pax.n; i++) {
        const uint8_t *end;

        if (pax.p[i] != ' ' || memcmp(pax.p + i + 1, key, heft_min_size(key_n, pax.n - i - 1)) != 0)
            continue;
        end = memchr(pax.p + i, '\n', pax.n - i);
        if (!end)
            return false;
        *value = (struct heft_str){(const char *)pax.p + i + 1 + key_n,
                                   (size_t)(end - pax.p) - i - 1 - key_n};
        return true;
    }
    return false;
}

/* What the headers before a member say of it. */
struct before {
    const char *name; /* NULL: nothing */
    uint64_t size;
    bool has_size;
};

/* A header that speaks of the next member. */
static bool take_before(struct heft_scan *s, const struct heft_scan_place *place,
                        const struct member *m, struct before *before, struct heft_error *err)
{
    const uint64_t n = heft_min_u64(m->size, LONGEST);
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    struct heft_str value;
    bool ok = heft_source_fetch(place->src, m->data, n, &mem, &bytes, err);

    value = (struct heft_str){(const char *)bytes.p, ok && n ? text_length(bytes.p, bytes.n) : 0};
    if (ok && (m->type == 'L' || (m->type == 'x' && pax_value(bytes, "path=", &value)))) {
        before->name = heft_arena_text(&s->mem, value, err);
        ok = before->name != NULL;
    }
    if (ok && m->type == 'x' && pax_value(bytes, "size=", &value)) {
        before->has_size = true;
        before->size = 0;
        for (size_t i = 0; i < value.n && value.p[i] >= '0' && value.p[i] <= '9' && i < 18; i++)
            before->size = before->size * 10 + (uint64_t)(value.p[i] - '0');
    }
    heft_arena_release(&mem);
    return ok;
}

/* ---- tar: the oldest torch checkpoints --------------------------------------------------- */

struct turns {
    struct heft_scan *s;
    struct heft_scan_place *place; /* of the file, named as the member */
    uint64_t at, end;
    int64_t integer; /* the last pickle's root, where it is one */
    uint32_t width;  /* of the elements of the class in the last pickle */
};

static bool keep_root(void *ctx, const struct heft_pickle *pickle, struct heft_error *err)
{
    const struct heft_pickle_node *root = heft_pickle_at(pickle, pickle->root);
    struct turns *t = ctx;

    (void)err;
    t->integer = root->kind == HEFT_PICKLE_INT ? root->u.integer : -1;
    t->width = 0;
    for (uint32_t i = 0; i < pickle->count; i++)
        if (!t->width)
            t->width = heft_scan_element_size(pickle, i);
    return true;
}

/* The next pickle of the member. */
static bool turn(struct turns *t, bool *done, struct heft_error *err)
{
    struct heft_scan_run run = {.visit = keep_root, .ctx = t};

    if (!heft_scan_pickle(t->s, t->place, t->at, &run, err))
        return false;
    t->at += run.length;
    *done = run.done && t->at <= t->end;
    return true;
}

/* Steps over the numbers behind a pickle; false where they do not fit into the member. */
static bool step_numbers(struct turns *t, bool tensors)
{
    struct heft_error ignored = {0}; /* out of the file: told by the caller */
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

static bool scan_turns(struct turns *t, bool tensors, struct heft_error *err)
{
    struct heft_error why = {0};
    bool done;
    int64_t n;

    if (!turn(t, &done, err))
        return false;
    n = t->integer;
    for (int64_t i = 0; done && i < n; i++) {
        if (!turn(t, &done, err))
            return false;
        done = done && step_numbers(t, tensors);
    }
    if (done && !tensors && !turn(t, &done, err))
        return false;
    if (!done) {
        heft_fail(&why, HEFT_MALFORMED, heft_scan_offset(t->place, t->at),
                  "%s: pickles and numbers do not take turns as torch wrote them",
                  t->place->record);
        heft_scan_break_off(t->s, &why);
        return true;
    }
    return t->at == t->end ||
           heft_scan_tell(t->s, t->place, t->at, HEFT_DANGER, "trick",
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
    struct turns turns = {.s = s, .place = member, .at = m->data, .end = m->data + m->size};

    if ((m->type == '1' || m->type == '2') &&
        !heft_scan_tell(s, member, m->data - BLOCK, HEFT_DANGER, "trick", "a link"))
        return false;
    if ((m->name.p[0] == '/' || strstr(m->name.p, "../")) &&
        !heft_scan_tell(s, member, m->data - BLOCK, HEFT_DANGER, "trick",
                        "its name leads out of the archive"))
        return false;
    if (m->size == 0 || m->type == '5' || !heft_scan_pay(s, place, heft_min_u64(m->size, BLOCK)))
        return true;
    if (is_torch_name(m->name.p) && (tensors || heft_str_is(m->name, "storages")))
        return scan_turns(&turns, tensors, err);
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

static bool cut_off(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at)
{
    struct heft_error why = {0};

    heft_fail(&why, HEFT_MALFORMED, heft_scan_offset(place, at),
              "a tar header that is none, or a member that reaches past the end");
    heft_scan_break_off(s, &why);
    return true;
}

bool heft_scan_tar(struct heft_scan *s, const struct heft_scan_place *place, struct heft_error *err)
{
    const uint64_t end = place->src->size, most = heft_limit_entries(s->limits, end);
    struct before before = {0};
    uint64_t at = 0;

    for (uint64_t members = 0; end - at >= BLOCK && members < most; members++) {
        uint8_t head[BLOCK];
        struct member m = {.data = at + BLOCK};
        uint64_t padded;

        if (!heft_source_read(place->src, at, head, BLOCK, err))
            return false;
        if (head[0] == 0)
            return true;
        m.type = (char)head[156];
        if (!heft_scan_is_tar((struct heft_bytes){head, BLOCK}) || !number(head + 124, 12, &m.size))
            return cut_off(s, place, at);
        if (before.has_size)
            m.size = before.size;
        if (!heft_within(m.data, m.size, end))
            return cut_off(s, place, at);
        if (m.type == 'L' || m.type == 'x') {
            if (!take_before(s, place, &m, &before, err))
                return false;
        } else if (m.type != 'g' && m.type != 'K') {
            m.name.p = member_name(s, head, before.name, err);
            before = (struct before){0};
            if (!m.name.p)
                return false;
            m.name.n = strlen(m.name.p);
            if (!scan_member(s, place, &m, err))
                return false;
        }
        padded = m.size + (BLOCK - m.size % BLOCK) % BLOCK;
        at = heft_within(m.data, padded, end) ? m.data + padded : end;
    }
    return true;
}
