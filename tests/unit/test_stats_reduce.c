/* test_stats_reduce.c: statistics of every dtype against a simple calculation in long double;
 * integers beyond 2^53, complex numbers, values near the limits of F64. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/endian.h"
#include "file_order.h"
#include "core/cast.h"
#include "measure/stats_reduce.h"

enum { MOST = 1 << 20 }; /* bytes */

static _Alignas(64) uint8_t data[MOST];
static struct heft_stats_scratch scratch;

static uint32_t any(uint32_t below)
{
    static uint64_t seed = 19;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

/* Elements of a file: numbers with words of `word` bytes, from the element `at`. */
static void put(size_t at, const void *numbers, size_t bytes, size_t word)
{
    memcpy(data + at * word, numbers, bytes);
    in_file_order(data + at * word, bytes, word);
}

static void put_floats(size_t at, const float *x, size_t n)
{
    put(at, x, n * sizeof *x, sizeof *x);
}

static void put_doubles(size_t at, const double *x, size_t n)
{
    put(at, x, n * sizeof *x, sizeof *x);
}

/* Figures of n bytes of data; the kernels must agree, whatever block came before. */
static struct heft_tensor_stats stats_of(enum heft_dtype dtype, size_t n)
{
    const struct heft_stats_kernel *k;
    struct heft_stats_range first = {0};
    struct heft_tensor_stats stats = {0};

    heft_stats_reduce(heft_stats_kernel(), dtype, data, n, &scratch, &first);
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++) {
        for (int others = 0; others < 2; others++) {
            struct heft_stats_range range = {0};

            scratch.has_others = others != 0;
            heft_stats_reduce(k, dtype, data, n, &scratch, &range);
            assert_memory_equal(&range, &first, sizeof range);
        }
    }
    heft_stats_finish(dtype, &first, &stats);
    return stats;
}

/* ---- against a simple calculation -------------------------------------------------------- */

/* A sum and the rounding errors of its additions: exact enough also where long double is double, as on
 * 32-bit ARM. */
struct total {
    long double sum, lost;
};

static void add(struct total *t, long double x)
{
    const long double sum = t->sum + x;

    t->lost += fabsl(t->sum) >= fabsl(x) ? t->sum - sum + x : x - sum + t->sum;
    t->sum = sum;
}

static long double mean_of(const struct total *t, uint64_t n)
{
    return n ? (t->sum + t->lost) / (long double)n : 0;
}

struct simple {
    uint64_t zeros, nan, inf, finite;
    long double min, max, mean, std;
};

static struct simple simple_of(const double *x, size_t n)
{
    struct simple s = {.min = INFINITY, .max = -INFINITY};
    struct total sum = {0}, rest = {0}, squares = {0};
    long double shift;

    for (size_t i = 0; i < n; i++) {
        s.nan += isnan(x[i]) != 0;
        s.inf += isinf(x[i]) != 0;
        if (!isfinite(x[i]))
            continue;
        s.finite++;
        s.zeros += x[i] == 0;
        s.min = x[i] < s.min ? x[i] : s.min;
        s.max = x[i] > s.max ? x[i] : s.max;
        add(&sum, x[i]);
    }
    s.mean = mean_of(&sum, s.finite);
    for (size_t i = 0; i < n; i++)
        add(&rest, isfinite(x[i]) ? x[i] - s.mean : 0);
    shift = mean_of(&rest, s.finite); /* from the rounded mean to the mean */
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            add(&squares, (x[i] - s.mean - shift) * (x[i] - s.mean - shift));
    s.mean += shift;
    s.std = sqrtl(mean_of(&squares, s.finite));
    return s;
}

/* scale: largest magnitude, for the mean of numbers that cancel */
static void assert_near(double got, long double want, long double scale)
{
    if (!(fabsl(got - want) <= 1e-12L * scale))
        fail_msg("%.17g is not %.20Lg", got, want);
}

static void compare(const struct heft_tensor_stats *got, const double *x, size_t n)
{
    const struct simple want = simple_of(x, n);
    const long double scale = fmaxl(fabsl(want.min), fabsl(want.max));

    assert_int_equal(got->zeros, want.zeros);
    assert_int_equal(got->nan, want.nan);
    assert_int_equal(got->inf, want.inf);
    assert_int_equal(got->finite, want.finite);
    if (want.finite == 0)
        return;
    assert_true(got->min == want.min && got->max == want.max && got->abs_max == scale);
    assert_false(signbit(got->min) && got->min == 0);
    assert_near(got->mean, want.mean, scale);
    assert_near(got->std, want.std, want.std);
}

