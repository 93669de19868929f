/* test_token_ds.c: the description beside a .ds, with texts that datatrove 0.10.1 and humanize 4.17
 * write. */
#include "tokens/output/token_ds.h"

#include <locale.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void expect_text(const char *name, unsigned width, uint64_t tokens, const char *expected)
{
    struct heft_buf text = {0};

    heft_ds_metadata(&text, name, width, tokens);
    heft_buf_char(&text, '\0');
    assert_false(text.failed);
    assert_string_equal(text.p, expected);
    heft_buf_release(&text);
}

static void test_lines(void **state)
{
    (void)state;
    expect_text("gpt2", 2, 1234567, "gpt2|2\n1234567\n1.23 MT");
    expect_text("a|b", 4, 0, "a|b|4\n0\n0.00 T");
    expect_text(NULL, 2, 1, "Unknown Tokenizer|2|2\n1\n1.00 T");
    expect_text(NULL, 4, 10, "Unknown Tokenizer|4|4\n10\n10.0 T");
}

static void expect_metrics(void)
{
    static const struct {
        uint64_t tokens;
        const char *text;
    } metrics[] = {
        {UINT64_C(0), "0.00 T"},
        {UINT64_C(1), "1.00 T"},
        {UINT64_C(9), "9.00 T"},
        {UINT64_C(10), "10.0 T"},
        {UINT64_C(99), "99.0 T"},
        {UINT64_C(100), "100 T"},
        {UINT64_C(999), "999 T"},
        {UINT64_C(1000), "1.00 kT"},
        {UINT64_C(1005), "1.00 kT"},
        {UINT64_C(1115), "1.11 kT"},
        {UINT64_C(1125), "1.12 kT"},
        {UINT64_C(1135), "1.14 kT"},
        {UINT64_C(9995), "9.99 kT"},
        {UINT64_C(9999), "10.0 kT"},
        {UINT64_C(10000), "10.0 kT"},
        {UINT64_C(12345), "12.3 kT"},
        {UINT64_C(99949), "99.9 kT"},
        {UINT64_C(99950), "100 kT"},
        {UINT64_C(99999), "100 kT"},
        {UINT64_C(100500), "100 kT"},
        {UINT64_C(999499), "999 kT"},
        {UINT64_C(999500), "1.00 MT"},
        {UINT64_C(999999), "1.00 MT"},
        {UINT64_C(1000000), "1.00 MT"},
        {UINT64_C(1234567), "1.23 MT"},
        {UINT64_C(2675000), "2.67 MT"},
        {UINT64_C(1000000000), "1.00 GT"},
        {UINT64_C(15000000001), "15.0 GT"},
        {UINT64_C(1000000000000), "1.00 TT"},
        {UINT64_C(1000000000000000), "1.00 PT"},
        {UINT64_C(1000000000000000000), "1.00 ET"},
        {UINT64_C(18446744073709551615), "18.4 ET"},
    };

    for (size_t i = 0; i < HEFT_COUNT(metrics); i++) {
        struct heft_buf text = {0};
        const char *last;

        heft_ds_metadata(&text, "", 2, metrics[i].tokens);
        heft_buf_char(&text, '\0');
        last = strrchr(text.p, '\n');
        assert_non_null(last);
        assert_string_equal(last + 1, metrics[i].text);
        heft_buf_release(&text);
    }
}

/* Also in a locale with a decimal comma, if there is one. */
static void test_metric(void **state)
{
    (void)state;
    expect_metrics();
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        expect_metrics();
    assert_non_null(setlocale(LC_NUMERIC, "C"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_metric)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
