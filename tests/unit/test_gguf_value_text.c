/* test_gguf_value_text.c: values of GGUF's key-value pairs from texts. The bytes are those that gguf-py
 * 0.19.0 writes for the same values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "format/gguf/gguf_write.h"

static const struct heft_gguf_value_type text_type = {HEFT_GGUF_STRING, 0};

static bool put_as(struct heft_buf *out, const char *text, struct heft_gguf_value_type usual,
                   struct heft_error *err)
{
    struct heft_gguf_value_type type;

    return heft_gguf_put_value(out, heft_str_of(text), usual, &type, err) && heft_buf_ok(out, err);
}

/* hex: type u32, then the value. */
static void expect_as(const char *text, struct heft_gguf_value_type usual, const char *hex)
{
    struct heft_buf out = {0};
    struct heft_error err = {0};
    char found[400] = "";

    assert_true(put_as(&out, text, usual, &err));
    for (size_t i = 0; i < out.n; i++)
        snprintf(found + 2 * i, sizeof found - 2 * i, "%02x", (uint8_t)out.p[i]);
    assert_string_equal(found, hex);
    heft_buf_release(&out);
}

static void expect(const char *text, const char *hex)
{
    expect_as(text, text_type, hex);
}

static void expect_refused(const char *text, const char *why)
{
    struct heft_buf out = {0};
    struct heft_error err = {0};

    assert_false(put_as(&out, text, text_type, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, why));
    heft_buf_release(&out);
}

static void scalars_have_their_types(void **state)
{
    (void)state;
    expect("u8:255", "00000000ff");
    expect("i8:-128", "0100000080");
    expect("u16:65535", "02000000ffff");
    expect("i16:-32768", "030000000080");
    expect("u32:4294967295", "04000000ffffffff");
    expect("i32:-2147483648", "0500000000000080");
    expect("u64:18446744073709551615", "0a000000ffffffffffffffff");
    expect("i64:-9223372036854775808", "0b0000000000000000000080");
    expect("i64:9223372036854775807", "0b000000ffffffffffffff7f");
    expect("bool:true", "0700000001");
    expect("bool:false", "0700000000");
    expect("u8:-0", "0000000000");
    expect("u8:007", "0000000007");
}

/* A decimal just above the middle of two floats becomes the middle as a double, then 1 as a float, as by
 * struct.pack("<f"). */
static void floats_are_rounded_as_python_does(void **state)
{
    (void)state;
    expect("f32:0.1", "06000000cdcccc3d");
    expect("f64:0.1", "0c0000009a9999999999b93f");
    expect("f32:-0", "0600000000000080");
    expect("f32:1e-5", "06000000acc52737");
    expect("f32:.5", "060000000000003f");
    expect("f32:+2.", "0600000000000040");
    expect("f32:1.00000005960464477539062500001", "060000000000803f");
    expect("f32:inf", "060000000000807f");
    expect("f64:-inf", "0c000000000000000000f0ff");
    expect("f32:nan", "060000000000c07f");
}

static void texts_need_no_type(void **state)
{
    (void)state;
    expect("ab", "0800000002000000000000006162");
    expect("", "080000000000000000000000");
    expect("str:", "080000000000000000000000");
    expect("str:u8:1", "08000000040000000000000075383a31");
    expect("a:b", "080000000300000000000000613a62");
    expect(":", "0800000001000000000000003a");
    expect_as("7", (struct heft_gguf_value_type){HEFT_GGUF_U16, 0}, "020000000700");
    expect_as("str:7", (struct heft_gguf_value_type){HEFT_GGUF_U16, 0},
              "08000000010000000000000037");
    expect_as("[1]", (struct heft_gguf_value_type){HEFT_GGUF_ARRAY, HEFT_GGUF_I8},
              "0900000001000000010000000000000001");
}

static void arrays_are_json(void **state)
{
    (void)state;
    expect("i32[]:[1, -2]", "0900000005000000020000000000000001000000feffffff");
    expect("u8[]:[]", "09000000000000000000000000000000");
    expect("bool[]:[true,false]", "090000000700000002000000000000000100");
    expect("f32[]:[1,0.1]", "090000000600000002000000000000000000803fcdcccc3d");
    expect(
        "str[]:[\"a\",\"\",\"\\u00fc\"]",
        "0900000008000000030000000000000001000000000000006100000000000000000200000000000000c3bc");
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    expect_refused("u8:256", "the value is \"256\", expected u8 from 0 to 255");
    expect_refused("u8:-1", "expected u8 from 0 to 255");
    expect_refused("i8:128", "expected i8 from -128 to 127");
    expect_refused("i8:-129", "expected i8 from -128 to 127");
    expect_refused("u64:18446744073709551616", "expected u64 from 0 to 18446744073709551615");
    expect_refused("i64:9223372036854775808", "expected i64");
    expect_refused("u8:", "the value is \"\"");
    expect_refused("u8:-", "the value is \"-\"");
    expect_refused("u8:+1", "the value is \"+1\"");
    expect_refused("u8:0x1", "the value is \"0x1\"");
    expect_refused("u8: 1", "the value is \" 1\"");
    expect_refused("f32:1e39", "a number within f32");
    expect_refused("f64:1e309", "a number within f64");
    expect_refused("f32:", "a number within f32");
    expect_refused("f32:.", "a number within f32");
    expect_refused("f32:1e", "a number within f32");
    expect_refused("f32:1e+", "a number within f32");
    expect_refused("f32:0x1", "a number within f32");
    expect_refused("f32:infinity", "a number within f32");
    expect_refused("bool:1", "expected true or false");
    expect_refused("f16:1", "GGUF has no type f16");
    expect_refused("u24[]:[1]", "GGUF has no type u24[]");
    expect_refused("i32[]:7", "i32[] is a number, expected a JSON array");
    expect_refused("i32[]:[1,", "not a JSON array");
    expect_refused("i32[]:[1] 2", "not a JSON array");
    expect_refused("i32[]:[1.0]", "expected i32");
    expect_refused("i32[]:[\"1\"]", "an item of i32[] is a string");
    expect_refused("i32[]:[[1]]", "an item of i32[] is an array");
    expect_refused("bool[]:[1]", "an item of bool[] is a number");
    expect_refused("str[]:[1]", "an item of str[] is a number");
    expect_refused("f32[]:[1e39]", "a number within f32");
}

static void nested_arrays_have_no_text(void **state)
{
    const struct heft_gguf_value_type nested = {HEFT_GGUF_ARRAY, HEFT_GGUF_ARRAY};
    struct heft_buf out = {0};
    struct heft_error err = {0};

    (void)state;
    assert_false(put_as(&out, "[[1]]", nested, &err));
    assert_non_null(strstr(err.text, "an array of arrays"));
    heft_buf_release(&out);
}

static bool attempt(void *ctx, struct heft_error *err)
{
    struct heft_buf out = {0};
    const bool ok = put_as(&out, ctx, text_type, err);

    heft_buf_release(&out);
    return ok;
}

static void lack_of_memory_is_an_error(void **state)
{
    static char text[] = "str[]:[\"a\\u00fc\",\"b\"]";

    (void)state;
    fail_each_allocation(attempt, text, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_have_their_types),
        cmocka_unit_test(floats_are_rounded_as_python_does),
        cmocka_unit_test(texts_need_no_type),
        cmocka_unit_test(arrays_are_json),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(nested_arrays_have_no_text),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