static void compare_real(enum heft_dtype dtype, size_t n)
{
    const size_t elements = (size_t)heft_dtype_elements(dtype, n);
    double *const x = calloc(elements + 1, sizeof *x);
    const struct heft_tensor_stats stats = stats_of(dtype, n);
    uint64_t none = 0;

    assert_non_null(x);
    if (dtype == HEFT_F64)
        memcpy(x, data, n);
    else
        heft_cast_elements(dtype, HEFT_F64, data, (uint8_t *)x, elements, &none);
    in_file_order(x, elements * sizeof *x, sizeof *x);
    compare(&stats, x, elements);
    free(x);
}

static bool is_real(enum heft_dtype dtype)
{
    return heft_stats_is_numeric(dtype) && heft_dtype_info(dtype)->kind != HEFT_KIND_COMPLEX;
}

static void random_bytes_of_every_dtype(void **state)
{
    (void)state;
    for (int d = 0; d < HEFT_DTYPE_COUNT; d++) {
        const enum heft_dtype dtype = (enum heft_dtype)d;

        /* The squares of random F64 exceed its range. */
        if (!is_real(dtype) || dtype == HEFT_F64)
            continue;
        for (size_t round = 0; round < 40; round++) {
            const size_t unit = heft_dtype_info(dtype)->block_bytes;
            const size_t most = MOST / unit; /* blocks */
            const size_t n =
                (round == 39 ? most : any((uint32_t)heft_min_size(20000, most))) * unit;

            for (size_t i = 0; i < n; i++)
                data[i] = (uint8_t)any(256);
            compare_real(dtype, n);
        }
    }
}

/* All codes of the dtypes of one and two bytes, and all pairs of F4. */
static void every_code(void **state)
{
    (void)state;
    for (int d = 0; d < HEFT_DTYPE_COUNT; d++) {
        const enum heft_dtype dtype = (enum heft_dtype)d;

        if (!is_real(dtype) || heft_dtype_info(dtype)->block_bytes > 2)
            continue;
        for (uint32_t i = 0; i < 65536; i++)
            heft_put_le16(data + 2 * i, (uint16_t)i);
        compare_real(dtype, (size_t)2 * 65536);
    }
}

static double any_double(unsigned kind)
{
    const double unit = (double)any(1u << 30) / (1u << 30) - 0.5;

    if (kind == 0)
        return unit;
    if (kind == 1)
        return 1e8 + unit / 1024;
    return any(100) ? ldexp(unit, (int)any(200) - 100) : any(2) ? NAN : -INFINITY;
}

static void doubles(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        const size_t n = any(MOST / sizeof(double));

        for (size_t i = 0; i < n; i++) {
            const double x = any_double(round % 3);

            put_doubles(i, &x, 1);
        }
        compare_real(HEFT_F64, n * sizeof(double));
    }
}

/* ---- no elements, no finite ones --------------------------------------------------------- */

static void nothing_is_finite(void **state)
{
    const double bad[] = {NAN, INFINITY, -INFINITY, -NAN};
    struct heft_tensor_stats s = stats_of(HEFT_F64, 0);

    (void)state;
    assert_true(s.finite == 0 && s.nan == 0 && s.kind == HEFT_STATS_FLOAT);
    put_doubles(0, bad, 4);
    s = stats_of(HEFT_F64, sizeof bad);
    assert_true(s.finite == 0 && s.nan == 2 && s.inf == 2 && s.zeros == 0);
    assert_true(s.min == 0 && s.mean == 0 && s.std == 0);
    s = stats_of(HEFT_I64, 0);
    assert_true(s.finite == 0 && s.kind == HEFT_STATS_SIGNED && s.exact_abs_max == 0);
}

/* A block without finite elements before and after others. */
static void blocks_without_finite_elements(void **state)
{
    const size_t block = HEFT_STATS_BLOCK;
    struct heft_tensor_stats s;

    (void)state;
    for (size_t i = 0; i < 4 * block; i++) {
        const double x = i / block % 2 ? (double)i : NAN;

        put_doubles(i, &x, 1);
    }
    s = stats_of(HEFT_F64, 4 * block * sizeof(double));
    assert_int_equal(s.nan, 2 * block);
    assert_int_equal(s.finite, 2 * block);
    assert_true(s.min == (double)block && s.max == (double)(4 * block - 1));
    compare_real(HEFT_F64, 4 * block * sizeof(double));
}

static void zeros_have_no_sign(void **state)
{
    const double zeros[] = {-0.0, 0.0, -0.0};
    struct heft_tensor_stats s;

    (void)state;
    put_doubles(0, zeros, 3);
    s = stats_of(HEFT_F64, sizeof zeros);
    assert_int_equal(s.zeros, 3);
    assert_false(signbit(s.min) || signbit(s.max) || signbit(s.mean));
}

