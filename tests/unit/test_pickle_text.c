/* test_pickle_text.c: values in the text form of protocol 0 (lines). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "pickle_show.h"

static void expect(const char *bytes, size_t n, const char *want)
{
    struct heft_buf got;
    struct run run;

    run_pickle(&run, bytes, n);
    show_root(&got, &run);
    assert_string_equal(got.p, want);
    heft_buf_release(&got);
    end_run(&run);
}
#define EXPECT(bytes, want) expect(bytes, sizeof(bytes) - 1, want)

/* Expects HEFT_MALFORMED at the opcode; the error's text contains `part`. */
static void refuse(const char *bytes, size_t n, const char *part)
{
    struct run run;

    run_pickle(&run, bytes, n);
    assert_false(run.done);
    assert_int_equal(run.err.code, HEFT_MALFORMED);
    assert_int_equal(run.err.offset, 0);
    if (!strstr(run.err.text, part))
        assert_string_equal(run.err.text, part);
    end_run(&run);
}
#define REFUSE(bytes, part) refuse(bytes, sizeof(bytes) - 1, part)

static void integers(void **state)
{
    (void)state;
    EXPECT("I0\n.", "0");
    EXPECT("I-5\n.", "-5");
    EXPECT("I+7\n.", "7");
    EXPECT("I00\n.", "False");
    EXPECT("I01\n.", "True");
    EXPECT("I0x1F\n.", "31");
    EXPECT("I-0Xff\n.", "-255");
    EXPECT("I9223372036854775807\n.", "9223372036854775807");
    EXPECT("L-9223372036854775808L\n.", "-9223372036854775808");
    EXPECT("L9223372036854775808L\n.", "big:000000000000008000");
    EXPECT("L12\n.", "12");
    EXPECT("L0L\n.", "0");
    EXPECT("L-0L\n.", "0");
    EXPECT("L000000000000000000000x1L\n.",
           "error 3 at 0: LONG at 0: \"000000000000000000000x1\" is "
           "no integer");
}

static void large_integers(void **state)
{
    (void)state;
    /* torch's magic number, in decimal and in hexadecimal */
    EXPECT("L119547037146038801333356L\n.", "big:6cfc9c46f9206aa85019");
    EXPECT("L0x1950a86a20f9469cfc6cL\n.", "big:6cfc9c46f9206aa85019");
    EXPECT("L-119547037146038801333356L\n.", "big:940363b906df9557afe6");
    EXPECT("L18446744073709551616L\n.", "big:000000000000000001");
    EXPECT("L-18446744073709551616L\n.", "big:0000000000000000ff");
    EXPECT("L0xffffffffffffffffffL\n.", "big:ffffffffffffffffff00");
}

static void the_longest_integer_fills_its_buffer(void **state)
{
    char bytes[4200];
    struct run run;

    (void)state;
    bytes[0] = 'L';
    memcpy(bytes + 1, "0x", 2);
    memset(bytes + 3, 'f', 4094);
    memcpy(bytes + 4097, "\n.", 2);
    run_pickle(&run, bytes, 4099);
    assert_true(run.done);
    assert_int_equal(heft_pickle_at(&run.pickle, run.pickle.root)->len, 4094 / 2 + 1);
    end_run(&run);
    memset(bytes + 1, '9', 4096);
    run_pickle(&run, bytes, 4099);
    assert_true(run.done);
    end_run(&run);
    memset(bytes + 1, '9', 4097);
    memcpy(bytes + 4098, "\n.", 2);
    run_pickle(&run, bytes, 4100);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_string_equal(run.err.text, "LONG at 0: a line of more than 4096 bytes");
    end_run(&run);
}

static void malformed_integers(void **state)
{
    (void)state;
    REFUSE("I\n.", "INT at 0: \"\" is no integer");
    REFUSE("I0x\n.", "\"0x\" is no integer");
    REFUSE("I-\n.", "no integer");
    REFUSE("I1_0\n.", "no integer");
    REFUSE("I 1\n.", "no integer");
    REFUSE("I1\r\n.", "no integer");
    REFUSE("I010\n.", "no integer");
    REFUSE("I02\n.", "no integer");
    REFUSE("I1L\n.", "no integer");
    REFUSE("I0xg\n.", "no integer");
    REFUSE("LL\n.", "LONG at 0: \"L\" is no integer");
    REFUSE("L1LL\n.", "no integer");
    REFUSE("I1", "INT at 0: the pickle ends inside a line");
}

