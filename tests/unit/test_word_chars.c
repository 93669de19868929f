/* test_word_chars.c: every code point, compared with checksums of what the tokenizers library has
 * (scripts/unicode-words --check compares with the library). */
#include "base/checksum.h"
#include "tokens/prepare/word_chars.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_all(void **unused)
{
    static uint8_t all[0x110000]; /* 1 word character, 2 white space, 0 other */
    unsigned counts[3] = {0};

    (void)unused;
    for (uint32_t c = 0; c < sizeof all; c++) {
        all[c] = heft_is_word_char(c) ? 1 : heft_is_white_space(c) ? 2 : 0;
        counts[all[c]]++;
    }
    assert_int_equal(counts[1], 144667);
    assert_int_equal(counts[2], 25);
    assert_int_equal(heft_crc32(0, all, sizeof all), UINT32_C(0x77B1135B));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};

    return cmocka_run_group_tests_name("word_chars", tests, NULL, NULL);
}
