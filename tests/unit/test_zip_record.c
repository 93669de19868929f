/* test_zip_record.c: decoding of single records of an archive, and their faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wire/zip_record.h"

enum { ROOM = 256 };

/* Writes a central entry of `name` with extra fields; returns its size. */
static size_t put_central(uint8_t *p, const char *name, const uint8_t *extra, size_t extra_n)
{
    const size_t n = strlen(name);

    memset(p, 0, HEFT_ZIP_CENTRAL);
    heft_put_le32(p, HEFT_ZIP_SIG_CENTRAL);
    heft_put_le32(p + 16, 7);
    heft_put_le32(p + 20, 5);
    heft_put_le32(p + 24, 5);
    heft_put_le16(p + 28, (uint16_t)n);
    heft_put_le16(p + 30, (uint16_t)extra_n);
    heft_put_le16(p + 32, 3); /* a comment */
    heft_put_le32(p + 42, 99);
    memcpy(p + HEFT_ZIP_CENTRAL, name, n);
    if (extra_n)
        memcpy(p + HEFT_ZIP_CENTRAL + n, extra, extra_n);
    memcpy(p + HEFT_ZIP_CENTRAL + n + extra_n, "end", 3);
    return HEFT_ZIP_CENTRAL + n + extra_n + 3;
}

static void entries_are_decoded_one_by_one(void **state)
{
    uint8_t bytes[ROOM];
    const size_t first = put_central(bytes, "archive/data/0", NULL, 0);
    const size_t n = first + put_central(bytes + first, "b", NULL, 0);
    struct heft_bytes left = {bytes, n};
    struct heft_zip_record r;

    (void)state;
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
    assert_true(heft_str_is(r.name, "archive/data/0"));
    assert_true(r.is_plain && r.faults == 0);
    assert_true(r.header == 99 && r.packed == 5 && r.size == 5 && r.crc == 7);
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
    assert_true(heft_str_is(r.name, "b"));
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_CUT);
    for (size_t cut = 0; cut < first; cut++) {
        left = (struct heft_bytes){bytes, cut};
        assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_CUT);
    }
    bytes[3] = 9;
    left = (struct heft_bytes){bytes, n};
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_OTHER);
    assert_int_equal(left.n, n);
}

static void unsafe_names_are_faults(void **state)
{
    static const struct {
        const char *name;
        size_t n;
        unsigned faults;
    } tests[] = {
        {"", 0, HEFT_ZIP_NAMELESS},
        {"a/b", 3, 0},
        {"a\0b", 3, HEFT_ZIP_NUL},
        {"a\\b", 3, HEFT_ZIP_BACKSLASH},
        {"/a", 2, HEFT_ZIP_ABSOLUTE},
        {"..", 2, HEFT_ZIP_PARENT},
        {"a/../b", 6, HEFT_ZIP_PARENT},
        {"a..b/..c/d../...", 16, 0},
        {"/..\\\xff", 5, HEFT_ZIP_ABSOLUTE | HEFT_ZIP_BACKSLASH | HEFT_ZIP_NOT_UTF8},
        {"\xc3\xa4", 2, 0},
        {"\xc3", 1, HEFT_ZIP_NOT_UTF8},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(tests); i++)
        assert_int_equal(heft_zip_name_faults((struct heft_str){tests[i].name, tests[i].n}),
                         tests[i].faults);
}

/* Names used only as labels may be unsafe paths, and must be UTF-8 only if their flag is set. */
static void labels_have_fewer_faults(void **state)
{
    struct heft_zip_record r = {.faults = HEFT_ZIP_PARENT | HEFT_ZIP_NOT_UTF8 | HEFT_ZIP_NUL};

    (void)state;
    assert_int_equal(heft_zip_faults(&r, false), r.faults);
    assert_int_equal(heft_zip_faults(&r, true), HEFT_ZIP_NUL);
    r.flags = HEFT_ZIP_UTF8;
    assert_int_equal(heft_zip_faults(&r, true), HEFT_ZIP_NUL | HEFT_ZIP_NOT_UTF8);
}

