/* test_stats_kernels.c: every kernel of statistics returns the bits of the portable one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/small_floats.h"
#include "measure/stats_kernels.h"

enum { MOST = 4096 };

static float floats[MOST];
static double doubles[MOST];

/* Pseudo-random number below `below`, which is not 0. */
static uint32_t any(uint32_t below)
{
    static uint64_t seed = 19;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

static const float special_f32[] = {
    0.0f,      -0.0f,   1.0f,     -1.0f, 0x1p-149f,   -0x1p-149f, 0x1.fffffcp-127f,
    0x1p-126f, 3.4e38f, -3.4e38f, 0.1f,  16777216.0f, 1e-30f,     -1234.567f};
static const double special_f64[] = {0.0,       -0.0,  1.0,    -1.0, 0x1p-1074,          -0x1p-1074,
                                     0x1p-1022, 1e300, -1e300, 0.1,  9007199254740993.0, 1e-200};

static double any_value(unsigned kind)
{
    const double unit = (double)any(1u << 30) / (1u << 30) - 0.5;

    switch (kind) {
    case 0:
        return unit;
    case 1:
        return 1e6 + unit;
    case 2:
        return ldexp(unit, (int)any(100) - 50);
    default:
        return any(3) ? unit : 0;
    }
}

/* kind 4: special values only */
static void fill(unsigned kind)
{
    for (size_t i = 0; i < MOST; i++) {
        const bool special = kind == 4 || any(50) == 0;

        floats[i] = special ? special_f32[any(sizeof special_f32 / sizeof *special_f32)]
                            : (float)any_value(kind);
        doubles[i] =
            special ? special_f64[any(sizeof special_f64 / sizeof *special_f64)] : any_value(kind);
    }
}

static void same_sums(const struct heft_stats_sums *a, const struct heft_stats_sums *b)
{
    assert_memory_equal(&a->sum, &b->sum, sizeof a->sum);
    assert_memory_equal(&a->squares, &b->squares, sizeof a->squares);
    assert_memory_equal(&a->min, &b->min, sizeof a->min);
    assert_memory_equal(&a->max, &b->max, sizeof a->max);
    assert_int_equal(a->zeros, b->zeros);
}

static void compare(const struct heft_stats_kernel *k, size_t from, size_t n)
{
    const struct heft_stats_kernel *const plain = &heft_stats_kernel_plain;
    struct heft_stats_spread spread, want_spread;
    struct heft_stats_sums mine, want;
    double mean;

    plain->sums_f32(floats + from, n, &want);
    k->sums_f32(floats + from, n, &mine);
    same_sums(&mine, &want);
    mean = n ? want.sum / (double)n : 0;
    plain->spread_f32(floats + from, n, mean, &want_spread);
    k->spread_f32(floats + from, n, mean, &spread);
    assert_memory_equal(&spread, &want_spread, sizeof spread);

    plain->sums_f64(doubles + from, n, &want);
    k->sums_f64(doubles + from, n, &mine);
    same_sums(&mine, &want);
    mean = n ? want.sum / (double)n : 0;
    plain->spread_f64(doubles + from, n, mean, &want_spread);
    k->spread_f64(doubles + from, n, mean, &spread);
    assert_memory_equal(&spread, &want_spread, sizeof spread);
}

static void kernels_are_equal(void **state)
{
    const struct heft_stats_kernel *k;

    (void)state;
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++)
        for (unsigned kind = 0; kind < 5; kind++) {
            fill(kind);
            for (size_t n = 0; n < 70; n++)
                compare(k, n % 3, n);
            for (unsigned round = 0; round < 50; round++) {
                const size_t from = any(17);

                compare(k, from, any((uint32_t)(MOST - from)));
            }
            compare(k, 0, MOST);
        }
    assert_ptr_equal(heft_stats_kernel(), heft_stats_kernel_at(0));
}

/* The sum is not finite if any element is not, wherever it is. */
static void sums_show_what_is_not_finite(void **state)
{
    const struct heft_stats_kernel *k;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    struct heft_stats_sums sums;

    (void)state;
    fill(0);
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++)
        for (unsigned i = 0; i < 300; i++) {
            const size_t n = 1 + any(MOST - 1), at = any((uint32_t)n);
            const float was = floats[at];
            const double was_double = doubles[at];

            floats[at] = (float)bad[i % 3];
            doubles[at] = bad[i % 3];
            k->sums_f32(floats, n, &sums);
            assert_true(isfinite(sums.sum) == 0);
            k->sums_f64(doubles, n, &sums);
            assert_true(isfinite(sums.sum) == 0);
            floats[at] = was;
            doubles[at] = was_double;
        }
}

