/* test_rules_sizes.c: expressions and shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rules_program.h"

struct sizes {
    struct heft_rules *rules;
    const struct heft_remap *mapping;
    struct heft_variables variables;
    struct heft_binding bindings[16];
    struct heft_error err;
};

static void open_sizes(struct sizes *s, const char *text)
{
    *s = (struct sizes){0};
    s->rules = heft_rules_parse(heft_str_of(text), "x.rules", &s->err);
    assert_string_equal(s->err.text, "");
    s->mapping = &s->rules->stages[0].mappings[0];
    assert_true(heft_variables_init(&s->variables, s->rules, &heft_disk, NULL, NULL, 0, &s->err));
}

static void close_sizes(struct sizes *s)
{
    heft_variables_release(&s->variables);
    heft_rules_free(s->rules);
}

/* Value of `let $x = TEXT`, or -1 and the error. */
static int64_t value_of(const char *text, struct heft_error *err)
{
    struct heft_buf rules = {0};
    struct sizes s;
    uint64_t value = 0;
    bool ok;

    heft_buf_printf(&rules, "let $x = %s\na => b\n", text);
    heft_buf_char(&rules, '\0');
    open_sizes(&s, rules.p);
    ok = heft_variables_value(&s.variables, 0, &value, err);
    close_sizes(&s);
    heft_buf_release(&rules);
    return ok ? (int64_t)value : -1;
}

static void values_are_exact(void **state)
{
    struct heft_error err = {0};

    (void)state;
    assert_int_equal(value_of("1+2*3", &err), 7);
    assert_int_equal(value_of("(1+2)*3", &err), 9);
    assert_int_equal(value_of("10-2-3", &err), 5);
    assert_int_equal(value_of("100/5/2", &err), 10);
    assert_int_equal(value_of("9223372036854775807", &err), INT64_MAX);
    assert_int_equal(value_of("4611686018427387904*2-1", &err), -1);
    assert_string_equal(err.text,
                        "x.rules:1: the value of the expression is 2^63 or more, expected a "
                        "whole number from 0 on and below 2^63");
    assert_int_equal(value_of("3-4", &err), -1);
    assert_non_null(strstr(err.text, "is below 0,"));
    assert_int_equal(value_of("7/2", &err), -1);
    assert_non_null(strstr(err.text, "is a division with a rest,"));
    assert_int_equal(value_of("7/(1-1)", &err), -1);
    assert_non_null(strstr(err.text, "is a division by 0,"));
    assert_int_equal(value_of("9223372036854775807*9223372036854775807", &err), -1);
    assert_int_equal(value_of("9223372036854775807+1", &err), -1);
}

/* Fits the shape [extents] to a pattern [text]: 'n', 'y' or 'p', and the names with their values. */
static void check_fit(const char *pattern, const char *extents, const char *expected)
{
    struct heft_buf rules = {0}, out = {0};
    struct heft_shape_pair pair = {0};
    enum heft_fit fit = HEFT_FIT_NO;
    uint64_t shape[8];
    struct sizes s;

    /* The names on the right make all of them known to the parser. */
    heft_buf_printf(&rules, "let $h = 4\nlet $z = 0\na [%s], b [i, j, k] | cat 0 => c\n", pattern);
    heft_buf_char(&rules, '\0');
    open_sizes(&s, rules.p);
    for (char *at = (char *)(uintptr_t)extents; *at; at += *at == ',')
        shape[pair.rank++] = strtoull(at, &at, 10);
    pair.pattern = &s.mapping->left[0];
    pair.shape = shape;
    assert_true(heft_sizes_fit(&pair, 1, s.bindings, &s.variables, &fit, &s.err));
    heft_buf_char(&out, "nyp"[fit]);
    for (uint32_t i = 0; fit != HEFT_FIT_NO && i < s.mapping->n_sizes; i++)
        if (s.bindings[i].is_bound)
            heft_buf_printf(&out, " %s=%d", s.mapping->sizes[i], (int)s.bindings[i].value);
    heft_buf_char(&out, '\0');
    assert_string_equal(out.p, expected);
    heft_buf_release(&out);
    heft_buf_release(&rules);
    close_sizes(&s);
}

