/* test_regex_text.c: regular expressions have the meaning of Python's re or are refused; expected
 * results are those of re.sub. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/select.h"

static const char *rename_by(const char *pattern, const char *to, const char *name,
                             struct heft_arena *mem, struct heft_error *err)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_RENAME, pattern, to};
    struct heft_str text = heft_str_of(name);

    return heft_rename_all(&text, 1, &rule, 1, mem, err) ? text.p : NULL;
}

static void replacements_are_those_of_python(void **state)
{
    static const struct {
        const char *pattern, *to, *name, *expected;
    } cases[] = {
        {"^model\\.layers\\.(\\d+)\\.", "h.\\1.", "model.layers.10.w", "h.10.w"},
        {"\\d+", "N", "a12b3", "aNbN"},
        {"\\D+", "_", "a1bc2", "_1_2"},
        {"\\w+", "W", "ab.c_d-e", "W.W-W"},
        {"\\W", "/", "a.b c", "a/b/c"},
        {"\\s", "_", "a b\tc", "a_b_c"},
        {"\\S+", "x", "a bc", "x x"},
        {"\\bw\\b", "weight", "w.ww.w", "weight.ww.weight"},
        {"\\b.", "X", "ab.cd", "XbXXd"},
        {"\\Bb", "X", "bb.ab", "bX.aX"},
        {"^a", "X", "aaa", "Xaa"},
        {"\\Aa", "X", "aaa", "Xaa"},
        {"a\\Z", "X", "aaa", "aaX"},
        {"[\\d.]+", "-", "a1.2b", "a-b"},
        {"[^\\d]", "-", "a1b", "-1-"},
        {"[\\w-]+", "X", "a-b.c", "X.X"},
        {"[\\]]", "X", "a]b", "aXb"},
        {"[]x]", "X", "a]x", "aXX"},
        {"[\\\\]", "/", "a\\b", "a/b"},
        {"[\\^]", "X", "a^b", "aXb"},
        {"[\\-^]", "X", "a^-b", "aXXb"},
        {"[a\\-c]", "X", "abc-", "XbXX"},
        {"[a-c]", "X", "abcd-", "XXXd-"},
        {"[-a]", "X", "a-b", "XXb"},
        {"[^]]", "X", "a]b", "X]X"},
        {"[[.]", "X", "a[.b", "aXXb"},
        {"[[:digit:]_]", "X", "a1_", "aXX"},
        {"(?:a|b)(c)", "<\\1>", "acbc", "<c><c>"},
        {"(?:(?:x))(y)(?:z)(w)", "\\2\\1", "xyzw", "wy"},
        {"(a)\\1", "\\1", "aab", "ab"},
        {"(?:q)(a)\\1", "\\1", "qaab", "ab"},
        {"(a)|(b)", "[\\1\\2]", "ab", "[a][b]"},
        {"a{2}", "X", "aaa", "Xa"},
        {"a{,2}b", "X", "aaab", "aX"},
        {"a{2,}", "X", "aaaab", "Xb"},
        {"x{suffix}", "y", "x{suffix}", "y"},
        {"\\.", "/", "a.b", "a/b"},
        {"\\/", ".", "a/b", "a.b"},
        {"\\-\\_", "X", "a-_b", "aXb"},
        {"}", "X", "a}b", "aXb"},
        {"]", "X", "a]b", "aXb"},
        {"(x)", "\\g<1>0", "x", "x0"},
        {"x", "a\\\\b", "x", "a\\b"},
        {"x", "\\.\\-", "x", ".-"},
        {"x*", "-", "axb", "-a--b-"},
        {"", "-", "ab", "-a-b-"},
        {"$", "!", "ab", "ab!"},
        {"nothing", "x", "ab", "ab"},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_error err = {0};
        struct heft_arena mem = {0};
        const char *got = rename_by(cases[i].pattern, cases[i].to, cases[i].name, &mem, &err);

        if (!got || strcmp(got, cases[i].expected) != 0)
            fail_msg("'%s' => '%s' of '%s' gives '%s' %s, expected '%s'", cases[i].pattern,
                     cases[i].to, cases[i].name, got ? got : "", err.text, cases[i].expected);
        heft_arena_release(&mem);
    }
}

static void regexes_with_another_meaning_in_posix_are_refused(void **state)
{
    static const struct {
        const char *pattern, *to, *text;
    } cases[] = {
        {"a*?", "", "longest"},
        {"a+?", "", "longest"},
        {"a??", "", "longest"},
        {"a{2}?", "", "longest"},
        {"a**", "", "longest"},
        {"a*+", "", "longest"},
        {"(?=a)", "", "(?:"},
        {"(?!a)", "", "(?:"},
        {"(?<=a)b", "", "(?:"},
        {"(?P<n>a)", "", "(?:"},
        {"(?i)a", "", "(?:"},
        {"*.bias", "", "globs are like"},
        {"a|*", "", "needs something before it"},
        {"(+a)", "", "needs something before it"},
        {"^*", "", "needs something before it"},
        {"\\b+", "", "needs something before it"},
        {"\\q", "", "must be followed by"},
        {"\\p{L}", "", "must be followed by"},
        {"\\u0041", "", "must be followed by"},
        {"a\\", "", "at the end of the expression"},
        {"\\1(a)", "", "before it"},
        {"(a)\\2", "", "before it"},
        {"\\0", "", "before it"},
        {"[\\D]", "", "within brackets"},
        {"[\\1]", "", "within brackets"},
        {"[z-a]", "", "range"},
        {"[\\d-z]", "", "range"},
        {"[a-\\d]", "", "range"},
        {"[a", "", "not closed"},
        {"[", "", "not closed"},
        {"[]", "", "not closed"},
        {"[^]", "", "not closed"},
        {"[a\\", "", "not closed"},
        {"[\xc3\xa9]", "", "ASCII"},
        {"[[:wörd:]]", "", "unknown class"},
        {"(", "", "Unmatched"},
        {"(a", "", "Unmatched"},
        {"(a)(b)", "\\3", "it has 2"},
        {"a", "\\1", "it has 0"},
        {"(?:a)", "\\1", "it has 0"},
        {"(a)", "\\g<2>", "it has 1"},
        {"a", "\\n", "after \\"},
        {"a", "x\\", "after \\"},
        {"(a)", "\\g<name>", "after \\"},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_error err = {0};
        struct heft_arena mem = {0};
        const char *got = rename_by(cases[i].pattern, cases[i].to, "aab", &mem, &err);

        if (got || err.code != HEFT_USAGE || !strstr(err.text, cases[i].text))
            fail_msg("'%s' => '%s' gives '%s' '%s', expected \"%s\"", cases[i].pattern, cases[i].to,
                     got ? got : "", err.text, cases[i].text);
        heft_arena_release(&mem);
    }
}

static void names_with_a_nul_match_as_a_whole(void **state)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_RENAME, "b$", "X"};
    struct heft_str name = {"b\0b", 3};
    struct heft_error err = {0};
    struct heft_arena mem = {0};

    (void)state;
    assert_true(heft_rename_all(&name, 1, &rule, 1, &mem, &err));
    assert_int_equal(name.n, 3);
    assert_memory_equal(name.p, "b\0X", 3);
    heft_arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replacements_are_those_of_python),
        cmocka_unit_test(regexes_with_another_meaning_in_posix_are_refused),
        cmocka_unit_test(names_with_a_nul_match_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
