/* charsets.h: character encodings of text files: their names, as Python knows them, and how the
 * bytes of single-byte ones decode.
 *
 * A single-byte charset (a code page) is decoded by a table that iconv(3) of the C library fills
 * once, when the charset is chosen. C libraries differ: a checksum of Python's table decides
 * whether the library's may be used. */
#ifndef HEFT_CHARSETS_H
#define HEFT_CHARSETS_H

#include "base/error.h"

enum heft_charset {
    HEFT_CHARSET_UTF8,
    HEFT_CHARSET_UTF8_SIG, /* UTF-8; a byte order mark at the beginning is removed */
    HEFT_CHARSET_UTF16,    /* byte order from the byte order mark */
    HEFT_CHARSET_UTF16_LE,
    HEFT_CHARSET_UTF16_BE,
    HEFT_CHARSET_UTF32,
    HEFT_CHARSET_UTF32_LE,
    HEFT_CHARSET_UTF32_BE,
    HEFT_CHARSET_BYTES /* the first code page; the others follow in the order of heft_code_pages */
};

#define HEFT_CODE_PAGES 63

struct heft_code_page {
    const char *iconv; /* its name for iconv(3); NULL: bytes are code points, up to `crc` of them */
    const char *names; /* Python's, each between blanks: " cp1252 1252 windows_1252 " */
    uint32_t crc;      /* CRC-32 of Python's 256 characters, u16 little-endian, 0 for none */
};
/* code_pages.c, written by scripts/code-pages */
extern const struct heft_code_page heft_code_pages[HEFT_CODE_PAGES];

/* A charset that was chosen. */
struct heft_charset_table {
    enum heft_charset charset;
    uint16_t high[128]; /* of a code page: characters of the bytes 0x80 to 0xFF; 0 for none */
};

/* Looks a charset up by any name that Python has for it, in any case. HEFT_UNSUPPORTED for others,
 * and where the C library lacks the code page or decodes it differently from Python. */
HEFT_CHECKED bool heft_charset_of(const char *name, struct heft_charset_table *out,
                                  struct heft_error *err);
/* For error messages: "UTF-8", "cp1252". */
struct heft_str heft_charset_name(enum heft_charset charset);

#endif
