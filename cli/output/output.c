/* output.c: stdout through one 64 KiB buffer; escapes text from files. */
#include "output/output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool out_open(struct out *out, int fd)
{
    *out = (struct out){.fd = fd};
    out->buffer = malloc(OUT_CAPACITY);
    out->terminal = isatty(fd) == 1;
    return out->buffer != NULL;
}

static void write_all(struct out *out, const char *p, size_t n)
{
    while (n && !out->error) {
        const ssize_t done = write(out->fd, p, n);
        if (done > 0) {
            p += done;
            n -= (size_t)done;
        } else if (done < 0 && errno != EINTR) {
            out->error = errno;
        }
    }
}

void out_flush(struct out *out)
{
    write_all(out, out->buffer, out->used);
    out->used = 0;
}

bool out_close(struct out *out)
{
    out_flush(out);
    free(out->buffer);
    out->buffer = NULL;
    return out->error == 0;
}

void out_bytes(struct out *out, const void *bytes, size_t n)
{
    if (n >= OUT_CAPACITY - OUT_SLACK) {
        out_flush(out);
        write_all(out, bytes, n);
        return;
    }
    if (n) {
        memcpy(out_room(out, n), bytes, n);
        out->used += n;
    }
}

void out_fill(struct out *out, char c, size_t n)
{
    while (n) {
        const size_t step = n < 4096 ? n : 4096;
        memset(out_room(out, step), c, step);
        out->used += step;
        n -= step;
    }
}

/* ---- formatting numbers --------------------------------------------------------------------- */

size_t u64_digits(uint64_t number)
{
    size_t n = 1;
    for (; number >= 10; number /= 10)
        n++;
    return n;
}

size_t hex_digits(uint64_t number)
{
    size_t n = 1;
    for (; number >= 16; number /= 16)
        n++;
    return n;
}

static char *put_digits(char *to, uint64_t number, size_t digits)
{
    for (char *p = to + digits; p > to; number /= 10)
        *--p = (char)('0' + number % 10);
    return to + digits;
}

char *put_u64(char *to, uint64_t number)
{
    return put_digits(to, number, u64_digits(number));
}

char *put_u64_in(char *to, uint64_t number, size_t width)
{
    const size_t digits = u64_digits(number);
    return put_digits(digits < width ? put_blank(to, width - digits) : to, number, digits);
}

/* Stores 4 bytes in little-endian order. Written byte by byte, compilers make it one store. */
static void put_four(char *to, uint64_t bytes)
{
    to[0] = (char)bytes;
    to[1] = (char)(bytes >> 8);
    to[2] = (char)(bytes >> 16);
    to[3] = (char)(bytes >> 24);
}

/* Converts 32 bits to eight hexadecimal digits at once (SWAR): spreads the nibbles over eight
 * bytes, the lowest nibble into the highest byte. */
static void put_eight_hex(char *to, uint64_t number)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t x = (number >> 16 & 0xffff) | (number & 0xffff) << 32;
    x = (x >> 8 & 0x000000ff000000ffu) | (x & 0x000000ff000000ffu) << 16;
    x = (x >> 4 & 0x000f000f000f000fu) | (x & 0x000f000f000f000fu) << 8;
    x += each * '0' + (((x + each * 6) >> 4) & each) * ('a' - '0' - 10);
    put_four(to, x);
    put_four(to + 4, x >> 32);
}

char *put_hex(char *to, uint64_t number, size_t digits)
{
    const size_t n = digits < 16 && number >> (4 * digits) ? hex_digits(number) : digits;
    char *const end = to + 2 + n;
    memcpy(to, "0x", 2);
    if (n > 8) {
        put_eight_hex(to + 2, number >> 32 << 4 * (16 - n));
        put_eight_hex(end - 8, number);
    } else {
        put_eight_hex(to + 2, number << 4 * (8 - n));
    }
    return end;
}

void out_u64(struct out *out, uint64_t number)
{
    out_to(out, put_u64(out_room(out, 20), number));
}

void out_u64_in(struct out *out, uint64_t number, size_t width)
{
    out_to(out, put_u64_in(out_room(out, width + 20), number, width));
}

void out_hex(struct out *out, uint64_t number, size_t digits)
{
    out_to(out, put_hex(out_room(out, digits + 20), number, digits));
}

