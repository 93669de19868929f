/* test_gguf_names.c: names of the files of a split set, and of those that look like them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/gguf/gguf_parts.h"

static void names_are_parsed(void **state)
{
    struct heft_str prefix;
    uint32_t number, count;

    (void)state;
    assert_true(
        heft_gguf_split_parse(HEFT_STR("d/m-Q4_K-00002-of-00003.gguf"), &prefix, &number, &count));
    assert_true(heft_str_is(prefix, "d/m-Q4_K"));
    assert_int_equal(number, 2);
    assert_int_equal(count, 3);
    assert_true(heft_gguf_split_parse(HEFT_STR("-00001-of-99999.gguf"), &prefix, &number, &count));
    assert_int_equal(prefix.n, 0);
    assert_int_equal(count, 99999);
}

static void other_names_are_none(void **state)
{
    static const char *const names[] = {
        "",
        ".gguf",
        "m.gguf",
        "m-00001-of-00003.safetensors",
        "m-0001-of-0003.gguf",
        "m-00000-of-00003.gguf",
        "m-00004-of-00003.gguf",
        "m-0000a-of-00003.gguf",
        "m_00001-of-00003.gguf",
        "m-00001-of-00003.gguf.part",
        "00001-of-00003.gguf",
    };
    struct heft_str prefix;
    uint32_t number, count;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        assert_false(heft_gguf_split_parse(heft_str_of(names[i]), &prefix, &number, &count));
}

static void written_names_are_parsed(void **state)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    const char *const name =
        heft_gguf_split_name(&mem, HEFT_STR("m-00001-of-00002"), 7, 65535, &err);
    struct heft_str prefix;
    uint32_t number, count;

    (void)state;
    assert_string_equal(name, "m-00001-of-00002-00007-of-65535.gguf");
    assert_true(heft_gguf_split_parse(heft_str_of(name), &prefix, &number, &count));
    assert_true(heft_str_is(prefix, "m-00001-of-00002"));
    assert_int_equal(number, 7);
    heft_arena_release(&mem);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_parsed),
        cmocka_unit_test(other_names_are_none),
        cmocka_unit_test(written_names_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
