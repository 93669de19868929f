/* input_text.c: bytes → UTF-8 with \n as the only newline.
 *
 *     UTF-8      read directly into the caller's buffer and validated there; moved only after a \r
 *     others     read into `raw`, decoded one character at a time
 *
 * An incomplete character stays in `raw` for the next read. */
#include "tokens/input/input_text.h"

#include <stdio.h>

#include "base/endian.h"
#include "base/text.h"
#include "tokens/unicode/utf8.h"

#define RAW ((size_t)64 << 10)

HEFT_WRAPS uint64_t heft_count_characters(const uint8_t *text, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t tails = 0;
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        const uint64_t v = heft_le64(text + i);

        tails += ((v >> 7 & ~(v >> 6)) & ones) * ones >> 56;
    }
    for (; i < n; i++)
        tails += heft_utf8_is_tail(text[i]);
    return n - tails;
}

/* ---- errors of decoding -------------------------------------------------------------------- */

static bool fail_bytes(const struct heft_input_text *in, const uint8_t *p, size_t n,
                       uint64_t offset, struct heft_str what, struct heft_error *err)
{
    char bytes[16] = "";

    for (size_t i = 0; i < n && i < 4; i++)
        snprintf(bytes + 3 * i, 4, " %02x", p[i]);
    heft_fail(err, HEFT_MALFORMED, offset, "bytes%s are not valid %.*s", bytes, (int)what.n,
              what.p);
    return heft_error_file(err, in->bytes.path);
}

static bool fail_at(const struct heft_input_text *in, const uint8_t *p, size_t n, uint64_t offset,
                    struct heft_error *err)
{
    return fail_bytes(in, p, n, offset, heft_charset_name(in->encoding), err);
}

/* Number of bytes of an invalid sequence that one U+FFFD replaces: a maximal prefix of a character,
 * at least one byte, as in CPython. *more: all n bytes are such a prefix. */
static size_t bad_length(const uint8_t *p, size_t n, bool *more)
{
    const uint8_t c = p[0];
    const size_t whole = c >= 0xF0 && c <= 0xF4 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC2 ? 2 : 1;
    const uint8_t low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    size_t k = 1;

    *more = false;
    if (c > 0xF4 || whole == 1)
        return 1;
    while (k < whole && k < n && p[k] >= (k == 1 ? low : 0x80) && p[k] <= (k == 1 ? high : 0xBF))
        k++;
    *more = k == n && k < whole;
    return k;
}

/* ---- UTF-8, decoded in place --------------------------------------------------------------- */

/* Replaces \r\n and \r by \n. */
static size_t translate_newlines(struct heft_input_text *in, uint8_t *text, size_t n)
{
    size_t from = 0, to;

    if (in->after_return && n > 0 && text[0] == '\n')
        from = 1;
    if (n > 0)
        in->after_return = text[n - 1] == '\r';
    if (from == 0) {
        const uint8_t *first = n ? memchr(text, '\r', n) : NULL;

        if (!first)
            return n;
        from = (size_t)(first - text);
        to = from;
    } else {
        to = 0;
    }
    while (from < n) {
        const uint8_t *next = memchr(text + from, '\r', n - from);
        const size_t run = next ? (size_t)(next - text) - from : n - from;

        memmove(text + to, text + from, run);
        to += run;
        from += run;
        if (!next)
            break;
        text[to++] = '\n';
        from++;
        from += from < n && text[from] == '\n';
    }
    return to;
}

/* Copies text with U+FFFD for invalid sequences. The result can be three times as long, so the
 * input is limited by the room. */
static void replace_bad(struct heft_input_text *in, uint8_t *to, size_t room, size_t *used,
                        size_t *made)
{
    size_t at = 0, out = 0;

    while (at < in->n_raw && room - out >= 4) {
        const size_t left = in->n_raw - at;
        const size_t good = heft_utf8_check(
            (struct heft_bytes){in->raw + at, (size_t)heft_min_u64(left, room - out - 3)});
        bool more;

        memcpy(to + out, in->raw + at, good);
        out += good;
        at += good;
        if (at == in->n_raw || room - out < 4)
            break;
        const size_t bad = bad_length(in->raw + at, in->n_raw - at, &more);

        if (more && !in->ended)
            break;
        if (!more && heft_utf8_check((struct heft_bytes){in->raw + at, bad}) == bad)
            break; /* valid, cut off by the limit */
        memcpy(to + out, "\xEF\xBF\xBD", 3);
        out += 3;
        at += bad;
    }
    *used = at;
    *made = out;
}

