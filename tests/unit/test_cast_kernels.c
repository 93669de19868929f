/* test_cast_kernels.c: every kernel of casts returns the bits and the counts of the portable loops; of two
 * NaNs the payload may differ. */
#include "core/cast_kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/endian.h"
#include "core/small_floats.h"

enum { MOST = HEFT_CAST_STEP, SHIFT = 3 }; /* loads and stores are not aligned */

static uint8_t src[8 * MOST + SHIFT], got[4 * MOST + SHIFT + 1], want[4 * MOST + SHIFT + 1];
static uint32_t seed = 1;

HEFT_WRAPS static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static bool is_nan(const uint8_t *p)
{
    return (heft_le32(p) & HEFT_F32_ABS) > HEFT_F32_INF;
}

/* Widens n random elements. Random scales of 16 bits are not finite in one of 32 blocks. */
static void compare_widened(enum heft_dtype dtype, heft_cast_loop *loop, heft_cast_loop *plain,
                            size_t n)
{
    for (size_t i = 0; i < heft_dtype_span(dtype, n); i++)
        src[SHIFT + i] = (uint8_t)next_random();
    got[SHIFT + 4 * n] = 0xEE;
    assert_int_equal(loop(src + SHIFT, got + SHIFT, n), plain(src + SHIFT, want + SHIFT, n));
    assert_int_equal(got[SHIFT + 4 * n], 0xEE);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *const a = got + SHIFT + 4 * i, *const b = want + SHIFT + 4 * i;

        if (heft_le32(a) != heft_le32(b) && !(is_nan(a) && is_nan(b)))
            fail_msg("%s: element %zu is %08x, expected %08x", heft_dtype_name(dtype), i,
                     (unsigned)heft_le32(a), (unsigned)heft_le32(b));
    }
}

/* Bits of an F32: any, around the limits of F16 and BF16, special, or of usual size. */
static uint32_t any_f32(unsigned kind)
{
    static const uint32_t limits[] = {0x477FE000, 0x477FEFFF, 0x477FF000, 0x7F7F7FFF, 0x7F7F8000,
                                      0x7F800000, 0x7F800001, 0x7FC00000, 0x00000000, 0x00000001,
                                      0x387FC000, 0x33000001, 0x33800000, 0x007FFFFF, 0x4B000000};
    const uint32_t sign = next_random() << 31;

    if (kind == 0)
        return next_random() << 16 ^ next_random();
    if (kind == 1)
        return sign | limits[next_random() % HEFT_COUNT(limits)];
    return sign | (0x3D000000 + next_random() % 0x06000000);
}

static void compare_narrowed(enum heft_dtype dtype, heft_cast_loop *loop, heft_cast_loop *plain,
                             size_t n, unsigned kind)
{
    const size_t bytes = (size_t)heft_dtype_span(dtype, n);

    for (size_t i = 0; i < n; i++)
        heft_put_le32(src + SHIFT + 4 * i,
                      any_f32(kind == 2 && next_random() % 500 == 0 ? 1 : kind));
    got[SHIFT + bytes] = 0xEE;
    assert_int_equal(loop(src + SHIFT, got + SHIFT, n), plain(src + SHIFT, want + SHIFT, n));
    assert_int_equal(got[SHIFT + bytes], 0xEE);
    if (memcmp(got + SHIFT, want + SHIFT, bytes) != 0)
        fail_msg("F32 to %s: other bytes", heft_dtype_name(dtype));
}

static void kernels_are_equal(void **state)
{
    const struct heft_cast_kernel *kernel;

    (void)state;
    for (size_t k = 0; (kernel = heft_cast_kernel_at(k)); k++)
        for (unsigned d = 0; d < HEFT_DTYPE_COUNT; d++) {
            const enum heft_dtype dtype = (enum heft_dtype)d;
            const unsigned block = heft_dtype_block_elements(dtype);

            for (unsigned round = 0; kernel->to_f32[d] && round < 60; round++)
                compare_widened(dtype, kernel->to_f32[d], heft_cast_plain_to_f32(dtype),
                                round == 0 ? MOST : next_random() % (MOST / block + 1) * block);
            for (unsigned round = 0; kernel->from_f32[d] && round < 300; round++)
                compare_narrowed(dtype, kernel->from_f32[d], heft_cast_plain_from_f32(dtype),
                                 round == 0 ? MOST : next_random() % (MOST / block + 1) * block,
                                 round % 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_equal)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
