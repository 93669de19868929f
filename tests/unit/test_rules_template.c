/* test_rules_template.c: names against templates, and names from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rules_program.h"

/* A program whose first mapping drops names of a template. */
static struct heft_rules *read_template(const char *words, const char *name)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_rules *rules;

    heft_buf_printf(&text, "%s\ndrop \"%s\"\n", words, name);
    assert_false(text.failed);
    rules = heft_rules_parse((struct heft_str){text.p, text.n}, "x.rules", &err);
    assert_string_equal(err.text, "");
    assert_non_null(rules);
    heft_buf_release(&text);
    return rules;
}

/* "L=3 p=abc w=0", or "no". A match makes the same name again. */
static void check_match(const char *words, const char *name, const char *text, const char *expected)
{
    struct heft_rules *const rules = read_template(words, name);
    const struct heft_remap *const m = &rules->stages[0].mappings[0];
    struct heft_slot_value values[32] = {0};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_buf out = {0};
    struct heft_str made;
    bool matches = false;

    assert_true(
        heft_template_match(&m->left->name, m->slots, heft_str_of(text), values, &matches, &err));
    for (uint32_t i = 0; matches && i < m->n_slots; i++) {
        heft_buf_printf(&out, "%s%s=", i ? " " : "", m->slots[i].name);
        if (m->slots[i].kind == HEFT_SLOT_ANY)
            heft_buf_str(&out, values[i].text);
        else
            heft_buf_u64(&out, values[i].number);
    }
    if (!matches)
        heft_buf_text(&out, "no");
    heft_buf_char(&out, '\0');
    assert_string_equal(out.p, expected);
    if (matches) {
        assert_true(heft_template_make(&m->left->name, m->slots, values, &mem, &made, &err));
        assert_string_equal(made.p, text);
        assert_int_equal(made.n, strlen(text));
    }
    heft_arena_release(&mem);
    heft_buf_release(&out);
    heft_rules_free(rules);
}

static void numbers_are_canonical(void **state)
{
    (void)state;
    check_match("", "a.{L}.b", "a.0.b", "L=0");
    check_match("", "a.{L}.b", "a.10.b", "L=10");
    check_match("", "a.{L}.b", "a.01.b", "no");
    check_match("", "a.{L}.b", "a.00.b", "no");
    check_match("", "a.{L}.b", "a..b", "no");
    check_match("", "a.{L}.b", "a.1", "no");
    check_match("", "a.{L}", "a.9223372036854775807", "L=9223372036854775807");
    check_match("", "a.{L}", "a.9223372036854775808", "no");
    check_match("", "a.{L}", "a.99999999999999999999999", "no");
    check_match("", "h{L}", "h12", "L=12");
    check_match("", "{L:3}", "007", "L=7");
    check_match("", "{L:3}", "0007", "no");
    check_match("", "{L:3}", "07", "no");
    check_match("", "{L:3}", "1234", "L=1234");
    check_match("", "{L:1}", "0", "L=0");
    check_match("", "{L:18}", "000000000000000001", "L=1");
    check_match("", "{L}.{L:2}", "5.05", "L=5");
    check_match("", "{L}.{L:2}", "5.06", "no");
}

static void any_text_is_as_long_as_possible(void **state)
{
    (void)state;
    check_match("", "{p*}", "", "p=");
    check_match("", "{p*}", "a.b", "p=a.b");
    check_match("", "{p*}.w", "a.w.w", "p=a.w");
    check_match("", "{p*}.w", ".w", "p=");
    check_match("", "{p*}.w", "w", "no");
    check_match("", "a{p*}a", "a", "no");
    check_match("", "a{p*}a", "aa", "p=");
    check_match("", "{p*}h.{L}.c", "x.h.1.h.2.c", "p=x.h.1. L=2");
    check_match("", "{p*}.{L}.{q}", "1.2.3.4", "p=1.2 L=3 q=4");
    check_match("", "{p*}1{L}", "x1112", "p=x11 L=2");
    check_match("", "x.{p*}.y", "x.\xc3\xa4.y", "p=\xc3\xa4");
}

static void braces_are_text(void **state)
{
    (void)state;
    check_match("", "{{L}}", "{L}", "");
    check_match("", "{{L}}", "7", "no");
    check_match("", "{p*}.{{", "a{b}.{", "p=a{b}");
    check_match("", "a", "a", "");
    check_match("", "a", "ab", "no");
    check_match("", "a", "", "no");
    check_match("", "", "", "");
}

static void words_are_the_longest_that_fit(void **state)
{
    static const char words[] = "words w a ab abc b\nwords v x y";

    (void)state;
    check_match(words, "{w}", "abc", "w=2");
    check_match(words, "{w}c", "abc", "w=1");
    check_match(words, "{w}bc", "abc", "w=0");
    check_match(words, "{w}", "c", "no");
    check_match(words, "{w}.{w}", "ab.ab", "w=1");
    check_match(words, "{w}.{w}", "ab.a", "no");
    check_match(words, "{v}.{w}", "y.b", "v=1 w=3");
    check_match(words, "{p*}.{w}", "x.ab.abc", "p=x.ab w=2");
    check_match(words, "{w}-{p*}-{w}", "ab-abc-x-ab", "w=1 p=abc-x");
}

