/* test_diff_elements.c: marks and figures of single elements, in each kind of dtype. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file_order.h"
#include "measure/diff_elements.h"

static const struct heft_diff_rule bits = {false, 0, 0}, exact = {true, 0, 0};

enum { MOST_BYTES = 64 };

/* Copy of the elements of a small array as files have them. */
static const uint8_t *file_bytes(enum heft_dtype dtype, const void *p, size_t n,
                                 uint8_t copy[MOST_BYTES])
{
    const struct heft_dtype_info *const info = heft_dtype_info(dtype);
    const size_t bytes = n * info->block_bytes / info->block_elements;

    assert_true(bytes <= MOST_BYTES);
    memcpy(copy, p, bytes);
    in_file_order(copy, bytes, info->word);
    return copy;
}

static struct heft_diff_figures compare(const struct heft_diff_rule *rule, enum heft_dtype a,
                                        const void *p, enum heft_dtype b, const void *q, size_t n)
{
    struct heft_diff_figures out = {0};
    uint8_t left[MOST_BYTES], right[MOST_BYTES];

    heft_diff_elements(rule, a, b, file_bytes(a, p, n, left), file_bytes(b, q, n, right), n, 0,
                       &out);
    return out;
}

static void equal_bits_have_no_figures(void **state)
{
    const float x[] = {1, NAN, -0.0f, INFINITY};
    const struct heft_diff_figures f = compare(&bits, HEFT_F32, x, HEFT_F32, x, 4);

    (void)state;
    assert_int_equal(f.differing, 0);
    assert_false(f.has_max);
}

static void figures_leave_out_what_is_not_finite(void **state)
{
    const float a[] = {1, 2, 3, 4, 5, INFINITY, -INFINITY, 8};
    const float b[] = {1, 2.5f, NAN, 4, 4, INFINITY, 7, 8};
    const struct heft_diff_figures f = compare(&bits, HEFT_F32, a, HEFT_F32, b, 8);

    (void)state;
    assert_int_equal(f.differing, 4);
    assert_int_equal(f.excluded, 2);
    assert_int_equal(f.nan[0], 0);
    assert_int_equal(f.nan[1], 1);
    assert_int_equal(f.inf[0], 1);
    assert_int_equal(f.inf[1], 0);
    assert_true(f.has_max && f.max == 1 && f.max_at == 4);
    assert_true(f.sum == 1.5);
}

static void bits_count_sign_of_zero_and_payloads(void **state)
{
    const uint32_t a[] = {0, 0x7fc00000, 0x3f800000}, b[] = {0x80000000, 0x7fc00001, 0x3f800000};
    const struct heft_diff_figures f = compare(&bits, HEFT_F32, a, HEFT_F32, b, 3);
    const struct heft_diff_figures g = compare(&exact, HEFT_F32, a, HEFT_F32, b, 3);

    (void)state;
    assert_int_equal(f.differing, 2);
    assert_true(f.has_max && f.max == 0 && f.max_at == 0);
    assert_int_equal(f.nan[0], 1);
    assert_int_equal(f.nan[1], 1);
    assert_int_equal(g.differing, 0);
    assert_false(g.has_max);
}

/* |a - b| <= atol + rtol * |b|: relative to b, not to a. */
static void tolerances_are_relative_to_b(void **state)
{
    const struct heft_diff_rule tenth = {true, 0, 0.1};
    const double small = 10, large = 11.05;

    (void)state;
    assert_int_equal(compare(&tenth, HEFT_F64, &small, HEFT_F64, &large, 1).differing, 0);
    assert_int_equal(compare(&tenth, HEFT_F64, &large, HEFT_F64, &small, 1).differing, 1);
}

static void infinities_and_nan_are_close_to_themselves(void **state)
{
    const struct heft_diff_rule wide = {true, 1e300, 1};
    const double a[] = {INFINITY, -INFINITY, INFINITY, NAN, NAN, 1, INFINITY};
    const double b[] = {INFINITY, -INFINITY, -INFINITY, NAN, 1, NAN, 1};
    const struct heft_diff_figures f = compare(&wide, HEFT_F64, a, HEFT_F64, b, 7);

    (void)state;
    assert_int_equal(f.differing, 4);
    assert_int_equal(f.excluded, 4);
    assert_int_equal(f.nan[0], 1);
    assert_int_equal(f.nan[1], 1);
    assert_int_equal(f.inf[0], 2);
    assert_int_equal(f.inf[1], 1);
    assert_false(f.has_max);
}

static void wide_integers_are_compared_exactly(void **state)
{
    const int64_t a[] = {INT64_MAX, INT64_MIN, -1, (INT64_C(1) << 53) + 1};
    const int64_t b[] = {INT64_MAX - 1, INT64_MAX, 1, INT64_C(1) << 53};
    const struct heft_diff_figures f = compare(&exact, HEFT_I64, a, HEFT_I64, b, 4);
    const uint64_t top = UINT64_MAX;
    const int64_t low = INT64_MIN, minus = -1;
    const double power = 0x1p53, half = -0.5;

    (void)state;
    assert_int_equal(f.differing, 4);
    assert_true(f.max == 0x1p64 && f.max_at == 1);
    assert_true(f.sum == 1 + 0x1p64 + 2 + 1);
    assert_true(compare(&exact, HEFT_I64, &low, HEFT_U64, &top, 1).max == 0x1.8p64);
    assert_true(compare(&exact, HEFT_I64, &a[3], HEFT_F64, &power, 1).max == 1);
    assert_true(compare(&exact, HEFT_F64, &power, HEFT_I64, &b[3], 1).differing == 0);
    assert_true(compare(&exact, HEFT_I64, &minus, HEFT_F64, &half, 1).max == 0.5);
    assert_true(compare(&exact, HEFT_F64, &half, HEFT_I64, &b[2], 1).max == 1.5);
}

