/* test_torch_objects.c: modules, tensors in several parts and objects of the standard library in
 * small torch zips. Files written by torch are in tests/golden/torch-objects, files that must be
 * refused in tests/reject/torch-objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "fixture.h"
#include "torch_zip.h"

extern const struct heft_format heft_format_torch;

/* A tensor of two floats on storage 0 (16 floats). */
#define STORAGE                                                                                    \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                                             \
    "0X\3\0\0\0cpuK\20tQ"
#define HOOKS   "ccollections\nOrderedDict\n)R"
#define ARGS    "(" STORAGE "K\0K\2\x85K\1\x85\x89" HOOKS "t"
#define V2      "ctorch._utils\n_rebuild_tensor_v2\n"
#define TENSOR  V2 ARGS "R"
#define KEY(c)  "X\1\0\0\0" c
#define PARAMS  "X\13\0\0\0_parameters"
#define BUFFERS "X\10\0\0\0_buffers"
#define MODULES "X\10\0\0\0_modules"
#define PASSING "X\33\0\0\0_non_persistent_buffers_set"
#define MODULE  "cmy\nNet\n)\x81}("

static void open_pickle(struct fixture *f, const char *pickle, size_t n)
{
    *f = (struct fixture){0};
    torch_zip_of(&f->zip, (struct heft_bytes){(const uint8_t *)pickle, n});
    open_bytes(f, &heft_format_torch, zip_bytes(f), NULL);
    if (!f->opened)
        fail_msg("%s", f->err.text);
}

#define OPEN(f, pickle) open_pickle(f, "\x80\2" pickle ".", sizeof("\x80\2" pickle ".") - 1)

