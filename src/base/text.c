/* text.c: UTF-8, escaping for terminals, JSON strings. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "base/utf8_kernels.h"

/* ---- UTF-8 ---------------------------------------------------------------------------------
 *
 * lead      bytes  second byte   (what it rules out)
 * 00 … 7f   1
 * c2 … df   2      80 … bf       (c0, c1: overlong)
 * e0        3      a0 … bf       (overlong)
 * e1 … ef   3      80 … bf       ed: 80 … 9f (surrogates)
 * f0        4      90 … bf       (overlong)
 * f1 … f3   4      80 … bf
 * f4        4      80 … 8f       (beyond U+10FFFF)
 */

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static bool second_allowed(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return is_tail(second);
    }
}

/* Length of the character at p in bytes (n > 0); 0 if it is invalid. */
static size_t character_length(const uint8_t *p, size_t n)
{
    const uint8_t lead = p[0];
    size_t length;

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (n < length || !second_allowed(lead, p[1]))
        return 0;
    for (size_t i = 2; i < length; i++)
        if (!is_tail(p[i]))
            return 0;
    return length;
}

static uint32_t code_point(const uint8_t *p, size_t length)
{
    uint32_t point = length == 1 ? p[0] : p[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++)
        point = point << 6 | (p[i] & 0x3fu);
    return point;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static uint64_t load_word(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word); /* in native byte order: all bytes are treated alike */
    return word;
}

/* Length of the ASCII run at the begin, in whole words. */
static size_t ascii_run(const uint8_t *p, size_t n)
{
    size_t at = 0;

    while (n - at >= 32 && !((load_word(p + at) | load_word(p + at + 8) | load_word(p + at + 16) |
                              load_word(p + at + 24)) &
                             EACH(0x80)))
        at += 32;
    while (n - at >= 8 && !(load_word(p + at) & EACH(0x80)))
        at += 8;
    return at;
}

/* True if a three-byte character, whose lead byte allows any second byte, begins at the low end. */
static bool is_three(uint64_t bytes)
{
    return (bytes & 0xc0c0f0) == 0x8080e0 && (bytes & 0xff) != 0xe0 && (bytes & 0xff) != 0xed;
}

/* Length of the run of such characters at the begin, as far as whole words can be read. Most East
 * Asian text consists of them. */
static size_t three_run(const uint8_t *p, size_t n)
{
    size_t at = 0;

    while (n - at >= 8) {
        const uint64_t bytes = heft_le64(p + at);

        if (!is_three(bytes))
            break;
        at += is_three(bytes >> 24) ? 6 : 3;
    }
    return at;
}

/* Length of the run of valid non-ASCII characters at the begin. */
static size_t wide_run(const uint8_t *p, size_t n)
{
    size_t at = 0, length;

    do {
        at += three_run(p + at, n - at);
        if (at == n || p[at] < 0x80)
            return at;
        length = character_length(p + at, n - at);
        at += length;
    } while (length > 0 && at < n);
    return at;
}

/* True for ASCII of 8 to 64 bytes, as most names are. */
static bool is_short_ascii(struct heft_bytes text)
{
    uint64_t all;

    if (text.n < 8 || text.n > 64)
        return false;
    all = load_word(text.p + text.n - 8);
    for (size_t at = 0; at < text.n - 8; at += 8)
        all |= load_word(text.p + at);
    return (all & EACH(0x80)) == 0;
}

#define LONG_TEXT 256 /* bytes; shorter texts are not worth a kernel */

