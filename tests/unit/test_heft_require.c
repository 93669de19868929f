/* test_heft_require.c: a tensor that must exist: found, similar names, and why there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heft/heft.h"

#define GOLDEN HEFT_TESTS "/golden/"

static struct heft_error err;

static void expect_refused(const struct heft_checkpoint *c, const char *name, const char *text)
{
    size_t index = 77;

    assert_false(heft_tensor_require(c, name, strlen(name), &index, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, text);
    assert_int_equal(index, 77);
    err = (struct heft_error){0};
}

static void similar_names(void **state)
{
    struct heft_checkpoint *const c = heft_open(GOLDEN "safetensors/tied.safetensors", NULL, &err);
    size_t index;

    (void)state;
    assert_non_null(c);
    assert_true(heft_tensor_require(c, "norm.weight", 11, &index, &err));
    assert_true(heft_tensor_require(c, "lm_head.weight", 14, &index, &err)); /* a tied name */
    expect_refused(c, "norm.wieght", "there is no tensor norm.wieght; did you mean norm.weight?");
    expect_refused(c, "weight",
                   "there is no tensor weight; did you mean embed.weight, norm.weight?");
    expect_refused(c, "nothing", "there is no tensor nothing");
    expect_refused(c, "", "there is no tensor ");
    expect_refused(c, "a\nb", "there is no tensor a\\nb");
    heft_close(c);
}

static void edit_distances(void **state)
{
    (void)state;
    assert_int_equal(heft_edit_distance("kitten", 6, "sitting", 7, 8), 3);
    assert_int_equal(heft_edit_distance("kitten", 6, "sitting", 7, 2), 3);
    assert_int_equal(heft_edit_distance("", 0, "", 0, 1), 0);
    assert_int_equal(heft_edit_distance(NULL, 0, "abc", 3, 5), 3);
    assert_int_equal(heft_edit_distance(NULL, 3, "abc", 3, 5), 6);
    assert_int_equal(heft_edit_distance("a", 1, "b", 1, 9), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(similar_names),
        cmocka_unit_test(edit_distances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
