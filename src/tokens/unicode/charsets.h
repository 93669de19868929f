/* charsets.h: encodings of text: their names, as Python knows them, and tables of those that have a byte a
 * character. */
#ifndef HEFT_CHARSETS_H
#define HEFT_CHARSETS_H

#include "base/error.h"

enum heft_charset {
    HEFT_CHARSET_UTF8,
    HEFT_CHARSET_UTF8_SIG, /* a byte order mark at the beginning is left out */
    HEFT_CHARSET_UTF16,    /* by its byte order mark */
    HEFT_CHARSET_UTF16_LE,
    HEFT_CHARSET_UTF16_BE,
    HEFT_CHARSET_UTF32,
    HEFT_CHARSET_UTF32_LE,
    HEFT_CHARSET_UTF32_BE,
    HEFT_CHARSET_BYTES /* and one more for each table behind the first */
};

#define HEFT_CHARSET_TABLES 63

/* charset_tables.c */
struct heft_charset_table {
    const char *names;  /* " cp1252 1252 windows_1252 " */
    uint16_t high[128]; /* characters of the bytes from 0x80 on; 0: none */
};
extern const struct heft_charset_table heft_charset_tables[HEFT_CHARSET_TABLES];

/* By any name that Python has for it, in any case. HEFT_UNSUPPORTED for others. */
HEFT_CHECKED bool heft_charset_of(const char *name, enum heft_charset *out, struct heft_error *err);
/* For errors: "UTF-8", "cp1252". */
struct heft_str heft_charset_name(enum heft_charset charset);
/* The character of byte c from 0x80 on; 0: none. */
static inline uint32_t heft_charset_character(enum heft_charset charset, uint8_t c)
{
    return heft_charset_tables[charset - HEFT_CHARSET_BYTES].high[c - 0x80];
}

#endif
