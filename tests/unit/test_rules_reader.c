/* test_rules_reader.c: rules files as programs; damaged and hostile texts. What single bad lines are told is in
 * tests/reject/rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "rules_show.h"

/* The program as text; or the error. */
static char *show_program(struct heft_str text, bool turned)
{
    struct heft_error err = {0};
    struct heft_rules *rules = heft_rules_parse(text, "x.rules", &err);
    const struct heft_rules *shown = rules && turned ? heft_rules_reverse(rules, &err) : rules;
    struct heft_buf out = {0};

    if (shown)
        rules_show(shown, &out);
    else
        heft_buf_text(&out, err.text);
    heft_buf_char(&out, '\0');
    assert_false(out.failed);
    heft_rules_free(rules);
    return out.p;
}

static void check_program(const char *text, const char *expected)
{
    char *const shown = show_program(heft_str_of(text), false);

    assert_string_equal(shown, expected);
    heft_free(shown);
}

static void check_turned(const char *text, const char *expected)
{
    char *const shown = show_program(heft_str_of(text), true);

    assert_string_equal(shown, expected);
    heft_free(shown);
}

static void statements_become_a_program(void **state)
{
    (void)state;
    check_program(
        "rules \"T\"\n"
        "let $h = json config.json a.b else 2*(1+$g)  # a comment\n"
        "let $g = given\n"
        "words w  a=b c\n"
        "rename (x|y)\\d => \\1,|\n"
        "drop {p*}.m [1, _] F32\n"
        "\n"
        "? k.{L:3}.{w} [$h*d,\n"
        "   # between\n"
        "   i] F32 with c.{L} [d]\n"
        "    | reshape $h d i | transpose 0 1 => h.{L}.{w} BF16 also t.{L}.{w} zeros z.{w}.{L}\n"
        "then\n"
        "keep {p*}\n",
        "rules \"T\"\n"
        "let $h = json config.json a.b else 2 1 $g + *\n"
        "let $g = given\n"
        " rename (x|y)\\d => \\1,|\n"
        "6: drop {p*}.m [1, _] F32\n"
        "    # p text\n"
        "8: ? k.{L:3}.{w@left} [$h d *, i] F32 with c.{L} [d] | reshape [$h, d, i] | transpose 0 1 "
        "=> "
        "h.{L}.{w@right} BF16 also t.{L}.{w@right} zeros z.{w@right}.{L}\n"
        "    # L number, w word\n"
        "then\n"
        "13: keep {p*}\n"
        "    # p text\n");
}

static void expressions_bind_as_usual(void **state)
{
    (void)state;
    check_program("let $x = 1+2*3-4/(5-$y)\nlet $y = ((7))\na => b\n",
                  "rules \"\"\n"
                  "let $x = 1 2 3 * + 4 5 $y - / -\n"
                  "let $y = 7\n"
                  "3: a => b\n");
}

static void programs_turn_round(void **state)
{
    (void)state;
    check_turned(
        "let $E = json c.json n\nlet $s = given\n"
        "a.{E}, b.{E} | stack 0 | cat 1 <=> c also d\n"
        "x.{s} | same <=> y\n"
        "z.{E} | cat 0 <=> u\n"
        "drop m\n"
        "then\n"
        "c [n, 2*i, k] | permute 2 0 1 | reorder 0 1 2 0 | unsqueeze 1 <=> c\n"
        "p [i, 6] | reshape i 2 3 | split 2 1 2 <=> q [i, 2, 1], r\n"
        "keep {p*}\n",
        "rules \"\"\n"
        "let $E = json c.json n\n"
        "let $s = given\n"
        "8: c | squeeze 1 | reorder 0 2 0 1 | permute 1 2 0 <=> c [n, 2 i *, k]\n"
        "9: q [i, 2, 1], r | cat 2 [1, 2] by names | reshape [i, 6] from [i, 2, 3] <=> p [i, 6]\n"
        "10: keep {p*}\n"
        "    # p text\n"
        "then\n"
        "3: c equal d | split 1 by names | unstack 0 by number <=> a.{E}, b.{E}\n"
        "    # E number spread $\n"
        "4: y | copy by number <=> x.{s}\n"
        "    # s number spread $\n"
        "5: u | split 0 by number <=> z.{E}\n"
        "    # E number spread $\n"
        "6: drop m\n");
}