/* ---- integers ---------------------------------------------------------------------------- */

static void put_u64(const uint64_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        heft_put_le64(data + 8 * i, x[i]);
}

static void integers_are_exact(void **state)
{
    const uint64_t numbers[] = {(uint64_t)INT64_MIN, 9007199254740993, INT64_MAX - 1, 0,
                                UINT64_MAX};
    struct heft_tensor_stats s;

    (void)state;
    put_u64(numbers, 5);
    s = stats_of(HEFT_I64, sizeof numbers);
    assert_true(s.kind == HEFT_STATS_SIGNED && s.zeros == 1 && s.finite == 5);
    assert_true(s.exact_min.i == INT64_MIN && s.exact_max.i == INT64_MAX - 1);
    assert_true(s.exact_abs_max == (uint64_t)1 << 63);
    s = stats_of(HEFT_U64, sizeof numbers);
    assert_true(s.kind == HEFT_STATS_UNSIGNED);
    assert_true(s.exact_min.u == 0 && s.exact_max.u == UINT64_MAX);
    assert_true(s.exact_abs_max == UINT64_MAX);
    put_u64(numbers + 1, 1);
    s = stats_of(HEFT_I64, 8);
    assert_true(s.exact_min.i == 9007199254740993 && s.exact_max.i == 9007199254740993);
}

/* Exact extremes that lie in different blocks. */
static void integers_of_several_blocks(void **state)
{
    const size_t n = 3 * HEFT_STATS_BLOCK + 5;
    struct heft_tensor_stats s;

    (void)state;
    for (size_t i = 0; i < n; i++)
        heft_put_le64(data + 8 * i, UINT64_MAX - 1000 - i);
    heft_put_le64(data + 8 * (2 * HEFT_STATS_BLOCK), UINT64_MAX - 1);
    heft_put_le64(data + 8 * (n - 1), 7);
    s = stats_of(HEFT_U64, 8 * n);
    assert_true(s.exact_min.u == 7 && s.exact_max.u == UINT64_MAX - 1);
    s = stats_of(HEFT_I64, 8 * n);
    assert_true(s.exact_max.i == 7);
    assert_true(s.exact_min.i == -1001 - (int64_t)(n - 2));
}

static void small_integers_are_exact(void **state)
{
    struct heft_tensor_stats s;

    (void)state;
    heft_put_le32(data, (uint32_t)INT32_MIN);
    heft_put_le32(data + 4, INT32_MAX);
    s = stats_of(HEFT_I32, 8);
    assert_true(s.exact_min.i == INT32_MIN && s.exact_max.i == INT32_MAX);
    assert_true(s.exact_abs_max == (uint64_t)1 << 31);
    s = stats_of(HEFT_U32, 8);
    assert_true(s.exact_min.u == INT32_MAX && s.exact_max.u == (uint64_t)1 << 31);
    data[0] = 0;
    data[1] = 2;
    s = stats_of(HEFT_BOOL, 2);
    assert_true(s.kind == HEFT_STATS_UNSIGNED && s.exact_max.u == 1 && s.zeros == 1);
    assert_true(s.mean == 0.5 && s.std == 0.5);
}

/* ---- complex ----------------------------------------------------------------------------- */

static void complex_numbers_count_by_magnitude(void **state)
{
    const float parts[] = {3, 4, 0, -0.0f, NAN, INFINITY, -INFINITY, 1, -5, 12};
    struct heft_tensor_stats s;

    (void)state;
    put_floats(0, parts, sizeof parts / sizeof *parts);
    s = stats_of(HEFT_C64, sizeof parts);
    assert_true(s.nan == 1 && s.inf == 1 && s.zeros == 1 && s.finite == 3);
    assert_true(s.min == 0 && s.max == 13 && s.abs_max == 13 && s.mean == 6);
}

static void extreme_complex_numbers(void **state)
{
    const double large[] = {3e300, -4e300, 3e-300, 4e-300};
    const double larger[] = {DBL_MAX, DBL_MAX, NAN, INFINITY};
    struct heft_tensor_stats s;

    (void)state;
    put_doubles(0, large, 4);
    s = stats_of(HEFT_C128, sizeof large);
    assert_true(fabs(s.max / 5e300 - 1) < 1e-15 && fabs(s.min / 5e-300 - 1) < 1e-15);
    put_doubles(0, larger, 4);
    s = stats_of(HEFT_C128, sizeof larger);
    assert_true(s.inf == 1 && s.nan == 1 && s.finite == 0);
}

