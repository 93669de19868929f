/* test_int_values.c: values of integer codes, with the bits of reference implementations. The numbers are the
 * first rows of tests/golden/quantized: ct-pack (i3g), mlx-affine (b5), bnb-4bit (nf4), bnb-int8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/cast.h"
#include "core/small_floats.h"
#include "quant/bit_stream.h"
#include "quant/int_values.h"

enum { MOST = 64 };

static const uint8_t packed3[] = {
    0x7B, 0xBA, 0xBC, 0xCF, 0x99, 0x81, 0xFC, 0x89, 0x02, 0x46, 0x6B, 0xC5,
    0x50, 0x38, 0xA0, 0x1B, 0x56, 0x7A, 0x87, 0xEE, 0x95, 0x23, 0x6B, 0x85,
};
static const uint16_t values3[] = {
    0xBDA4, 0x3E76, 0xBE76, 0x3DA4, 0xBDA4, 0xBE76, 0x3E76, 0x3DA4, 0x3E76, 0xBE76, 0x3E76,
    0x0000, 0xBE76, 0xBDA4, 0xBEA4, 0x0000, 0x0000, 0x3E76, 0x3E76, 0x0000, 0xBEA4, 0x3DA4,
    0xBEA4, 0xBEA4, 0x3E24, 0xBEA4, 0x3DA4, 0x3DA4, 0x3E24, 0xBE24, 0xBE76, 0x3E24, 0xBEA4,
    0xBE24, 0xBE76, 0x0000, 0xBDA4, 0xBEA4, 0xBEA4, 0x3DA4, 0xBDA4, 0xBDA4, 0xBEA4, 0xBDA4,
    0x3DA4, 0x0000, 0x3E24, 0xBDA4, 0x3E76, 0xBEA4, 0xBE24, 0x3E76, 0x3E24, 0xBDA4, 0x3DA4,
    0x0000, 0xBDA4, 0x0000, 0x0000, 0x3DA4, 0x3E24, 0xBE24, 0xBE76, 0x0000,
};
static const uint8_t packed5[] = {
    0x0E, 0xA3, 0x96, 0x30, 0x87, 0x4A, 0xE3, 0xF1, 0xBF, 0xA4, 0xF3, 0x65, 0x16, 0x6D,
    0x70, 0xE6, 0x39, 0x59, 0xD1, 0x05, 0xF7, 0xD9, 0xB0, 0xDD, 0x8C, 0x8F, 0x01, 0xFD,
    0xD7, 0xC6, 0xF3, 0xD5, 0xE5, 0x98, 0x62, 0xD5, 0x2A, 0xF8, 0x46, 0x46,
};
static const uint16_t values5[] = {
    0xBF1C, 0x3E84, 0xBF92, 0xBF34, 0xBF86, 0x3E84, 0x3F1E, 0xBEE0, 0xBF76, 0x3EDC, 0x3E84,
    0xBFCA, 0x3F5E, 0x3F5E, 0xBE88, 0xBDB0, 0xBE30, 0xBF06, 0x3EB4, 0xBF4A, 0xBEB4, 0x3DB0,
    0xBFE0, 0xBF1C, 0xBFA8, 0xBF06, 0xBF1C, 0xBE88, 0x0000, 0xBF92, 0x3E38, 0xBFEB, 0x3F40,
    0xBE80, 0x3F20, 0xC001, 0x3FA2, 0xBEC0, 0x3E80, 0x0000, 0xBE80, 0xBF20, 0xC009, 0x3F92,
    0x3FE2, 0xBF42, 0x3FA2, 0x3F64, 0x3E80, 0xBE80, 0x3F00, 0xBF42, 0xBEC0, 0xBF20, 0xBF62,
    0xBF20, 0x3F00, 0x3F20, 0xBF62, 0xBE00, 0xBE80, 0xBFE2, 0x3F82, 0xBF91,
};
static const uint8_t packed_nf4[] = {
    0x49, 0xB2, 0x68, 0x54, 0xB5, 0x35, 0xAB, 0x8B, 0x26, 0xE6, 0x8A, 0xB4, 0x66, 0x26, 0x1A, 0x33,
};
static const uint16_t values_nf4[] = {
    0xBF58, 0x3EF5, 0x3F80, 0xBFC8, 0xBE8A, 0x3E72, 0xBF0C, 0xBF58, 0x3F80, 0xBF0C, 0xBF96,
    0xBF0C, 0x3F3B, 0x3F80, 0x3E72, 0x3F80, 0xBFC8, 0xBE8A, 0x4009, 0xBE8A, 0x3E72, 0x3F3B,
    0x3F80, 0xBF58, 0xBE8A, 0xBE8A, 0xBFC8, 0xBE8A, 0xC004, 0x3F3B, 0xBF96, 0xBF96,
};
static const uint32_t table_nf4[] = {
    0xBF800000, 0xBF3239B1, 0xBF066B30, 0xBECA32A0, 0xBE91A24D, 0xBE3D353F, 0xBDBA7871, 0x00000000,
    0x3DA2FAFF, 0x3E24CAE3, 0x3E7C04DD, 0x3EAD033A, 0x3EE1A4B8, 0x3F1007AB, 0x3F3913B3, 0x3F800000,
};
static const uint8_t row_int8[] = {
    0x6E, 0x6A, 0xB3, 0xFE, 0xDC, 0x0D, 0x91, 0x92, 0x41, 0x5F, 0x6E, 0x7E,
    0xFE, 0x39, 0xCA, 0x73, 0xA1, 0x23, 0x45, 0x59, 0x5F, 0xD0, 0xB0, 0x88,
};
static const uint32_t values_int8[] = {
    0x3FDF65BA, 0x3FD7461A, 0xBF9C60D0, 0xBD01FA06, 0xBF123947, 0x3E53364A, 0xBFE16DA2, 0xBFDF65BA,
    0x3F8401EE, 0x3FC0EF21, 0x3FDF65BA, 0x3FFFE43B, 0xBD01FA06, 0x3F67855B, 0xBF5B55EA, 0x3FE98D42,
    0xBFC0EF21, 0x3F0E2977, 0x3F8C218E, 0x3FB4BFB0, 0x3FC0EF21, 0xBF42F709, 0xBFA27887, 0xBFF3B4CC,
};

static float bf16(uint16_t bits)
{
    return heft_float_of_bits(heft_f32_of_bf16(bits));
}

/* Compares little-endian F32, rounded to BF16, with the reference. */
static void check_bf16(const uint8_t *values, const uint16_t *expected, size_t n)
{
    uint8_t rounded[2 * MOST];
    uint64_t overflowed = 0;

    heft_cast_elements(HEFT_F32, HEFT_BF16, values, rounded, n, &overflowed);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rounded[2 * i] | rounded[2 * i + 1] << 8, expected[i]);
    assert_true(overflowed == 0);
}

