/* test_text.c: UTF-8, escapes, JSON strings, globs, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static size_t check(const char *text, size_t n)
{
    return heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n});
}

/* ---- UTF-8 ---- */

static size_t encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 63));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 63));
        out[2] = (char)(0x80 | (point & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 63));
    out[2] = (char)(0x80 | (point >> 6 & 63));
    out[3] = (char)(0x80 | (point & 63));
    return 4;
}

static void every_code_point_but_surrogates_is_valid(void **state)
{
    char text[20], made[4];

    (void)state;
    for (uint32_t point = 0; point < 0x1fffff; point++) {
        const bool valid = point < 0xd800 || (point > 0xdfff && point <= 0x10ffff);
        const size_t lead = point % 11;
        size_t n;

        memset(text, 'a', sizeof text);
        n = encode(point, text + lead);
        assert_int_equal(heft_utf8_put(made, point), n);
        assert_memory_equal(made, text + lead, n);
        assert_int_equal(check(text, lead + n), valid ? lead + n : lead);
        if (valid && n > 1)
            assert_int_equal(check(text, lead + n - 1), lead);
    }
}

/* By checks of a character each: too short for what takes several at once. */
static size_t check_slowly(const char *text, size_t n)
{
    size_t at = 0, length = 1;

    for (; at < n && length <= 4; length++)
        if (at + length <= n && check(text + at, length) == length) {
            at += length;
            length = 0;
        }
    return at;
}

static void three_bytes_within_a_run_are_judged_as_alone(void **state)
{
    char text[] =
        "\xe5\xad\x97\xe5\xad\x97\xe5\xad\x97 \xe5\xad\x97\xe3\x81\x82\xef\xbc\x8c\xe4\xba\xba";
    const size_t n = sizeof text - 1;

    (void)state;
    for (uint32_t bytes = 0xdf7f7f; bytes < 0x1000000; bytes += bytes & 0x10 ? 7 : 1)
        for (size_t at = 3; at <= 6; at += 3) {
            text[at] = (char)(bytes >> 16);
            text[at + 1] = (char)(bytes >> 8);
            text[at + 2] = (char)bytes;
            assert_int_equal(check(text, n), check_slowly(text, n));
            memcpy(text + at, "\xe5\xad\x97", 3);
        }
}

static void bad_bytes_are_found_where_they_stand(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2\x41",
        "\xe0\x9f\xbf",
        "\xe0\x80\x80",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x82",
        "\xe2\x82\x41",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf0\x9f\x98",
        "\xff",
        "\xfe",
        "\xf8\x88\x80\x80\x80",
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        for (size_t lead = 0; lead < 20; lead++) {
            memset(text, 'a', sizeof text);
            memcpy(text + lead, bad[i], strlen(bad[i]));
            assert_int_equal(check(text, lead + strlen(bad[i])), lead);
            assert_int_equal(check(text, sizeof text), lead);
        }
    }
    assert_int_equal(check("", 0), 0);
    assert_int_equal(check("a\0b", 3), 3);
}

/* ---- escapes ---- */

static void assert_escaped(const char *text, size_t n, const char *wanted)
{
    struct heft_buf buf = {0};

    heft_buf_escaped(&buf, (struct heft_str){text, n});
    heft_buf_char(&buf, '\0');
    assert_string_equal(buf.p, wanted);
    heft_buf_release(&buf);
}

