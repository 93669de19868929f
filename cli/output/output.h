/* output.h: what goes to stdout: one large buffer, numbers without printf, text from files made
 * safe.
 *
 * Errors stick: the first failed write is remembered and the rest is swallowed; out_close tells. A
 * reader that went away (EPIPE) is remembered too, but is no trouble worth a message. */
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
    int error;     /* errno of the first failed write, 0 while all went well */
    bool terminal; /* somebody may be looking */
    bool color;
    bool separate; /* JSON: a comma is due before the next member of the open container */
};

enum out_style { OUT_BAD, OUT_DOUBTFUL, OUT_FAINT };

enum { OUT_CAPACITY = 64 * 1024, OUT_SLACK = 16 };

/* False where there is no memory for the buffer. */
bool out_open(struct out *out, int fd);
/* Writes what is left. False if any write failed; out->error says why. */
bool out_close(struct out *out);

void out_flush(struct out *out);
/* Room for n more bytes, n far below OUT_CAPACITY, for text that is put together in place: it ends
 * at out_to. There are OUT_SLACK bytes behind it, which may be written to. */
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
    out_bytes(out, text, strlen(text)); /* inline: most texts are constants */
}
static inline void out_char(struct out *out, char c)
{
    *out_room(out, 1) = c;
    out->used++;
}
void out_fill(struct out *out, char c, size_t n);
void out_u64(struct out *out, uint64_t number);
/* Right-aligned in width columns. */
void out_u64_in(struct out *out, uint64_t number, size_t width);
/* 0x and at least `digits` digits. */
void out_hex(struct out *out, uint64_t number, size_t digits);
/* 1234567 → "1 234 567" */
void out_grouped(struct out *out, uint64_t number);
/* "12.6 GiB", "512 B" */
void out_size(struct out *out, uint64_t bytes);
void out_style(struct out *out, enum out_style style);
void out_plain(struct out *out);

/* The same in place: each writes at `to`, with slack behind it, and returns where it ended. A u64
 * has at most 20 digits, 16 in hex behind the 0x. */
static inline char *put_blank(char *to, size_t n)
{
    memcpy(to, "                ", OUT_SLACK); /* in one go: most gaps are small */
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
/* "12.6 GiB" into at least 32 bytes. */
char *format_size(char *text, size_t room, uint64_t bytes);

/* Text from a file: control characters (C0, DEL, C1, line separators, bidirectional overrides) as
 * \x1b or \u202e, bytes that are no UTF-8 as \xff. Returns the columns taken, one a character. */
size_t out_name(struct out *out, const char *text, size_t n);
/* The columns that out_name would take. */
size_t name_width(const char *text, size_t n);
/* Printable ASCII: shown as it is, a column a byte. */
bool name_is_plain(const char *text, size_t n);
/* The bytes of the character at text (n > 0) in *size; its code point, or -1 if no UTF-8. */
int32_t utf8_next(const char *text, size_t n, size_t *size);
/* How that character is shown, in at most 8 bytes, no NUL: itself or an escape. Returns how many.
 */
size_t name_escape(char *to, const char *text, int32_t code, size_t size);

/* JSON. Containers and members keep their commas by themselves. */
void json_open(struct out *out, char bracket);
void json_close(struct out *out, char bracket);
void json_key(struct out *out, const char *key);
void json_key_n(struct out *out, const char *key, size_t n);
void json_text(struct out *out, const char *text, size_t n);
void json_u64(struct out *out, uint64_t number);
void json_i64(struct out *out, int64_t number);
/* The shortest digits that read back as the same number; "NaN", "Infinity" and "-Infinity" as
 * strings. */
void json_double(struct out *out, double number);
/* To the microsecond. */
void json_seconds(struct out *out, double seconds);
void json_bool(struct out *out, bool truth);
void json_null(struct out *out);
/* A line break before the next member, so that long documents have lines. */
void json_line(struct out *out);

/* key and value at once */
void json_member_text(struct out *out, const char *key, const char *text);
void json_member_u64(struct out *out, const char *key, uint64_t number);
void json_member_bool(struct out *out, const char *key, bool truth);

#endif
