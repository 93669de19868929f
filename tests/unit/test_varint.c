/* test_varint.c: varints of every length, cut off, and too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/varint.h"

static void every_length_is_decoded(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        const uint64_t value = UINT64_C(1) << bits;
        uint8_t bytes[HEFT_VARINT_MOST];
        unsigned n = 0;
        uint64_t out;

        for (uint64_t rest = value; rest || n == 0; rest >>= 7)
            bytes[n++] = (uint8_t)(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
        for (unsigned have = 0; have < n; have++)
            assert_int_equal(heft_varint_get(bytes, have, &out), 0);
        assert_int_equal(heft_varint_get(bytes, n, &out), n);
        assert_true(out == value);
    }
}

static void more_than_64_bits_are_refused(void **state)
{
    uint8_t bytes[HEFT_VARINT_MOST + 1];
    uint64_t out;

    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    assert_true(heft_varint_get(bytes, sizeof bytes, &out) > HEFT_VARINT_MOST);
    bytes[HEFT_VARINT_MOST - 1] = 2;
    assert_true(heft_varint_get(bytes, sizeof bytes, &out) > HEFT_VARINT_MOST);
    bytes[HEFT_VARINT_MOST - 1] = 1;
    assert_int_equal(heft_varint_get(bytes, sizeof bytes, &out), HEFT_VARINT_MOST);
    assert_true(out == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_is_decoded),
        cmocka_unit_test(more_than_64_bits_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
