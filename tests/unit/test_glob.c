/* test_glob.c: globs: matches of each kind of wildcard, and patterns with many wildcards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void globs_match_as_documented(void **state)
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

/* Patterns that take exponential time with naive recursion; here some 10^8 steps at most. */
static void hostile_globs_terminate(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_as_documented),
        cmocka_unit_test(hostile_globs_terminate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
