/* pattern.c: the pattern, word by word. */
#include "tokens/pattern.h"

/* A character of valid UTF-8 at p: its code point, and in *n its bytes. */
static uint32_t character(const uint8_t *p, size_t *n)
{
    if (p[0] < 0x80) {
        *n = 1;
        return p[0];
    }
    if (p[0] < 0xE0) {
        *n = 2;
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
    }
    if (p[0] < 0xF0) {
        *n = 3;
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    }
    *n = 4;
    return (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
           (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
}

static unsigned class_at(const struct heft_classes *classes, const uint8_t *p, size_t *n)
{
    return heft_class_of(classes, character(p, n));
}

/* The end of the run of that class, which begins at `at`. *last is where its last character begins.
 */
static size_t run_end(const struct heft_classes *classes, const uint8_t *text, size_t n, size_t at,
                      unsigned class, size_t *last)
{
    size_t length;

    while (at < n && class_at(classes, text + at, &length) == class) {
        *last = at;
        at += length;
    }
    return at;
}

/* 's, 't, 're …: bytes that it takes, 0 where it is none. */
static size_t contraction(const uint8_t *p, size_t n)
{
    if (n < 2 || p[0] != '\'')
        return 0;
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd')
        return 2;
    return n >= 3 && ((p[2] == 'e' && (p[1] == 'r' || p[1] == 'v')) || (p[1] == 'l' && p[2] == 'l'))
               ? 3
               : 0;
}

size_t heft_split_word(const struct heft_classes *classes, const uint8_t *text, size_t n, size_t at)
{
    const size_t short_form = contraction(text + at, n - at);
    const size_t from = text[at] == ' ' && at + 1 < n ? at + 1 : at;
    size_t length, last = at, end;
    unsigned class;

    if (short_form)
        return at + short_form;
    class = class_at(classes, text + from, &length);
    if (class != HEFT_CLASS_SPACE)
        return run_end(classes, text, n, from, class, &last);
    end = run_end(classes, text, n, at, HEFT_CLASS_SPACE, &last);
    return end == n || last == at ? end : last; /* the last one begins the next word */
}
