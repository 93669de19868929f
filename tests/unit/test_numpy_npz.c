/* test_numpy_npz.c: .npz files: dtypes of headers, limits, failed allocations, and inflating into
 * the output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "core/convert.h"
#include "format/formats.h"
#include "core/reader.h"
#include "core/registry.h"
#include "scratch.h"
#include "wire/npy.h"

#define GOLDEN_NPY HEFT_TESTS "/golden/npy/"

/* ---- types ------------------------------------------------------------------------------- */

static void test_types(void **state)
{
    static const struct {
        const char *code;
        uint8_t kind, dtype;
        bool is_big;
        uint64_t each;
    } cases[] = {
        {"<f4", HEFT_NPY_NUMBERS, HEFT_F32, false, 4},
        {">c16", HEFT_NPY_NUMBERS, HEFT_C128, true, 16},
        {"|b1", HEFT_NPY_NUMBERS, HEFT_BOOL, false, 1},
        {"b", HEFT_NPY_NUMBERS, HEFT_I8, false, 1},
        {"?", HEFT_NPY_NUMBERS, HEFT_BOOL, false, 1},
        {"=u8", HEFT_NPY_NUMBERS, HEFT_U64, false, 8},
        {"float16", HEFT_NPY_NUMBERS, HEFT_F16, false, 2},
        {"single", HEFT_NPY_NUMBERS, HEFT_F32, false, 4},
        {"ulonglong", HEFT_NPY_NUMBERS, HEFT_U64, false, 8},
        {"cdouble", HEFT_NPY_NUMBERS, HEFT_C128, false, 16},
        {"bool_", HEFT_NPY_NUMBERS, HEFT_BOOL, false, 1},
        {"longdouble", HEFT_NPY_LONG, 0, false, 16},
        {"<U5", HEFT_NPY_TEXTS, 0, false, 20},
        {">U", HEFT_NPY_TEXTS, 0, true, 0},
        {"|S3", HEFT_NPY_BYTES, 0, false, 3},
        {"|V2", HEFT_NPY_VOIDS, 0, false, 2},
        {"<M8[ns]", HEFT_NPY_DATES, 0, false, 8},
        {">m8", HEFT_NPY_DATES, 0, true, 8},
        {"|O", HEFT_NPY_OBJECTS, 0, false, 0},
        {"<f16", HEFT_NPY_LONG, 0, false, 16},
        {"<f4,<f4", HEFT_NPY_RECORDS, 0, false, 0},
        {"bfloat16", HEFT_NPY_UNKNOWN, 0, false, 0},
        {"<f1", HEFT_NPY_UNKNOWN, 0, false, 0},
        {"<M8[", HEFT_NPY_UNKNOWN, 0, false, 0},
        {"<U9999999999", HEFT_NPY_UNKNOWN, 0, false, 0},
        {"", HEFT_NPY_UNKNOWN, 0, false, 0},
        {"<", HEFT_NPY_UNKNOWN, 0, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        const struct heft_npy_type type = heft_npy_type_of(heft_str_of(cases[i].code));

        assert_int_equal(type.kind, cases[i].kind);
        assert_int_equal(type.dtype, cases[i].dtype);
        assert_int_equal(type.each, cases[i].each);
        if (type.kind != HEFT_NPY_UNKNOWN)
            assert_int_equal(type.is_big, cases[i].is_big);
    }
}

/* ---- files ------------------------------------------------------------------------------- */

struct fixture {
    struct heft_model model;
    struct heft_conversion conversion;
    struct heft_error err;
};

static bool open_file(struct fixture *f, const char *path, const struct heft_limits *limits)
{
    *f = (struct fixture){0};
    heft_model_init(&f->model, limits, &heft_formats);
    return heft_registry_open(&f->model, &path, 1, NULL, &f->err) &&
           heft_model_validate(&f->model, &f->err);
}

static void close_file(struct fixture *f)
{
    heft_conversion_release(&f->conversion);
    heft_model_release(&f->model);
}

static bool convert(struct fixture *f, const char *output, const char *to)
{
    const struct heft_convert_options options = {.size = sizeof options,
                                                 .output = output,
                                                 .to = to,
                                                 .overwrite = true,
                                                 .no_sync = true,
                                                 .threads = 2};
    uint64_t overflowed;

    return heft_conversion_plan(&f->conversion, &f->model, &options, &f->err) &&
           heft_conversion_run(&f->conversion, &overflowed, &f->err) &&
           heft_exec_compare(&f->conversion.plan, &f->conversion.exec, &f->err);
}

static void test_limits(void **state)
{
    const struct heft_limits few = {.size = sizeof few, .expansion = 6};
    struct fixture f;

    (void)state;
    assert_true(open_file(&f, GOLDEN_NPY "texts.npz", &few));
    /* lists and texts of 7, 7, 2, 3, 1 and 1 elements: three exceed the limit */
    assert_int_equal(f.model.n_unreadable, 3);
    assert_string_equal(f.model.unreadable[0].name.p, "texts");
    assert_non_null(strstr(f.model.unreadable[0].reason, "beyond what is read into memory"));
    close_file(&f);
    assert_true(open_file(&f, GOLDEN_NPY "others.npz", &few));
    assert_int_equal(f.model.n_blobs, 2); /* two blobs, the first with a description */
    assert_int_equal(f.model.n_notes, 1);
    assert_non_null(strstr(f.model.notes[0].text, "types and shapes"));
    close_file(&f);
}

/* Arrays inflated directly into the output equal those inflated through the spool (here: by a
 * cast). */
static void test_inflating(void **state)
{
    struct fixture f, g;
    struct heft_reader reader, other;
    uint8_t *a = malloc(80000), *b = malloc(80000);
    char *folder = heft_scratch_new(), *out = heft_scratch_path(folder, "out.npz");

    (void)state;
    assert_true(open_file(&f, GOLDEN_NPY "inflated.npz", NULL));
    assert_true(convert(&f, out, "npz"));
    assert_true(open_file(&g, out, NULL));
    assert_true(heft_reader_init(&reader, &f.model, false, &f.err));
    assert_true(heft_reader_init(&other, &g.model, false, &g.err));
    assert_int_equal(g.model.n_rows, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct heft_row *row = &f.model.rows[i], *copy = &g.model.rows[i];

        assert_int_equal(row->bytes, copy->bytes);
        assert_true(heft_reader_row(&reader, row, 0, a, (size_t)row->bytes, &f.err));
        assert_true(heft_reader_row(&other, copy, 0, b, (size_t)row->bytes, &g.err));
        assert_memory_equal(a, b, (size_t)row->bytes);
    }
    assert_int_equal(a[6], 6); /* the second array, of 70000 elements */
    assert_int_equal(a[69999], 69999 % 7);
    free(a);
    free(b);
    heft_reader_release(&reader);
    heft_reader_release(&other);
    close_file(&f);
    close_file(&g);
    free(out);
    heft_scratch_free(folder);
}

/* A stream that is malformed in its middle leaves no output; the error names its array. */
static void test_broken_stream(void **state)
{
    char *folder = heft_scratch_new(), *broken = heft_scratch_path(folder, "broken.npz");
    char *out = heft_scratch_path(folder, "out.npz");
    struct fixture f;
    size_t n;
    char *bytes = heft_scratch_read(GOLDEN_NPY, "inflated.npz", &n);

    (void)state;
    assert_non_null(bytes);
    assert_true(open_file(&f, GOLDEN_NPY "inflated.npz", NULL));
    bytes[f.model.storages[1].off + f.model.storages[1].packed - 1] ^= (char)0xFF;
    close_file(&f);
    heft_scratch_write(folder, "broken.npz", bytes, n);
    assert_true(open_file(&f, broken, NULL));
    assert_false(convert(&f, out, "npz"));
    assert_true(f.err.code == HEFT_MALFORMED || f.err.code == HEFT_MISMATCH);
    assert_non_null(strstr(f.err.text, "tensor large"));
    assert_int_equal(heft_scratch_count(folder), 1);
    close_file(&f);
    free(bytes);
    free(out);
    free(broken);
    heft_scratch_free(folder);
}

/* ---- lack of memory ---------------------------------------------------------------------- */

static void open_without_memory(const char *path, const char *to)
{
    char *folder = heft_scratch_new(), *out = heft_scratch_path(folder, "out");

    for (struct failures fail = {.most = 5000}; !fail.done;) {
        struct fixture f;

        FAIL_ALLOCATION(&fail, open_file(&f, path, NULL) && (!to || convert(&f, out, to)), &f.err);
        close_file(&f);
    }
    free(out);
    heft_scratch_free(folder);
}

static void test_no_memory(void **state)
{
    (void)state;
    open_without_memory(GOLDEN_NPY "fortran.npy", "npy");
    open_without_memory(GOLDEN_NPY "inflated.npz", "npz");
    open_without_memory(GOLDEN_NPY "deflated.npz", NULL);
    open_without_memory(GOLDEN_NPY "texts.npz", NULL);
    open_without_memory(GOLDEN_NPY "others.npz", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_inflating), cmocka_unit_test(test_broken_stream),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
