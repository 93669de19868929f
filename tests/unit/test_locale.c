/* test_locale.c: numbers and messages in a program that has set a locale other than C. The locale,
 * with a decimal comma, is built for this test if the system has its definition. */
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "core/regexes.h"
#include "heft/heft.h"
#include "scratch.h"

static bool set_comma(const char *folder)
{
    char command[600], half[16];

    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >'%s/log' 2>&1",
             folder, folder);
    setenv("LOCPATH", folder, 1);
    if (system(command) == -1 || !setlocale(LC_ALL, "de_DE.UTF-8"))
        return false;
    snprintf(half, sizeof half, "%.1f", 0.5);
    return strcmp(half, "0,5") == 0;
}

struct heard {
    char value[64], effect[64];
    bool is_ended; /* every text must end with a NUL */
};

static bool hear(void *ctx, const struct heft_trace_step *step)
{
    struct heard *h = ctx;

    h->is_ended = h->is_ended && step->value[step->value_len] == 0 &&
                  step->effect[step->effect_len] == 0 && strlen(step->effect) == step->effect_len;
    if (strcmp(step->name, "BINFLOAT") == 0) {
        snprintf(h->value, sizeof h->value, "%s", step->value);
        snprintf(h->effect, sizeof h->effect, "%s", step->effect);
    }
    return true;
}

static void trace_floats(const char *folder)
{
    static const uint8_t pickle[] = "\x80\x02(X\x0f\0\0\0a long long textG?\xe0\0\0\0\0\0\0t.";
    const struct heft_trace_options options = {.size = sizeof options, .format = NULL};
    struct heard heard = {.is_ended = true};
    const struct heft_trace_watcher watcher = {.size = sizeof watcher, .ctx = &heard, .step = hear};
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    struct heft_error err = {0};
    char *path = heft_scratch_path(folder, "half.pkl");

    heft_scratch_write(folder, "half.pkl", pickle, sizeof pickle - 1);
    (void)heft_trace(path, &options, &watcher, &total, &err);
    assert_string_equal(heard.value, "0.5");
    assert_string_equal(heard.effect, "push 0.5");
    assert_true(heard.is_ended);
    free(path);
}

static void check_numbers(void)
{
    static const struct {
        double number;
        const char *text;
    } of[] = {{0.5, "0.5"},
              {0.001, "0.001"},
              {1, "1"},
              {-2.5e-300, "-2.5e-300"},
              {1e22, "1e+22"},
              {0.1 + 0.2, "0.30000000000000004"},
              {DBL_MAX, "1.7976931348623157e+308"},
              {-0.0, "-0"}};
    char out[HEFT_DOUBLE_MAX];

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        assert_int_equal(heft_double_text(of[i].number, out), strlen(of[i].text));
        assert_string_equal(out, of[i].text);
    }
}

static void check_message(void)
{
    struct heft_error err = {0};

    assert_null(heft_open("/nonexistent/x.pt", NULL, &err));
    assert_non_null(strstr(err.text, "No such file"));
}

/* In a single-byte locale "\xC3\xA4" is two characters and matches no letter, as in the C locale.
 */
static void check_regexes(void)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } of[] = {{"^.$", "a", true},         {"^.$", "\xC3\xA4", false},
              {"^..$", "\xC3\xA4", true}, {"^\\w+$", "\xC3\xA4", false},
              {"^\\w+$", "az", true},     {"^[[:alpha:]]", "\xC3\xA4", false}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct heft_str text = {of[i].text, strlen(of[i].text)};
        struct heft_error err = {0};
        struct heft_regex regex;

        assert_true(heft_regex_compile(&regex, of[i].pattern, NULL, &err));
        assert_int_equal(heft_regex_matches(&regex, text), of[i].matches);
        assert_int_equal(heft_regex_find(&regex, text, 0), of[i].matches);
        heft_regex_release(&regex);
    }
}

static void regexes_in_another_locale(void **state)
{
    char *folder = heft_scratch_new();

    (void)state;
    check_regexes();
    if (setlocale(LC_ALL, "C.UTF-8"))
        check_regexes();
    if (set_comma(folder))
        check_regexes();
    setlocale(LC_ALL, "C");
    heft_scratch_free(folder);
}

static void numbers_in_the_c_locale(void **state)
{
    char *folder = heft_scratch_new();

    (void)state;
    check_numbers();
    check_message();
    trace_floats(folder);
    heft_scratch_free(folder);
}

static void numbers_with_a_comma(void **state)
{
    char *folder = heft_scratch_new();

    (void)state;
    if (set_comma(folder)) {
        check_numbers();
        check_message();
        trace_floats(folder);
        setlocale(LC_ALL, "C");
    } else {
        print_message("no locale with a decimal comma can be made here: skipped\n");
    }
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_the_c_locale),
        cmocka_unit_test(numbers_with_a_comma),
        cmocka_unit_test(regexes_in_another_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