/* Number of bytes at the end that are an incomplete character. */
static size_t open_end(const uint8_t *text, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        bool more;

        if (heft_utf8_is_tail(text[n - k]))
            continue;
        (void)bad_length(text + n - k, k, &more);
        return more ? k : 0;
    }
    return 0;
}

static void keep_raw(struct heft_input_text *in, const uint8_t *p, size_t n)
{
    memmove(in->raw, p, n);
    in->n_raw = n;
}

static bool read_utf8(struct heft_input_text *in, uint8_t *to, size_t room, size_t *n,
                      struct heft_error *err)
{
    size_t got, whole, good;
    bool more;

    memcpy(to, in->raw, in->n_raw);
    if (!heft_input_read(&in->bytes, to + in->n_raw, room - in->n_raw, &got, err))
        return false;
    in->ended = got == 0;
    got += in->n_raw;
    whole = got - (in->ended ? 0 : open_end(to, got));
    good = heft_utf8_check((struct heft_bytes){to, whole});
    if (good < whole)
        return fail_at(in, to + good, bad_length(to + good, got - good, &more), in->offset + good,
                       err);
    keep_raw(in, to + whole, got - whole);
    in->offset += whole;
    *n = whole;
    return true;
}

/* ---- other encodings, character by character ----------------------------------------------- */

static bool fill_raw(struct heft_input_text *in, struct heft_error *err)
{
    size_t got = 0;

    if (!in->ended && !heft_input_read(&in->bytes, in->raw + in->n_raw, RAW - in->n_raw, &got, err))
        return false;
    in->ended = in->ended || (got == 0 && in->n_raw < RAW);
    in->n_raw += got;
    return true;
}

static void use_raw(struct heft_input_text *in, size_t n)
{
    in->offset += n;
    keep_raw(in, in->raw + n, in->n_raw - n);
}

static bool read_replaced(struct heft_input_text *in, uint8_t *to, size_t room, size_t *n,
                          struct heft_error *err)
{
    size_t used;

    if (!fill_raw(in, err))
        return false;
    replace_bad(in, to, room, &used, n);
    use_raw(in, used);
    return true;
}

#define BAD UINT32_MAX

static uint32_t byte_character(const struct heft_input_text *in, uint8_t byte)
{
    const uint32_t c = byte < 0x80 ? byte : in->how.encoding.high[byte - 0x80];

    return c || byte == 0 ? c : BAD;
}

/* Decodes the character at p and sets its length; length 0: incomplete. */
static uint32_t pair_character(const struct heft_input_text *in, const uint8_t *p, size_t n,
                               size_t *bytes)
{
    const bool is_big = in->encoding == HEFT_CHARSET_UTF16_BE;
    uint32_t high, low;

    *bytes = n < 2 ? n : 2;
    if (n < 2)
        return *bytes = in->ended ? n : 0, BAD;
    high = is_big ? (uint32_t)p[0] << 8 | p[1] : heft_le16(p);
    if (high < 0xD800 || high > 0xDFFF)
        return high;
    if (high > 0xDBFF)
        return BAD;
    if (n < 4)
        return *bytes = in->ended ? n : 0, BAD;
    low = is_big ? (uint32_t)p[2] << 8 | p[3] : heft_le16(p + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return BAD;
    *bytes = 4;
    return 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00);
}

static uint32_t quad_character(const struct heft_input_text *in, const uint8_t *p, size_t n,
                               size_t *bytes)
{
    uint32_t c;

    *bytes = n < 4 ? in->ended ? n : 0 : 4;
    if (n < 4)
        return BAD;
    c = in->encoding == HEFT_CHARSET_UTF32_BE
            ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
            : heft_le32(p);
    return c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? BAD : c;
}

static inline uint32_t character_at(const struct heft_input_text *in, size_t at, size_t *bytes)
{
    if (in->encoding >= HEFT_CHARSET_BYTES)
        return byte_character(in, in->raw[at]);
    if (in->encoding >= HEFT_CHARSET_UTF32)
        return quad_character(in, in->raw + at, in->n_raw - at, bytes);
    return pair_character(in, in->raw + at, in->n_raw - at, bytes);
}

static bool read_others(struct heft_input_text *in, uint8_t *to, size_t room, size_t *n,
                        struct heft_error *err)
{
    size_t at = 0, out = 0, bytes = 1;

    if (!fill_raw(in, err))
        return false;
    for (; at < in->n_raw && room - out >= 4; at += bytes) {
        const uint32_t c = character_at(in, at, &bytes);

        if (bytes == 0)
            break;
        if (c == BAD && !in->how.replace)
            return fail_at(in, in->raw + at, bytes, in->offset + at, err);
        out += heft_utf8_put((char *)to + out, c == BAD ? 0xFFFD : c);
    }
    use_raw(in, at);
    *n = out;
    return true;
}

