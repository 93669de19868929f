/* test_rules_variables.c: --set, json files, else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rules_program.h"
#include "scratch.h"

/* Value of the first variable of a program, or -1 and the error. */
static int64_t look_up(const char *text, const char *input, const struct heft_setting *settings,
                       size_t n, struct heft_error *err)
{
    struct heft_rules *const rules = heft_rules_parse(heft_str_of(text), "x.rules", err);
    struct heft_variables variables = {0};
    uint64_t value = 0, again = 0;
    bool ok;

    *err = (struct heft_error){0};
    assert_non_null(rules);
    assert_true(heft_variables_init(&variables, rules, &heft_disk, input, settings, n, err));
    ok = heft_variables_value(&variables, 0, &value, err);
    if (ok)
        assert_true(heft_variables_value(&variables, 0, &again, err) && again == value);
    heft_variables_release(&variables);
    heft_rules_free(rules);
    return ok ? (int64_t)value : -1;
}

static void set_wins(void **state)
{
    static const struct heft_setting settings[] = {{"y", 1}, {"x", 5}, {"x", 6}};
    static const struct heft_setting large[] = {{"x", UINT64_C(1) << 63}};
    struct heft_error err;

    (void)state;
    assert_int_equal(look_up("let $x = 3\na => b\n", NULL, settings, 3, &err), 6);
    assert_int_equal(look_up("let $x = given\na => b\n", NULL, settings, 3, &err), 6);
    assert_int_equal(look_up("let $x = json nothing.json n\na => b\n", NULL, settings, 3, &err), 6);
    assert_int_equal(look_up("let $z = $x*$y\nlet $x = 3\nlet $y = given else 2\na => b\n", NULL,
                             settings, 3, &err),
                     6);
    assert_int_equal(look_up("let $x = 3\na => b\n", NULL, large, 1, &err), -1);
    assert_string_equal(err.text, "--set x=9223372036854775808, expected a number below 2^63");
}

static void without_a_value_the_set_is_named(void **state)
{
    struct heft_error err;

    (void)state;
    assert_int_equal(look_up("let $x = given else 2+1\na => b\n", NULL, NULL, 0, &err), 3);
    assert_int_equal(look_up("\nlet $x = given\na => b\n", NULL, NULL, 0, &err), -1);
    assert_string_equal(err.text, "x.rules:2: $x has no value; give it with --set x=N");
    assert_int_equal(look_up("let $x = 2*$y\nlet $y = given\na => b\n", NULL, NULL, 0, &err), -1);
    assert_string_equal(err.text, "x.rules:2: $y has no value; give it with --set y=N");
    assert_int_equal(look_up("let $x = json c.json n\na => b\n", NULL, NULL, 0, &err), -1);
    assert_string_equal(err.text,
                        "x.rules:1: $x has no value: no file is beside the input; give it with "
                        "--set x=N");
}

/* A long chain of variables, without recursion. */
static void chains_may_be_long(void **state)
{
    struct heft_buf text = {0};
    struct heft_error err;

    (void)state;
    for (unsigned i = 0; i < 999; i++)
        heft_buf_printf(&text, "let $v%u = $v%u + 1\n", i, i + 1);
    heft_buf_text(&text, "let $v999 = 1\na => b\n");
    heft_buf_char(&text, '\0');
    assert_int_equal(look_up(text.p, NULL, NULL, 0, &err), 1000);
    heft_buf_release(&text);
}

struct json_case {
    const char *json, *key;
    int64_t value;
    const char *error; /* a part of it; NULL: the value, or "has no" for -1 */
};

static void check_json(const char *folder, const struct json_case *c, const char *input)
{
    struct heft_buf text = {0};
    struct heft_error err;

    heft_scratch_write(folder, "c.json", c->json, strlen(c->json));
    heft_buf_printf(&text, "let $x = json c.json %s\na => b\n", c->key);
    heft_buf_char(&text, '\0');
    assert_int_equal(look_up(text.p, input, NULL, 0, &err), c->value);
    if (c->value < 0 && !strstr(err.text, c->error ? c->error : " has no "))
        fail_msg("%s %s: %s", c->json, c->key, err.text);
    heft_buf_release(&text);
}

