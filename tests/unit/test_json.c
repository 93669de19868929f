/* test_json.c: pull parser of JSON: tokens, and the offset of the wrong byte for each malformed
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/json.h"

#define BASE 1000 /* file offset of the text */

struct run {
    struct heft_arena mem;
    struct heft_error err;
    struct heft_json json;
    uint8_t *copy;
};

/* Opens a copy of the text in a heap block of its exact size, so that a sanitizer detects a read of
 * one byte too many. */
static void begin(struct run *run, const char *text, size_t n)
{
    *run = (struct run){.copy = malloc(n ? n : 1)};
    assert_non_null(run->copy);
    memcpy(run->copy, text, n);
    heft_json_begin(&run->json, (struct heft_bytes){run->copy, n}, BASE, &run->mem, &run->err);
}

static void end(struct run *run)
{
    heft_arena_release(&run->mem);
    free(run->copy);
}

static enum heft_json_token last_token(struct run *run)
{
    enum heft_json_token token;

    do
        token = heft_json_next(&run->json);
    while (token != HEFT_JSON_ERROR && token != HEFT_JSON_END);
    return token;
}

static void expect_tokens(const char *text, const enum heft_json_token *tokens)
{
    struct run run;

    begin(&run, text, strlen(text));
    for (size_t i = 0;; i++) {
        assert_int_equal(heft_json_next(&run.json), tokens[i]);
        if (tokens[i] == HEFT_JSON_END)
            break;
    }
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_END);
    assert_int_equal(run.err.code, HEFT_OK);
    end(&run);
}

static void expect_decoded_at(const char *text, const char *decoded, size_t n, bool in_place)
{
    struct run run;

    begin(&run, text, strlen(text));
    if (in_place)
        heft_json_in_place(&run.json);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_STRING);
    assert_int_equal(run.json.text.n, n);
    assert_memory_equal(run.json.text.p, decoded, n);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_END);
    assert_true(!in_place || run.mem.total == 0);
    end(&run);
}

static void expect_decoded(const char *text, const char *decoded, size_t n)
{
    expect_decoded_at(text, decoded, n, false);
    expect_decoded_at(text, decoded, n, true);
}

/* Expects an error at the byte above the caret in `caret`. */
static void expect_wrong(const char *text, const char *caret, const char *says)
{
    struct run run;

    begin(&run, text, strlen(text));
    assert_int_equal(last_token(&run), HEFT_JSON_ERROR);
    if (!strstr(run.err.text, says) || run.err.offset != BASE + strlen(caret) - 1)
        fail_msg("%s\n%s expected, offset %d: %s", text, says, (int)run.err.offset - BASE,
                 run.err.text);
    assert_int_equal(run.err.code, HEFT_MALFORMED);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ERROR);
    end(&run);
}

static void tokens_come_in_order(void **state)
{
    static const enum heft_json_token tokens[] = {
        HEFT_JSON_OBJECT, HEFT_JSON_KEY,        HEFT_JSON_ARRAY,      HEFT_JSON_NUMBER,
        HEFT_JSON_TRUE,   HEFT_JSON_FALSE,      HEFT_JSON_NULL,       HEFT_JSON_STRING,
        HEFT_JSON_ARRAY,  HEFT_JSON_ARRAY_END,  HEFT_JSON_ARRAY_END,  HEFT_JSON_KEY,
        HEFT_JSON_OBJECT, HEFT_JSON_OBJECT_END, HEFT_JSON_OBJECT_END, HEFT_JSON_END};

    (void)state;
    expect_tokens("{\"a\":[1,true,false,null,\"x\",[]],\"b\":{}}", tokens);
    expect_tokens(" \t\r\n{ \"a\" : [ 1 , true , false , null , \"x\" , [ ] ] , \"b\" : { } } \n",
                  tokens);
}

static void a_lone_value_is_a_document(void **state)
{
    static const enum heft_json_token number[] = {HEFT_JSON_NUMBER, HEFT_JSON_END};

    (void)state;
    expect_tokens("0", number);
    expect_tokens(" -1.5e+3 ", number);
}