static void unsupported_methods_and_file_types_are_faults(void **state)
{
    static const struct {
        unsigned at;
        uint8_t byte;
        unsigned faults;
    } tests[] = {
        {8, 1, HEFT_ZIP_ENCRYPTED},
        {9, 0x20, HEFT_ZIP_ENCRYPTED},
        {8, 8, 0},
        {10, 8, 0},
        {10, 12, HEFT_ZIP_METHOD},
        {20, 4, HEFT_ZIP_SIZES},
        {34, 2, HEFT_ZIP_DISK},
        {34, 1, 0},
        {41, 0xA0, 0},
    };
    uint8_t bytes[ROOM];
    struct heft_zip_record r;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(tests); i++) {
        struct heft_bytes left = {bytes, put_central(bytes, "name", NULL, 0)};

        bytes[tests[i].at] = tests[i].byte;
        assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
        assert_int_equal(r.faults, tests[i].faults);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct heft_bytes left = {bytes, put_central(bytes, "name/", NULL, 0)};

        bytes[5] = i ? 3 : 0;
        bytes[41] = 0xA0;
        assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
        assert_int_equal(r.faults, i ? HEFT_ZIP_FULL | HEFT_ZIP_LINK : HEFT_ZIP_FULL);
    }
}

/* Extra field 1 (zip64) contains the numbers that do not fit into 32 bits, in order; another field
 * precedes it. */
static void zip64_numbers_are_in_an_extra_field(void **state)
{
    uint8_t extra[4 + 2 + 4 + 16] = {5, 0, 2, 0, 0, 0, 1, 0, 16}, bytes[ROOM];
    struct heft_zip_record r;
    struct heft_bytes left;
    size_t n;

    (void)state;
    heft_put_le64(extra + 10, UINT64_C(5) << 32);
    heft_put_le64(extra + 18, UINT64_C(6) << 32);
    n = put_central(bytes, "name", extra, sizeof extra);
    heft_put_le32(bytes + 24, UINT32_MAX);
    heft_put_le32(bytes + 42, UINT32_MAX);
    left = (struct heft_bytes){bytes, n};
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
    assert_true(r.size == UINT64_C(5) << 32 && r.header == UINT64_C(6) << 32 && r.packed == 5);
    assert_int_equal(r.faults, HEFT_ZIP_SIZES);
    heft_put_le32(bytes + 20, UINT32_MAX); /* one more number than the field contains */
    left = (struct heft_bytes){bytes, n};
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
    assert_int_equal(r.faults & HEFT_ZIP_NARROW, HEFT_ZIP_NARROW);
    bytes[HEFT_ZIP_CENTRAL + 4 + 8] = 17; /* longer than the extra fields together */
    left = (struct heft_bytes){bytes, n};
    assert_int_equal(heft_zip_take_central(&left, &r), HEFT_ZIP_TAKEN);
    assert_int_equal(r.faults & HEFT_ZIP_EXTRA, HEFT_ZIP_EXTRA);
}

static void descriptors_have_four_forms(void **state)
{
    static const unsigned forms[] = {12, 16, 20, 24};
    uint8_t bytes[24];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(forms); i++) {
        const unsigned begin = forms[i] % 8 == 0 ? 4 : 0, each = forms[i] >= 20 ? 8 : 4;
        struct heft_zip_entry e = {0};

        memset(bytes, 0, sizeof bytes);
        heft_put_le32(bytes, begin ? HEFT_ZIP_SIG_DATA : 0);
        bytes[begin] = 1;
        bytes[begin + 4] = 2;
        bytes[begin + 4 + each] = 3;
        assert_true(heft_zip_read_descriptor(bytes, forms[i], &e));
        assert_true(e.crc == 1 && e.packed == 2 && e.size == 3);
        bytes[0] = 9;
        assert_true(heft_zip_read_descriptor(bytes, forms[i], &e) == (begin == 0));
    }
}

/* The signature is found at every offset that leaves 22 bytes for the record. */
static void end_records_are_found(void **state)
{
    uint8_t bytes[64];

    (void)state;
    for (size_t i = 0; i + HEFT_ZIP_END <= sizeof bytes; i++) {
        size_t at = 0;

        memset(bytes, 'P', sizeof bytes);
        memcpy(bytes + i, "PK\5\6", 4);
        assert_true(heft_zip_next_end((struct heft_bytes){bytes, sizeof bytes}, &at));
        assert_int_equal(at, i);
        at++;
        assert_false(heft_zip_next_end((struct heft_bytes){bytes, sizeof bytes}, &at));
        at = 0;
        assert_false(heft_zip_next_end((struct heft_bytes){bytes, i + HEFT_ZIP_END - 1}, &at));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_decoded_one_by_one),
        cmocka_unit_test(unsafe_names_are_faults),
        cmocka_unit_test(labels_have_fewer_faults),
        cmocka_unit_test(unsupported_methods_and_file_types_are_faults),
        cmocka_unit_test(zip64_numbers_are_in_an_extra_field),
        cmocka_unit_test(descriptors_have_four_forms),
        cmocka_unit_test(end_records_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