size_t heft_utf8_check(struct heft_bytes text)
{
    bool is_parted = false;
    size_t at = 0;

    if (is_short_ascii(text))
        return text.n;
    while (at < text.n) {
        at += ascii_run(text.p + at, text.n - at);
        if (at == text.n)
            break;
        if (text.n - at < 8 && text.n >= 8 && !(load_word(text.p + text.n - 8) & EACH(0x80)))
            return text.n; /* the last bytes, some of which were checked before, are ASCII */
        if (text.p[at] < 0x80) {
            at++;
            continue;
        }
        if (text.n - at >= LONG_TEXT && !is_parted) {
            at += heft_utf8_valid_part(text.p + at, text.n - at);
            is_parted = true; /* what is left is short, or has an error */
            continue;
        }
        at += wide_run(text.p + at, text.n - at);
        if (at < text.n && text.p[at] >= 0x80)
            return at;
    }
    return at;
}

bool heft_text_mentions(struct heft_bytes part, const char *word)
{
    const size_t n = strlen(word), usual = strspn(word, "archive/data/model");
    const size_t rare = usual < n ? usual : 0; /* search for a letter that is rare in names */
    const uint8_t *p = part.p, *const end = part.p + part.n;

    while ((size_t)(end - p) >= n) {
        p = memchr(p + rare, word[rare], (size_t)(end - p) - n + 1);
        if (!p)
            return false;
        p -= rare;
        if (memcmp(p, word, n) == 0)
            return true;
        p++;
    }
    return false;
}

size_t heft_utf8_put(char *out, uint32_t point)
{
    size_t n = 0;

    if (point < 0x80) {
        out[n++] = (char)point;
        return n;
    }
    if (point < 0x800) {
        out[n++] = (char)(0xc0 | point >> 6);
    } else {
        if (point < 0x10000) {
            out[n++] = (char)(0xe0 | point >> 12);
        } else {
            out[n++] = (char)(0xf0 | point >> 18);
            out[n++] = (char)(0x80 | (point >> 12 & 0x3f));
        }
        out[n++] = (char)(0x80 | (point >> 6 & 0x3f));
    }
    out[n++] = (char)(0x80 | (point & 0x3f));
    return n;
}

/* ---- escaping for terminals ---------------------------------------------------------------- */

static const char hex[] = "0123456789abcdef";

