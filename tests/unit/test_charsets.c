/* test_charsets.c: code pages decoded by the iconv(3) of this host, compared with checksums of
 * Python's decoders (scripts/code-pages --check compares the checksums with a Python). */
#include "io/os.h"
#include "tokens/unicode/charsets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Code pages that are absent from glibc 2.36 or decoded differently there; these may be refused. */
static const char MAY_BE_REFUSED[] =
    " cp1006 cp720 cp856 mac_arabic mac_croatian mac_cyrillic mac_farsi mac_greek mac_iceland "
    "mac_roman mac_romanian mac_turkish palmos tis_620 ";

static void name_of(const struct heft_code_page *page, char *name, size_t room)
{
    snprintf(name, room, "%.*s", (int)strcspn(page->names + 1, " "), page->names + 1);
}

/* A failure here means that this host's iconv differs from Python, or that gconv modules are
 * missing: heft refuses these code pages, and this test names them. */
static void test_host(void **state)
{
    size_t accepted = 0;

    (void)state;
    for (size_t i = 0; i < HEFT_CODE_PAGES; i++) {
        struct heft_charset_table table;
        struct heft_error err = {0};
        char name[32], blanks[40];

        name_of(&heft_code_pages[i], name, sizeof name);
        snprintf(blanks, sizeof blanks, " %s ", name);
        if (heft_charset_of(name, &table, &err)) {
            assert_int_equal(table.charset, HEFT_CHARSET_BYTES + i);
            accepted++;
            continue;
        }
        assert_int_equal(err.code, HEFT_UNSUPPORTED);
        if (!strstr(MAY_BE_REFUSED, blanks))
            fail_msg("%s", err.text);
    }
    assert_true(accepted >= 49);
}

/* Expected characters, as decoded by Python. cp1255 and cp1258 contain combining marks, which iconv
 * composes with the preceding letter; Python and tables of single bytes do not. */
static void test_characters(void **state)
{
    static const struct {
        const char *name;
        uint8_t byte;
        uint16_t character;
    } SOME[] = {
        {"ASCII", 0x80, 0},
        {"latin-1", 0x80, 0x80},
        {"l1", 0xFF, 0xFF},
        {"cp1252", 0x80, 0x20AC},
        {"cp1252", 0x81, 0},
        {"cp1255", 0xE0, 0x05D0},
        {"cp1255", 0xC8, 0x05B8},
        {"windows-1258", 0xD2, 0x309},
        {"1258", 0xE1, 0xE1},
        {"KOI8_R", 0xC1, 0x0430},
        {"cyrillic", 0xD0, 0x0430},
        {"CP866", 0x80, 0x0410},
        {"ISO-8859-15", 0xA4, 0x20AC},
        {"mac_centeuro", 0x84, 0x0104},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(SOME); i++) {
        struct heft_charset_table table;
        struct heft_error err = {0};

        assert_true(heft_charset_of(SOME[i].name, &table, &err));
        assert_int_equal(table.high[SOME[i].byte - 0x80], SOME[i].character);
    }
}

/* ---- a C library that differs -------------------------------------------------------------- */

static int failure; /* errno of the replaced call; 0: the call succeeds with one wrong character */

static int other_charset(const char *name, uint32_t characters[256])
{
    const int status = heft_os_posix.charset(name, characters);

    errno = failure;
    characters[0xA4] ^= 1;
    return failure ? -1 : status;
}

static void expect_refusal(const char *name, int number, enum heft_code code, const char *text)
{
    struct heft_os os = heft_os_posix;
    struct heft_charset_table table;
    struct heft_error err = {0};

    failure = number;
    os.charset = other_charset;
    heft_os = &os;
    assert_false(heft_charset_of(name, &table, &err));
    heft_os = &heft_os_posix;
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, text);
}

static void test_refusals(void **state)
{
    struct heft_charset_table table;
    struct heft_error err = {0};

    (void)state;
    expect_refusal("Windows-1251", 0, HEFT_UNSUPPORTED,
                   "encoding Windows-1251: iconv(3) of this system decodes it differently from "
                   "Python, and other ids would result; convert the text first: iconv -f CP1251 -t "
                   "UTF-8");
    expect_refusal("1251", EINVAL, HEFT_UNSUPPORTED,
                   "encoding 1251: iconv(3) of this system has no CP1251 (with glibc: its gconv "
                   "module may be missing); convert the text to UTF-8 first");
    expect_refusal("1251", ENOMEM, HEFT_IO,
                   "charset cannot be opened by iconv(3): Cannot allocate memory");
    assert_false(heft_charset_of("shift_jis", &table, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
