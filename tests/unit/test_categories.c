/* test_categories.c: number of characters of each general category in both versions of Unicode, as
 * unicodedata2 has them (scripts/unicode-categories --check compares every character), and the same
 * letters and numbers as classes.h. */
#include "tokens/split/code_ranges.h"
#include "tokens/unicode/classes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BIT(name) (UINT32_C(1) << HEFT_CATEGORY_##name)
#define LETTERS   (BIT(LL) | BIT(LM) | BIT(LO) | BIT(LT) | BIT(LU))
#define NUMBERS   (BIT(ND) | BIT(NL) | BIT(NO))

/* In the order of enum heft_category. */
static const uint32_t COUNTS[2][HEFT_CATEGORY_PAIRS] = {
    {819533, 65, 170, 137468, 2048, 2258, 404, 136477, 31, 1858, 468, 13,   2020, 760, 236,
     915,    10, 27,  77,     10,   12,   640, 79,     63, 125,  950, 7376, 1,    1,   17},
    {814730, 65, 170, 137468, 2048, 2283, 410, 141062, 31, 1886, 471, 13,   2059, 770, 239,
     915,    10, 27,  77,     10,   12,   641, 79,     64, 125,  960, 7468, 1,    1,   17},
};

static uint32_t count(const struct heft_code_ranges *set)
{
    uint32_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        n += set->items[i].last - set->items[i].first + 1;
        assert_true(i == 0 || set->items[i].first > set->items[i - 1].last + 1);
    }
    return n;
}

static void test_counts(void **unused)
{
    static const uint32_t HAN[] = {99030, 103351};
    struct heft_error err;

    (void)unused;
    for (unsigned version = 0; version < 2; version++) {
        struct heft_code_ranges set = {0};

        for (unsigned i = 0; i < HEFT_CATEGORY_PAIRS; i++) {
            assert_true(heft_code_ranges_add_categories(&set, UINT32_C(1) << i,
                                                        (enum heft_unicode)version, &err));
            assert_int_equal(count(&set), COUNTS[version][i]);
            heft_code_ranges_release(&set);
        }
        assert_true(heft_code_ranges_add_han(&set, (enum heft_unicode)version, &err));
        assert_int_equal(count(&set), HAN[version]);
        heft_code_ranges_release(&set);
    }
}

/* Characters that changed, and cased pairs. */
static void test_members(void **unused)
{
    static const struct {
        uint32_t c;
        enum heft_category category[2];
    } ROWS[] = {
        {0x0295, {HEFT_CATEGORY_LL, HEFT_CATEGORY_LO}},
        {0x20C1, {HEFT_CATEGORY_CN, HEFT_CATEGORY_SC}},
        {0xA7CE, {HEFT_CATEGORY_CN, HEFT_CATEGORY_LU}},
        {0x0100, {HEFT_CATEGORY_LU, HEFT_CATEGORY_LU}},
        {0x0101, {HEFT_CATEGORY_LL, HEFT_CATEGORY_LL}},
        {0x01C5, {HEFT_CATEGORY_LT, HEFT_CATEGORY_LT}},
        {0x10FFFF, {HEFT_CATEGORY_CN, HEFT_CATEGORY_CN}},
    };
    struct heft_error err;

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(ROWS); i++)
        for (unsigned version = 0; version < 2; version++)
            for (unsigned category = 0; category < HEFT_CATEGORY_PAIRS; category++) {
                struct heft_code_ranges set = {0};

                assert_true(heft_code_ranges_add_categories(&set, UINT32_C(1) << category,
                                                            (enum heft_unicode)version, &err));
                assert_int_equal(heft_code_ranges_hold(&set, ROWS[i].c),
                                 category == ROWS[i].category[version]);
                heft_code_ranges_release(&set);
            }
}

static void compare_class(const struct heft_classes *classes, enum heft_class class,
                          const struct heft_code_ranges *set)
{
    for (uint32_t c = 0; c <= HEFT_CODE_LAST; c++)
        if ((heft_class_of(classes, c) == class) != heft_code_ranges_hold(set, c))
            fail_msg("U+%04X", (unsigned)c);
}

static void test_classes(void **unused)
{
    static const char *const NAMES[] = {"16.0", "17.0"};
    static struct heft_classes classes;
    struct heft_error err;

    (void)unused;
    for (unsigned version = 0; version < 2; version++) {
        struct heft_code_ranges letters = {0}, numbers = {0}, spaces = {0};

        assert_true(heft_classes_init(&classes, NAMES[version], &err));
        assert_true(
            heft_code_ranges_add_categories(&letters, LETTERS, (enum heft_unicode)version, &err));
        assert_true(
            heft_code_ranges_add_categories(&numbers, NUMBERS, (enum heft_unicode)version, &err));
        assert_true(heft_code_ranges_add_spaces(&spaces, &err));
        compare_class(&classes, HEFT_CLASS_LETTER, &letters);
        compare_class(&classes, HEFT_CLASS_NUMBER, &numbers);
        compare_class(&classes, HEFT_CLASS_SPACE, &spaces);
        assert_int_equal(count(&spaces), 25);
        heft_code_ranges_release(&letters);
        heft_code_ranges_release(&numbers);
        heft_code_ranges_release(&spaces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_classes),
    };

    return cmocka_run_group_tests_name("categories", tests, NULL, NULL);
}