/* Any piece of a row has the values of the whole row. */
static void pieces_are_as_the_row(void **state)
{
    const float scales[2] = {bf16(0x3DA4), bf16(0x3DA4)}, zeros[2] = {4.0f, 4.0f};
    const struct heft_int_groups groups = {scales, zeros, 32};
    uint8_t codes[MOST], values[4 * MOST];

    (void)state;
    for (size_t first = 0; first < MOST; first++)
        for (size_t n = 0; n <= MOST - first; n++) {
            heft_bit_stream_codes(packed3, 3, first, n, codes);
            heft_int_values_affine(codes, first, n, &groups, values);
            check_bf16(values, values3 + first, n);
        }
}

static void columns_find_their_groups(void **state)
{
    const float scales[3] = {1.0f, 0.5f, 0.25f}, zeros[3] = {0.0f, 8.0f, 128.0f};
    const struct heft_int_groups groups = {scales, zeros, 0};
    const uint32_t index[5] = {2, 0, 1, 1, 2};
    const uint8_t codes[5] = {255, 7, 0, 9, 127};
    const float expected[5] = {31.75f, 7.0f, -4.0f, 0.5f, -0.25f};
    uint8_t values[20];

    (void)state;
    heft_int_values_indexed(codes, index, 5, &groups, values);
    for (size_t i = 0; i < 5; i++) {
        float x;

        heft_copy_le(&x, values + 4 * i, 4);
        assert_true(x == expected[i]);
    }
}

