/* utf8.h: decodes characters of valid UTF-8. */
#ifndef HEFT_UTF8_H
#define HEFT_UTF8_H

#include "base/base.h"

/* Length of the character whose first byte is `lead`. */
static inline unsigned heft_utf8_width(uint8_t lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Decodes the character at p; *width is its length in bytes. */
static inline uint32_t heft_utf8_at(const uint8_t *p, unsigned *width)
{
    *width = heft_utf8_width(p[0]);
    switch (*width) {
    case 1:
        return p[0];
    case 2:
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
    case 3:
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    default:
        return (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
               (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    }
}

static inline bool heft_utf8_is_tail(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The place of the character that ends at `at`, which is above 0, in valid UTF-8. */
static inline size_t heft_utf8_before(const uint8_t *text, size_t at)
{
    do
        at--;
    while (heft_utf8_is_tail(text[at]));
    return at;
}

/* Begin of the character that contains the byte at `at`. */
static inline size_t heft_utf8_begin(const uint8_t *text, size_t at)
{
    while (at && heft_utf8_is_tail(text[at]))
        at--;
    return at;
}

#endif