static void shapes_bind_names(void **state)
{
    (void)state;
    check_fit("i, j", "3,5", "y i=3 j=5");
    check_fit("i, i", "3,3", "y i=3");
    check_fit("i, i", "3,5", "n");
    check_fit("i, _", "3,5", "y i=3");
    check_fit("i", "3,5", "n");
    check_fit("1, i", "1,5", "y i=5");
    check_fit("1, i", "2,5", "n");
    check_fit("3*i", "12", "y i=4");
    check_fit("3*i", "13", "n");
    check_fit("i*3+1", "13", "y i=4");
    check_fit("i*3+1", "0", "n");
    check_fit("20-i", "13", "y i=7");
    check_fit("i-20", "13", "y i=33");
    check_fit("20-i", "21", "n");
    check_fit("12/i", "3", "y i=4");
    check_fit("12/i", "5", "n");
    check_fit("12/i", "0", "n");
    check_fit("i/3", "4", "y i=12");
    check_fit("$h*(2+i)", "20", "y i=3");
    check_fit("$h*(2+i)", "21", "n");
    check_fit("$h*(2+i)", "4", "n");
    check_fit("i*j, j", "12,3", "y i=4 j=3");
    check_fit("i*j, j", "13,3", "n");
    check_fit("i*j, i+j", "12,7", "p");
    check_fit("i*i", "9", "p");
    check_fit("i*i, i", "9,3", "y i=3");
    check_fit("i*i, i", "9,4", "n");
    check_fit("i*j, j*k, k", "6,12,4", "y i=2 j=3 k=4");
    check_fit("$z*i", "0", "p");
    check_fit("$z*i", "1", "n");
    check_fit("i, i/2", "7,3", "n");
    check_fit("i, i/2", "6,3", "y i=6");
    check_fit("i, i-9", "6,3", "n");
    check_fit("i", "0", "y i=0");
}

/* What no tensor can change is an error, not a shape that does not fit. */
static void senseless_variables_are_errors(void **state)
{
    static const uint64_t shape[] = {3};
    struct heft_shape_pair pair = {.shape = shape, .rank = 1};
    enum heft_fit fit;
    struct sizes s;

    (void)state;
    open_sizes(&s, "let $x = 3\nlet $y = given\na [$x/2] => b\n");
    pair.pattern = s.mapping->left;
    assert_false(heft_sizes_fit(&pair, 1, s.bindings, &s.variables, &fit, &s.err));
    assert_string_equal(s.err.text,
                        "x.rules:3: the value of the expression is a division with a rest, "
                        "expected a whole number from 0 on and below 2^63");
    close_sizes(&s);
    open_sizes(&s, "let $y = given\na [$y*i] => b\n");
    pair.pattern = s.mapping->left;
    assert_false(heft_sizes_fit(&pair, 1, s.bindings, &s.variables, &fit, &s.err));
    assert_string_equal(s.err.text, "x.rules:1: $y has no value; give it with --set y=N");
    close_sizes(&s);
}

/* Two shapes of a group, and an expression of what they bind. */
static void a_group_binds_together(void **state)
{
    static const uint64_t left[] = {24, 5}, other[] = {3, 5}, wrong[] = {3, 6};
    struct heft_shape_pair pairs[2] = {{.shape = left, .rank = 2}, {.shape = other, .rank = 2}};
    uint64_t value = 0;
    enum heft_fit fit;
    struct sizes s;

    (void)state;
    open_sizes(&s, "a [2*d*h, i] with b [d, i] | reshape h d*2 i => c\n");
    pairs[0].pattern = s.mapping->left;
    pairs[1].pattern = s.mapping->with;
    assert_true(heft_sizes_fit(pairs, 1, s.bindings, &s.variables, &fit, &s.err));
    assert_int_equal(fit, HEFT_FIT_PARTLY);
    assert_false(heft_sizes_value(&s.mapping->ops[0].args[1], s.bindings, s.mapping->sizes,
                                  &s.variables, &value, &s.err));
    assert_string_equal(s.err.text, "x.rules:1: the size d is not known");
    assert_true(heft_sizes_fit(pairs, 2, s.bindings, &s.variables, &fit, &s.err));
    assert_int_equal(fit, HEFT_FIT_YES);
    assert_true(heft_sizes_value(&s.mapping->ops[0].args[1], s.bindings, s.mapping->sizes,
                                 &s.variables, &value, &s.err));
    assert_int_equal(value, 6);
    pairs[1].shape = wrong;
    assert_true(heft_sizes_fit(pairs, 2, s.bindings, &s.variables, &fit, &s.err));
    assert_int_equal(fit, HEFT_FIT_NO);
    close_sizes(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_exact),
        cmocka_unit_test(shapes_bind_names),
        cmocka_unit_test(senseless_variables_are_errors),
        cmocka_unit_test(a_group_binds_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