static void offsets_are_of_the_file(void **state)
{
    struct run run;

    (void)state;
    begin(&run, "{ \"a\" : 17 }", 12);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT);
    assert_int_equal(run.json.where, BASE);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
    assert_int_equal(run.json.where, BASE + 2);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_NUMBER);
    assert_int_equal(run.json.where, BASE + 8);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT_END);
    assert_int_equal(run.json.where, BASE + 11);
    end(&run);
}

static void strings_are_decoded(void **state)
{
    (void)state;
    expect_decoded("\"\"", "", 0);
    expect_decoded("\"plain\"", "plain", 5);
    expect_decoded("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    expect_decoded("\"a\\u0000b\"", "a\0b", 3);
    expect_decoded("\"\\u0041\\u00e9\\u2603\"", "A\xc3\xa9\xe2\x98\x83", 6);
    expect_decoded("\"\\ud83d\\uDE00\"", "\xf0\x9f\x98\x80", 4);
    expect_decoded("\"\\ufffd\\uffff\"", "\xef\xbf\xbd\xef\xbf\xbf", 6);
    expect_decoded("\"\x7f\xc2\x80\"", "\x7f\xc2\x80", 3);
    expect_decoded("\"\\\\u0041\"", "\\u0041", 6);
}

/* Quotes, backslashes and control bytes at every position of the eight bytes that are examined
 * together. */
static void specials_are_found_at_every_place(void **state)
{
    char text[64], decoded[64];

    (void)state;
    for (size_t n = 0; n < 40; n++) {
        /* bytes with the high bit set, which must not be taken for special bytes */
        memset(text, 0xc3, sizeof text);
        text[0] = '"';
        text[n + 1] = '"';
        text[n + 2] = '\0';
        memset(decoded, 0xc3, sizeof decoded);
        expect_decoded(text, decoded, n);
        memcpy(text + n + 1, "\\n!\"", 5);
        memcpy(decoded + n, "\n!", 2);
        expect_decoded(text, decoded, n + 2);
        for (char c = 1; c < 0x20; c++) {
            struct run run;

            text[n + 1] = c;
            begin(&run, text, strlen(text));
            assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ERROR);
            assert_int_equal(run.err.offset, BASE + n + 1);
            end(&run);
        }
    }
}

static void borrowed_text_lies_in_the_data(void **state)
{
    struct run run;

    (void)state;
    begin(&run, "\"plain\"", 7);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_STRING);
    assert_ptr_equal(run.json.text.p, run.copy + 1);
    assert_int_equal(run.mem.total, 0);
    end(&run);
}

static void decoded_text_ends_in_nul_and_stays(void **state)
{
    struct run run;
    const char *first;

    (void)state;
    begin(&run, "[\"\\na\",\"\\tb\"]", 13);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ARRAY);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_STRING);
    first = run.json.text.p;
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_STRING);
    assert_string_equal(first, "\na");
    assert_string_equal(run.json.text.p, "\tb");
    end(&run);
}

