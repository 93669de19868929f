/* test_torch.c: rows and values of pickles in small torch zips; no call in them is executed. Files
 * written by torch are in tests/golden/torch, files that must be refused in tests/reject/torch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "fixture.h"
#include "torch_zip.h"

extern const struct heft_format heft_format_torch;

/* A tensor of two floats on storage 0 (16 floats), beginning at the third. */
#define STORAGE                                                                                    \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                                             \
    "0X\3\0\0\0cpuK\20tQ"
#define HOOKS  "ccollections\nOrderedDict\n)R"
#define TENSOR "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE "K\2K\2\x85K\1\x85\x89" HOOKS "tR"
#define KEY(c) "X\1\0\0\0" c

static void open_with(struct fixture *f, const struct heft_limits *limits, const char *pickle,
                      size_t n)
{
    *f = (struct fixture){0};
    torch_zip_of(&f->zip, (struct heft_bytes){(const uint8_t *)pickle, n});
    open_bytes(f, &heft_format_torch, zip_bytes(f), limits);
}

#define OPEN(f, pickle)                                                                            \
    do {                                                                                           \
        open_with(f, NULL, "\x80\2" pickle ".", sizeof("\x80\2" pickle ".") - 1);                  \
        if (!(f)->opened)                                                                          \
            fail_msg("%s", (f)->err.text);                                                         \
    } while (0)

static void expect_row(const struct fixture *f, size_t index, const char *name, uint64_t offset)
{
    assert_true(index < f->model.n_rows);
    assert_string_equal(f->model.rows[index].name.p, name);
    assert_int_equal(f->model.rows[index].offset, offset);
}

static void a_tensor_at_the_root_has_a_name(void **state)
{
    struct fixture f;

    (void)state;
    OPEN(&f, TENSOR);
    assert_int_equal(f.model.n_rows, 1);
    expect_row(&f, 0, "tensor", 8);
    assert_null(f.model.values);
    assert_string_equal(f.model.format, "torch");
    close_fixture(&f);
}

static void names_are_joined_with_dots(void **state)
{
    struct fixture f;

    (void)state;
    OPEN(&f, "}(" KEY("a") "](K\1" TENSOR "e" KEY("b") "}K\7" TENSOR "s" KEY("c") "Nu");
    assert_int_equal(f.model.n_rows, 2);
    expect_row(&f, 0, "a.1", 8);
    expect_row(&f, 1, "b.7", 8);
    assert_int_equal(f.model.rows[0].storage, f.model.rows[1].storage);
    close_fixture(&f);
}

/* Values omit dictionaries that contain only tensors; lists keep the positions of their items. */
static void values_leave_tensors_out(void **state)
{
    struct fixture f;
    const struct heft_value *list;

    (void)state;
    OPEN(&f, "}(" KEY("a") "](K\1" TENSOR "e" KEY("b") "}K\7" TENSOR "s" KEY("c") "Nu");
    assert_int_equal(f.model.values->kind, HEFT_VALUE_DICT);
    assert_null(child(f.model.values, "b"));
    assert_int_equal(child(f.model.values, "c")->kind, HEFT_VALUE_NULL);
    list = child(f.model.values, "a");
    assert_int_equal(list->kind, HEFT_VALUE_LIST);
    assert_int_equal(child(list, "0")->as.integer, 1);
    assert_int_equal(child(list, "1")->kind, HEFT_VALUE_TENSOR);
    assert_string_equal(child(list, "1")->text, "a.1");
    close_fixture(&f);
}

static void keys_read_as_python_prints_them(void **state)
{
    static const char *const keys[] = {"-3",        "True",          "None",     "2.5",
                                       "1e-05",     "1e+16",         "(1, 'a')", "(1,)",
                                       "b'\\x00a'", "torch.float32", "cuda:1"};
    struct fixture f;

    (void)state;
    OPEN(&f, "}(J\xfd\xff\xff\xffN\x88NNNG\x40\x04\0\0\0\0\0\0NG\x3e\xe4\xf8\xb5\x88\xe3\x68\xf1N"
             "G\x43\x41\xc3\x79\x37\xe0\x80\0NK\1X\1\0\0\0a\x86NK\1\x85NC\2\0aN"
             "ctorch\nfloat32\nNctorch\ndevice\nX\4\0\0\0cudaK\1\x86RNu");
    for (size_t i = 0; i < HEFT_COUNT(keys); i++)
        if (!child(f.model.values, keys[i]))
            fail_msg("no key %s", keys[i]);
    close_fixture(&f);
}

static void the_later_of_two_equal_keys_wins(void **state)
{
    struct fixture f;

    (void)state;
    OPEN(&f, "}(" KEY("a") "K\1K\1K\2" KEY("a") "K\3\x88K\4u");
    assert_int_equal(child(f.model.values, "a")->as.integer, 3);
    assert_int_equal(child(f.model.values, "1")->as.integer, 4); /* True == 1 */
    assert_null(child(f.model.values, "True"));
    close_fixture(&f);
}

