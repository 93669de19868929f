/* test_splitter.c: matches of split patterns. */
#include "tokens/split/splitter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct heft_splitter *compile(const char *pattern, enum heft_splitter_engine engine)
{
    struct heft_error err = {0};
    struct heft_splitter *const s = heft_splitter_compile(heft_str_of(pattern), engine, NULL, &err);

    if (!s)
        fail_msg("%s: %s", pattern, err.text);
    return s;
}

/* The matches in a text, separated by bars; a gap of one character is that character in <>. */
static void draw_matches(const struct heft_splitter *s, const char *text, char *out)
{
    const size_t n = strlen(text);

    *out = '\0';
    for (size_t at = 0, end = 0; at < n; at = end) {
        const enum heft_splitter_result result =
            heft_splitter_match(s, (const uint8_t *)text, n, at, true, &end);

        assert_int_not_equal(result, HEFT_SPLITTER_OPEN);
        if (result == HEFT_SPLITTER_NONE)
            end = at + 1;
        out += sprintf(out, result == HEFT_SPLITTER_NONE ? "<%.*s>" : "%.*s|", (int)(end - at),
                       text + at);
    }
}

static void expect_matches(const char *pattern, enum heft_splitter_engine engine, const char *text,
                           const char *wanted)
{
    struct heft_splitter *const s = compile(pattern, engine);
    char got[400];

    draw_matches(s, text, got);
    assert_string_equal(got, wanted);
    heft_splitter_free(s);
}

static void test_engines_differ(void **unused)
{
    (void)unused;
    expect_matches("[0-9]{1,3}+", HEFT_ENGINE_TIKTOKEN, "1234567", "123|456|7|");
    expect_matches("[0-9]{1,3}+", HEFT_ENGINE_TOKENIZERS, "1234567", "1234567|");
    expect_matches("a$|a+|b$|b|\\n", HEFT_ENGINE_TIKTOKEN, "aa\nb", "aa|\n|b|");
    expect_matches("ab?$|.", HEFT_ENGINE_TOKENIZERS, "ab\naba", "ab|<\n>a|b|a|");
    expect_matches("ab?$|.", HEFT_ENGINE_TIKTOKEN, "ab\naba", "a|b|<\n>a|b|a|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engines_differ),
    };

    return cmocka_run_group_tests_name("splitter", tests, NULL, NULL);
}