static void bad_texts_point_at_the_byte(void **state)
{
    (void)state;
    /* clang-format off */
    expect_wrong("", "^", "ends where a value");
    expect_wrong("   ", "   ^", "ends where a value");
    expect_wrong("nul", "   ^", "ends where null");
    expect_wrong("nulx", "   ^", "found 'x' where null");
    expect_wrong("True", "^", "found 'T' where a value");
    expect_wrong("{} x", "   ^", "found 'x' where the end");
    expect_wrong("{}{}", "  ^", "found '{' where the end");
    expect_wrong("[1 2]", "   ^", "found '2' where ',' or ']'");
    expect_wrong("[1,]", "   ^", "found ']' where a value");
    expect_wrong("[,1]", " ^", "found ',' where a value");
    expect_wrong("[1}", "  ^", "found '}' where ',' or ']'");
    expect_wrong("{\"a\":1,}", "       ^", "found '}' where a key");
    expect_wrong("{\"a\" 1}", "     ^", "found '1' where ':'");
    expect_wrong("{a:1}", " ^", "found 'a' where a key or '}'");
    expect_wrong("{1:1}", " ^", "found '1' where a key or '}'");
    expect_wrong("{\"a\":1]", "      ^", "found ']' where ',' or '}'");
    expect_wrong("{\"a\":}", "     ^", "found '}' where a value");
    expect_wrong("{\"a\":1", "      ^", "ends where ',' or '}'");
    expect_wrong("01", " ^", "found '1' where the end");
    expect_wrong("[-]", "  ^", "found ']' where a digit");
    expect_wrong("-", " ^", "ends where a digit");
    expect_wrong("+1", "^", "found '+' where a value");
    expect_wrong(".5", "^", "found '.' where a value");
    expect_wrong("1.", "  ^", "ends where a digit");
    expect_wrong("1.e5", "  ^", "found 'e' where a digit");
    expect_wrong("1e", "  ^", "a digit of the exponent");
    expect_wrong("1e+x", "   ^", "found 'x' where a digit of the exponent");
    expect_wrong("[1,1e309]", "   ^", "out of range");
    expect_wrong("NaN", "^", "found 'N'");
    expect_wrong("'a'", "^", "found '''");
    expect_wrong("\"a", "  ^", "ends where the end of a string");
    expect_wrong("\"a\\", "   ^", "ends where the end of a string");
    expect_wrong("\"a\\\"", "    ^", "ends where the end of a string");
    expect_wrong("\"a\nb\"", "  ^", "control character");
    expect_wrong("\"\\n\nb\"", "   ^", "control character");
    expect_wrong("\"ab\\x\"", "    ^", "after a backslash");
    expect_wrong("\"\\u12g4\"", "     ^", "hexadecimal");
    expect_wrong("\"\\u12\"", "     ^", "hexadecimal");
    expect_wrong("\"a\\ud800\"", "  ^", "surrogate");
    expect_wrong("\"\\udc00\"", " ^", "surrogate");
    expect_wrong("\"\\ud800\\u0041\"", " ^", "surrogate");
    expect_wrong("\"\\ud800\\ud800\"", " ^", "surrogate");
    expect_wrong("\xef\xbb\xbf{}", "^", "byte 0xef where a value");
    expect_wrong("{} /* c */", "   ^", "found '/'");
    /* clang-format on */
}

static void a_nul_is_not_white_space(void **state)
{
    struct run run;

    (void)state;
    begin(&run, "{}\0", 3);
    assert_int_equal(last_token(&run), HEFT_JSON_ERROR);
    assert_int_equal(run.err.offset, BASE + 2);
    end(&run);
}

static void integers_are_whole_and_below_2_64(void **state)
{
    static const struct {
        const char *text;
        bool whole;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},
        {"7", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"18446744073709551620", false, 0},
        {"184467440737095516150", false, 0},
        {"99999999999999999999999", false, 0},
        {"-1", false, 0},
        {"-0", false, 0},
        {"1.0", false, 0},
        {"1e0", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct run run;
        uint64_t value = 0;

        begin(&run, cases[i].text, strlen(cases[i].text));
        assert_int_equal(heft_json_next(&run.json), HEFT_JSON_NUMBER);
        assert_int_equal(heft_json_u64(&run.json, &value), cases[i].whole);
        assert_true(value == cases[i].value);
        assert_true(heft_str_is(run.json.text, cases[i].text));
        end(&run);
    }
}

/* Reads the member {"k":text with heft_json_integers, which must return `first` and n integers 7, 8 …,
 * and then the token after it. */
static void expect_integers(const char *text, size_t n, enum heft_json_token first,
                            enum heft_json_token next)
{
    char whole[100];
    uint64_t values[3] = {0};
    struct run run;
    size_t read;

