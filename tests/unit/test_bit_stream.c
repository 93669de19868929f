/* test_bit_stream.c: codes of each width, from any code on, against a bit at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quant/bit_stream.h"

enum { CODES = 107 };

/* Reproducible noise. */
static void fill_bytes(uint8_t *p, size_t n)
{
    uint32_t x = 12345;

    for (size_t i = 0; i < n; i++) {
        x = (uint32_t)((x * UINT64_C(1103515245) + 12345) & UINT32_MAX);
        p[i] = (uint8_t)(x >> 16);
    }
}

static uint8_t slow_code(const uint8_t *p, unsigned bits, bool in_words, size_t index)
{
    const unsigned each = 32 / bits;
    const size_t at = in_words ? index / each * 32 + index % each * bits : index * bits;
    uint8_t code = 0;

    for (size_t k = bits; k > 0; k--)
        code = (uint8_t)(code << 1 | (p[(at + k - 1) / 8] >> (at + k - 1) % 8 & 1));
    return code;
}

/* The bytes are in a block of their exact size, so that a sanitizer sees a read beyond them. */
static void check_range(unsigned bits, bool in_words, size_t first, size_t n)
{
    uint8_t all[4 * CODES], codes[CODES + 1];
    const size_t each = 32 / bits, end = first + n;
    const size_t to = in_words ? (end + each - 1) / each * 4 : (end * bits + 7) / 8;
    uint8_t *exact;

    assert_true(to <= sizeof all);
    fill_bytes(all, sizeof all);
    exact = malloc(to ? to : 1);
    assert_non_null(exact);
    memcpy(exact, all, to);
    codes[n] = 0xA5;
    if (in_words)
        heft_bit_stream_word_codes(exact, bits, first, n, codes);
    else
        heft_bit_stream_codes(exact, bits, first, n, codes);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(codes[i], slow_code(all, bits, in_words, first + i));
    assert_int_equal(codes[n], 0xA5);
    free(exact);
}

static void each_range_of_each_width_is_unpacked(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= HEFT_BIT_STREAM_MOST; bits++)
        for (size_t first = 0; first < 34; first++)
            for (size_t n = 0; n <= CODES - 34; n++) {
                check_range(bits, false, first, n);
                check_range(bits, true, first, n);
            }
}

/* compressed-tensors 0.20.0 packs 64 codes of three bits into 6 words, 0.9.4 into 7. */
static void words_are_counted(void **state)
{
    uint64_t words;

    (void)state;
    assert_true(heft_bit_stream_words(3, false, 64, &words) && words == 6);
    assert_true(heft_bit_stream_words(3, true, 64, &words) && words == 7);
    assert_true(heft_bit_stream_words(4, false, 36, &words) && words == 5);
    assert_true(heft_bit_stream_words(4, true, 36, &words) && words == 5);
    assert_true(heft_bit_stream_words(8, false, 0, &words) && words == 0);
}

static void large_numbers_are_refused(void **state)
{
    uint64_t words;

    (void)state;
    assert_false(heft_bit_stream_words(8, false, UINT64_MAX, &words));
    assert_false(heft_bit_stream_words(3, false, UINT64_MAX / 2, &words));
    assert_true(heft_bit_stream_words(3, true, UINT64_MAX, &words));
}

static void the_high_nibble_comes_first(void **state)
{
    uint8_t bytes[40], codes[80];

    (void)state;
    fill_bytes(bytes, sizeof bytes);
    for (size_t first = 0; first < 80; first++)
        for (size_t n = 0; n <= 80 - first; n++) {
            heft_bit_stream_high_first(bytes, first, n, codes);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(codes[i], (first + i) % 2 ? bytes[(first + i) / 2] & 15
                                                           : bytes[(first + i) / 2] >> 4);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_range_of_each_width_is_unpacked),
        cmocka_unit_test(words_are_counted),
        cmocka_unit_test(large_numbers_are_refused),
        cmocka_unit_test(the_high_nibble_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
