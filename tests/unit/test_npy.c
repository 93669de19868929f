/* test_npy.c: headers of .npy files, compared with those of numpy.lib.format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wire/npy.h"

#define DIMS(...)                                                                                  \
    (const uint64_t[])                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void expect_header(const char *descr, unsigned rank, const uint64_t *shape,
                          const char *dictionary, size_t total)
{
    struct heft_buf buf = {0};
    const size_t n = strlen(dictionary);

    heft_npy_header(&buf, descr, rank, shape);
    assert_false(buf.failed);
    assert_int_equal(buf.n, total);
    assert_memory_equal(buf.p, "\x93NUMPY\x01\x00", 8);
    assert_int_equal((uint8_t)buf.p[8] | (uint8_t)buf.p[9] << 8, total - 10);
    assert_memory_equal(buf.p + 10, dictionary, n);
    for (size_t i = 10 + n; i < total - 1; i++)
        assert_int_equal(buf.p[i], ' ');
    assert_int_equal(buf.p[total - 1], '\n');
    heft_buf_release(&buf);
}

static void shapes_are_tuples(void **state)
{
    (void)state;
    expect_header("<f8", 0, NULL, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 128);
    expect_header("|b1", 1, DIMS(3), "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }",
                  128);
    expect_header("<f4", 2, DIMS(2, 3),
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 128);
    expect_header("<i8", 2, DIMS(0, 18446744073709551615u),
                  "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 18446744073709551615), }",
                  128);
}

/* Header sizes, as NumPy writes them. After a first dimension of d digits come 21 - d spaces, so
 * that it can grow in place: a dimension of two digits needs no more bytes than one of one digit.
 * Padding to 64 bytes is added even if the size is a multiple of 64. */
static void room_is_left_for_growth(void **state)
{
    static const struct {
        uint64_t dims[3];
        size_t total;
        const char *shape;
    } cases[] = {
        {{1, 1000000000000000000, 10000000000000000},
         128,
         "1, 1000000000000000000, 10000000000000000"},
        {{10, 1000000000000000000, 10000000000000000},
         128,
         "10, 1000000000000000000, 10000000000000000"},
        {{1, 1000000000000000000, 100000000000000000},
         192,
         "1, 1000000000000000000, 100000000000000000"},
        {{10, 1000000000000000000, 100000000000000000},
         192,
         "10, 1000000000000000000, 100000000000000000"},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        char text[160];

        snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }",
                 cases[i].shape);
        expect_header("<f4", 3, cases[i].dims, text, cases[i].total);
    }
}

static void many_dimensions_fit_one_header(void **state)
{
    uint64_t dims[255];
    struct heft_buf buf = {0};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(dims); i++)
        dims[i] = UINT64_MAX;
    heft_npy_header(&buf, "<f4", HEFT_COUNT(dims), dims);
    assert_int_equal(buf.n % 64, 0);
    assert_int_equal((uint8_t)buf.p[8] | (uint8_t)buf.p[9] << 8, buf.n - 10);
    heft_buf_release(&buf);
}

static void dtypes_that_numpy_lacks_have_no_descr(void **state)
{
    (void)state;
    assert_string_equal(heft_npy_descr(HEFT_F16), "<f2");
    assert_string_equal(heft_npy_descr(HEFT_U8), "|u1");
    assert_string_equal(heft_npy_descr(HEFT_C128), "<c16");
    assert_null(heft_npy_descr(HEFT_BF16));
    assert_null(heft_npy_descr(HEFT_F8_E4M3));
    assert_null(heft_npy_descr(HEFT_F4));
    assert_null(heft_npy_descr(HEFT_C32));
    assert_null(heft_npy_descr(HEFT_DTYPE_COUNT));
}

static void a_header_may_follow_other_bytes(void **state)
{
    struct heft_buf buf = {0};

    (void)state;
    heft_buf_text(&buf, "abc");
    heft_npy_header(&buf, "<f4", 0, NULL);
    assert_int_equal(buf.n, 3 + 128);
    assert_int_equal((uint8_t)buf.p[11], 118);
    heft_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_tuples),
        cmocka_unit_test(room_is_left_for_growth),
        cmocka_unit_test(many_dimensions_fit_one_header),
        cmocka_unit_test(dtypes_that_numpy_lacks_have_no_descr),
        cmocka_unit_test(a_header_may_follow_other_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