/* Elements that are not finite become 0; minimum and maximum are those of the others. */
static void masks_are_equal(void **state)
{
    const struct heft_stats_kernel *const plain = &heft_stats_kernel_plain;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    static float kept_f32[2][MOST];
    static double kept_f64[2][MOST];
    const struct heft_stats_kernel *k;

    (void)state;
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++)
        for (unsigned round = 0; round < 200; round++) {
            const size_t n = round == 0 ? MOST : any(MOST);
            const unsigned rare = round % 3 == 0 ? 1 : round % 3 == 1 ? 100 : 1000000;
            struct heft_stats_masked a, b;
            double min = INFINITY, max = -INFINITY;
            uint64_t finite = 0, nan = 0;

            fill(round % 5);
            for (size_t i = 0; i < n; i++) {
                if (any(rare) == 0)
                    doubles[i] = floats[i] = (float)bad[any(3)];
                finite += isfinite(floats[i]) != 0;
                nan += isnan(floats[i]) != 0;
                min = isfinite(floats[i]) && floats[i] < min ? floats[i] : min;
                max = isfinite(floats[i]) && floats[i] > max ? floats[i] : max;
            }
            k->mask_f32(floats, n, kept_f32[0], &a);
            plain->mask_f32(floats, n, kept_f32[1], &b);
            assert_memory_equal(&a, &b, sizeof a);
            assert_memory_equal(kept_f32[0], kept_f32[1], n * sizeof **kept_f32);
            assert_true(a.finite == finite && a.nan == nan && a.min == min && a.max == max);
            for (size_t i = 0; i < n; i++)
                assert_true(kept_f32[0][i] == (isfinite(floats[i]) ? floats[i] : 0));
            k->mask_f64(doubles, n, kept_f64[0], &a);
            plain->mask_f64(doubles, n, kept_f64[1], &b);
            assert_memory_equal(&a, &b, sizeof a);
            assert_memory_equal(kept_f64[0], kept_f64[1], n * sizeof **kept_f64);
            for (size_t i = 0; i < n; i++)
                assert_true(kept_f64[0][i] == (isfinite(doubles[i]) ? doubles[i] : 0));
        }
}

/* Minimum, maximum and zeros against a simple loop, sums of whole numbers exactly. */
static void sums_are_right(void **state)
{
    const struct heft_stats_kernel *k;
    struct heft_stats_sums sums;

    (void)state;
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++)
        for (size_t n = 1; n < 200; n++) {
            struct heft_stats_spread spread;
            double sum = 0, squares = 0, around = 0, min = INFINITY, max = -INFINITY;
            uint64_t zeros = 0;

            for (size_t i = 0; i < n; i++) {
                const double x = (double)any(21) - 10;

                floats[i] = (float)x;
                sum += x;
                squares += x * x;
                around += (x - 3) * (x - 3);
                min = x < min ? x : min;
                max = x > max ? x : max;
                zeros += x == 0;
            }
            k->sums_f32(floats, n, &sums);
            assert_true(sums.sum == sum && sums.min == min && sums.max == max);
            assert_true(sums.squares == squares);
            assert_int_equal(sums.zeros, zeros);
            k->spread_f32(floats, n, 3, &spread);
            assert_true(spread.sum == sum - 3 * (double)n && spread.squares == around);
        }
}

/* Sums of rounded products, recorded on x86-64: every processor computes the same bits. */
static void sums_have_recorded_bits(void **state)
{
    const struct heft_stats_kernel *k;
    struct heft_stats_sums sums;
    struct heft_stats_spread spread;
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < MOST; i++) {
        seed = seed * 1664525 + 1013904223;
        floats[i] = (float)(int32_t)seed / 3e6f;
        doubles[i] = (double)(int32_t)seed / 7e5;
    }
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++) {
        k->sums_f32(floats, MOST - 5, &sums);
        k->spread_f32(floats, MOST - 5, 0.1, &spread);
        assert_true(sums.sum == 0x1.09116c33548p+11 && sums.squares == 0x1.4a4578fc93012p+29);
        assert_true(spread.sum == 0x1.abdc72004231p+10 && spread.squares == 0x1.4a456d02fbad1p+29);
        k->sums_f64(doubles, MOST - 5, &sums);
        k->spread_f64(doubles, MOST - 5, 0.1, &spread);
        assert_true(sums.sum == 0x1.1c006da8a05f8p+13 && sums.squares == 0x1.7b2357f5270f3p+33);
        assert_true(spread.sum == 0x1.0f37a0dbd39ap+13 && spread.squares == 0x1.7b23547ccd5e4p+33);
    }
}

static void check_bits(const float *wide, uint32_t code, uint32_t want)
{
    uint32_t bits;

    memcpy(&bits, &wide[code], sizeof bits);
    assert_int_equal(bits, want);
}

static void every_half_is_widened(void **state)
{
    static uint16_t all[65536];
    static float wide[65536];
    const struct heft_stats_kernel *k;

    (void)state;
    for (uint32_t i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (size_t index = 0; (k = heft_stats_kernel_at(index)) != NULL; index++) {
        memset(wide, 0, sizeof wide);
        k->widen_bf16(all, wide, 65536);
        for (uint32_t i = 0; i < 65536; i++)
            check_bits(wide, i, i << 16);
        k->widen_f16(all, wide, 65536);
        for (uint32_t i = 0; i < 65536; i++)
            check_bits(wide, i, heft_f32_of_f16((uint16_t)i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_equal),     cmocka_unit_test(sums_show_what_is_not_finite),
        cmocka_unit_test(masks_are_equal),       cmocka_unit_test(sums_are_right),
        cmocka_unit_test(every_half_is_widened), cmocka_unit_test(sums_have_recorded_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
