/* test_input_pattern.c: matches of names and patterns by the rules of Python's glob. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "tokens/input/input_pattern.h"

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"*", "a", true},
        {"*.txt", "a.txt", true},
        {"*.txt", "a.txt2", false},
        {"a*b*c", "aXbXbc", true},
        {"a*b*c", "aXbX", false},
        {"?", "\xC3\xA9", true},
        {"?", "ab", false},
        {"?", "\xC3\xA9\xCC\x81", false},
        {"[\xC3\xA9]x", "\xC3\xA9x", true},
        {"[A-\xC3\xA9]", "\xC3\x9F", true},
        {"[A-\xC3\xA9]", "\xC3\xBF", false},
        {"[!\xC3\xA9]", "\xC3\xA9", false},
        {"[!\xC3\xA9]", "\xE4\xB8\xAD", true},
        {"?\xA9", "\xC3\xA9", false},
        {"?", "\xE9", true}, /* invalid UTF-8: one character per byte */
        {"??", "\xC3(", true},
        {"[\xE9]", "\xE9", true},
        {"*\xA9", "\xC3\xA9", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[]]", "]", true},
        {"[!]]", "a", true},
        {"[", "[", true},
        {"[a", "[a", true},
        {"**", "abc", true},
        {"", "", true},
        {"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        assert_int_equal(
            heft_name_matches(cases[i].pattern, strlen(cases[i].pattern), cases[i].name),
            cases[i].matches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