/* Characters that move the cursor, break the line, or reorder the text around them. */
static bool is_unsafe(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static size_t put_hex_byte(char *out, uint8_t byte)
{
    out[0] = '\\';
    out[1] = 'x';
    out[2] = hex[byte >> 4];
    out[3] = hex[byte & 15];
    return 4;
}

static size_t put_hex_unit(char *out, uint32_t unit)
{
    out[0] = '\\';
    out[1] = 'u';
    for (unsigned i = 0; i < 4; i++)
        out[2 + i] = hex[unit >> (12 - 4 * i) & 15];
    return 6;
}

static char short_escape(uint32_t point)
{
    switch (point) {
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

size_t heft_escape_char(struct heft_str s, char out[HEFT_ESCAPE_MAX], size_t *out_n)
{
    const uint8_t *p = (const uint8_t *)s.p;
    const size_t length = character_length(p, s.n);
    uint32_t point;

    if (length == 0) {
        *out_n = put_hex_byte(out, p[0]);
        return 1;
    }
    point = code_point(p, length);
    if (!is_unsafe(point)) {
        memcpy(out, p, length);
        *out_n = length;
    } else if (short_escape(point)) {
        out[0] = '\\';
        out[1] = short_escape(point);
        *out_n = 2;
    } else {
        *out_n = length == 1 ? put_hex_byte(out, p[0]) : put_hex_unit(out, point);
    }
    return length;
}

/* Non-zero if any byte of an all-ASCII word equals `byte`. */
HEFT_WRAPS static uint64_t has_byte(uint64_t word, uint8_t byte)
{
    const uint64_t x = word ^ EACH(byte);

    return (x - EACH(1)) & ~x & EACH(0x80);
}

HEFT_WRAPS static bool is_plain_word(uint64_t word)
{
    const uint64_t control = (word - EACH(0x20)) & ~word & EACH(0x80);

    return !((word & EACH(0x80)) | control | has_byte(word, '"') | has_byte(word, '\\') |
             has_byte(word, 0x7f));
}

size_t heft_plain_run(struct heft_str s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    size_t n = 0;

    while (s.n - n >= 8 && is_plain_word(load_word(p + n)))
        n += 8;
    while (n < s.n && p[n] >= 0x20 && p[n] < 0x7f && p[n] != '"' && p[n] != '\\')
        n++;
    return n;
}

void heft_buf_escaped(struct heft_buf *buf, struct heft_str s)
{
    char piece[HEFT_ESCAPE_MAX];
    size_t n;

    while (s.n) {
        const size_t run = heft_plain_run(s);

        heft_buf_put(buf, s.p, run);
        s.p += run;
        s.n -= run;
        if (s.n == 0)
            break;
        const size_t used = heft_escape_char(s, piece, &n);
        heft_buf_put(buf, piece, n);
        s.p += used;
        s.n -= used;
    }
}

/* ---- escaping for JSON --------------------------------------------------------------------- */

/* The letter of a two-character escape; 0 if there is none. */
static char json_letter(uint32_t point)
{
    switch (point) {
    case '"':
    case '\\':
        return (char)point;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    default:
        return short_escape(point);
    }
}

static void put_json_point(struct heft_buf *buf, uint32_t point)
{
    char out[12];
    size_t n;

    if (json_letter(point)) {
        out[0] = '\\';
        out[1] = json_letter(point);
        n = 2;
    } else if (point < 0x10000) {
        n = put_hex_unit(out, point);
    } else {
        n = put_hex_unit(out, 0xd800 + ((point - 0x10000) >> 10));
        n += put_hex_unit(out + n, 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
    heft_buf_put(buf, out, n);
}

/* Appends the first character of s, which is not part of a plain run; returns its length in s. */
static size_t put_json_char(struct heft_buf *buf, struct heft_str s, bool ascii)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    const uint8_t *p = (const uint8_t *)s.p;
    const size_t length = character_length(p, s.n);
    const uint32_t point = length ? code_point(p, length) : 0xfffd;

    if (json_letter(point) || point < 0x20 || ascii)
        put_json_point(buf, point);
    else if (length)
        heft_buf_put(buf, p, length);
    else
        heft_buf_put(buf, replacement, sizeof replacement);
    return length ? length : 1;
}

void heft_buf_json(struct heft_buf *buf, struct heft_str s, bool ascii)
{
    heft_buf_char(buf, '"');
    while (s.n) {
        const size_t run = heft_plain_run(s);

        heft_buf_put(buf, s.p, run);
        s.p += run;
        s.n -= run;
        if (s.n == 0)
            break;
        const size_t used = put_json_char(buf, s, ascii);
        s.p += used;
        s.n -= used;
    }
    heft_buf_char(buf, '"');
}

/* ---- formatting numbers ------------------------------------------------------------------ */

/* All characters that "%g" writes for a finite number, except the decimal point, which may have
 * several bytes. */
static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
}

size_t heft_double_text(double number, char out[HEFT_DOUBLE_MAX])
{
    size_t n = 0;

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, HEFT_DOUBLE_MAX, "%.*g", digits, number);
        if (strtod(out, NULL) == number) /* uses the same locale as snprintf */
            break;
    }
    for (size_t i = 0; out[i]; i++)
        if (is_of_number(out[i]))
            out[n++] = out[i];
        else if (n > 0 && is_of_number(out[n - 1]))
            out[n++] = '.';
    out[n] = '\0';
    return n;
}

void heft_base64_group(const uint8_t *p, size_t n, char out[4])
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits =
        (uint32_t)p[0] << 16 | (uint32_t)(n > 1 ? p[1] : 0) << 8 | (n > 2 ? p[2] : 0);

    for (size_t k = 0; k < 4; k++)
        out[k] = k <= n ? DIGITS[bits >> (18 - 6 * k) & 63] : '=';
}
