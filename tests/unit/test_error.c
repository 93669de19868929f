/* test_error.c: error messages are one line of safe characters, whatever text of a file they quote.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "heft/heft.h"

static bool is_utf8(const char *text)
{
    const size_t n = strlen(text);

    return heft_utf8_check((struct heft_bytes){(const uint8_t *)text, n}) == n;
}

static void fail_fills_every_field_and_returns_false(void **state)
{
    struct heft_error err = {0};

    (void)state;
    strcpy(err.file, "stale");
    assert_false(heft_fail(&err, HEFT_LIMIT, 0x1a2b, "found %d, allowed %d", 7, 5));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_int_equal(err.offset, 0x1a2b);
    assert_string_equal(err.text, "found 7, allowed 5");
    assert_string_equal(err.file, "");
}

static void fail_escapes_control_characters_and_bad_bytes(void **state)
{
    struct heft_error err = {0};

    (void)state;
    heft_fail(&err, HEFT_MALFORMED, 0, "name '%s'",
              "a\x1b[2J\n\xff\xe2\x80\xae"
              "b\x7f");
    assert_string_equal(err.text, "name 'a\\x1b[2J\\n\\xff\\u202eb\\x7f'");
}

static void fail_may_quote_the_error_it_overwrites(void **state)
{
    struct heft_error err = {0};

    (void)state;
    heft_fail(&err, HEFT_MALFORMED, 3, "inner");
    heft_fail(&err, HEFT_MALFORMED, 3, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
}

/* Texts of every length around the limit, of characters of every length. */
static void fail_cuts_between_characters(void **state)
{
    static const char *const fillers[] = {"x",    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                          "\x01", "\xff"};
    char text[3000];

    (void)state;
    for (size_t f = 0; f < HEFT_COUNT(fillers); f++) {
        for (size_t lead = 0; lead < 8; lead++) {
            struct heft_error err = {0};
            size_t n = lead;

            memset(text, 'a', lead);
            while (n + 4 < sizeof text) {
                memcpy(text + n, fillers[f], strlen(fillers[f]));
                n += strlen(fillers[f]);
            }
            text[n] = '\0';
            heft_fail(&err, HEFT_MALFORMED, 0, "%s", text);
            assert_true(is_utf8(err.text));
            assert_true(strlen(err.text) > sizeof err.text - 8);
            if (fillers[f][0] != '\xff')
                assert_null(strstr(err.text, "\\xe"));
        }
    }
}

static void errno_becomes_an_io_error(void **state)
{
    struct heft_error err = {0}, quoted = {0};

    (void)state;
    errno = ENOSPC;
    assert_false(heft_fail_errno(&err, "write failed"));
    assert_int_equal(err.code, HEFT_IO);
    assert_true(err.offset == HEFT_NO_OFFSET);
    assert_int_equal(err.system_error, ENOSPC);
    assert_string_equal(err.text, "write failed: No space left on device");
    assert_false(heft_error_quote(&quoted, "outer", &err));
    assert_int_equal(quoted.system_error, ENOSPC);
    assert_false(heft_fail_missing(&err, "no such file"));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.system_error, ENOENT);
    assert_false(heft_fail(&err, HEFT_IO, 3, "file ends"));
    assert_int_equal(err.system_error, 0);
}

static void file_is_named_once(void **state)
{
    struct heft_error err = {0};

    (void)state;
    heft_fail(&err, HEFT_IO, HEFT_NO_OFFSET, "x");
    assert_false(heft_error_file(&err, "inner"));
    heft_error_file(&err, "outer");
    assert_string_equal(err.file, "inner");
    err.file[0] = '\0';
    heft_error_file(&err, NULL);
    assert_string_equal(err.file, "");
}

static void long_paths_keep_their_last_bytes(void **state)
{
    char path[600];

    (void)state;
    for (size_t pad = 0; pad < 4; pad++) {
        struct heft_error err = {0};
        size_t n = pad;

        memset(path, 'p', pad);
        for (; n < 500; n += 3)
            memcpy(path + n, "\xe2\x82\xac", 3);
        strcpy(path + n, "/model.pth");
        heft_error_file(&err, path);
        assert_true(is_utf8(err.file));
        assert_true(strlen(err.file) > sizeof err.file - 5);
        assert_string_equal(err.file + strlen(err.file) - 10, "/model.pth");
    }
}