static void nothing_that_moves_the_cursor_passes(void **state)
{
    (void)state;
    assert_escaped("plain \"text\" \\n", 15, "plain \"text\" \\n");
    assert_escaped("a\nb\tc\rd", 7, "a\\nb\\tc\\rd");
    assert_escaped("\x1b[31m\x7f\0", 7, "\\x1b[31m\\x7f\\x00");
    assert_escaped("\xff\xfe\xc3", 3, "\\xff\\xfe\\xc3");
    assert_escaped("\xc2\x9b", 2, "\\u009b"); /* C1: a one-character CSI */
    assert_escaped("\xe2\x80\xa8\xe2\x80\xa9", 6, "\\u2028\\u2029");
    assert_escaped("\xe2\x80\xae", 3, "\\u202e");
    assert_escaped("\xe2\x81\xa6\xd8\x9c", 5, "\\u2066\\u061c");
    assert_escaped("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 15,
                   "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
}

/* ---- JSON ---- */

static void assert_json(const char *text, size_t n, bool ascii, const char *wanted)
{
    struct heft_buf buf = {0};

    heft_buf_json(&buf, (struct heft_str){text, n}, ascii);
    heft_buf_char(&buf, '\0');
    assert_string_equal(buf.p, wanted);
    heft_buf_release(&buf);
}

static void ascii_json_is_as_python_writes_it(void **state)
{
    (void)state;
    assert_json("", 0, true, "\"\"");
    assert_json("a\"b\\c/d", 7, true, "\"a\\\"b\\\\c/d\"");
    assert_json("\b\f\n\r\t\x01\x1f\x7f\0", 9, true,
                "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000\"");
    assert_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, true,
                "\"\\u00e9\\u20ac\\ud83d\\ude00\"");
    assert_json("\xf4\x8f\xbf\xbf", 4, true, "\"\\udbff\\udfff\"");
    assert_json("a\xff"
                "b\xed\xa0\x80",
                6, true, "\"a\\ufffdb\\ufffd\\ufffd\\ufffd\"");
}

static void other_json_is_as_serde_writes_it(void **state)
{
    (void)state;
    assert_json("\b\f\n\r\t\x01\x1f\x7f", 8, false, "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    assert_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, false,
                "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_json("a\xff", 2, false, "\"a\xef\xbf\xbd\"");
}

/* Every byte at every place of a word: what is plain is decided eight bytes at a time. */
static void json_escapes_are_found_wherever_they_stand(void **state)
{
    char text[20], wanted[40];

    (void)state;
    for (int byte = 1; byte < 0x80; byte++) {
        for (size_t at = 0; at < sizeof text; at++) {
            struct heft_buf buf = {0};

            memset(text, 'a', sizeof text);
            text[at] = (char)byte;
            heft_buf_json(&buf, (struct heft_str){text + at, 1}, true);
            const bool plain = buf.n == 3;
            assert_int_equal(plain, byte >= 0x20 && byte != 0x7f && byte != '"' && byte != '\\');
            memset(wanted, 'a', sizeof wanted);
            memcpy(wanted + 1 + at, buf.p + 1, buf.n - 2);
            wanted[0] = wanted[sizeof text + buf.n - 2] = '"';
            const size_t length = sizeof text + buf.n - 1;
            heft_buf_release(&buf);
            heft_buf_json(&buf, (struct heft_str){text, sizeof text}, true);
            assert_int_equal(buf.n, length);
            assert_memory_equal(buf.p, wanted, length);
            heft_buf_release(&buf);
        }
    }
}

/* ---- words ---- */

static void words_are_found_wherever_they_stand(void **state)
{
    static const struct {
        const char *part, *word;
        bool found;
    } cases[] = {
        {"", "/data.pkl", false},
        {"/data.pkl", "/data.pkl", true},
        {"archive/data.pkx archive/data.pkl", "/data.pkl", true},
        {"archive/data/0archive/data/1", "/data/", true}, /* no letter is rare */
        {"archive/data", "/data/", false},
        {"ooo/constants.pk", "/constants.pkl", false}, /* the rare letter is near the begin … */
        {"/c/constants.pkl", "/constants.pkl", true},
        {"a__/archive_format", "/archive_format", true},
        {"a__/archive_forma", "/archive_format", false}, /* … and near the end */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].part);
        uint8_t *const part = malloc(n ? n : 1); /* a sanitizer sees one byte too far */

        assert_non_null(part);
        memcpy(part, cases[i].part, n);
        assert_int_equal(heft_text_mentions((struct heft_bytes){part, n}, cases[i].word),
                         cases[i].found);
        free(part);
    }
}

