/* scan_gguf.c: chat templates in a GGUF file, which some programs have rendered with a Jinja
 * without sandbox.
 *
 *     "GGUF" │ u32 version │ u64 tensors │ u64 entries │ entries │ tensors …      version 1: u32
 *     entry    text key │ u32 type │ value
 *     text     u64 length │ bytes                                                 version 1: u32
 *     array    u32 type of elements │ u64 count │ elements, which may be arrays   version 1: u32
 *
 * All other entries are numbers and words, which are not judged. */
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "base/text.h"

#define MOST    ((uint64_t)64 << 20) /* bytes of entries; large vocabularies need a tenth of it */
#define DEEPEST 8                    /* most levels of nested arrays */

enum { TEXT = 8, ARRAY = 9, TYPES = 13 };

struct gguf {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_bytes in; /* the file from its first byte, at most MOST bytes */
    size_t at;
    bool old, big, cut, templates; /* version 1; big-endian; truncated; has chat templates */
};

static bool take_bytes(struct gguf *g, uint64_t n, const uint8_t **out)
{
    g->cut |= !heft_within(g->at, n, g->in.n);
    if (g->cut)
        return false;
    *out = g->in.p + g->at;
    g->at += (size_t)n;
    return true;
}

static uint64_t number_of(const struct gguf *g, const uint8_t *p, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[g->big ? i : n - 1 - i];
    return value;
}

static bool take_number(struct gguf *g, size_t n, uint64_t *out)
{
    const uint8_t *p;

    if (!take_bytes(g, n, &p))
        return false;
    *out = number_of(g, p, n);
    return true;
}

static bool take_count(struct gguf *g, uint64_t *out)
{
    return take_number(g, g->old ? 4 : 8, out);
}

static bool take_text(struct gguf *g, struct heft_str *out)
{
    const uint8_t *p;
    uint64_t n;

    if (!take_count(g, &n) || !take_bytes(g, n, &p))
        return false;
    *out = (struct heft_str){(const char *)p, (size_t)n};
    return true;
}

/* Skips a value that is neither text nor array. */
static bool skip_plain(struct gguf *g, uint64_t type)
{
    static const uint8_t sizes[TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    const uint8_t *ignored;

    return take_bytes(g, sizes[type], &ignored);
}

static bool judge_text(struct gguf *g, struct heft_str key)
{
    struct heft_str text;

    if (!take_text(g, &text))
        return false;
    if (heft_text_mentions((struct heft_bytes){(const uint8_t *)key.p, key.n}, "chat_template")) {
        g->templates = true;
        heft_scan_template(g->s, g->place, (uint64_t)((const uint8_t *)text.p - g->in.p),
                           (struct heft_bytes){(const uint8_t *)text.p, text.n});
    }
    return true;
}

/* Stack of open arrays, outermost first. */
struct nest {
    uint64_t type[DEEPEST], left[DEEPEST];
    size_t depth;
};

static bool open_array(struct gguf *g, struct nest *nest)
{
    if (nest->depth == DEEPEST)
        return false;
    if (!take_number(g, 4, &nest->type[nest->depth]) || !take_count(g, &nest->left[nest->depth]))
        return false;
    return nest->type[nest->depth++] < TYPES;
}

static bool take_value(struct gguf *g, struct heft_str key, uint64_t type)
{
    struct nest nest = {.depth = 0};

    if (type >= TYPES)
        return false;
    if (type != ARRAY)
        return type == TEXT ? judge_text(g, key) : skip_plain(g, type);
    if (!open_array(g, &nest))
        return false;
    while (nest.depth > 0) {
        const size_t top = nest.depth - 1;

        if (nest.left[top] == 0) {
            nest.depth--;
            continue;
        }
        nest.left[top]--;
        if (nest.type[top] == ARRAY  ? !open_array(g, &nest)
            : nest.type[top] == TEXT ? !judge_text(g, key)
                                     : !skip_plain(g, nest.type[top]))
            return false;
    }
    return true;
}

static bool walk_metadata(struct gguf *g)
{
    struct heft_str key = HEFT_STR("");
    uint64_t version, entries, type;

    g->at = 4;
    if (!take_number(g, 4, &version))
        return false;
    g->big = version > UINT16_MAX;
    g->old = version == 1 || version == (uint64_t)1 << 24;
    if (!take_count(g, &entries) || !take_count(g, &entries))
        return false;
    for (uint64_t i = 0; i < entries; i++)
        if (!take_text(g, &key) || !take_number(g, 4, &type) || !take_value(g, key, type))
            return false;
    return true;
}

bool heft_scan_gguf(struct heft_scan *s, const struct heft_scan_place *place, bool *templates,
                    struct heft_error *err)
{
    struct gguf g = {.s = s, .place = place, .in = place->bytes};
    struct heft_arena mem = {0};
    const uint64_t n = heft_min_u64(place->src->size, MOST);
    bool ok = true;

    if (!heft_scan_pay(s, place, n))
        return true;
    if (!g.in.p)
        ok = heft_source_fetch(place->src, 0, n, &mem, &g.in, err);
    if (ok && !walk_metadata(&g))
        ok = heft_scan_report_text(
            s, place, g.at, HEFT_UNKNOWN, "refused",
            g.cut ? "GGUF whose entries do not end in its first 64 MiB"
                  : "GGUF with an entry of an unknown type, or nested too deeply");
    *templates = g.templates;
    heft_arena_release(&mem);
    return ok;
}
