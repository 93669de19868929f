/* test_format_options.c: options of each format through the public API: valid, invalid, of another
 * format, unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <heft/heft.h>

static struct heft_checkpoint *checkpoint;
static struct heft_error err;

static int setup(void **state)
{
    (void)state;
    checkpoint = heft_open(HEFT_TESTS "/golden/torch/linear.pt", NULL, &err);
    return checkpoint ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    heft_close(checkpoint);
    return 0;
}

static void assert_refused(bool ok, const char *text)
{
    assert_false(ok);
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, text);
    err = (struct heft_error){0};
}

static struct heft_conversion *plan(const char *to, const struct heft_option *given, size_t n,
                                    bool strict)
{
    const struct heft_convert_options how = {.size = sizeof how,
                                             .output = "/none/x",
                                             .to = to,
                                             .format_options = given,
                                             .n_format_options = n,
                                             .strict = strict};

    return heft_convert_plan(checkpoint, &how, &err);
}

/* Expects a plan with this option to succeed, with this note about the option; NULL: without a
 * note. */
static void expect_plan(const char *to, const char *name, const char *value, const char *note)
{
    const struct heft_option given = {name, value};
    struct heft_conversion *const conversion = plan(to, &given, 1, false);
    const size_t n = heft_convert_note_count(conversion);
    const char *told = NULL;

    if (!conversion)
        fail_msg("%s: %s", name, err.text);
    for (size_t i = 0; i < n; i++)
        if (strstr(heft_convert_note(conversion, i), name))
            told = heft_convert_note(conversion, i);
    if (note)
        assert_string_equal(told, note);
    else
        assert_null(told);
    heft_convert_free(conversion);
}

static void expect_no_plan(const char *to, const char *name, const char *value, const char *text)
{
    const struct heft_option given = {name, value};
    struct heft_conversion *const conversion = plan(to, &given, 1, false);

    assert_refused(conversion != NULL, text);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void check_description(const struct heft_format_option *o)
{
    const bool is_number = o->kind == HEFT_OPTION_NUMBER;

    assert_true(o->name[0] != '\0' && o->help && o->help[0] != '\0');
    assert_int_equal(strspn(o->name, "abcdefghijklmnopqrstuvwxyz-"), strlen(o->name));
    assert_true((o->kind == HEFT_OPTION_FLAG) == (o->value == NULL));
    assert_true(!o->choices || o->kind == HEFT_OPTION_TEXT);
    assert_true(is_number ? o->least <= o->most : o->least == 0 && o->most == 0);
}

/* Checks that an option accepts the values that the table of its format lists, and no others. */
static void check_values(const char *format, const struct heft_format_option *o)
{
    struct heft_option given = {o->name, NULL};
    char text[200];

    assert_true(heft_format_option_check(format, &given, &err) == (o->kind == HEFT_OPTION_FLAG));
    err = (struct heft_error){0};
    given.value = "\x01";
    assert_true(heft_format_option_check(format, &given, &err) ==
                (o->kind == HEFT_OPTION_TEXT && !o->choices));
    err = (struct heft_error){0};
    given.value = text;
    for (const char *p = o->choices; p && *p; p += strspn(p, "|")) {
        const size_t n = strcspn(p, "|");

        snprintf(text, sizeof text, "%.*s", (int)n, p);
        assert_true(heft_format_option_check(format, &given, &err));
        text[n - 1] = '\0';
        assert_false(heft_format_option_check(format, &given, &err));
        err = (struct heft_error){0};
        p += n;
    }
    if (o->kind != HEFT_OPTION_NUMBER)
        return;
    for (int i = -1; i <= 1; i += 2) { /* the limits of a range, and one beyond each */
        const uint64_t end = i < 0 ? o->least : o->most;

        snprintf(text, sizeof text, "%llu", (unsigned long long)end);
        assert_true(heft_format_option_check(format, &given, &err));
        snprintf(text, sizeof text, "%llu", (unsigned long long)end + (unsigned long long)i);
        assert_false(heft_format_option_check(format, &given, &err));
        assert_int_equal(err.code, HEFT_USAGE);
        err = (struct heft_error){0};
    }
}

static void option_tables_list_the_accepted_values(void **state)
{
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);
    struct heft_format_option other = HEFT_INIT(struct heft_format_option);
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);
    size_t n = 0;

    (void)state;
    for (size_t f = 0; heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, &o); i++, n++) {
            assert_true(o.use == HEFT_OPTION_WRITES ? format.writes : format.reads);
            check_description(&o);
            check_values(format.name, &o);
            for (size_t k = 0; k < i; k++) {
                assert_true(heft_format_option_at(format.name, k, &other));
                assert_string_not_equal(o.name, other.name);
            }
        }
    assert_int_equal(n, 27);
    assert_false(heft_format_option_at("tf", SIZE_MAX, &o));
    assert_true(heft_format_option_at("npz", 0, &o));
    assert_string_equal(o.name, "alignment");
    assert_false(heft_format_option_at("npz", 1, &o));
    assert_false(heft_format_option_at("none", 0, &o));
    assert_true(heft_format_option_at("tensorflow", 0, &o)); /* a synonym of tf */
    assert_string_equal(o.name, "shards");
}