/* Right spellings on the right side. */
static void words_are_translated(void **state)
{
    static const char text[] = "words w a=x.y b=z\n{w}.{L:2} => {L}.{w}\n";
    struct heft_error err = {0};
    struct heft_rules *const rules = heft_rules_parse(heft_str_of(text), "x.rules", &err);
    const struct heft_remap *const m = &rules->stages[0].mappings[0];
    struct heft_slot_value values[32] = {0};
    struct heft_arena mem = {0};
    struct heft_str made;
    bool matches = false;

    (void)state;
    assert_true(
        heft_template_match(&m->left->name, m->slots, heft_str_of("a.07"), values, &matches, &err));
    assert_true(matches);
    assert_true(heft_template_make(&m->right->name, m->slots, values, &mem, &made, &err));
    assert_string_equal(made.p, "7.x.y");
    assert_true(heft_template_match(&m->right->name, m->slots, heft_str_of("12.z"), values,
                                    &matches, &err));
    assert_true(matches);
    assert_true(heft_template_make(&m->left->name, m->slots, values, &mem, &made, &err));
    assert_string_equal(made.p, "b.12");
    heft_arena_release(&mem);
    heft_rules_free(rules);
}

/* ---- hostile names ---------------------------------------------------------------------------------------------- */

static void match_long(const char *words, const char *name, char letter, size_t n, bool expected,
                       enum heft_code code)
{
    struct heft_rules *const rules = read_template(words, name);
    const struct heft_remap *const m = &rules->stages[0].mappings[0];
    struct heft_slot_value values[32] = {0};
    struct heft_error err = {0};
    char *const text = malloc(n);
    bool matches = false;

    assert_non_null(text);
    memset(text, letter, n);
    assert_int_equal(heft_template_match(&m->left->name, m->slots, (struct heft_str){text, n},
                                         values, &matches, &err),
                     code == HEFT_OK);
    assert_int_equal(err.code, code);
    assert_int_equal(matches, expected);
    free(text);
    heft_rules_free(rules);
}

/* Without memory of what failed the first ones would take 2^30 steps and more. */
static void hostile_names_are_bounded(void **state)
{
    static const char words[] =
        "words a x xx xxx\nwords b x xx xxx\nwords c x xx xxx\nwords d x xx xxx";
    static const char many[] =
        "{a}x{b}x{c}x{d}x{p*}x{e}x{f}x{g}x{h}x{i}x{j}x{k}x{l}x{m}x{n}x{o}x{q}y{z}";
    static const char sets[] =
        "words a x xx\nwords b x xx\nwords c x xx\nwords d x xx\nwords e x xx\n"
        "words f x xx\nwords g x xx\nwords h x xx\nwords i x xx\nwords j x xx\n"
        "words k x xx\nwords l x xx\nwords m x xx\nwords n x xx\nwords o x xx\n"
        "words q x xx";

    (void)state;
    match_long(words, "{a}x{b}x{c}x{d}x{p*}xy{z}", 'x', 65536, false, HEFT_OK);
    match_long(sets, many, 'x', 65536, false, HEFT_OK);
    match_long(sets, many, 'x', 300, false, HEFT_OK);
    match_long("", "{p*}x{L}", 'x', 65536, false, HEFT_OK);
    match_long("", "{p*}", 'x', 65536, true, HEFT_OK);
    match_long("", "{L}", '1', 65536, false, HEFT_OK);
}

/* Words that come again, so that what failed depends on what was chosen: the time is limited. */
static void searches_end(void **state)
{
    static const char sets[] =
        "words a x xx\nwords b x xx\nwords c x xx\nwords d x xx\nwords e x xx\n"
        "words f x xx\nwords g x xx\nwords h x xx\nwords i x xx\nwords j x xx\n"
        "words k x xx\nwords l x xx\nwords m x xx\nwords n x xx";
    static const char name[] =
        "{a}x{b}x{c}x{d}x{e}x{f}x{g}x{h}x{i}x{j}x{k}x{l}x{m}x{n}x{p*}x{a}x{b}x{c}"
        "x{d}x{e}x{f}x{g}x{h}x{i}x{j}x{k}x{l}x{m}x{n}y{z}";

    (void)state;
    match_long(sets, name, 'x', 65536, false, HEFT_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_canonical), cmocka_unit_test(any_text_is_as_long_as_possible),
        cmocka_unit_test(braces_are_text),       cmocka_unit_test(words_are_the_longest_that_fit),
        cmocka_unit_test(words_are_translated),  cmocka_unit_test(hostile_names_are_bounded),
        cmocka_unit_test(searches_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