    snprintf(whole, sizeof whole, "{\"k\":%s", text);
    begin(&run, whole, strlen(whole));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
    assert_int_equal(heft_json_integers(&run.json, values, 1, 3, &read), first);
    assert_int_equal(read, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(values[i], i + 7);
    if (first == HEFT_JSON_ARRAY_END)
        assert_int_equal(run.json.where, BASE + strlen("{\"k\":") + strcspn(text, "]"));
    assert_int_equal(heft_json_next(&run.json), next);
    end(&run);
}

static void expect_no_integers(const char *text, enum heft_json_token next)
{
    expect_integers(text, 0, HEFT_JSON_ARRAY, next);
}

static void arrays_of_integers_are_read_in_one_call(void **state)
{
    (void)state;
    expect_integers("[7]}", 1, HEFT_JSON_ARRAY_END, HEFT_JSON_OBJECT_END);
    expect_integers("[7,8,9],\"l\":1}", 3, HEFT_JSON_ARRAY_END, HEFT_JSON_KEY);
    expect_integers("[7,8,9]]", 3, HEFT_JSON_ARRAY_END, HEFT_JSON_ERROR);
    expect_integers("[7]", 1, HEFT_JSON_ARRAY_END, HEFT_JSON_ERROR);
    expect_integers("\"7\"}", 0, HEFT_JSON_STRING, HEFT_JSON_OBJECT_END);
    expect_integers("7}", 0, HEFT_JSON_NUMBER, HEFT_JSON_OBJECT_END);
    expect_integers("]", 0, HEFT_JSON_ERROR, HEFT_JSON_ERROR);
    expect_no_integers("[]}", HEFT_JSON_ARRAY_END);
    expect_no_integers("[7,8,9,10]}", HEFT_JSON_NUMBER);
    expect_no_integers(" [7,8]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7, 8]}", HEFT_JSON_NUMBER);
    expect_no_integers("[ 7,8]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7 ,8]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,18446744073709551615]}", HEFT_JSON_NUMBER);
    expect_no_integers("[0000000000000000007,8]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,08]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,8.0]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,8e1]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,-8]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,\"8\"]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,]}", HEFT_JSON_NUMBER);
    expect_no_integers("[7,8", HEFT_JSON_NUMBER);
    expect_no_integers("[7,8}", HEFT_JSON_NUMBER);
    expect_no_integers("[7", HEFT_JSON_NUMBER);
    expect_no_integers("[", HEFT_JSON_ERROR);
}

/* Numbers of every length, at every distance from the end of the text. */
static void integers_of_every_length_are_read(void **state)
{
    char text[64];
    uint64_t value = 0;

    (void)state;
    for (int digits = 1; digits <= 20; digits++) {
        uint64_t values[1];
        struct run run;
        size_t n;
        const enum heft_json_token fast = digits < 20 ? HEFT_JSON_ARRAY_END : HEFT_JSON_ARRAY;

        value = value * 10 + 1;
        for (int spaces = 0; spaces < 10; spaces++) {
            snprintf(text, sizeof text, "{\"k\":[%" PRIu64 "]%*s", value, spaces, "");
            begin(&run, text, strlen(text));
            assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT);
            assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
            assert_int_equal(heft_json_integers(&run.json, values, 1, 1, &n), fast);
            assert_true(digits == 20 || values[0] == value);
            end(&run);
        }
    }
}

static void expect_taken(const char *text, bool taken, enum heft_json_token next)
{
    struct run run;

    begin(&run, text, strlen(text));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT);
    assert_int_equal(heft_json_take_key(&run.json, HEFT_STR("\"key\":")), taken);
    if (taken) {
        assert_true(heft_str_is(run.json.text, "key"));
        assert_int_equal(run.json.where, BASE + 1);
    }
    assert_int_equal(heft_json_next(&run.json), next);
    end(&run);
}