static void check_tells_why(void **state)
{
    struct heft_option given = {"shards", "2"};

    (void)state;
    assert_true(heft_format_option_check("tf", &given, &err));
    assert_refused(heft_format_option_check("ptd", &given, &err),
                   "option shards: ptd does not take it, but tf does");
    given.name = "shard";
    assert_refused(heft_format_option_check("tf", &given, &err),
                   "no format has an option \"shard\" for writing; tf takes shards, keep-shards, "
                   "names, into, keep-missing");
    assert_refused(heft_format_option_check("tf-bundle", &given, &err),
                   "no format has an option \"shard\" for reading; tf-bundle takes step, names");
    given.name = "step";
    assert_true(heft_format_option_check("tf-bundle", &given, &err));
    assert_refused(heft_format_option_check("npz", &given, &err),
                   "option step: npz does not take it, but tf-bundle does");
    given.name = "shard";
    assert_refused(heft_format_option_check("npz", &given, &err),
                   "no format has an option \"shard\" for writing; npz takes alignment");
    assert_false(heft_format_option_check("fifth", &given, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "\"fifth\""));
    err = (struct heft_error){0};
}

/* ---- conversions ----------------------------------------------------------------------------- */

static void options_of_torch(void **state)
{
    (void)state;
    expect_plan("torch", "torch-layout", "1.6", NULL);
    expect_no_plan("torch", "torch-layout", "1.5",
                   "option torch-layout 1.5: allowed is 1.6|2.1|2.8");
    expect_no_plan("torch", "torch-layout", "", "option torch-layout : allowed is 1.6|2.1|2.8");
    expect_no_plan("torch", "torch-layout", NULL, "option torch-layout wants a value: 1.6|2.1|2.8");
    expect_no_plan("torch-legacy", "torch-layout", "1.6",
                   "option torch-layout: torch-legacy does not take it, but torch does");
}

static void options_of_ptd(void **state)
{
    (void)state;
    expect_plan("ptd", "segment-alignment", "16", NULL);
    expect_plan("ptd", "segment-alignment", "1Ki", NULL);
    expect_no_plan("ptd", "segment-alignment", "0",
                   "option segment-alignment 0: a number from 1 to 1048576 is allowed");
    expect_no_plan("ptd", "segment-alignment", "1048577",
                   "option segment-alignment 1048577: a number from 1 to 1048576 is allowed");
    expect_no_plan("ptd", "segment-alignment", NULL, "option segment-alignment wants a value: N");
    expect_no_plan("npz", "segment-alignment", "16",
                   "option segment-alignment: npz does not take it, but ptd does");
    expect_plan("ptd", "drop-values", NULL, NULL);
    expect_no_plan("ptd", "drop-values", "yes", "option drop-values takes no value");
    expect_plan("npz", "drop-values", NULL,
                "option drop-values: npz does not take it, but ptd does");
}

static void alignment(void **state)
{
    (void)state;
    expect_plan("safetensors", "alignment", "4096", NULL);
    expect_plan("safetensors", "alignment", "1Mi", NULL);
    expect_plan("npz", "alignment", "64", NULL);
    expect_no_plan("safetensors", "alignment", "24",
                   "option alignment 24: expected a power of two");
    expect_no_plan("npz", "alignment", "24", "option alignment 24: expected a power of two");
    expect_no_plan("safetensors", "alignment", "4",
                   "option alignment 4: a number from 8 to 1048576 is allowed");
    expect_no_plan("npz", "alignment", "65536",
                   "option alignment 65536: a number from 8 to 32768 is allowed");
    expect_no_plan("torch", "alignment", "64",
                   "option alignment: torch does not take it, but safetensors does");
}