static void halves_of_complex_numbers(void **state)
{
    struct heft_tensor_stats s;

    (void)state;
    for (size_t i = 0; i < 3 * HEFT_STATS_BLOCK; i++) {
        heft_put_le16(data + 4 * i, 0x4200);     /* 3 */
        heft_put_le16(data + 4 * i + 2, 0xC400); /* -4 */
    }
    s = stats_of(HEFT_C32, (size_t)3 * HEFT_STATS_BLOCK * 4);
    assert_true(s.min == 5 && s.max == 5 && s.mean == 5 && s.std == 0);
}

/* ---- the range of F64 -------------------------------------------------------------------- */

static void means_do_not_overflow(void **state)
{
    double x[20000];
    struct heft_tensor_stats s;

    (void)state;
    for (size_t i = 0; i < 20000; i++)
        x[i] = DBL_MAX;
    put_doubles(0, x, 20000);
    s = stats_of(HEFT_F64, sizeof x);
    assert_true(s.mean == DBL_MAX && s.std == 0 && s.abs_max == DBL_MAX);
    for (size_t i = 0; i < 20000; i += 2)
        x[i] = -DBL_MAX;
    put_doubles(0, x, 20000);
    s = stats_of(HEFT_F64, sizeof x);
    assert_true(fabs(s.mean) < 1e295 && isinf(s.std));
    for (size_t i = 0; i < 20000; i++)
        x[i] = i < HEFT_STATS_BLOCK ? -DBL_MAX : DBL_MAX;
    put_doubles(0, x, 2 * HEFT_STATS_BLOCK);
    s = stats_of(HEFT_F64, 2 * HEFT_STATS_BLOCK * sizeof *x);
    assert_true(fabs(s.mean) < 1e295 && isinf(s.std) && s.inf == 0);
}

/* ---- ranges ------------------------------------------------------------------------------ */

/* The same bits, however many calls deliver the blocks. */
static void pieces_do_not_matter(void **state)
{
    const size_t block = HEFT_STATS_BLOCK * sizeof(float);
    struct heft_stats_range whole = {0};

    (void)state;
    for (size_t i = 0; i < MOST / sizeof(float); i++) {
        const float x = (float)any_double(i % 3 ? 0 : 2);

        put_floats(i, &x, 1);
    }
    heft_stats_reduce(heft_stats_kernel(), HEFT_F32, data, MOST - 12, &scratch, &whole);
    for (size_t piece = block; piece < MOST; piece += 3 * block) {
        struct heft_stats_range range = {0};

        for (size_t at = 0; at < MOST - 12; at += piece)
            heft_stats_reduce(heft_stats_kernel(), HEFT_F32, data + at,
                              heft_min_size(piece, MOST - 12 - at), &scratch, &range);
        assert_memory_equal(&range, &whole, sizeof range);
    }
}

/* Values of an independent implementation of the fixed order of additions. */
static void check_known(float shift, double mean, double std)
{
    struct heft_tensor_stats s;

    for (uint32_t i = 0; i < 100000; i++) {
        const float x = (float)(i * UINT32_C(2654435761) >> 8) * 0x1p-24f + shift;

        put_floats(i, &x, 1);
    }
    s = stats_of(HEFT_F32, 100000 * sizeof(float));
    assert_true(s.mean == mean && s.std == std);
}

static void known_bits(void **state)
{
    (void)state;
    check_known(-0.25f, 0x1.0000681419e30p-2, 0x1.279ad1045386dp-2);
    check_known(3.0f, 0x1.c0000d0283904p+1, 0x1.279ad103f8e3fp-2); /* two passes */
}

static void strings_are_not_numeric(void **state)
{
    const struct heft_stats_range none = {0};
    struct heft_tensor_stats s = {0};

    (void)state;
    assert_false(heft_stats_is_numeric(HEFT_STRING));
    assert_false(heft_stats_is_numeric(HEFT_VARIANT));
    assert_false(heft_stats_is_numeric(HEFT_QU4X2));
    assert_true(heft_stats_is_numeric(HEFT_QI32));
    heft_stats_finish(HEFT_STRING, &none, &s);
    assert_int_equal(s.kind, HEFT_STATS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bytes_of_every_dtype),
        cmocka_unit_test(every_code),
        cmocka_unit_test(doubles),
        cmocka_unit_test(nothing_is_finite),
        cmocka_unit_test(blocks_without_finite_elements),
        cmocka_unit_test(zeros_have_no_sign),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(integers_of_several_blocks),
        cmocka_unit_test(small_integers_are_exact),
        cmocka_unit_test(complex_numbers_count_by_magnitude),
        cmocka_unit_test(extreme_complex_numbers),
        cmocka_unit_test(halves_of_complex_numbers),
        cmocka_unit_test(means_do_not_overflow),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(known_bits),
        cmocka_unit_test(strings_are_not_numeric),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