static void an_expected_key_is_read_in_one_step(void **state)
{
    struct run run;

    (void)state;
    expect_taken("{\"key\":1}", true, HEFT_JSON_NUMBER);
    expect_taken("{\"key\":}", true, HEFT_JSON_ERROR);
    expect_taken("{\"key\" :1}", false, HEFT_JSON_KEY);
    expect_taken("{ \"key\":1}", false, HEFT_JSON_KEY);
    expect_taken("{\"kez\":1}", false, HEFT_JSON_KEY);
    expect_taken("{,\"key\":1}", false, HEFT_JSON_ERROR);
    expect_taken("{\"key\"", false, HEFT_JSON_ERROR);
    expect_taken("{}", false, HEFT_JSON_OBJECT_END);
    begin(&run, "{\"k\":1,\"key\":[\"key\":", 21);
    assert_false(heft_json_take_key(&run.json, HEFT_STR("\"key\":")));
    for (int i = 0; i < 3; i++)
        (void)heft_json_next(&run.json);
    assert_true(heft_json_take_key(&run.json, HEFT_STR("\"key\":")));
    assert_int_equal(run.json.where, BASE + 7);
    assert_false(heft_json_take_key(&run.json, HEFT_STR("\"key\":")));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ARRAY);
    assert_false(heft_json_take_key(&run.json, HEFT_STR("\"key\":")));
    end(&run);
}

static void expect_range(const char *text, bool fits)
{
    struct run run;

    begin(&run, text, strlen(text));
    if ((heft_json_next(&run.json) == HEFT_JSON_NUMBER) != fits)
        fail_msg("%s: %s", text, run.err.text);
    end(&run);
}

static void numbers_must_fit_a_double(void **state)
{
    char digits[400] = {0};

    (void)state;
    expect_range("1.7976931348623157e308", true);
    expect_range("17976931348623157.08e292", true);
    expect_range("0.00017976931348623157e312", true);
    expect_range("1.7976931348623159e308", false);
    expect_range("-2e308", false);
    expect_range("0.002e311", false);
    expect_range("1e99999999999999999999999", false);
    expect_range("1e-99999999999999999999999", true);
    expect_range("0e99999999999999999999999", true);
    expect_range("0.000e999", true);
    memset(digits, '9', 308);
    expect_range(digits, true);
    memset(digits, '9', 309);
    expect_range(digits, false);
}

static void limit_depth(bool is_deep, uint32_t most)
{
    char text[HEFT_JSON_DEEPEST + 1];
    struct run run;

    memset(text, '[', sizeof text);
    begin(&run, text, sizeof text);
    if (is_deep)
        heft_json_as_python(&run.json);
    for (size_t i = 0; i < most; i++)
        assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ARRAY);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ERROR);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_int_equal(run.err.offset, BASE + most);
    end(&run);
}

static void depth_is_limited(void **state)
{
    (void)state;
    limit_depth(false, HEFT_JSON_DEPTH);
    limit_depth(true, HEFT_JSON_DEEPEST);
}

static void containers_close_as_they_opened(void **state)
{
    char text[2 * HEFT_JSON_DEEPEST * 6];
    struct run run;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < HEFT_JSON_DEEPEST; i++) {
        const char *open = i % 3 == 1 ? "{\"k\":" : "[";

        memcpy(text + n, open, strlen(open));
        n += strlen(open);
    }
    text[n++] = '1';
    for (size_t i = HEFT_JSON_DEEPEST; i-- > 0;)
        text[n++] = i % 3 == 1 ? '}' : ']';
    begin(&run, text, n);
    heft_json_as_python(&run.json);
    assert_int_equal(last_token(&run), HEFT_JSON_END);
    end(&run);
}

static bool is_skipped(const char *text, bool as_python)
{
    struct run run;
    bool ok;

    begin(&run, text, strlen(text));
    if (as_python)
        heft_json_as_python(&run.json);
    ok = heft_json_skip(&run.json) && heft_json_next(&run.json) == HEFT_JSON_END;
    assert_int_equal(ok, run.err.code == HEFT_OK);
    end(&run);
    return ok;
}

