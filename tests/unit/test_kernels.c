/* test_kernels.c: every kernel of the tokenizer returns the bits of the portable one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tokens/bpe/kernels.h"

enum { ROUNDS = 20000, SPARE = 16 };

static uint64_t random_bits(void)
{
    static uint64_t seed = 7;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Every byte at every position. */
static void masks_are_equal(void **state)
{
    const struct heft_kernel *k;
    uint8_t text[HEFT_SCAN_BLOCK];
    struct heft_masks expected, m;

    (void)state;
    for (size_t index = 0; (k = heft_scan_kernel_at(index)) != NULL; index++)
        for (unsigned round = 0; round < 256 + ROUNDS; round++) {
            for (unsigned i = 0; i < HEFT_SCAN_BLOCK; i++)
                text[i] = (uint8_t)(round < 256 ? round + i : random_bits() >> 32);
            heft_kernel_plain.masks(text, &expected);
            k->masks(text, &m);
            assert_memory_equal(&m, &expected, sizeof m);
        }
}

/* All, none, one, few and many of the bits. */
static uint64_t bits_of_round(unsigned round)
{
    const uint64_t bits = random_bits();

    if (round < 2)
        return 0 - (uint64_t)round;
    if (round < 66)
        return (uint64_t)1 << (round - 2);
    return round % 3 == 0 ? bits : round % 3 == 1 ? bits & random_bits() : bits | random_bits();
}

static void places_are_equal(void **state)
{
    const struct heft_kernel *k;
    uint32_t expected[HEFT_SCAN_BLOCK], places[HEFT_SCAN_BLOCK + SPARE];

    (void)state;
    for (size_t index = 0; (k = heft_scan_kernel_at(index)) != NULL; index++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            const uint64_t begin = bits_of_round(round);
            const uint32_t base = (uint32_t)random_bits() >> (round % 32);
            const size_t count = heft_places_plain(begin, base, expected);

            assert_int_equal(k->places(begin, base, places), count);
            assert_memory_equal(places, expected, count * sizeof *places);
        }
}

/* The least number at every position, beside numbers of all sizes. */
static void least_numbers_are_equal(void **state)
{
    const struct heft_kernel *k;
    uint32_t numbers[HEFT_LEAST_OF];

    (void)state;
    for (size_t index = 0; (k = heft_scan_kernel_at(index)) != NULL; index++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned i = 0; i < HEFT_LEAST_OF; i++)
                numbers[i] = round % 2 ? (uint32_t)random_bits() : UINT32_MAX - (uint32_t)(i % 3);
            numbers[round % HEFT_LEAST_OF] >>= round % 32;
            assert_int_equal(k->least(numbers), heft_least_plain(numbers));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_equal),
        cmocka_unit_test(places_are_equal),
        cmocka_unit_test(least_numbers_are_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