static void paths_of_exactly_the_size_are_complete(void **state)
{
    struct heft_error err = {0};
    char path[sizeof err.file + 1];

    (void)state;
    memset(path, 'p', sizeof path);
    path[sizeof err.file - 1] = '\0';
    heft_error_file(&err, path);
    assert_string_equal(err.file, path);
    path[sizeof err.file - 1] = 'p';
    path[sizeof err.file] = '\0';
    err.file[0] = '\0';
    heft_error_file(&err, path);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    assert_memory_equal(err.file, "...p", 4);
}

static void about_prefixes_the_name(void **state)
{
    struct heft_error err = {0};

    (void)state;
    heft_fail(&err, HEFT_MISMATCH, 9, "CRC differs");
    assert_false(heft_error_about(&err, "tensor", HEFT_STR("layer\n.weight")));
    assert_string_equal(err.text, "tensor layer\\n.weight: CRC differs");
    assert_int_equal(err.code, HEFT_MISMATCH);
    assert_int_equal(err.offset, 9);
}

static void about_leaves_room_for_the_message(void **state)
{
    struct heft_error err = {0};
    char name[5000];

    (void)state;
    memset(name, 'n', sizeof name);
    heft_fail(&err, HEFT_MISMATCH, 9, "CRC differs");
    heft_error_about(&err, "tensor", (struct heft_str){name, sizeof name});
    assert_non_null(strstr(err.text, "nnn...: CRC differs"));
}

static void format_omits_absent_fields(void **state)
{
    struct heft_error err = {0};
    char line[900];

    (void)state;
    heft_fail(&err, HEFT_USAGE, HEFT_NO_OFFSET, "what");
    assert_string_equal(heft_error_format(&err, line, sizeof line), "heft: what");
    heft_error_file(&err, "a\nb");
    assert_string_equal(heft_error_format(&err, line, sizeof line), "heft: a\\nb: what");
    err.offset = 0x1a2b;
    assert_string_equal(heft_error_format(&err, line, sizeof line),
                        "heft: a\\nb: offset 0x1a2b: what");
    err.file[0] = '\0';
    assert_string_equal(heft_error_format(&err, line, sizeof line), "heft: offset 0x1a2b: what");
}

static void format_stays_within_any_size(void **state)
{
    struct heft_error err = {0};
    char line[64];

    (void)state;
    heft_fail(&err, HEFT_USAGE, 5, "caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9");
    heft_error_file(&err, "caf\xc3\xa9");
    for (size_t n = 0; n < sizeof line; n++) {
        memset(line, '#', sizeof line);
        assert_ptr_equal(heft_error_format(&err, line, n), line);
        if (n > 0) {
            assert_true(memchr(line, '\0', n) != NULL);
            assert_true(is_utf8(line));
        }
        for (size_t i = n; i < sizeof line; i++)
            assert_int_equal(line[i], '#');
    }
}

static void quoting_keeps_code_file_and_offset_of_the_cause(void **state)
{
    struct heft_error err, cause = {0};

    (void)state;
    heft_fail(&cause, HEFT_MALFORMED, 0x1a2b, "what");
    heft_error_file(&cause, "a\nb");
    assert_false(heft_error_quote(&err, "lost", &cause));
    assert_string_equal(err.text, "lost: a\\nb: offset 0x1a2b: what");
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_int_equal(err.offset, HEFT_NO_OFFSET);
    assert_string_equal(err.file, "");
    heft_fail(&cause, HEFT_IO, HEFT_NO_OFFSET, "what");
    heft_error_quote(&err, "lost", &cause);
    assert_string_equal(err.text, "lost: what");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_every_field_and_returns_false),
        cmocka_unit_test(fail_escapes_control_characters_and_bad_bytes),
        cmocka_unit_test(fail_may_quote_the_error_it_overwrites),
        cmocka_unit_test(fail_cuts_between_characters),
        cmocka_unit_test(errno_becomes_an_io_error),
        cmocka_unit_test(file_is_named_once),
        cmocka_unit_test(long_paths_keep_their_last_bytes),
        cmocka_unit_test(paths_of_exactly_the_size_are_complete),
        cmocka_unit_test(about_prefixes_the_name),
        cmocka_unit_test(about_leaves_room_for_the_message),
        cmocka_unit_test(quoting_keeps_code_file_and_offset_of_the_cause),
        cmocka_unit_test(format_omits_absent_fields),
        cmocka_unit_test(format_stays_within_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