static void floats(void **state)
{
    (void)state;
    EXPECT("F0.5\n.", "0.5");
    EXPECT("F-1e+300\n.", "-1.0000000000000001e+300");
    EXPECT("F1\n.", "1");
    EXPECT("F.5\n.", "0.5");
    EXPECT("F5.\n.", "5");
    EXPECT("F1E-2\n.", "0.01");
    EXPECT("F1e-999\n.", "0");
    EXPECT("F0.1000000000000000055511151231257827021181583404541015625\n.", "0.10000000000000001");
    EXPECT("Finf\n.", "inf");
    EXPECT("F-Infinity\n.", "-inf");
    EXPECT("F1.7976931348623157e308\n.", "1.7976931348623157e+308");
}

static void malformed_floats(void **state)
{
    (void)state;
    REFUSE("F\n.", "FLOAT at 0: \"\" is no float");
    REFUSE("F.\n.", "no float");
    REFUSE("Fe5\n.", "no float");
    REFUSE("F1e\n.", "no float");
    REFUSE("F1e+\n.", "no float");
    REFUSE("F1_0.0\n.", "no float");
    REFUSE("F0x1p3\n.", "no float");
    REFUSE("F1,5\n.", "no float");
    REFUSE("F 1\n.", "no float");
    REFUSE("Fnan(1)\n.", "no float");
    REFUSE("F1e999\n.", "out of range");
    REFUSE("F-1e999\n.", "out of range");
}

static void quoted_strings(void **state)
{
    (void)state;
    EXPECT("S''\n.", "p''");
    EXPECT("S'plain'\n.", "p'plain'");
    EXPECT("S\"it's\"\n.", "p'it's'");
    EXPECT("S'a\\tb\\\\c\\'d\\x41\\101\\n'\n.", "p'a\tb\\c'dAA\n'");
    EXPECT("S'\\q'\n.", "p'\\q'");
    EXPECT("S'\\1018'\n.", "p'A8'");
    EXPECT("S'\\501'\n.", "p'A'");
    EXPECT("S'\\xe9\xe9'\n.", "p'\xe9\xe9'");
}

static void malformed_quoted_strings(void **state)
{
    (void)state;
    REFUSE("S\n.", "no quoted string");
    REFUSE("S'\n.", "no quoted string");
    REFUSE("Sabc\n.", "STRING at 0: \"abc\" is no quoted string");
    REFUSE("S'abc\"\n.", "no quoted string");
    REFUSE("S'abc\\'\n.", "a backslash at the end");
    REFUSE("S'\\x4'\n.", "\\x needs 2 hexadecimal digits");
}

static void unicode(void **state)
{
    (void)state;
    EXPECT("V\n.", "''");
    EXPECT("Vplain\n.", "'plain'");
    EXPECT("V\xe9\\u00e9\\U0001f600\n.", "'\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80'");
    EXPECT("V\\ud83d\n.", "'\xed\xa0\xbd'");
    EXPECT("V\\\\u0041\n.", "'\\\\u0041'");
    EXPECT("V\\n\\\n.", "'\\n\\'");
    EXPECT("V\\u0000x\n0I1\n.", "1");
    REFUSE("V\\u12\n.", "bad escape");
    REFUSE("V\\U00110000\n.", "beyond");
    REFUSE("V\\uzzzz\n.", "UNICODE at 0: bad escape at 1 of the line");
}

static void memo_lines(void **state)
{
    (void)state;
    EXPECT("I1\np0\n0g0\n.", "1");
    EXPECT("I1\np4294967296\n.", "error 3 at 3: PUT at 3: \"4294967296\" is no memo index (0 to "
                                 "4294967295)");
    EXPECT("I1\np-1\n.", "error 3 at 3: PUT at 3: \"-1\" is no memo index (0 to 4294967295)");
    EXPECT("I1\np\n.", "error 3 at 3: PUT at 3: \"\" is no memo index (0 to 4294967295)");
    EXPECT("gx\n.", "error 3 at 0: GET at 0: \"x\" is no memo index (0 to 4294967295)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(large_integers),
        cmocka_unit_test(the_longest_integer_fills_its_buffer),
        cmocka_unit_test(malformed_integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(malformed_floats),
        cmocka_unit_test(quoted_strings),
        cmocka_unit_test(malformed_quoted_strings),
        cmocka_unit_test(unicode),
        cmocka_unit_test(memo_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
