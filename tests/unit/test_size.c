/* test_size.c: sizes ("5GB") and counts, parsed and printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void sizes_equal_those_of_the_hub(void **state)
{
    static const struct {
        const char *text;
        uint64_t size;
    } cases[] = {
        {"1KB", 1000},
        {"2MB", 2000000},
        {"3GB", UINT64_C(3000000000)},
        {" 10 KB ", 10000},
        {"20mb", 20000000},
        {"5gB", UINT64_C(5000000000)},
        {"1.5GB", UINT64_C(1500000000)},
        {".5TB", UINT64_C(500000000000)},
        {"1e3MB", UINT64_C(1000000000)},
        {"1E2KB", 100000},
        {"+2MB", 2000000},
        {"1.0000001KB", 1000},
        {"0.0005KB", 0},
        {"9999999TB", UINT64_C(9999999000000000000)},
        {"5.GB", UINT64_C(5000000000)},
        {"1e-3KB", 1},
        {"0KB", 0},
        {"0e999999999999999999999KB", 0},
        {"1e-999999999999999999999TB", 0},
        {"000000000000000000000000000000007KB", 7000},
        {"0.000000000000000000000000000001TB", 0},
        {"1.00000000000000000000000000000GB", UINT64_C(1000000000)},
        /* int(float(x) * 10**n): rounded as in huggingface_hub, not exact decimals. */
        {"0.29GB", 290000000},
        {"4.35GB", UINT64_C(4350000000)},
        {"1.1TB", UINT64_C(1100000000000)},
        {"1.0009KB", 1000},
        {"2.0100MB", 2009999},
        /* accepted by heft but not by huggingface_hub */
        {"100", 100},
        {"1e3", 1000},
        {"18446744073709551615", UINT64_MAX},
        {"1K", 1000},
        {"5g", UINT64_C(5000000000)},
        {"1.5 Gi", UINT64_C(1610612736)},
        {"5KiB", 5120},
        {"5 MiB", 5242880},
        {"1.5GiB", UINT64_C(1610612736)},
        {"2tib", UINT64_C(2199023255552)},
        {"0.1234567890123456789012GB", 123456789},
        {"18014398509481984.5KB", UINT64_C(18014398509481984500)},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_error err = {0};
        uint64_t size = 1;

        if (!heft_parse_size(heft_str_of(cases[i].text), &size, &err) || size != cases[i].size)
            fail_msg("size '%s' gives %" PRIu64 " %s", cases[i].text, size, err.text);
    }
}

static void malformed_sizes_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "GB",
        "KB",
        "1ooKB",
        "1B",
        "1,5GB",
        "0x10KB",
        "infGB",
        "nanGB",
        "-1KB",
        "1_000KB",
        "1 0KB",
        "--1",
        "1..5KB",
        ".KB",
        "1e",
        "1eKB",
        "1I",
        "iB",
        "1IB",
        "1EB",
        "1KBB",
        "1BK",
        "1KiBi",
        "++1KB",
        "+-1KB",
        "5e+KB",
        "1KiiB",
        "KiB",
        "1.5.5GB",
        "e5KB",
        "1PB",
        ".",
        "+",
        "1e99TB",
        "18446744073709551616",
        "18446744073709551615KB",
        "1e20",
        "18446744073709551616KB",
        "\xd9\xa1KB",
        "20000000TB",
        "18446745TB",
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        struct heft_error err = {0};
        uint64_t size = 77;

        if (heft_parse_size(heft_str_of(bad[i]), &size, &err))
            fail_msg("size '%s' gives %" PRIu64, bad[i], size);
        assert_int_equal(err.code, HEFT_USAGE);
        assert_int_equal(size, 77);
    }
}

static void counts_are_exact(void **state)
{
    static const struct {
        const char *text;
        uint64_t count;
    } cases[] = {
        {"0", 0},
        {"0.0K", 0},
        {"50000", 50000},
        {"50k", 50000},
        {"1.5M", 1500000},
        {"1e6", 1000000},
        {"2.5e3", 2500},
        {"1.5Ki", 1536},
        {" 4 gi ", UINT64_C(4294967296)},
        {"0.001K", 1},
        {"1000e-3", 1},
        {"10T", UINT64_C(10000000000000)},
        {"18446744073709551615", UINT64_MAX},
    };
    static const char *const bad[] = {
        "",
        "K",
        "1.5",
        "0.1Ki",
        "1KB",
        "1B",
        "-1",
        "1e-1",
        "1 0",
        "1,5K",
        "0x10",
        "1KiB",
        "1_0",
        "18446744073709551616",
        "1e20",
        "20e6T",
        "1Ki5",
        "1.5.5",
        "0.0005K",
        "nan",
        "1.00000000000000000000000000000000000000000001K",
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_error err = {0};
        uint64_t count = 1;

        if (!heft_parse_number(heft_str_of(cases[i].text), &count, &err) || count != cases[i].count)
            fail_msg("number '%s' gives %" PRIu64 " %s", cases[i].text, count, err.text);
    }
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        struct heft_error err = {0};
        uint64_t count = 77;

        if (heft_parse_number(heft_str_of(bad[i]), &count, &err))
            fail_msg("number '%s' gives %" PRIu64, bad[i], count);
        assert_int_equal(err.code, HEFT_USAGE);
        assert_int_equal(count, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_equal_those_of_the_hub),
        cmocka_unit_test(malformed_sizes_are_refused),
        cmocka_unit_test(counts_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
