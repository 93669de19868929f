/* test_classes.c: character class of every code point in every version of Unicode, compared with a
 * checksum of the list from which the table was generated (scripts/unicode-classes --check compares
 * with installed packages). */
#include "base/checksum.h"
#include "tokens/unicode/classes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
    const char *version;
    unsigned letters, numbers;
    uint32_t crc; /* CRC-32 of one byte per code point: 1 letter, 2 number, 3 space, 0 other */
} VERSIONS[] = {
    {"9.0", 116766, 1492, UINT32_C(0xAF944700)},  {"10.0", 125093, 1502, UINT32_C(0x328D626A)},
    {"11.0", 125419, 1653, UINT32_C(0x371965E8)}, {"12.0", 125643, 1754, UINT32_C(0x0707C871)},
    {"12.1", 125643, 1754, UINT32_C(0x0707C871)}, {"13.0", 131241, 1781, UINT32_C(0xC795D299)},
    {"14.0", 131756, 1791, UINT32_C(0x64890BA3)}, {"15.0", 136104, 1831, UINT32_C(0x7B072830)},
    {"15.1", 136726, 1831, UINT32_C(0xF6939F95)}, {"16.0", 141028, 1911, UINT32_C(0xCEFAB67D)},
    {"17.0", 145672, 1924, UINT32_C(0x8AEE92B7)},
};

static void test_digests(void **unused)
{
    static struct heft_classes classes;
    static uint8_t all[0x110000];

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(VERSIONS); i++) {
        struct heft_error err = {0};
        unsigned counts[4] = {0};

        assert_true(heft_classes_init(&classes, VERSIONS[i].version, &err));
        for (uint32_t c = 0; c < sizeof all; c++) {
            all[c] = (uint8_t)heft_class_of(&classes, c);
            counts[all[c]]++;
        }
        assert_int_equal(counts[HEFT_CLASS_LETTER], VERSIONS[i].letters);
        assert_int_equal(counts[HEFT_CLASS_NUMBER], VERSIONS[i].numbers);
        assert_int_equal(counts[HEFT_CLASS_SPACE], 25);
        assert_int_equal(heft_crc32(0, all, sizeof all), VERSIONS[i].crc);
    }
}

static void test_versions(void **unused)
{
    static struct heft_classes classes;
    struct heft_error err = {0};

    (void)unused;
    assert_true(heft_classes_init(&classes, NULL, &err));
    assert_int_equal(heft_class_of(&classes, 0x1C89), HEFT_CLASS_LETTER);
    assert_true(heft_classes_init(&classes, "9.0", &err));
    assert_int_equal(heft_class_of(&classes, 0x1C89), HEFT_CLASS_OTHER);
    assert_true(heft_classes_init(&classes, "9", &err));
    assert_int_equal(heft_class_of(&classes, 0x1C89), HEFT_CLASS_OTHER);
    assert_true(heft_classes_init(&classes, "16", &err));
    assert_int_equal(heft_class_of(&classes, 0x1C89), HEFT_CLASS_LETTER);
    assert_false(heft_classes_init(&classes, "9.", &err));
    assert_false(heft_classes_init(&classes, "1", &err));
    assert_false(heft_classes_init(&classes, "", &err));
    assert_int_equal(err.code, HEFT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_versions),
    };

    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