static void texts_valid_only_in_python_are_skipped(void **state)
{
    static const char *const passed[] = {
        "1e400",
        "[-1e400,0.1e310]",
        "[NaN, -Infinity ,Infinity]",
        "{\"a\":NaN}",
        "\"\\ud800\"",
        "[\"\\udc00\\ud800\\u0041\",1]",
        "\"\\ud800\\ud800\\udc00\"",
        "{\"\\ud800\":1}",
    };
    static const char *const refused[] = {
        "-NaN", "+Infinity", "nan", "Inf",        "-Inf",
        "-I",   "[NaNN]",    "1e",  "\"\\ud80\"", "\"\\ud800\\u0\"",
    };
    struct run run;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(passed); i++) {
        assert_true(is_skipped(passed[i], true));
        assert_false(is_skipped(passed[i], false));
    }
    for (size_t i = 0; i < HEFT_COUNT(refused); i++)
        assert_false(is_skipped(refused[i], true));
    begin(&run, "1e400", 5); /* read as a number; skipping would accept it */
    heft_json_as_python(&run.json);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ERROR);
    end(&run);
}

static void skip_passes_whole_values(void **state)
{
    struct run run;

    (void)state;
    begin(&run, "{\"a\":[{\"b\":[1,\"\\n\"]},2],\"c\":\"\\u0041\",\"d\":5}", 43);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
    assert_true(heft_json_skip(&run.json));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
    assert_true(heft_str_is(run.json.text, "c"));
    assert_true(heft_json_skip(&run.json));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_KEY);
    assert_true(heft_str_is(run.json.text, "d"));
    assert_true(heft_json_skip(&run.json));
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_OBJECT_END);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_END);
    end(&run);
}

static void skip_still_checks(void **state)
{
    struct run run;

    (void)state;
    begin(&run, "[[\"\\q\"]]", 8);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ARRAY);
    assert_false(heft_json_skip(&run.json));
    assert_int_equal(run.err.offset, BASE + 4);
    end(&run);
}

/* Many short strings with escapes: the arena stores them without gaps. */
static void decoding_takes_no_more_than_the_text(void **state)
{
    enum { STRINGS = 20000 };
    char *text = malloc(STRINGS * 5 + 1);
    struct run run;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < STRINGS; i++)
        memcpy(text + 5 * i, i ? ",\"\\n\"" : "[\"\\n\"", 5);
    text[STRINGS * 5] = ']';
    begin(&run, text, STRINGS * 5 + 1);
    assert_int_equal(last_token(&run), HEFT_JSON_END);
    assert_true(run.mem.total < 2 * STRINGS * 5);
    end(&run);
    free(text);
}

/* Compares every token and error of a text read through a window of `window` bytes with those of
 * the text in memory. */
static void expect_window_shows_all(const char *text, size_t window)
{
    const size_t n = strlen(text);
    const struct heft_bytes bytes = {(const uint8_t *)text, n};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_source src;
    struct heft_json json;
    enum heft_json_token token;
    struct run run;

    begin(&run, text, n);
    heft_source_open_memory(&src, bytes, "text");
    assert_true(heft_json_open(&json, &src, 0, n, window, &mem, &err));
    do {
        token = heft_json_next(&run.json);
        assert_int_equal(heft_json_next(&json), token);
        if (token == HEFT_JSON_ERROR)
            break;
        assert_int_equal(json.where + BASE, run.json.where);
        if (token == HEFT_JSON_KEY || token == HEFT_JSON_STRING || token == HEFT_JSON_NUMBER)
            assert_true(heft_str_eq(json.text, run.json.text));
    } while (token != HEFT_JSON_END);
    assert_int_equal(err.code, run.err.code);
    assert_string_equal(err.text, run.err.text);
    if (err.code != HEFT_OK)
        assert_int_equal(err.offset + BASE, run.err.offset);
    heft_json_close(&json);
    heft_arena_release(&mem);
    end(&run);
}