static void products_of_mlx_are_rounded(void **state)
{
    const float scales[2] = {bf16(0x3DB3), bf16(0x3E01)}, biases[2] = {bf16(0xBFEB), bf16(0xC009)};
    const struct heft_int_groups groups = {scales, biases, 32};
    uint8_t codes[MOST], values[4 * MOST];

    (void)state;
    for (size_t first = 0; first < MOST; first++) {
        heft_bit_stream_codes(packed5, 5, first, MOST - first, codes);
        heft_int_values_biased(codes, first, MOST - first, &groups, HEFT_BF16, values);
        check_bf16(values, values5 + first, MOST - first);
    }
}

/* 3 · 0.0874… has more bits than BF16 holds; the value in F32 keeps them. */
static void products_stay_exact_for_f32(void **state)
{
    const float scale = bf16(0x3DB3), bias = 1.0f;
    const struct heft_int_groups groups = {&scale, &bias, 32};
    const uint8_t code = 3;
    uint8_t value[4];
    float x;

    (void)state;
    heft_int_values_biased(&code, 0, 1, &groups, HEFT_F32, value);
    heft_copy_le(&x, value, 4);
    assert_true(heft_bits_of_float(x) == heft_bits_of_float((float)(1.0 + 3.0 * (double)scale)));
    heft_int_values_biased(&code, 0, 1, &groups, HEFT_BF16, value);
    heft_copy_le(&x, value, 4);
    assert_true(x == 1.0f + bf16(0x3E86));
}

static void tables_are_scaled(void **state)
{
    float table[16];
    uint8_t codes[32], values[128];

    (void)state;
    for (size_t i = 0; i < 16; i++)
        table[i] = heft_float_of_bits(table_nf4[i]);
    heft_bit_stream_high_first(packed_nf4, 0, 32, codes);
    heft_int_values_table(codes, 32, table, heft_float_of_bits(0x403E0000), values);
    check_bf16(values, values_nf4, 32);
}

static void row_maxima_are_multiplied_by_the_rounded_inverse(void **state)
{
    uint8_t codes[24], values[96];

    (void)state;
    memcpy(codes, row_int8, sizeof codes);
    heft_int_values_unsign(codes, sizeof codes);
    heft_int_values_row_max(codes, 24, heft_float_of_bits(0x4000F612), values);
    for (size_t i = 0; i < 24; i++) {
        float x;

        heft_copy_le(&x, values + 4 * i, 4);
        assert_true(heft_bits_of_float(x) == values_int8[i]);
    }
}

static void signed_codes_become_unsigned(void **state)
{
    uint8_t codes[] = {0x80, 0xFF, 0, 1, 0x7F};
    const uint8_t expected[] = {0, 127, 128, 129, 255};

    (void)state;
    heft_int_values_unsign(codes, sizeof codes);
    assert_memory_equal(codes, expected, sizeof codes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_as_the_row),
        cmocka_unit_test(columns_find_their_groups),
        cmocka_unit_test(products_of_mlx_are_rounded),
        cmocka_unit_test(products_stay_exact_for_f32),
        cmocka_unit_test(tables_are_scaled),
        cmocka_unit_test(row_maxima_are_multiplied_by_the_rounded_inverse),
        cmocka_unit_test(signed_codes_become_unsigned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