static void json_is_read_beside_the_input(void **state)
{
    static const struct json_case cases[] = {
        {"{\"n\": 7}", "n", 7, NULL},
        {"{\"n\": 9223372036854775807}", "n", INT64_MAX, NULL},
        {"{\"a\": {\"n\": 7}, \"n\": 8}", "a.n", 7, NULL},
        {"{\"a\": {\"b\": {\"c\": 3}, \"c\": 4}, \"c\": 5}", "a.c", 4, NULL},
        {"{\"a\": {\"b\": {\"c\": 3}, \"c\": 4}, \"c\": 5}", "a.b.c", 3, NULL},
        {"{\"n\": 1, \"n\": 2}", "n", 2, NULL},
        {"{\"a\": {\"n\": 1}, \"a\": {\"m\": 2}}", "a.n", -1, NULL},
        {"{\"a\": [1, {\"n\": 2}], \"b\": NaN}", "n", -1, NULL},
        {"{}", "n", -1, NULL},
        {"{\"n\": null}", "n", -1, NULL},
        {"{\"n\": 1, \"n\": null}", "n", -1, NULL},
        {"{\"a\": null}", "a.n", -1, NULL},
        {"{\"n\": 7.0}", "n", -1, "found 7.0 as n in "},
        {"{\"n\": 7e2}", "n", -1, "found 7e2 as n in "},
        {"{\"n\": -1}", "n", -1, "found -1 as n in "},
        {"{\"n\": 9223372036854775808}", "n", -1, "found 9223372036854775808 as n in "},
        {"{\"n\": 18446744073709551616}", "n", -1, "found 18446744073709551616 as n in "},
        {"{\"n\": true}", "n", -1, " as n in "},
        {"{\"n\": \"7\"}", "n", -1, "found a string as n in "},
        {"{\"n\": [7]}", "n", -1, " as n in "},
        {"{\"n\": {}}", "n", -1, " as n in "},
        {"{\"a\": 3}", "a.n", -1, "which has no keys, expected a dict"},
        {"[1]", "n", -1, "is no dict of keys"},
        {"{\"n\": 7", "n", -1, ""},
        {"{\"n\": 7} x", "n", -1, ""},
        {"", "n", -1, ""},
    };
    char *const folder = heft_scratch_new();
    char *const file = heft_scratch_path(folder, "model.ckpt");

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        check_json(folder, &cases[i], folder);
        check_json(folder, &cases[i], file);
    }
    free(file);
    heft_scratch_free(folder);
}

static void json_files_are_bounded(void **state)
{
    char *const folder = heft_scratch_new();
    char *const deep = malloc(2 << 20);
    struct heft_error err;

    (void)state;
    assert_non_null(deep);
    memset(deep, '[', 2 << 20);
    memcpy(deep, "{\"a\":", 5);
    heft_scratch_write(folder, "c.json", deep, 1 << 20);
    assert_int_equal(look_up("let $x = json c.json n else 1\na => b\n", folder, NULL, 0, &err), -1);
    assert_true(err.code == HEFT_MALFORMED || err.code == HEFT_LIMIT);
    assert_non_null(strstr(err.file, "c.json"));
    heft_scratch_write(folder, "c.json", deep, 2 << 20);
    assert_int_equal(look_up("let $x = json c.json n else 1\na => b\n", folder, NULL, 0, &err), -1);
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_string_equal(err.text, "2097152 bytes, a json file of rules may have 1048576");
    free(deep);
    heft_scratch_free(folder);
}

static void else_stands_for_what_is_missing(void **state)
{
    char *const folder = heft_scratch_new();
    struct heft_error err;

    (void)state;
    assert_int_equal(look_up("let $x = json c.json n else 4\na => b\n", folder, NULL, 0, &err), 4);
    assert_int_equal(look_up("let $x = json c.json n\na => b\n", folder, NULL, 0, &err), -1);
    assert_non_null(strstr(err.text, "$x has no value: there is no file "));
    heft_scratch_write(folder, "c.json", "{\"m\": 1}", 8);
    assert_int_equal(look_up("let $x = json c.json n else 4\na => b\n", folder, NULL, 0, &err), 4);
    assert_int_equal(look_up("let $x = json c.json m else 4\na => b\n", folder, NULL, 0, &err), 1);
    heft_scratch_write(folder, "c.json", "{\"n\": 1.5}", 10);
    assert_int_equal(look_up("let $x = json c.json n else 4\na => b\n", folder, NULL, 0, &err), -1);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_wins),
        cmocka_unit_test(without_a_value_the_set_is_named),
        cmocka_unit_test(chains_may_be_long),
        cmocka_unit_test(json_is_read_beside_the_input),
        cmocka_unit_test(json_files_are_bounded),
        cmocka_unit_test(else_stands_for_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