void out_grouped(struct out *out, uint64_t number)
{
    char text[20];
    const size_t n = u64_digits(number);
    for (size_t i = n; i > 0; i--, number /= 10)
        text[i - 1] = (char)('0' + number % 10);
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out_char(out, ' ');
        out_char(out, text[i]);
    }
}

char *format_size(char *text, size_t room_for, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double scaled = (double)bytes;
    size_t unit = 0;
    while (scaled >= 1024 && unit < 6) {
        scaled /= 1024;
        unit++;
    }
    snprintf(text, room_for, unit ? "%.1f %s" : "%.0f %s", scaled, units[unit]);
    return text;
}

void out_size(struct out *out, uint64_t bytes)
{
    char text[32];
    out_text(out, format_size(text, sizeof text, bytes));
}

void out_style(struct out *out, enum out_style style)
{
    static const char *const codes[] = {"\033[1;31m", "\033[33m"};
    if (out->color)
        out_text(out, codes[style]);
}

void out_plain(struct out *out)
{
    if (out->color)
        out_text(out, "\033[0m");
}

/* ---- escaping text from files --------------------------------------------------------------- */

int32_t utf8_next(const char *text, size_t n, size_t *size)
{
    const unsigned char *p = (const unsigned char *)text;
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    int32_t code;

    *size = 1;
    if (length == 1)
        return p[0];
    if (!length || p[0] > 0xf4 || n < length)
        return -1;
    code = p[0] & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return -1;
        code = (code << 6) | (p[i] & 0x3f);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return -1;
    *size = length;
    return code;
}

/* Whether a character could move the cursor, start an escape sequence, break a line or reverse the
 * direction of text. */
