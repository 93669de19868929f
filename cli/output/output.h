/* output.h: buffered stdout: numbers without printf, text from files escaped.
 *
 * Errors are sticky: the first failed write is remembered, later output is discarded, and out_close
 * returns false. EPIPE, a reader that closed the pipe, counts as a failure but gets no message. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
    char *buffer;
    size_t used;
    int fd;
    int error;     /* errno of the first failed write, else 0 */
    bool terminal; /* the descriptor is a terminal */
    bool color;
    bool separate; /* JSON: a comma is due before the next member of the open container */
    bool in_page;  /* JSON: inside a script element of HTML, which a < must not end */
};

enum out_style { OUT_BAD, OUT_DOUBTFUL };

enum { OUT_CAPACITY = 64 * 1024, OUT_SLACK = 16 };

/* False if the buffer cannot be allocated. */
bool out_open(struct out *out, int fd);
/* Flushes and frees the buffer. False if any write failed; out->error is its errno. */
bool out_close(struct out *out);

void out_flush(struct out *out);
/* Space for n more bytes (n far below OUT_CAPACITY), to compose text in place; out_to sets its end.
 * The OUT_SLACK bytes after it may be overwritten. */
static inline char *out_room(struct out *out, size_t n)
{
    if (OUT_CAPACITY - out->used < n + OUT_SLACK)
        out_flush(out);
    return out->buffer + out->used;
}
static inline void out_to(struct out *out, const char *end)
{
    out->used = (size_t)(end - out->buffer);
}

void out_bytes(struct out *out, const void *bytes, size_t n);
static inline void out_text(struct out *out, const char *text)
{
    out_bytes(out, text, strlen(text)); /* inline, so that strlen of a literal is a constant */
}
static inline void out_char(struct out *out, char c)
{
    *out_room(out, 1) = c;
    out->used++;
}
void out_fill(struct out *out, char c, size_t n);
void out_u64(struct out *out, uint64_t number);
/* Prints the number right-aligned in `width` columns. */
void out_u64_in(struct out *out, uint64_t number, size_t width);
/* Prints 0x and at least `digits` digits. */
void out_hex(struct out *out, uint64_t number, size_t digits);
/* Writes 1234567 as "1 234 567". */
void out_grouped(struct out *out, uint64_t number);
/* Writes a number of bytes as "12.6 GiB" or "512 B". */
void out_size(struct out *out, uint64_t bytes);
void out_style(struct out *out, enum out_style style);
void out_plain(struct out *out);

/* The same in place: each writes at `to`, which has OUT_SLACK bytes to spare, and returns the end.
 * A u64 has at most 20 decimal digits, 16 in hexadecimal after the 0x. */
static inline char *put_blank(char *to, size_t n)
{
    memcpy(to, "                ", OUT_SLACK); /* a constant size: most gaps are small */
    if (n > OUT_SLACK)
        memset(to + OUT_SLACK, ' ', n - OUT_SLACK);
    return to + n;
}
static inline char *put_plain(char *to, const char *text, size_t n)
{
    memcpy(to, text, n);
    return to + n;
}
char *put_u64(char *to, uint64_t number);
char *put_u64_in(char *to, uint64_t number, size_t width);
char *put_hex(char *to, uint64_t number, size_t digits);

size_t u64_digits(uint64_t number);
size_t hex_digits(uint64_t number);
/* Formats "12.6 GiB" into at least 32 bytes of room. */
char *format_size(char *text, size_t room, uint64_t bytes);

/* Prints text from a file with control characters (C0, DEL, C1, line separators, bidirectional
 * overrides) escaped as \x1b or \u202e, and bytes that are not UTF-8 as \xff. Returns the columns
 * taken, one per character. */
size_t out_name(struct out *out, const char *text, size_t n);
/* Number of columns that out_name would take. */
size_t name_width(const char *text, size_t n);
/* Whether a name is printable ASCII: shown unescaped, one column per byte. */
bool name_is_plain(const char *text, size_t n);
/* Decodes the character at text (n > 0): its length in *size; returns its code point, or -1 if it
 * is not UTF-8. */
int32_t utf8_next(const char *text, size_t n, size_t *size);
/* Writes that character or its escape sequence: at most 8 bytes without a NUL. Returns their
 * number.
 */
size_t name_escape(char *to, const char *text, int32_t code, size_t size);

/* JSON. Commas between members are written automatically. */
void json_open(struct out *out, char bracket);
void json_close(struct out *out, char bracket);
void json_key(struct out *out, const char *key);
void json_key_n(struct out *out, const char *key, size_t n);
void json_text(struct out *out, const char *text, size_t n);
void json_u64(struct out *out, uint64_t number);
void json_i64(struct out *out, int64_t number);
/* Writes the shortest digits that read back as the same number; "NaN", "Infinity" and "-Infinity"
 * as strings. */
void json_double(struct out *out, double number);
/* Writes seconds with six decimals. */
void json_seconds(struct out *out, double seconds);
/* A number whose text is JSON. */
void json_number(struct out *out, const char *text);
void json_bool(struct out *out, bool truth);
void json_null(struct out *out);
/* Writes a line break before the next member, to keep lines of long documents short. */
void json_line(struct out *out);

/* A key and its value. */
void json_member_text(struct out *out, const char *key, const char *text);
void json_member_u64(struct out *out, const char *key, uint64_t number);
void json_member_bool(struct out *out, const char *key, bool truth);

#endif