static void sums_of_65_bits_are_rounded_once(void **state)
{
    /* 2^64 + 2^11 + 1 is closer to 2^64 + 2^12 than to 2^64; without the last 1 it is a tie */
    const int64_t a = INT64_MIN;
    const uint64_t b = (UINT64_C(1) << 63) + 2049, tie = b - 1;

    (void)state;
    assert_true(compare(&exact, HEFT_I64, &a, HEFT_U64, &b, 1).max == 0x1.0000000000001p64);
    assert_true(compare(&exact, HEFT_I64, &a, HEFT_U64, &tie, 1).max == 0x1p64);
}

static void complex_differences_are_magnitudes(void **state)
{
    const float a[] = {1, 2, 4, 6, 0, 0}, b[] = {1, 2, 1, 2, NAN, 0};
    const struct heft_diff_figures f = compare(&bits, HEFT_C64, a, HEFT_C64, b, 3);
    const struct heft_diff_rule loose = {true, 5, 0}, tight = {true, 4.9, 0};
    const float real[] = {1, 4};

    (void)state;
    assert_int_equal(f.differing, 2);
    assert_int_equal(f.nan[1], 1);
    assert_true(f.max == 5 && f.max_at == 1 && f.sum == 5);
    assert_int_equal(compare(&loose, HEFT_C64, a, HEFT_C64, b, 2).differing, 0);
    assert_int_equal(compare(&tight, HEFT_C64, a, HEFT_C64, b, 2).differing, 1);
    assert_true(compare(&exact, HEFT_F32, real, HEFT_C64, a, 2).max == 6);
}

static void small_floats_share_bytes(void **state)
{
    /* F4: 4 bits, the first element in the lower half; code 8 is -0 */
    const uint8_t a[] = {0x10, 0x23}, b[] = {0x18, 0x43};
    const struct heft_diff_figures f = compare(&bits, HEFT_F4, a, HEFT_F4, b, 4);
    const struct heft_diff_figures g = compare(&exact, HEFT_F4, a, HEFT_F4, b, 4);
    const float wide[] = {0, 0.5f, 1.5f, 1};

    (void)state;
    assert_int_equal(f.differing, 2);
    assert_true(f.max == 1 && f.max_at == 3); /* 1 and 2 */
    assert_int_equal(g.differing, 1);
    assert_int_equal(compare(&exact, HEFT_F4, a, HEFT_F32, wide, 4).differing, 0);
}

static void packed_bits_have_no_figures(void **state)
{
    const uint8_t a[] = {1, 2, 3, 4}, b[] = {1, 2, 0, 0};
    const struct heft_diff_figures f = compare(&bits, HEFT_QU4X2, a, HEFT_QU4X2, b, 4);
    const struct heft_diff_figures g = compare(&exact, HEFT_BITS16, a, HEFT_BITS16, b, 2);

    (void)state;
    assert_int_equal(f.differing, 2);
    assert_int_equal(g.differing, 1);
    assert_false(f.has_max || g.has_max);
    assert_false(heft_diff_has_figures(HEFT_QU4X2));
    assert_false(heft_diff_is_comparable(HEFT_U8, HEFT_BITS8));
    assert_true(heft_diff_is_comparable(HEFT_BOOL, HEFT_C128));
}

/* Parts that begin at steps of 1024 elements add up to the same bits. */
static void figures_of_parts_add_up(void **state)
{
    enum { N = 5000, CUT = 3 * 1024 };
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    struct heft_diff_figures whole = {0}, first = {0}, second = {0}, total = {0};
    uint32_t x = 1;

    (void)state;
    assert_true(a && b);
    for (size_t i = 0; i < N; i++) {
        x = x * 1664525 + 1013904223;
        a[i] = (float)(x >> 8) * 0x1p-24f;
        b[i] = i % 3 ? a[i] : a[i] * 1.0001f;
    }
    b[4500] = a[4500] + 7;
    in_file_order(a, N * sizeof *a, sizeof *a);
    in_file_order(b, N * sizeof *b, sizeof *b);
    heft_diff_elements(&bits, HEFT_F32, HEFT_F32, (uint8_t *)a, (uint8_t *)b, N, 0, &whole);
    heft_diff_elements(&bits, HEFT_F32, HEFT_F32, (uint8_t *)a, (uint8_t *)b, CUT, 0, &first);
    heft_diff_elements(&bits, HEFT_F32, HEFT_F32, (uint8_t *)(a + CUT), (uint8_t *)(b + CUT),
                       N - CUT, CUT, &second);
    heft_diff_figures_add(&total, &first);
    heft_diff_figures_add(&total, &second);
    assert_int_equal(total.differing, whole.differing);
    assert_int_equal(total.max_at, 4500);
    assert_int_equal(whole.max_at, 4500);
    assert_true(total.max == whole.max);
    assert_true(fabs(total.sum - whole.sum) < 1e-9);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bits_have_no_figures),
        cmocka_unit_test(figures_leave_out_what_is_not_finite),
        cmocka_unit_test(bits_count_sign_of_zero_and_payloads),
        cmocka_unit_test(tolerances_are_relative_to_b),
        cmocka_unit_test(infinities_and_nan_are_close_to_themselves),
        cmocka_unit_test(wide_integers_are_compared_exactly),
        cmocka_unit_test(sums_of_65_bits_are_rounded_once),
        cmocka_unit_test(complex_differences_are_magnitudes),
        cmocka_unit_test(small_floats_share_bytes),
        cmocka_unit_test(packed_bits_have_no_figures),
        cmocka_unit_test(figures_of_parts_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