static void a_shape_through_joins_is_known(void **state)
{
    (void)state;
    check_turned(
        "let $E = given\n"
        "a.{E} [i, 2], b.{E} [i, 2] | cat 0 | cat 1 | reshape $E i 2 2 <=> c [_, i, _, _]\n"
        "d [6, k] | split 0 1 2 3 | squeeze 1 <=> e, f, g\n"
        "h [4*n] | split 0 | reshape 2 n <=> l [2, n], m\n"
        "s [] | reshape 1 1 <=> t [1, 1]\n",
        "rules \"\"\n"
        "let $E = given\n"
        "2: c [_, i, _, _] | reshape [i $E *, 4] from [$E, i, 2, 2] | split 1 by names | split 0 "
        "by number "
        "<=> a.{E} [i, 2], b.{E} [i, 2]\n"
        "    # E number spread $\n"
        "3: e, f, g | unsqueeze 1 | cat 0 [1, 2, 3] by names <=> d [6, k]\n"
        "4: l [2, n], m | reshape [4 n * 2 /] from [2, n] | cat 0 by names <=> h [4 n *]\n"
        "5: t [1, 1] | reshape from [1, 1] <=> s []\n");
}

/* What the reverse says of rules that it leaves out. */
static void notes_name_what_is_left_out(void **state)
{
    static const char text[] = "drop a\na => b\nc <=> d\ndrop e\n";
    struct heft_error err = {0};
    struct heft_rules *const rules = heft_rules_parse(heft_str_of(text), "x.rules", &err);
    const struct heft_rules *turned, *again;

    (void)state;
    assert_non_null(rules);
    turned = heft_rules_reverse(rules, &err);
    assert_non_null(turned);
    assert_true(turned->is_reversed);
    assert_int_equal(turned->n_notes, 2);
    assert_string_equal(turned->notes[0],
                        "x.rules:2: this rule (=>) has no way back and is left out");
    assert_string_equal(turned->notes[1],
                        "x.rules:1: tensors that a drop left out do not come back");
    again = heft_rules_reverse(turned, &err);
    assert_non_null(again);
    assert_false(again->is_reversed);
    assert_int_equal(again->stages[0].n_mappings, 3);
    heft_rules_free(rules);
}

/* Only names that are read need the number of their file. */
static void file_slots_are_those_that_are_read(void **state)
{
    struct heft_error err = {0};
    struct heft_rules *const rules =
        heft_rules_parse(heft_str_of("let $s = given\na @{s} | cat 0 <=> a\n"), "x.rules", &err);
    struct heft_rules *const none = heft_rules_parse(heft_str_of("a <=> b\n"), "x.rules", &err);

    (void)state;
    assert_true(rules && none);
    assert_true(rules->has_file_slots);
    assert_false(heft_rules_reverse(rules, &err)->has_file_slots);
    assert_false(none->has_file_slots);
    heft_rules_free(rules);
    heft_rules_free(none);
}

/* ---- hostile texts ------------------------------------------------------------------------------------------- */

/* PREFIX, n times PART, SUFFIX. */
static char *repeat_text(const char *prefix, const char *part, size_t n, const char *suffix)
{
    struct heft_buf out = {0};

    heft_buf_text(&out, prefix);
    for (size_t i = 0; i < n; i++)
        heft_buf_text(&out, part);
    heft_buf_text(&out, suffix);
    heft_buf_char(&out, '\0');
    assert_false(out.failed);
    return out.p;
}

