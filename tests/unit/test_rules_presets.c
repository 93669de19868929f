/* test_rules_presets.c: every preset is read, and turned round if it can be; names of rules files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules_show.h"
#include "scratch.h"

/* Presets for one direction. */
static const char *const there_only[] = {"keras-torch", "unwrap"};

static bool is_there_only(const char *name)
{
    for (size_t i = 0; i < HEFT_COUNT(there_only); i++)
        if (strcmp(name, there_only[i]) == 0)
            return true;
    return false;
}

static char *show_program(const struct heft_rules *rules)
{
    struct heft_buf out = {0};

    rules_show(rules, &out);
    heft_buf_char(&out, '\0');
    assert_false(out.failed);
    return out.p;
}

/* All rules but those with => come back when a program is turned round twice. */
static void check_turning(const struct heft_rules *rules)
{
    struct heft_error err = {0};
    const struct heft_rules *const turned = heft_rules_reverse(rules, &err);
    const struct heft_rules *const again = turned ? heft_rules_reverse(turned, &err) : NULL;
    const struct heft_rules *const third = again ? heft_rules_reverse(again, &err) : NULL;
    char *one, *three;

    assert_string_equal(err.text, "");
    assert_non_null(third);
    one = show_program(turned);
    three = show_program(third);
    assert_string_equal(one, three);
    heft_free(one);
    heft_free(three);
}

static void presets_are_read(void **state)
{
    const char *last = "";

    (void)state;
    assert_true(heft_preset_count() >= 13);
    assert_null(heft_preset_at(heft_preset_count()));
    for (size_t i = 0; i < heft_preset_count(); i++) {
        const struct heft_preset *const preset = heft_preset_at(i);
        struct heft_error err = {0};
        struct heft_rules *const rules = heft_rules_open(&heft_disk, preset->name, &err);

        assert_string_equal(err.text, "");
        assert_non_null(rules);
        assert_string_equal(rules->title, preset->title);
        assert_string_equal(rules->file, preset->name);
        assert_true(heft_str_eq(rules->text, preset->text));
        assert_true(strcmp(last, preset->name) < 0);
        assert_true(heft_preset_is_name(preset->name));
        assert_ptr_equal(heft_preset_find(preset->name), preset);
        last = preset->name;
        if (is_there_only(preset->name))
            assert_null(heft_rules_reverse(rules, &err));
        else
            check_turning(rules);
        heft_rules_free(rules);
    }
}

/* A program that turns round if it has a way back, or an error with a line; from a block of its exact size. */
static void try_text(const char *text, size_t n)
{
    char *const copy = malloc(n ? n : 1);
    struct heft_error err = {0};
    struct heft_rules *rules;

    assert_non_null(copy);
    memcpy(copy, text, n);
    rules = heft_rules_parse((struct heft_str){copy, n}, "x.rules", &err);
    if (!rules || !heft_rules_reverse(rules, &err))
        assert_true(err.code == HEFT_USAGE && strncmp(err.text, "x.rules:", 8) == 0);
    heft_rules_free(rules);
    free(copy);
}

/* Each length, and a bit of each byte. */
static void damaged_presets_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < heft_preset_count(); k++) {
        const struct heft_str text = heft_preset_at(k)->text;
        char *const copy = malloc(text.n);

        assert_non_null(copy);
        memcpy(copy, text.p, text.n);
        for (size_t i = 0; i < text.n; i++) {
            const char whole = copy[i];

            try_text(copy, i);
            copy[i] = (char)(whole ^ (1 << i % 8));
            try_text(copy, text.n);
            copy[i] = whole;
        }
        free(copy);
    }
}

static void unknown_presets_are_refused(void **state)
{
    struct heft_error err = {0};

    (void)state;
    assert_null(heft_preset_find("unwrapp"));
    assert_null(heft_rules_open(&heft_disk, "unwrapp", &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text,
                        "rules \"unwrapp\": no preset has this name; similar: unwrap; a rules file "
                        "is named with a '/' or ends in .rules");
    assert_null(heft_rules_open(&heft_disk, "gpt2", &err));
    assert_non_null(strstr(err.text, "similar: gpt2-linear, gpt2-tf;"));
    assert_null(heft_rules_open(&heft_disk, "something-else", &err));
    assert_string_equal(
        err.text, "rules \"something-else\": no preset has this name; a rules file is named with "
                  "a '/' or ends in .rules");
    assert_null(heft_rules_open(&heft_disk, "", &err));
}

static void paths_are_opened(void **state)
{
    char *const folder = heft_scratch_new();
    char *const path = heft_scratch_path(folder, "unwrap");
    char *const missing = heft_scratch_path(folder, "a.rules");
    struct heft_error err = {0};
    struct heft_rules *rules;
    char *large;

    (void)state;
    assert_false(heft_preset_is_name(path));
    assert_false(heft_preset_is_name("a.rules"));
    heft_scratch_write(folder, "unwrap", "rules \"Mine\"\na => b\n", 20);
    rules = heft_rules_open(&heft_disk, path, &err);
    assert_non_null(rules);
    assert_string_equal(rules->title, "Mine");
    assert_string_equal(rules->file, path);
    heft_rules_free(rules);
    assert_null(heft_rules_open(&heft_disk, missing, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_string_equal(err.file, missing);
    large = calloc(1, 40 << 20);
    assert_non_null(large);
    memset(large, '#', 40 << 20);
    heft_scratch_write(folder, "unwrap", large, 40 << 20);
    assert_null(heft_rules_open(&heft_disk, path, &err));
    assert_non_null(strstr(err.text, "unwrap:1: found a file of more than 1048576 bytes"));
    free(large);
    free(missing);
    free(path);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_read),
        cmocka_unit_test(damaged_presets_are_refused),
        cmocka_unit_test(unknown_presets_are_refused),
        cmocka_unit_test(paths_are_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