static void a_window_of_any_size_shows_the_whole_text(void **state)
{
    static const char *const texts[] = {
        "",
        " { \"a\" : [ 1 , -2.5e3 , true , false , null , \"x\\u00e9\\n\" ] ,\t\"key\":{ } } ",
        "[123456789012345678,12345,1e308,1e309]",
        "[1000000000000000000000000000000000000000000000000000e280]",
        "{\"k\":\"\\ud83d\\ude00\\\\\",\"\xc3\xa9\":\"\\q\"}",
        "[tru]",
        "[\"open",
        "{\"a\":1,                                                  \"b\":2} x",
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(texts); i++)
        for (size_t window = 1; window <= strlen(texts[i]) + 1; window++)
            expect_window_shows_all(texts[i], window);
}

static void a_window_drops_what_has_been_read(void **state)
{
    enum { SIZE = 1 << 20, WINDOW = 4096 };
    char *const text = malloc(SIZE);
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_source src;
    struct heft_json json;

    (void)state;
    assert_non_null(text);
    memset(text, ' ', SIZE); /* a window does not grow for white space */
    memcpy(text + SIZE / 2, "[\"name\"]", 8);
    heft_source_open_memory(&src, (struct heft_bytes){(uint8_t *)text, SIZE}, "text");
    assert_true(heft_json_open(&json, &src, 0, SIZE, WINDOW, &mem, &err));
    assert_int_equal(heft_json_next(&json), HEFT_JSON_ARRAY);
    assert_int_equal(json.where, SIZE / 2);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_STRING);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_ARRAY_END);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_END);
    assert_int_equal(json.cap, WINDOW);
    heft_json_close(&json);
    free(text);
}

static void a_window_checks_that_strings_are_utf8(void **state)
{
    static const char text[] = "[\"fine\",\"\xc3\xa9\",\"not\xc3\"]";
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_source src;
    struct heft_json json;

    (void)state;
    heft_source_open_memory(&src, (struct heft_bytes){(const uint8_t *)text, sizeof text - 1}, "t");
    assert_true(heft_json_open(&json, &src, 0, sizeof text - 1, 16, &mem, &err));
    assert_int_equal(heft_json_next(&json), HEFT_JSON_ARRAY);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_STRING);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_STRING);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_ERROR);
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_int_equal(err.offset, 17);
    assert_int_equal(heft_json_next(&json), HEFT_JSON_ERROR);
    heft_json_close(&json);
}

static void lack_of_memory_is_reported_once(void **state)
{
    struct run run;

    (void)state;
    begin(&run, "\"\\n\"", 4);
    heft_alloc_fail_at(1);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ERROR);
    heft_alloc_fail_at(0);
    assert_int_equal(run.err.code, HEFT_NOMEM);
    assert_int_equal(heft_json_next(&run.json), HEFT_JSON_ERROR);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_in_order),
        cmocka_unit_test(a_lone_value_is_a_document),
        cmocka_unit_test(offsets_are_of_the_file),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(specials_are_found_at_every_place),
        cmocka_unit_test(borrowed_text_lies_in_the_data),
        cmocka_unit_test(decoded_text_ends_in_nul_and_stays),
        cmocka_unit_test(bad_texts_point_at_the_byte),
        cmocka_unit_test(a_nul_is_not_white_space),
        cmocka_unit_test(integers_are_whole_and_below_2_64),
        cmocka_unit_test(arrays_of_integers_are_read_in_one_call),
        cmocka_unit_test(integers_of_every_length_are_read),
        cmocka_unit_test(an_expected_key_is_read_in_one_step),
        cmocka_unit_test(numbers_must_fit_a_double),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(containers_close_as_they_opened),
        cmocka_unit_test(texts_valid_only_in_python_are_skipped),
        cmocka_unit_test(skip_passes_whole_values),
        cmocka_unit_test(skip_still_checks),
        cmocka_unit_test(decoding_takes_no_more_than_the_text),
        cmocka_unit_test(a_window_of_any_size_shows_the_whole_text),
        cmocka_unit_test(a_window_drops_what_has_been_read),
        cmocka_unit_test(a_window_checks_that_strings_are_utf8),
        cmocka_unit_test(lack_of_memory_is_reported_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
