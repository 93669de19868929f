/* test_text.c: UTF-8, escapes for terminals, JSON strings, search for words. */
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

/* Reference: validates one character at a time, which is too short for the path that validates
 * several at once. */
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

static void three_bytes_within_a_run_are_validated_as_alone(void **state)
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

static void invalid_bytes_are_found_at_their_offset(void **state)
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

static void control_characters_of_terminals_are_escaped(void **state)
{
    (void)state;
    assert_escaped("plain \"text\" \\n", 15, "plain \"text\" \\n");
    assert_escaped("a\nb\tc\rd", 7, "a\\nb\\tc\\rd");
    assert_escaped("\x1b[31m\x7f\0", 7, "\\x1b[31m\\x7f\\x00");
    assert_escaped("\xff\xfe\xc3", 3, "\\xff\\xfe\\xc3");
    assert_escaped("\xc2\x9b", 2, "\\u009b"); /* C1 control: CSI in one character */
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

static void ascii_json_equals_that_of_python(void **state)
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

static void utf8_json_equals_that_of_serde(void **state)
{
    (void)state;
    assert_json("\b\f\n\r\t\x01\x1f\x7f", 8, false, "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    assert_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, false,
                "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_json("a\xff", 2, false, "\"a\xef\xbf\xbd\"");
}

/* Every byte at every position of eight, as eight bytes are classified at once. */
static void json_escapes_are_found_at_every_position(void **state)
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

static void words_are_found_at_every_position(void **state)
{
    static const struct {
        const char *part, *word;
        bool found;
    } cases[] = {
        {"", "/data.pkl", false},
        {"/data.pkl", "/data.pkl", true},
        {"archive/data.pkx archive/data.pkl", "/data.pkl", true},
        {"archive/data/0archive/data/1", "/data/", true}, /* all letters of the word are frequent */
        {"archive/data", "/data/", false},
        {"ooo/constants.pk", "/constants.pkl", false}, /* the rare letter is near the beginning … */
        {"/c/constants.pkl", "/constants.pkl", true},
        {"a__/archive_format", "/archive_format", true},
        {"a__/archive_forma", "/archive_format", false}, /* … and near the end */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].part);
        /* exact size, so that a sanitizer detects a read of one byte too many */
        uint8_t *const part = malloc(n ? n : 1);

        assert_non_null(part);
        memcpy(part, cases[i].part, n);
        assert_int_equal(heft_text_mentions((struct heft_bytes){part, n}, cases[i].word),
                         cases[i].found);
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_but_surrogates_is_valid),
        cmocka_unit_test(three_bytes_within_a_run_are_validated_as_alone),
        cmocka_unit_test(invalid_bytes_are_found_at_their_offset),
        cmocka_unit_test(control_characters_of_terminals_are_escaped),
        cmocka_unit_test(ascii_json_equals_that_of_python),
        cmocka_unit_test(utf8_json_equals_that_of_serde),
        cmocka_unit_test(json_escapes_are_found_at_every_position),
        cmocka_unit_test(words_are_found_at_every_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
