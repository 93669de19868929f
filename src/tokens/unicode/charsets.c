/* charsets.c: the charset of a name, and the table of a code page. */
#include "tokens/unicode/charsets.h"

#include <errno.h>

#include "base/checksum.h"
#include "base/endian.h"
#include "base/text.h"
#include "io/os.h"

#define LONGEST 40 /* longest name, including a blank on each side */

/* Name for errors, and all of Python's names; in the order of the enum. */
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

/* "ISO-8859-1" becomes " iso_8859_1 ": lower-case letters, digits and dots, with one underscore for
 * everything between them. False: empty or too long. */
static bool normalize_name(const char *name, char *out)
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

/* Index of the charset; HEFT_CHARSET_BYTES + HEFT_CODE_PAGES: unknown. */
static int find_charset(const char *name)
{
    char wanted[LONGEST];
    int i = normalize_name(name, wanted) ? 0 : HEFT_CHARSET_BYTES + HEFT_CODE_PAGES;

    for (; i < HEFT_CHARSET_BYTES + HEFT_CODE_PAGES; i++)
        if (strstr(i < HEFT_CHARSET_BYTES ? WIDE[i].names
                                          : heft_code_pages[i - HEFT_CHARSET_BYTES].names,
                   wanted))
            break;
    return i;
}

static bool ask_iconv(const char *name, const struct heft_code_page *page, uint32_t *characters,
                      struct heft_error *err)
{
    if (heft_os->charset(page->iconv, characters) == 0)
        return true;
    if (errno != EINVAL)
        return heft_fail_errno(err, "charset cannot be opened by iconv(3)");
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "encoding %s: iconv(3) of this system has no %s (with glibc: its gconv module "
                     "may be missing); convert the text to UTF-8 first",
                     name, page->iconv);
}

static bool check_sum(const char *name, const struct heft_code_page *page,
                      const uint32_t *characters, struct heft_error *err)
{
    uint8_t bytes[2 * 256];

    for (size_t i = 0; i < 256; i++)
        heft_put_le16(bytes + 2 * i, (uint16_t)characters[i]);
    return heft_crc32(0, bytes, sizeof bytes) == page->crc ||
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "encoding %s: iconv(3) of this system decodes it differently from Python, and "
                     "other ids would result; convert the text first: iconv -f %s -t UTF-8",
                     name, page->iconv);
}

static bool fill_table(const char *name, struct heft_charset_table *out, struct heft_error *err)
{
    const struct heft_code_page *const page = &heft_code_pages[out->charset - HEFT_CHARSET_BYTES];
    uint32_t characters[256] = {0};

    for (uint32_t i = 0; !page->iconv && i < page->crc; i++)
        characters[i] = i;
    if (page->iconv &&
        (!ask_iconv(name, page, characters, err) || !check_sum(name, page, characters, err)))
        return false;
    for (size_t i = 0; i < 128; i++)
        out->high[i] = (uint16_t)characters[128 + i];
    return true;
}

bool heft_charset_of(const char *name, struct heft_charset_table *out, struct heft_error *err)
{
    const int found = find_charset(name);

    if (found == HEFT_CHARSET_BYTES + HEFT_CODE_PAGES)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "encoding %s: expected utf-8, utf-16, utf-32 or a single-byte charset; "
                         "convert others first: iconv -f %s -t UTF-8",
                         name, name);
    out->charset = (enum heft_charset)found;
    return found < HEFT_CHARSET_BYTES || fill_table(name, out, err);
}

struct heft_str heft_charset_name(enum heft_charset charset)
{
    const char *name;

    if (charset < HEFT_CHARSET_BYTES)
        return heft_str_of(WIDE[charset].name);
    name = heft_code_pages[charset - HEFT_CHARSET_BYTES].names + 1;
    return (struct heft_str){name, strcspn(name, " ")};
}
