/* charsets.c: names of encodings. */
#include "tokens/unicode/charsets.h"

#include "base/text.h"

#define LONGEST 40 /* of a name, with a blank on each side */

/* What Python calls them, in the order of the enum. */
static const struct {
    const char *name, *names;
} WIDE[] = {
    {"UTF-8", " utf_8 cp65001 u8 utf utf8 utf8_ucs2 utf8_ucs4 "},
    {"UTF-8", " utf_8_sig "},
    {"UTF-16", " utf_16 u16 utf16 "},
    {"UTF-16", " utf_16_le unicodelittleunmarked utf_16le "},
    {"UTF-16", " utf_16_be unicodebigunmarked utf_16be "},
    {"UTF-32", " utf_32 u32 utf32 "},
    {"UTF-32", " utf_32_le utf_32le "},
    {"UTF-32", " utf_32_be utf_32be "},
};
_Static_assert(HEFT_COUNT(WIDE) == HEFT_CHARSET_BYTES, "one for each");

/* " iso_8859_1 " of "ISO-8859-1": letters, digits and dots, what is between them one underscore. */
static bool normalize(const char *name, char *out)
{
    size_t n = 0;
    bool is_apart = false;

    out[n++] = ' ';
    for (; *name; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;
        const bool is_kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';

        if (n > LONGEST - 4)
            return false;
        if (is_kept && is_apart && n > 1)
            out[n++] = '_';
        if (is_kept)
            out[n++] = c;
        is_apart = !is_kept;
    }
    out[n++] = ' ';
    out[n] = '\0';
    return n > 2;
}

bool heft_charset_of(const char *name, enum heft_charset *out, struct heft_error *err)
{
    char wanted[LONGEST];
    const bool ok = normalize(name, wanted);

    for (int i = 0; ok && i < HEFT_CHARSET_BYTES + HEFT_CHARSET_TABLES; i++) {
        const char *names = i < HEFT_CHARSET_BYTES
                                ? WIDE[i].names
                                : heft_charset_tables[i - HEFT_CHARSET_BYTES].names;

        if (strstr(names, wanted)) {
            *out = (enum heft_charset)i;
            return true;
        }
    }
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "encoding %s: utf-8, utf-16, utf-32 and those of a byte a character are read, "
                     "others through iconv -t UTF-8",
                     name);
}

struct heft_str heft_charset_name(enum heft_charset charset)
{
    const char *name;

    if (charset < HEFT_CHARSET_BYTES)
        return heft_str_of(WIDE[charset].name);
    name = heft_charset_tables[charset - HEFT_CHARSET_BYTES].names + 1;
    return (struct heft_str){name, strcspn(name, " ")};
}
