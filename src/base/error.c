/* error.c: fills and prints struct heft_error. Nothing here allocates: memory may just have run
 * out. Text is formatted into a larger buffer first, then escaped piece by piece, so that neither
 * an escape nor a character is cut in two. */
#include "base/error.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>

#include "base/text.h"
#include "heft/heft.h"

/* a name before a message leaves at least half of the line to the message */
#define MAX_NAME 160

/* Bounded text: a piece that does not fit as a whole is dropped, and so is everything after it. */
struct line {
    char *p;
    size_t n, cap; /* including the NUL */
    bool full;
};

static void line_put(struct line *line, const char *p, size_t n)
{
    if (line->full || n >= line->cap - line->n) {
        line->full = true;
        return;
    }
    memcpy(line->p + line->n, p, n);
    line->n += n;
    line->p[line->n] = '\0';
}

/* Escapes s. Runs of printable text are copied at once: a probe of unknown files creates many
 * errors that nobody reads. */
static void line_escaped(struct line *line, struct heft_str s)
{
    char piece[HEFT_ESCAPE_MAX];
    size_t n;

    while (s.n && !line->full) {
        const size_t room = line->cap - line->n - 1, run = heft_plain_run(s);
        size_t used = run < room ? run : room;

        if (used > 0) {
            line_put(line, s.p, used);
        } else {
            used = heft_escape_char(s, piece, &n);
            line_put(line, piece, n);
        }
        s.p += used;
        s.n -= used;
    }
}

static struct line line_of(char *p, size_t cap)
{
    p[0] = '\0';
    return (struct line){p, 0, cap, false};
}

bool heft_fail_args(struct heft_error *err, enum heft_code code, uint64_t offset,
                    const char *format, va_list args)
{
    char raw[4 * sizeof err->text];
    const int wanted = vsnprintf(raw, sizeof raw, format, args);
    struct line line;
    size_t n;

    n = wanted < 0 ? 0 : (size_t)wanted;
    if (n >= sizeof raw)
        n = sizeof raw - 1; /* a character may be cut in two here, but the line is full long
                               before */

    err->code = code;
    err->system_error = 0;
    err->offset = offset;
    err->file[0] = '\0';
    line = line_of(err->text, sizeof err->text);
    line_escaped(&line, (struct heft_str){raw, n});
    return false;
}

bool heft_fail(struct heft_error *err, enum heft_code code, uint64_t offset, const char *format,
               ...)
{
    va_list args;

    va_start(args, format);
    heft_fail_args(err, code, offset, format, args);
    va_end(args);
    return false;
}

bool heft_fail_errno(struct heft_error *err, const char *what)
{
    const int number = errno;
    const locale_t english = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    if (english) {
        heft_fail(err, HEFT_IO, HEFT_NO_OFFSET, "%s: %s", what, strerror_l(number, english));
        freelocale(english);
    } else {
        heft_fail(err, HEFT_IO, HEFT_NO_OFFSET, "%s: system error %d", what, number);
    }
    err->system_error = number;
    return false;
}

bool heft_fail_missing(struct heft_error *err, const char *what)
{
    heft_fail(err, HEFT_IO, HEFT_NO_OFFSET, "%s", what);
    err->system_error = ENOENT;
    return false;
}

bool heft_error_file(struct heft_error *err, const char *path)
{
    static const char cut[] = "...";
    size_t n;

    if (err->file[0] != '\0' || !path)
        return false;
    n = strlen(path);
    if (n < sizeof err->file) {
        memcpy(err->file, path, n + 1);
        return false;
    }
    path += n - (sizeof err->file - sizeof cut);
    while (((unsigned char)*path & 0xc0) == 0x80) /* skip to the begin of a character */
        path++;
    memcpy(err->file, cut, sizeof cut - 1);
    memcpy(err->file + sizeof cut - 1, path, strlen(path) + 1);
    return false;
}

bool heft_error_about(struct heft_error *err, const char *kind, struct heft_str name)
{
    char text[sizeof err->text], shown[MAX_NAME];
    struct line line = line_of(shown, sizeof shown);

    line_escaped(&line, name);
    memcpy(text, err->text, sizeof text);
    const bool cut = line.full;
    line = line_of(err->text, sizeof err->text);
    line_escaped(&line, heft_str_of(kind));
    line_put(&line, " ", 1);
    line_put(&line, shown, strlen(shown));
    if (cut)
        line_put(&line, "...", 3);
    line_put(&line, ": ", 2);
    line_escaped(&line, heft_str_of(text));
    return false;
}

/* "FILE: offset 0x10: text" */
static void line_error(struct line *line, const struct heft_error *err)
{
    char where[40];

    if (err->file[0] != '\0') {
        line_escaped(line, heft_str_of(err->file));
        line_put(line, ": ", 2);
    }
    if (err->offset != HEFT_NO_OFFSET) {
        const int length = snprintf(where, sizeof where, "offset 0x%" PRIx64 ": ", err->offset);
        line_put(line, where, length > 0 ? (size_t)length : 0);
    }
    line_escaped(line, heft_str_of(err->text));
}

bool heft_error_quote(struct heft_error *err, const char *before, const struct heft_error *cause)
{
    struct line line;

    *err = (struct heft_error){
        .code = cause->code, .system_error = cause->system_error, .offset = HEFT_NO_OFFSET};
    line = line_of(err->text, sizeof err->text);
    line_escaped(&line, heft_str_of(before));
    line_put(&line, ": ", 2);
    line_error(&line, cause);
    return false;
}

char *heft_error_format(const struct heft_error *err, char *out, size_t n)
{
    struct line line;

    if (n == 0 || !out)
        return out;
    line = line_of(out, n);
    if (!err)
        return out;
    line_put(&line, "heft: ", 6);
    line_error(&line, err);
    return out;
}