/* ---- reading a text ------------------------------------------------------------------------ */

struct order_mark {
    enum heft_charset encoding, then;
    uint8_t n, bytes[4];
};
static const struct order_mark MARKS[] = {
    {HEFT_CHARSET_UTF8_SIG, HEFT_CHARSET_UTF8, 3, {0xEF, 0xBB, 0xBF}},
    {HEFT_CHARSET_UTF16, HEFT_CHARSET_UTF16_LE, 2, {0xFF, 0xFE}},
    {HEFT_CHARSET_UTF16, HEFT_CHARSET_UTF16_BE, 2, {0xFE, 0xFF}},
    {HEFT_CHARSET_UTF32, HEFT_CHARSET_UTF32_LE, 4, {0xFF, 0xFE, 0, 0}},
    {HEFT_CHARSET_UTF32, HEFT_CHARSET_UTF32_BE, 4, {0, 0, 0xFE, 0xFF}},
};

/* Reads until `raw` has n bytes, or the text ends. */
static bool fill_head(struct heft_input_text *in, size_t n, struct heft_error *err)
{
    size_t got = 1;

    while (in->n_raw < n && got > 0) {
        if (!heft_input_read(&in->bytes, in->raw + in->n_raw, n - in->n_raw, &got, err))
            return false;
        in->n_raw += got;
    }
    return true;
}

/* Reads the byte order mark. As in Python, utf-16 and utf-32 files must begin with one. */
static bool read_order_mark(struct heft_input_text *in, struct heft_error *err)
{
    const struct order_mark *mark = NULL;

    in->begun = true;
    in->encoding = in->how.encoding.charset;
    for (size_t i = 0; i < HEFT_COUNT(MARKS); i++) {
        if (MARKS[i].encoding != in->how.encoding.charset)
            continue;
        mark = &MARKS[i];
        if (!fill_head(in, mark->n, err))
            return false;
        if (in->n_raw >= mark->n && memcmp(in->raw, mark->bytes, mark->n) == 0) {
            in->encoding = mark->then;
            use_raw(in, mark->n);
            return true;
        }
    }
    if (!mark)
        return true;
    if (mark->then != HEFT_CHARSET_UTF8 && in->n_raw >= mark->n)
        return fail_bytes(in, in->raw, mark->n, 0,
                          HEFT_STR("byte order mark; use -le or -be for text without one"), err);
    in->encoding = mark->then == HEFT_CHARSET_UTF8
                       ? mark->then
                       : mark[-1].then; /* the entry before it: little-endian */
    return true;
}

bool heft_text_open(struct heft_input_text *in, const char *path, const struct heft_text_how *how,
                    struct heft_input_asked asked, struct heft_error *err)
{
    *in = (struct heft_input_text){.how = *how};
    in->bytes.fd = -1;
    in->raw = heft_alloc(RAW, err);
    if (in->raw && heft_input_open(&in->bytes, path, asked, err))
        return true;
    heft_text_close(in);
    return false;
}

bool heft_text_read(struct heft_input_text *in, uint8_t *to, size_t room, size_t *n,
                    struct heft_error *err)
{
    *n = 0;
    if (!in->begun && !read_order_mark(in, err))
        return false;
    while (*n == 0 && (!in->ended || in->n_raw > 0)) {
        if (in->encoding != HEFT_CHARSET_UTF8 ? !read_others(in, to, room, n, err)
            : in->how.replace                 ? !read_replaced(in, to, room, n, err)
                                              : !read_utf8(in, to, room, n, err))
            return false;
        if (!in->how.keep_newlines)
            *n = translate_newlines(in, to, *n);
    }
    return true;
}

struct heft_text_place heft_text_place(const struct heft_input_text *in)
{
    return (struct heft_text_place){in->offset, in->encoding, in->begun, in->after_return};
}

bool heft_text_seek(struct heft_input_text *in, const struct heft_text_place *place,
                    struct heft_error *err)
{
    const bool is_code_page = place->encoding >= HEFT_CHARSET_BYTES;

    if (is_code_page && place->encoding != in->how.encoding.charset)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the journal has an invalid encoding");
    in->offset = place->offset;
    in->encoding = place->encoding;
    in->begun = place->begun;
    in->after_return = place->after_return;
    return heft_input_seek(&in->bytes, place->offset, err);
}

void heft_text_close(struct heft_input_text *in)
{
    heft_input_close(&in->bytes);
    heft_free(in->raw);
    in->raw = NULL;
}