/* ---- globs ---- */

static void globs_match_what_they_say(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool hit;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"**", "abc", true},
        {"*.weight", "layers.0.weight", true},
        {"*.weight", "a/b/c.weight", true},
        {"*.weight", "layers.0.weight2", false},
        {"layers.?.weight", "layers.0.weight", true},
        {"layers.?.weight", "layers.10.weight", false},
        {"?", "\xe2\x82\xac", true},
        {"?", "\xff", true},
        {"??", "\xe2\x82\xac", false},
        {"a*b*c", "aXbXXbc", true},
        {"a*b*c", "aXbXXb", false},
        {"[0-9]", "5", true},
        {"[0-9]", "x", false},
        {"[!0-9]", "x", true},
        {"[!0-9]", "5", false},
        {"[]]", "]", true},
        {"[!]]", "]", false},
        {"[a-]", "-", true},
        {"[a-]", "b", false},
        {"[\\]x]", "]", true},
        {"[\\!a]", "!", true},
        {"[^a]", "^", true},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
        {"[\xc3\xa0-\xc3\xbf]", "e", false},
        {"[z-a]", "m", false},
        {"[abc", "[abc", true},
        {"[abc", "a", false},
        {"[", "[", true},
        {"[!", "[!", true},
        {"[]", "[]", true},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"\\", "\\", true},
        {"a\\", "a\\", true},
        {"\\[a]", "[a]", true},
        {"*[0-9]", "layer12", true},
        {"*[", "a[", true},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        if (heft_glob_match(heft_str_of(cases[i].pattern), heft_str_of(cases[i].text)) !=
            cases[i].hit)
            fail_msg("glob '%s' against '%s' should be %d", cases[i].pattern, cases[i].text,
                     cases[i].hit);
}

/* Exponential with naive recursion; here some 10^8 steps at the very worst. */
static void hostile_globs_end(void **state)
{
    char pattern[4001], text[20001], open[4001];

    (void)state;
    memset(text, 'a', 20000);
    for (size_t i = 0; i < 4000; i++) {
        pattern[i] = i % 2 ? 'a' : '*';
        open[i] = i ? '[' : '*';
    }
    pattern[4000] = text[20000] = open[4000] = '\0';
    pattern[3999] = 'b';
    assert_false(heft_glob_match(heft_str_of(pattern), heft_str_of(text)));
    memset(text, '[', 20000);
    text[19999] = 'a';
    assert_false(heft_glob_match(heft_str_of(open), heft_str_of(text)));
}

/* ---- sizes ---- */

static void sizes_are_the_hubs(void **state)
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
        /* int(float(x) * 10**n): the hub's rounding, not the decimal's. */
        {"0.29GB", 290000000},
        {"4.35GB", UINT64_C(4350000000)},
        {"1.1TB", UINT64_C(1100000000000)},
        {"1.0009KB", 1000},
        {"2.0100MB", 2009999},
        /* heft's additions */
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

static void what_is_no_size_is_refused(void **state)
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
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(every_code_point_but_surrogates_is_valid),
        cmocka_unit_test(three_bytes_within_a_run_are_judged_as_alone),
        cmocka_unit_test(bad_bytes_are_found_where_they_stand),
        cmocka_unit_test(nothing_that_moves_the_cursor_passes),
        cmocka_unit_test(ascii_json_is_as_python_writes_it),
        cmocka_unit_test(other_json_is_as_serde_writes_it),
        cmocka_unit_test(json_escapes_are_found_wherever_they_stand),
        cmocka_unit_test(words_are_found_wherever_they_stand),
        cmocka_unit_test(globs_match_what_they_say),
        cmocka_unit_test(hostile_globs_end),
        cmocka_unit_test(sizes_are_the_hubs),
        cmocka_unit_test(what_is_no_size_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
