/* test_checksum.c: known checksums, updates piece by piece, combination. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/simd_state.h"
#include "simd_halves.h"
#include "skip_because.h"

static void known_answers(void **state)
{
    uint8_t zeros[32] = {0}, ones[32];

    (void)state;
    memset(ones, 0xff, sizeof ones);
    assert_int_equal(heft_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(heft_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(heft_crc32(0, "", 0), 0);
    assert_int_equal(heft_crc32c(0, "", 0), 0);
    assert_int_equal(heft_crc32c(0, zeros, 32), 0x8a9136aa); /* RFC 3720 B.4 */
    assert_int_equal(heft_crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(heft_crc32(0, zeros, 32), 0x190a55ad);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void fill_random(uint8_t *data, size_t n, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)next_random(seed);
}

/* CRC by its definition, bit by bit. */
static uint32_t slow_crc(uint32_t polynomial, const uint8_t *data, size_t n)
{
    uint32_t crc = ~0u;

    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
    }
    return ~crc;
}

static void crc32_and_crc32c_equal_the_definition_at_every_length(void **state)
{
    uint8_t data[600];
    uint32_t seed = 5;

    (void)state;
    fill_random(data, sizeof data, &seed);
    for (size_t n = 0; n < sizeof data; n++) {
        assert_int_equal(heft_crc32(0, data, n), slow_crc(0xedb88320, data, n));
        assert_int_equal(heft_crc32c(0, data, n), slow_crc(0x82f63b78, data, n));
    }
}

static void checksums_of_pieces_chain_and_combine(void **state)
{
    static uint8_t data[70000];
    uint32_t seed = 9;

    (void)state;
    fill_random(data, sizeof data, &seed);
    for (int round = 0; round < 2000; round++) {
        const size_t n = next_random(&seed) % sizeof data;
        const size_t cut = n ? next_random(&seed) % (n + 1) : 0;
        const uint32_t whole = heft_crc32(0, data, n);
        const uint32_t a = heft_crc32(0, data, cut), b = heft_crc32(0, data + cut, n - cut);

        assert_int_equal(heft_crc32(a, data + cut, n - cut), whole);
        assert_int_equal(heft_crc32_combine(a, b, n - cut), whole);
        assert_int_equal(heft_crc32c(heft_crc32c(0, data, cut), data + cut, n - cut),
                         heft_crc32c(0, data, n));
        assert_int_equal(heft_crc32c_combine(heft_crc32c(0, data, cut),
                                             heft_crc32c(0, data + cut, n - cut), n - cut),
                         heft_crc32c(0, data, n));
        assert_int_equal(heft_sum_combine(HEFT_SUM_CRC32C, heft_sum_of(HEFT_SUM_CRC32C, data, cut),
                                          heft_sum_of(HEFT_SUM_CRC32C, data + cut, n - cut),
                                          n - cut),
                         heft_crc32c(0, data, n));
    }
}

/* CRC of long runs of zeros by doubling: crc(2n) = combine(crc(n), crc(n), n). */
static void combination_reaches_lengths_beyond_memory(void **state)
{
    static const uint8_t zeros[1 << 20];
    uint32_t crc = heft_crc32(0, zeros, sizeof zeros);

    (void)state;
    for (uint64_t n = sizeof zeros; n < (uint64_t)1 << 40; n *= 2)
        crc = heft_crc32_combine(crc, crc, n);
    /* By the definition: the CRC of a long run of zeros, combined with an empty prefix in one step.
     */
    assert_int_equal(crc, heft_crc32_combine(heft_crc32_combine(0xd202ef8d, 0, 0),
                                             heft_crc32_combine(0, crc, 0), 0) ^
                              0xd202ef8d);
    assert_int_equal(heft_crc32_combine(0x12345678, 0, 0), 0x12345678);
    /* Combination is associative: (a b) c and a (b c) give the same CRC. */
    const uint32_t left = heft_crc32_combine(heft_crc32_combine(1, 2, UINT64_MAX / 3), 3, 1u << 30);
    const uint32_t right =
        heft_crc32_combine(1, heft_crc32_combine(2, 3, 1u << 30), UINT64_MAX / 3 + (1u << 30));
    assert_int_equal(left, right);
}

/* ISA-L's functions leave numbers in the upper halves, which slows down all code after them. */
static void checksums_leave_the_vector_registers_clear(void **state)
{
    static const uint8_t zeros[1 << 16];

    (void)state;
    if (!can_see_simd_halves())
        skip_because("this processor does not report which vector registers are in use");
    heft_simd_clear();
    assert_false(simd_halves_are_used());
    (void)heft_crc32(0, zeros, sizeof zeros);
    assert_false(simd_halves_are_used());
    (void)heft_crc32c(0, zeros, sizeof zeros);
    assert_false(simd_halves_are_used());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(crc32_and_crc32c_equal_the_definition_at_every_length),
        cmocka_unit_test(checksums_of_pieces_chain_and_combine),
        cmocka_unit_test(combination_reaches_lengths_beyond_memory),
        cmocka_unit_test(checksums_leave_the_vector_registers_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