static bool is_unsafe_char(int32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Tests eight bytes at once (SWAR): the high bit of some byte of the result is set if a byte is a
 * control character, DEL or not ASCII. Borrows and carries start only at such bytes, so they cause
 * no false positive. */
static uint64_t odd_eight(const char *text)
{
    uint64_t w;
    memcpy(&w, text, sizeof w);
    return w | (w - 0x2020202020202020u) | (w + 0x0101010101010101u);
}

static bool is_plain(uint64_t odd)
{
    return (odd & 0x8080808080808080u) == 0;
}

static bool plain_eight(const char *text)
{
    return is_plain(odd_eight(text));
}

bool name_is_plain(const char *text, size_t n)
{
    uint64_t odd;
    size_t i = 0;
    if (n < 8) {
        while (i < n && text[i] >= 0x20 && text[i] < 0x7f)
            i++;
        return i == n;
    }
    odd = odd_eight(text + n - 8); /* overlaps the bytes of the loop below */
    for (; i + 8 < n; i += 8)
        odd |= odd_eight(text + i);
    return is_plain(odd);
}

/* Length of the prefix that is printable ASCII: an ordinary name is that as a whole. */
static size_t plain_run(const char *text, size_t n)
{
    size_t i = 0;
    while (n - i >= 8 && plain_eight(text + i))
        i += 8;
    while (i < n && text[i] >= 0x20 && text[i] < 0x7f)
        i++;
    return i;
}

size_t name_escape(char *to, const char *text, int32_t code, size_t size)
{
    if (code == '\n' || code == '\t' || code == '\r') {
        memcpy(to, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r", 2);
        return 2;
    }
    if (code < 0)
        return (size_t)snprintf(to, 8, "\\x%02x", (unsigned)(unsigned char)text[0]);
    if (is_unsafe_char(code))
        return (size_t)snprintf(to, 8, code < 0x100 ? "\\x%02x" : "\\u%04x",
                                (unsigned)code & 0xffff);
    memcpy(to, text, size);
    return size;
}

/* Prints an escaped name; out may be NULL to measure the width only. */
static size_t put_name(struct out *out, const char *text, size_t n)
{
    size_t width = 0;
    while (n) {
        char shown[8];
        size_t size = plain_run(text, n), bytes;
        int32_t code;
        if (size) {
            if (out)
                out_bytes(out, text, size);
            width += size;
        } else {
            code = utf8_next(text, n, &size);
            bytes = name_escape(shown, text, code, size);
            if (out)
                out_bytes(out, shown, bytes);
            width += code < 0 || is_unsafe_char(code) ? bytes : 1;
        }
        text += size;
        n -= size;
    }
    return width;
}

size_t out_name(struct out *out, const char *text, size_t n)
{
    return put_name(out, text, n);
}

size_t name_width(const char *text, size_t n)
{
    return put_name(NULL, text, n);
}

/* ---- writing JSON --------------------------------------------------------------------------- */

static void json_comma(struct out *out)
{
    if (out->separate)
        out_char(out, ',');
    out->separate = true;
}

void json_open(struct out *out, char bracket)
{
    json_comma(out);
    out_char(out, bracket);
    out->separate = false;
}

void json_close(struct out *out, char bracket)
{
    out_char(out, bracket);
    out->separate = true;
}

void json_line(struct out *out)
{
    if (out->separate)
        out_char(out, ',');
    out_char(out, '\n');
    out->separate = false;
}

static void quote_one(struct out *out, int32_t code, const char *text, size_t size)
{
    static const char letters[] = "b\bf\fn\nr\rt\t\"\"\\\\";
    char shown[8];
    for (const char *p = letters; *p && code < 0x80; p += 2)
        if (p[1] == (char)code) {
            out_char(out, '\\');
            out_char(out, *p);
            return;
        }
    if (code < 0) {
        out_text(out, "\xef\xbf\xbd");
    } else if (is_unsafe_char(code) || (out->in_page && code == '<')) {
        snprintf(shown, sizeof shown, "\\u%04x", (unsigned)code & 0xffff);
        out_text(out, shown);
    } else {
        out_bytes(out, text, size);
    }
}

/* Whether eight bytes do not contain `c` (SWAR zero-byte test). */
static bool lacks_byte(const char *text, char c)
{
    const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones;
    uint64_t w;
    memcpy(&w, text, sizeof w);
    w ^= ones * (unsigned char)c;
    return !~(((w & low) + low) | w | low);
}

static void json_quote(struct out *out, const char *text, size_t n)
{
    const char third = out->in_page ? '<' : '"'; /* beside quote and backslash */

    out_char(out, '"');
    while (n) {
        size_t size = 0;
        while (n - size >= 8 && plain_eight(text + size) && lacks_byte(text + size, '"') &&
               lacks_byte(text + size, '\\') && lacks_byte(text + size, third))
            size += 8;
        while (size < n && text[size] >= 0x20 && text[size] < 0x7f && text[size] != '"' &&
               text[size] != '\\' && text[size] != third)
            size++;
        if (size) {
            out_bytes(out, text, size);
        } else {
            const int32_t code = utf8_next(text, n, &size);
            quote_one(out, code, text, size);
        }
        text += size;
        n -= size;
    }
    out_char(out, '"');
}

void json_key_n(struct out *out, const char *key, size_t n)
{
    json_comma(out);
    json_quote(out, key, n);
    out_char(out, ':');
    out->separate = false;
}

void json_key(struct out *out, const char *key)
{
    json_key_n(out, key, strlen(key));
}

void json_text(struct out *out, const char *text, size_t n)
{
    json_comma(out);
    json_quote(out, text, n);
}

void json_u64(struct out *out, uint64_t number)
{
    json_comma(out);
    out_u64(out, number);
}

void json_i64(struct out *out, int64_t number)
{
    json_comma(out);
    if (number < 0)
        out_char(out, '-');
    out_u64(out, number < 0 ? ~(uint64_t)number + 1 : (uint64_t)number);
}

void json_double(struct out *out, double number)
{
    char text[40];
    if (isnan(number) || isinf(number)) {
        const char *name = isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
        json_text(out, name, strlen(name));
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    if (!strpbrk(text, ".eE"))
        strcat(text, ".0");
    json_comma(out);
    out_text(out, text);
}

void json_seconds(struct out *out, double seconds)
{
    char text[40];
    snprintf(text, sizeof text, "%.6f", seconds);
    json_comma(out);
    out_text(out, text);
}

void json_number(struct out *out, const char *text)
{
    json_comma(out);
    out_text(out, text);
}

void json_bool(struct out *out, bool truth)
{
    json_comma(out);
    out_text(out, truth ? "true" : "false");
}

void json_null(struct out *out)
{
    json_comma(out);
    out_text(out, "null");
}

void json_member_text(struct out *out, const char *key, const char *text)
{
    json_key(out, key);
    json_text(out, text, strlen(text));
}

void json_member_u64(struct out *out, const char *key, uint64_t number)
{
    json_key(out, key);
    json_u64(out, number);
}

void json_member_bool(struct out *out, const char *key, bool truth)
{
    json_key(out, key);
    json_bool(out, truth);
}