static void options_of_tf(void **state)
{
    (void)state;
    expect_plan("tf", "shards", "2", NULL);
    expect_no_plan("tf", "shards", "65537",
                   "option shards 65537: a number from 1 to 65536 is allowed");
    expect_plan("npz", "shards", "2", "option shards: npz does not take it, but tf does");
    expect_plan("tf", "keep-shards", NULL, NULL);
    expect_no_plan("tf", "keep-shards", "2", "option keep-shards takes no value");
    expect_plan("npz", "keep-shards", NULL,
                "option keep-shards: npz does not take it, but tf does");
    expect_plan("tf", "names", "objects", NULL);
    expect_no_plan("tf", "names", "key", "option names key: allowed is keys|objects");
    expect_plan("npz", "names", "objects", "option names: npz does not take it, but tf does");
    expect_no_plan("npz", "into", "m", "option into: npz does not take it, but ptd does");
    expect_no_plan("tf", "into", NULL, "option into wants a value: MODEL");
    expect_plan("tf", "keep-missing", NULL, NULL);
    expect_plan("npz", "keep-missing", NULL,
                "option keep-missing: npz does not take it, but ptd does");
}

static void unknown_options(void **state)
{
    (void)state;
    expect_no_plan("npz", "drop_values", NULL,
                   "no format has an option \"drop_values\" for writing; npz takes alignment");
    expect_no_plan("ptd", "layout", "1.6",
                   "no format has an option \"layout\" for writing; ptd takes segment-alignment, "
                   "drop-values, into, base, keep-missing");
    expect_no_plan("torch", "", NULL,
                   "no format has an option \"\" for writing; torch takes torch-layout");
    expect_no_plan("h5", "step", "1",
                   "no format has an option \"step\" for writing; h5 takes none");
}

/* With `strict`, a note of this kind is an error. */
static void strict_turns_notes_into_errors(void **state)
{
    const struct heft_option shards = {"shards", "2"}, names = {"names", "keys"};

    (void)state;
    assert_refused(plan("npz", &shards, 1, true) != NULL,
                   "option shards: npz does not take it, but tf does");
    assert_refused(plan("npz", &names, 1, true) != NULL,
                   "option names: npz does not take it, but tf does");
}

static void the_last_of_two_equal_options_applies(void **state)
{
    const struct heft_option given[] = {{"shards", "1"}, {"shards", "3"}};
    struct heft_conversion *conversion = plan("tf", given, 2, false);
    struct heft_planned planned = HEFT_INIT(struct heft_planned);

    (void)state;
    assert_non_null(conversion);
    heft_convert_summary(conversion, &planned);
    assert_int_equal(planned.files, 4); /* shards and index */
    heft_convert_free(conversion);
}

/* Without `to`, the option "into" selects TensorFlow, whatever the name of the output, unless the format
 * of the output has this option, too. */
static void into_implies_its_format(void **state)
{
    const struct heft_option given = {"into", "/none"};
    struct heft_convert_options how = {.size = sizeof how,
                                       .output = "/none/x.npz",
                                       .format_options = &given,
                                       .n_format_options = 1};

    (void)state;
    assert_null(heft_convert_plan(checkpoint, &how, &err));
    assert_non_null(strstr(err.text, "saved_model.pb"));
    err = (struct heft_error){0};
    how.output = "/none/x.ptd";
    assert_null(heft_convert_plan(checkpoint, &how, &err));
    assert_string_equal(err.text, "cannot be opened: No such file or directory");
    err = (struct heft_error){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option_tables_list_the_accepted_values),
        cmocka_unit_test(check_tells_why),
        cmocka_unit_test(options_of_torch),
        cmocka_unit_test(options_of_ptd),
        cmocka_unit_test(alignment),
        cmocka_unit_test(options_of_tf),
        cmocka_unit_test(unknown_options),
        cmocka_unit_test(strict_turns_notes_into_errors),
        cmocka_unit_test(the_last_of_two_equal_options_applies),
        cmocka_unit_test(into_implies_its_format),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