static void limits_are_told(void **state)
{
    static const struct {
        const char *prefix, *part;
        size_t n;
        const char *suffix, *expected;
    } cases[] = {
        {"a [", "(", 200000, "i] => b\n",
         "x.rules:1: found one more '(' in an expression, expected at most 64 parentheses within "
         "each other"},
        {"", "# a comment\n", 100000, "a => b\n",
         "x.rules:1: found a file of more than 1048576 bytes, expected at most so many"},
        {"", "a => b\n", 10001, "", "x.rules:10001: found one more rule, expected at most 10000"},
        {"let $x = 1", "+1", 40, "\na => b\n",
         "x.rules:1: found an expression of more than 64 numbers, names and operators"},
        {"a [1", ",1", 64, "] => b\n", "x.rules:1: found a shape of more than 64 dimensions"},
        {"a", ", a", 300, " | cat 0 => b\n",
         "x.rules:1: found 'a', expected at most 256 names on a side"},
        {"a", " | unsqueeze 0", 65, " => b\n",
         "x.rules:1: found 'unsqueeze', expected at most 64 ops"},
        {"a [1", ",1", 63, "] | unsqueeze 0 => b\n",
         "x.rules:1: found unsqueeze of a tensor of 64 dimensions, expected fewer"},
        {"a | permute", " 0", 65, " => b\n", "x.rules:1: found '0', expected at most 64 numbers"},
        {"", "{a}.", 33, " => b\n", NULL},
        {"rename ", "x", 1001, " => y\n",
         "x.rules:1: found a regular expression of 1001 bytes, expected at most 1000"},
        {"words w", " a", 5000, "\na => b\n", "x.rules:1: found 'a', expected at most 4096 words"},
        {"let $x = json c.json a", ".a", 64, "\na => b\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        char *const text = repeat_text(cases[i].prefix, cases[i].part, cases[i].n, cases[i].suffix);
        char *const shown = show_program(heft_str_of(text), false);

        if (cases[i].expected)
            assert_string_equal(shown, cases[i].expected);
        else
            assert_memory_equal(shown, "x.rules:1: ", 11);
        heft_free(shown);
        heft_free(text);
    }
}

static void the_file_name_of_an_error_is_kept(void **state)
{
    struct heft_error err = {0};
    char name[500];

    (void)state;
    memset(name, 'n', sizeof name);
    memcpy(name + sizeof name - 9, "/x.rules", 9);
    assert_null(heft_rules_parse(heft_str_of("a"), name, &err));
    assert_non_null(
        strstr(err.text, "nnn/x.rules:1: found the end of the rule, expected => or <=>"));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_int_equal(err.offset, HEFT_NO_OFFSET);
    assert_string_equal(err.file, "");
}

/* ---- damaged files ------------------------------------------------------------------------------------------- */

/* The text is read or refused with a line, in a block of its exact size; programs turn round. */
static void try_text(const char *text, size_t n)
{
    char *const copy = malloc(n ? n : 1);
    struct heft_error err = {0};
    struct heft_rules *rules;

    assert_non_null(copy);
    memcpy(copy, text, n);
    rules = heft_rules_parse((struct heft_str){copy, n}, "x.rules", &err);
    if (rules)
        assert_true(heft_rules_reverse(rules, &err) || err.code == HEFT_USAGE);
    else
        assert_true(err.code == HEFT_USAGE && strncmp(err.text, "x.rules:", 8) == 0);
    heft_rules_free(rules);
    free(copy);
}

static void damage_text(char *text, size_t n)
{
    for (size_t i = 0; i <= n; i++)
        try_text(text, i);
    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ (1 << bit));
            try_text(text, n);
            text[i] = (char)(text[i] ^ (1 << bit));
        }
}

/* A file that has all of the language. */
static const char whole_language[] =
    "rules \"T\"\n"
    "let $h = json c.json a.b else 2*($g+1)\nlet $g = given else 3 / 1 - 1\nlet $s = given\n"
    "words w a=b \"c d\"=e f\n"
    "? rename ^(m)\\.|[\\d]{2} => \\1\n"
    "drop {p*}.m [1, _] F32\n"
    "l.{L}.{w}.x @{s} | same <=> l.{L}.{w}.y\n"
    "e.{p*}.{E}.a, e.{p*}.{E}.b | stack 0 | cat 1 <=> e.{p*} also t.{p*}\n"
    "? q.{L:3} [$h*3*d, i] with r.{L} [d] | reshape $h 3 d i | transpose 0 1\n"
    "   | reshape 3*$h*d i # three\n   | split 0 <=> a.{L} [$h*d, i], b.{L} [$h*d, i], \"c.{L}\" "
    "[$h*d, i]\n"
    "u [2, 3*n] | reorder 1 1 0 2 | unstack 0 => v, w\n"
    "then\nx [1, i, j] | squeeze 0 | slice 1 2:$g | permute 1 0 | unsqueeze 2 => y zeros z\n"
    "keep {p*}\n";

static void damage_is_refused(void **state)
{
    struct heft_error err = {0};
    struct heft_rules *const rules = heft_rules_parse(heft_str_of(whole_language), "x.rules", &err);
    char text[sizeof whole_language];

    (void)state;
    assert_string_equal(err.text, "");
    assert_non_null(rules);
    heft_rules_free(rules);
    memcpy(text, whole_language, sizeof text);
    damage_text(text, sizeof text - 1);
}

static bool read_and_free(void *ctx, struct heft_error *err)
{
    static const char text[] =
        "let $s = given\nwords w a=b \"c d\"\nrename (x)y => \\1\nthen\n"
        "a.{s}.{w} [i] | cat 0 | reshape i 1 | reorder 1 0 => b.{w} also c.{w}\nthen\n"
        "b.{w} [i, 2] | split 1 | reshape i <=> c.{w} [i], d.{w}\n";
    struct heft_rules *const rules = heft_rules_parse(heft_str_of(text), "x.rules", err);

    (void)ctx;
    heft_rules_free(rules);
    return rules != NULL;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation(read_and_free, NULL, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_become_a_program),
        cmocka_unit_test(expressions_bind_as_usual),
        cmocka_unit_test(programs_turn_round),
        cmocka_unit_test(a_shape_through_joins_is_known),
        cmocka_unit_test(notes_name_what_is_left_out),
        cmocka_unit_test(file_slots_are_those_that_are_read),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(the_file_name_of_an_error_is_kept),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
