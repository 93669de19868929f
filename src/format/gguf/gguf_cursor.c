/* gguf_cursor.c: reads the numbers and strings of a header through a window, in the file's byte order
 * and with the lengths of its version. Nothing in a header is aligned. */
#include "format/gguf/gguf_parts.h"

void heft_gguf_cursor_init(struct heft_gguf_cursor *cursor, const struct heft_source *source,
                           uint8_t *window, uint64_t at, uint32_t version, bool is_big_endian)
{
    *cursor = (struct heft_gguf_cursor){.source = source,
                                        .window = window,
                                        .from = at,
                                        .at = at,
                                        .version = version,
                                        .is_big_endian = is_big_endian};
}

/* HEFT_MALFORMED if fewer than n bytes are left. */
static bool check_rest(const struct heft_gguf_cursor *cursor, uint64_t n, const char *what,
                       struct heft_error *err)
{
    const uint64_t rest = cursor->source->size - cursor->at;

    return n <= rest ||
           heft_fail(err, HEFT_MALFORMED, cursor->at,
                     "%s needs %" PRIu64 " bytes, the file has %" PRIu64 " more", what, n, rest);
}

const uint8_t *heft_gguf_take(struct heft_gguf_cursor *cursor, size_t n, const char *what,
                              struct heft_error *err)
{
    const uint8_t *const found =
        cursor->at >= cursor->from && heft_within(cursor->at - cursor->from, n, cursor->held)
            ? cursor->window + (cursor->at - cursor->from)
            : NULL;
    size_t want;

    if (found) {
        cursor->at += n;
        return found;
    }
    if (!check_rest(cursor, n, what, err))
        return NULL;
    want = heft_min_size(HEFT_GGUF_WINDOW, cursor->source->size - cursor->at);
    cursor->held = 0;
    if (!heft_source_read(cursor->source, cursor->at, cursor->window, want, err))
        return NULL;
    cursor->from = cursor->at;
    cursor->held = want;
    cursor->at += n;
    return cursor->window;
}

bool heft_gguf_skip(struct heft_gguf_cursor *cursor, uint64_t n, const char *what,
                    struct heft_error *err)
{
    if (!check_rest(cursor, n, what, err))
        return false;
    cursor->at += n;
    return true;
}

uint64_t heft_gguf_bits(const uint8_t *p, unsigned bytes, bool is_big_endian)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < bytes; i++)
        bits = bits << 8 | p[is_big_endian ? i : bytes - 1 - i];
    return bits;
}

bool heft_gguf_take_u32(struct heft_gguf_cursor *cursor, uint32_t *out, const char *what,
                        struct heft_error *err)
{
    const uint8_t *const p = heft_gguf_take(cursor, 4, what, err);

    if (p)
        *out = (uint32_t)heft_gguf_bits(p, 4, cursor->is_big_endian);
    return p != NULL;
}

bool heft_gguf_take_u64(struct heft_gguf_cursor *cursor, uint64_t *out, const char *what,
                        struct heft_error *err)
{
    const uint8_t *const p = heft_gguf_take(cursor, 8, what, err);

    if (p)
        *out = heft_gguf_bits(p, 8, cursor->is_big_endian);
    return p != NULL;
}

bool heft_gguf_take_size(struct heft_gguf_cursor *cursor, uint64_t *out, const char *what,
                         struct heft_error *err)
{
    uint32_t narrow;

    if (cursor->version > 1)
        return heft_gguf_take_u64(cursor, out, what, err);
    if (!heft_gguf_take_u32(cursor, &narrow, what, err))
        return false;
    *out = narrow;
    return true;
}

bool heft_gguf_copy(struct heft_gguf_cursor *cursor, void *out, size_t n, const char *what,
                    struct heft_error *err)
{
    const uint8_t *p;

    if (n > HEFT_GGUF_WINDOW) {
        if (!check_rest(cursor, n, what, err) ||
            !heft_source_read(cursor->source, cursor->at, out, n, err))
            return false;
        cursor->at += n;
        return true;
    }
    p = heft_gguf_take(cursor, n, what, err);
    if (p && n)
        memcpy(out, p, n);
    return p != NULL;
}
