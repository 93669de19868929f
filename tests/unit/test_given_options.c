/* test_given_options.c: options of formats for reading through the public API: validated, applied, and
 * told if they have no effect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <heft/heft.h>

#include "skip_because.h"

#define GOLDEN  HEFT_TESTS "/golden"
#define TORCH   GOLDEN "/torch/linear.pt"
#define OBJECTS GOLDEN "/tf-bundle/objects"

static struct heft_error err;

static struct heft_checkpoint *open_with(const char *path, const struct heft_option *given,
                                         size_t n)
{
    const struct heft_open_options how = {.size = sizeof how, .options = given, .n_options = n};

    return heft_open(path, &how, &err);
}

static void expect_refused(const char *path, const char *name, const char *value, const char *text)
{
    const struct heft_option given = {name, value};

    assert_null(open_with(path, &given, 1));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, text);
    err = (struct heft_error){0};
}

/* Options are validated before the path is opened. */
static void invalid_options_are_refused(void **state)
{
    static const char none[] = "/none";

    (void)state;
    expect_refused(none, "stepp", "1",
                   "no format has an option \"stepp\" for reading; there are optimizer, step, "
                   "names, constants");
    expect_refused(none, "shards", "2",
                   "no format has an option \"shards\" for reading; there are optimizer, step, "
                   "names, constants");
    expect_refused(none, "names", "key", "option names key: allowed is keys|objects");
    expect_refused(none, "names", NULL, "option names wants a value: keys|objects");
    expect_refused(none, "constants", "yes", "option constants takes no value");
    expect_refused(none, "step", NULL, "option step wants a value: N");
}

/* Several formats have the same option; it is validated by the table of the first. */
static void formats_describe_a_shared_option_alike(void **state)
{
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);
    struct heft_format_info other = HEFT_INIT(struct heft_format_info);
    struct heft_format_option a = HEFT_INIT(struct heft_format_option);
    struct heft_format_option b = HEFT_INIT(struct heft_format_option);
    size_t shared = 0;

    (void)state;
    for (size_t f = 0; heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, &a); i++)
            for (size_t g = 0; g < f && heft_format_at(g, &other); g++)
                for (size_t k = 0; heft_format_option_at(other.name, k, &b); k++) {
                    if (a.use != HEFT_OPTION_READS || b.use != a.use || strcmp(a.name, b.name) != 0)
                        continue;
                    shared++;
                    assert_int_equal(a.kind, b.kind);
                    assert_int_equal(a.elsewhere, b.elsewhere);
                    assert_true(!a.value == !b.value && !a.choices == !b.choices);
                    assert_true(!a.choices || strcmp(a.choices, b.choices) == 0);
                }
    assert_true(shared >= 3);
}

static void idle_options_are_listed_once(void **state)
{
    const struct heft_option given[] = {
        {"names", "keys"}, {"constants", NULL}, {"names", "objects"}};
    struct heft_checkpoint *c = open_with(TORCH, given, 3);

    (void)state;
    assert_non_null(c);
    assert_string_equal(heft_idle_option_at(c, 0), "names");
    assert_string_equal(heft_idle_option_at(c, 1), "constants");
    assert_null(heft_idle_option_at(c, 2));
    assert_null(heft_idle_option_at(c, SIZE_MAX));
    heft_close(c);
    c = open_with(OBJECTS, given, 3);
    assert_non_null(c);
    assert_string_equal(heft_idle_option_at(c, 0), "constants");
    assert_null(heft_idle_option_at(c, 1));
    heft_close(c);
    c = heft_open(TORCH, NULL, &err);
    assert_null(heft_idle_option_at(c, 0));
    heft_close(c);
}

/* Whether the checkpoint has that tensor. The caller's options are overwritten after opening. */
static bool has_tensor(const char *path, const struct heft_option *given, size_t n,
                       const char *name)
{
    char texts[4][20];
    struct heft_option copies[2];
    struct heft_checkpoint *c;
    size_t index;

    assert_true(n <= 2);
    for (size_t i = 0; i < n; i++) {
        strcpy(texts[2 * i], given[i].name);
        strcpy(texts[2 * i + 1], given[i].value);
        copies[i] = (struct heft_option){texts[2 * i], texts[2 * i + 1]};
    }
    c = open_with(path, copies, n);
    memset(texts, 'x', sizeof texts);
    assert_non_null(c);
    assert_null(heft_idle_option_at(c, 0));
    const bool found = heft_tensor_find(c, name, strlen(name), &index);
    heft_close(c);
    return found;
}

static void the_last_of_two_equal_options_applies(void **state)
{
    const struct heft_option given[] = {{"names", "keys"}, {"names", "objects"}, {"names", "keys"}};

    (void)state;
    assert_true(has_tensor(OBJECTS, given, 2, "adam/iteration"));
    assert_false(has_tensor(OBJECTS, given + 1, 2, "adam/iteration"));
}

static void a_step_selects_a_checkpoint(void **state)
{
    const struct heft_option given[] = {{"step", "10"}, {"step", "11"}};
    struct heft_checkpoint *c = open_with(OBJECTS, given, 1);
    struct heft_file file = HEFT_INIT(struct heft_file);

    (void)state;
    assert_non_null(c);
    assert_null(heft_idle_option_at(c, 0));
    assert_true(heft_file_at(c, 0, &file));
    assert_string_equal(file.path, OBJECTS "/ckpt-10.index");
    heft_close(c);
    expect_refused(OBJECTS, "step", "11",
                   "no checkpoint in this directory has a name that ends with -11");
    expect_refused(TORCH, "step", "11",
                   "a step can only be chosen in a directory of TensorFlow checkpoints, or through "
                   "its checkpoint file");
}

/* An option of reading that had an effect needs no note in a conversion to a target without it. */
static void used_options_are_not_noted_by_a_conversion(void **state)
{
    const struct heft_option names = {"names", "objects"};
    const struct heft_convert_options how = {.size = sizeof how,
                                             .output = "/none/x",
                                             .to = "safetensors",
                                             .format_options = &names,
                                             .n_format_options = 1,
                                             .strict = true};
    struct heft_checkpoint *c = open_with(GOLDEN "/h5/model.keras", &names, 1);
    struct heft_conversion *conversion;

    (void)state;
    needs_hdf5();
    assert_non_null(c);
    conversion = heft_convert_plan(c, &how, &err);
    if (!conversion)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < heft_convert_note_count(conversion); i++)
        assert_null(strstr(heft_convert_note(conversion, i), "option names"));
    heft_convert_free(conversion);
    heft_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_options_are_refused),
        cmocka_unit_test(formats_describe_a_shared_option_alike),
        cmocka_unit_test(idle_options_are_listed_once),
        cmocka_unit_test(the_last_of_two_equal_options_applies),
        cmocka_unit_test(a_step_selects_a_checkpoint),
        cmocka_unit_test(used_options_are_not_noted_by_a_conversion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
