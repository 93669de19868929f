/* test_part_receipt.c: the receipt of a part: its text, and each text that differs from it is refused. */
#include "tokens/output/part_receipt.h"

#include "base/checksum.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct heft_part_receipt LARGE = {
    .index = 7,
    .count = 1048576,
    .options = UINT64_C(0x0123456789abcdef),
    .vocabulary = UINT64_MAX,
    .inputs = UINT64_MAX,
    .bytes = UINT64_MAX,
    .inputs_mark = 1,
    .files = {{UINT64_MAX, 0xffffffff}, {0, 0}, {1, 2}, {UINT64_MAX, 3}},
    .n_files = 4,
};

static bool parses(const void *p, size_t n, struct heft_part_receipt *out, struct heft_error *err)
{
    *err = (struct heft_error){0};
    return heft_part_receipt_parse(out, (struct heft_bytes){(const uint8_t *)p, n}, err);
}

static void test_text(void **state)
{
    static const char expected[] = "heft-part 1\npart 2/3\noptions 00000000000000ab\n"
                                   "vocabulary 00000000000000cd\ninputs 4 5 00000000000000ef\n"
                                   "file 6 00000007\n";
    const struct heft_part_receipt small = {.index = 2,
                                            .count = 3,
                                            .options = 0xab,
                                            .vocabulary = 0xcd,
                                            .inputs = 4,
                                            .bytes = 5,
                                            .inputs_mark = 0xef,
                                            .files = {{6, 7}},
                                            .n_files = 1};
    struct heft_part_receipt found;
    struct heft_error err;
    struct heft_buf text = {0};

    (void)state;
    heft_part_receipt_put(&text, &small);
    assert_true(text.n > sizeof expected);
    assert_memory_equal(text.p, expected, sizeof expected - 1);
    assert_true(parses(text.p, text.n, &found, &err));
    assert_memory_equal(&found, &small, sizeof small);
    heft_buf_release(&text);
}

static void test_largest(void **state)
{
    struct heft_part_receipt found;
    struct heft_error err;
    struct heft_buf text = {0};

    (void)state;
    heft_part_receipt_put(&text, &LARGE);
    assert_true(text.n <= HEFT_PART_BYTES);
    assert_true(parses(text.p, text.n, &found, &err));
    assert_memory_equal(&found, &LARGE, sizeof LARGE);
    heft_buf_release(&text);
}

/* Every prefix, every other value of every byte, and a byte more. */
static void test_damaged(void **state)
{
    struct heft_part_receipt found;
    struct heft_error err;
    struct heft_buf text = {0};

    (void)state;
    heft_part_receipt_put(&text, &LARGE);
    for (size_t n = 0; n < text.n; n++)
        assert_false(parses(text.p, n, &found, &err));
    for (size_t i = 0; i < text.n; i++)
        for (unsigned change = 1; change < 256; change++) {
            text.p[i] = (char)((uint8_t)text.p[i] ^ change);
            assert_false(parses(text.p, text.n, &found, &err));
            assert_int_equal(err.code, HEFT_MALFORMED);
            text.p[i] = (char)((uint8_t)text.p[i] ^ change);
        }
    heft_buf_char(&text, '\n');
    assert_false(parses(text.p, text.n, &found, &err));
    heft_buf_release(&text);
}

/* A forged text with a fitting sum. */
static void expect_forged(const char *lines, bool is_fine)
{
    struct heft_part_receipt found;
    struct heft_error err;
    struct heft_buf text = {0};

    heft_buf_printf(&text, "%s", lines);
    heft_buf_printf(&text, "sum %08" PRIx32 "\n", heft_crc32c(0, text.p, text.n));
    assert_int_equal(parses(text.p, text.n, &found, &err), is_fine);
    heft_buf_release(&text);
}

static void test_forged(void **state)
{
#define REST                                                                                       \
    "\noptions 0000000000000000\nvocabulary 0000000000000000\ninputs 0 0 0000000000000000\n"
    (void)state;
    expect_forged("heft-part 1\npart 1/1" REST "file 0 00000000\n", true);
    expect_forged("heft-part 2\npart 1/1" REST "file 0 00000000\n", false);
    expect_forged("heft-part 1\npart 0/1" REST "file 0 00000000\n", false);
    expect_forged("heft-part 1\npart 2/1" REST "file 0 00000000\n", false);
    expect_forged("heft-part 1\npart 01/1" REST "file 0 00000000\n", false);
    expect_forged("heft-part 1\npart +1/1" REST "file 0 00000000\n", false);
    expect_forged("heft-part 1\npart 18446744073709551617/18446744073709551617" REST
                  "file 0 00000000\n",
                  false);
    expect_forged("heft-part 1\npart 1/1" REST, false);
    expect_forged("heft-part 1\npart 1/1" REST "file 0 0000000g\n", false);
    expect_forged("heft-part 1\npart 1/1" REST "file 0 100000000\n", false);
    expect_forged("heft-part 1\npart 1/1" REST
                  "file 0 00000000\nfile 0 00000000\nfile 0 00000000\nfile 0 00000000\nfile 0 "
                  "00000000\n",
                  false);
#undef REST
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_forged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