static void unknown_objects_stay_walkable(void **state)
{
    struct fixture f;
    const struct heft_value *object;

    (void)state;
    OPEN(&f, "}" KEY("x") "cmy.module\nThing\nK\5\x85R}(" KEY("w") TENSOR KEY("n") "K\2ubs");
    expect_row(&f, 0, "x.w", 8);
    object = child(f.model.values, "x");
    assert_int_equal(object->kind, HEFT_VALUE_OPAQUE);
    assert_string_equal(object->type_name, "my.module.Thing");
    assert_int_equal(child(child(object, "args"), "0")->as.integer, 5);
    assert_int_equal(child(object, "n")->as.integer, 2);
    close_fixture(&f);
}

static void a_cycle_terminates(void **state)
{
    struct fixture f;

    (void)state;
    OPEN(&f, "]q\0h\0a");
    assert_int_equal(child(f.model.values, "0")->kind, HEFT_VALUE_OPAQUE);
    assert_string_equal(child(f.model.values, "0")->type_name, "cycle");
    close_fixture(&f);
}

/* Lists of ten references, nested nine deep: 200 bytes of pickle for 10^9 values. */
static void shared_values_count_each_time(void **state)
{
    const struct heft_limits limits = {.size = sizeof limits, .expansion = 1000};
    char pickle[256] = "\x80\2]q\0";
    size_t n = 5;
    struct fixture f;

    (void)state;
    for (char i = 0; i < 9; i++) {
        memcpy(pickle + n, "0](", 3);
        n += 3;
        for (int k = 0; k < 10; k++) {
            pickle[n++] = 'h';
            pickle[n++] = i;
        }
        memcpy(pickle + n, "eq", 2);
        n += 2;
        pickle[n++] = (char)(i + 1);
    }
    pickle[n++] = '.';
    open_with(&f, &limits, pickle, n);
    assert_false(f.opened);
    assert_int_equal(f.err.code, HEFT_LIMIT);
    close_fixture(&f);
}

static void errors_name_the_tensor_and_the_offset(void **state)
{
    static const char pickle[] = "\x80\2}" KEY("w") "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE
                                                    "K\2K\x20\x85K\1\x85\x89" HOOKS "tRs.";
    struct fixture f;

    (void)state;
    open_with(&f, NULL, pickle, sizeof pickle - 1);
    assert_false(f.opened);
    assert_int_equal(f.err.code, HEFT_MALFORMED);
    assert_int_equal(f.err.offset, TORCH_ZIP_PICKLE + sizeof pickle - 1 - 3);
    assert_non_null(strstr(f.err.text, "tensor w: "));
    close_fixture(&f);
}

static void the_whole_file_is_claimed(void **state)
{
    struct fixture f;
    struct heft_arena mem = {0};
    const struct heft_segment *segments;
    size_t count;

    (void)state;
    OPEN(&f, TENSOR);
    assert_true(heft_model_map(&f.model, &mem, &segments, &count, &f.err));
    for (size_t i = 0; i < count; i++)
        assert_true(segments[i].claimed);
    heft_arena_release(&mem);
    close_fixture(&f);
}

static void the_probe_requires_a_pickle_in_a_zip(void **state)
{
    struct fixture f;
    struct heft_probe probe = {0};

    (void)state;
    OPEN(&f, "N");
    probe.head = probe.tail = (struct heft_bytes){(const uint8_t *)f.zip.p, f.zip.n};
    probe.size = f.zip.n;
    assert_int_equal(heft_format_torch.probe(&probe), 90);
    f.zip.p[1] = 'X';
    assert_int_equal(heft_format_torch.probe(&probe), 0);
    probe.head.n = probe.tail.n = 3;
    assert_int_equal(heft_format_torch.probe(&probe), 0);
    close_fixture(&f);
}

/* The n-th allocation fails, for every n until all succeed: HEFT_NOMEM, no crash, no leak. */
static void lack_of_memory_is_an_error(void **state)
{
    static const char pickle[] = "\x80\2}(" KEY("a") "](K\1" TENSOR "e" KEY("b") "}K\7" TENSOR "s"
                                                                                 "K\5NK\5Nu.";
    struct fixture f;

    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        f = (struct fixture){0};
        torch_zip_of(&f.zip, (struct heft_bytes){(const uint8_t *)pickle, sizeof pickle - 1});
        FAIL_ALLOCATION(&fail, open_bytes(&f, &heft_format_torch, zip_bytes(&f), NULL), &f.err);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_at_the_root_has_a_name),
        cmocka_unit_test(names_are_joined_with_dots),
        cmocka_unit_test(values_leave_tensors_out),
        cmocka_unit_test(keys_read_as_python_prints_them),
        cmocka_unit_test(the_later_of_two_equal_keys_wins),
        cmocka_unit_test(unknown_objects_stay_walkable),
        cmocka_unit_test(a_cycle_terminates),
        cmocka_unit_test(shared_values_count_each_time),
        cmocka_unit_test(errors_name_the_tensor_and_the_offset),
        cmocka_unit_test(the_whole_file_is_claimed),
        cmocka_unit_test(the_probe_requires_a_pickle_in_a_zip),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