static void expect_rows(const struct fixture *f, const char *const *names, size_t n)
{
    assert_int_equal(f->model.n_rows, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(f->model.rows[i].name.p, names[i]);
}

/* Rows are in the order parameters, buffers, submodules, whatever the order of the attributes; None
 * makes no row. */
static void a_module_is_its_state_dict(void **state)
{
    static const char *const names[] = {"w", "b", "m.w"};
    struct fixture f;

    (void)state;
    OPEN(&f, MODULE MODULES "}(" KEY("m") MODULE PARAMS "}" KEY("w") TENSOR
         "s" MODULES "}ub" KEY("n") "Nu" BUFFERS "}" KEY("b") TENSOR
         "s" PARAMS "}(" KEY("x") "N" KEY("w") TENSOR "u" KEY("t") "\x88ub");
    expect_rows(&f, names, HEFT_COUNT(names));
    assert_int_equal(child(f.model.values, "t")->kind, HEFT_VALUE_BOOL);
    assert_string_equal(child(f.model.values, "m")->type_name, "my.Net");
    close_fixture(&f);
}

/* A tensor in a plain attribute is a value; if it is a parameter too, the value refers to its row.
 */
static void other_tensors_are_values(void **state)
{
    static const char *const names[] = {"w"};
    struct fixture f;

    (void)state;
    OPEN(&f, MODULE KEY("a") TENSOR
         "q\1" KEY("l") "](" TENSOR "q\2h\1e" PASSING "\x8f(" KEY("b") "\x90" BUFFERS "}" KEY("b")
             TENSOR "s" PARAMS "}" KEY("w") "h\2s" MODULES "}ub");
    expect_rows(&f, names, HEFT_COUNT(names));
    assert_string_equal(child(f.model.values, "a")->type_name, "tensor F32 [2]");
    assert_string_equal(child(f.model.values, "b")->type_name, "tensor F32 [2]");
    assert_int_equal(child(child(f.model.values, "l"), "0")->kind, HEFT_VALUE_TENSOR);
    assert_string_equal(child(child(f.model.values, "l"), "0")->text, "w");
    assert_int_equal(f.model.n_notes, 2); /* the other note: checksums are not computed */
    assert_non_null(strstr(f.model.notes[0].text, "3 tensors of modules outside the state dict"));
    close_fixture(&f);
}

static void attributes_of_a_tensor_are_rows_beside_it(void **state)
{
    static const char *const names[] = {"t", "t.s"};
    struct fixture f;

    (void)state;
    OPEN(&f, "}" KEY("t") "ctorch._tensor\n_rebuild_from_type_v2\n(" V2 "cmy\nTensor\n" ARGS
                          "}(" KEY("n") "K\5" KEY("s") TENSOR "utRs");
    expect_rows(&f, names, HEFT_COUNT(names));
    assert_string_equal(child(f.model.values, "t")->type_name, "my.Tensor");
    assert_int_equal(child(child(f.model.values, "t"), "n")->as.integer, 5);
    close_fixture(&f);
}

#define DATE(type, bytes) "cdatetime\n" type "\n" bytes "\x85R"

static void objects_are_texts(void **state)
{
    static const char *const texts[][2] = {{"a", "2024-01-02"},
                                           {"b", "0007-12-31T23:59:59.000255"},
                                           {"c", "23:59:58"},
                                           {"d", "1.50"},
                                           {"e", "-1/3"},
                                           {"f", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
                                           {"g", "00000000-0000-0000-0000-0000000000ff"}};
    struct fixture f;

    (void)state;
    OPEN(&f,
         "}(" KEY("a") DATE("date", "C\4\x07\xe8\1\2") KEY("b") DATE(
             "datetime",
             "C\12\0\7\x8c\x1f\x17\x3b\x3b\0\0\xff") KEY("c") DATE("time", "C\6\x17\x3b\x3a\0\0\0")
             KEY("d") "cdecimal\nDecimal\nX\4\0\0\0"
                      "1.50\x85R" KEY("e") "cfractions\nFraction\nJ\xff\xff\xff\xffK\3\x86R" KEY(
                          "f") "cuuid\nUUID\n)\x81}"
                               "X\3\0\0\0int\x8a\x11\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                               "\xff\xff\xff\xff\xff\0sb" KEY("g") "cuuid\nUUID\n)\x81}"
                                                                   "X\3\0\0\0intK\xffsb" KEY(
                                                                       "h") "cbuiltins\ngetattr\ncm"
                                                                            "y\nColour\nX\3\0\0\0RE"
                                                                            "D\x86Ru");
    for (size_t i = 0; i < HEFT_COUNT(texts); i++)
        assert_string_equal(child(f.model.values, texts[i][0])->text, texts[i][1]);
    assert_string_equal(child(f.model.values, "h")->type_name, "my.Colour.RED");
    close_fixture(&f);
}

/* ---- lack of memory ---------------------------------------------------------------------- */

static struct heft_bytes read_golden(const char *name)
{
    static uint8_t content[1 << 16];
    char path[512];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "%s/golden/torch-objects/%s", HEFT_TESTS, name);
    file = fopen(path, "rb");
    if (!file)
        fail_msg("no file %s", path);
    n = fread(content, 1, sizeof content, file);
    fclose(file);
    assert_true(n > 0 && n < sizeof content);
    return (struct heft_bytes){content, n};
}

/* The n-th allocation fails, for every n until all succeed. */
static void lack_of_memory_is_an_error(void **state)
{
    static const char *const names[] = {"modules.pt", "packed.pt",     "quantized.pt",
                                        "sparse.pt",  "subclasses.pt", "objects.pt"};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        const struct heft_bytes zip = read_golden(names[i]);

        for (struct failures fail = {.most = 2000}; !fail.done;) {
            struct fixture f = {0};

            FAIL_ALLOCATION(&fail, open_bytes(&f, &heft_format_torch, zip, NULL), &f.err);
            close_fixture(&f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_is_its_state_dict),
        cmocka_unit_test(other_tensors_are_values),
        cmocka_unit_test(attributes_of_a_tensor_are_rows_beside_it),
        cmocka_unit_test(objects_are_texts),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
