/* test_pickle_reject.c: malformed, truncated and hostile pickles: code, offset and text of the
 * error; the graph built before it can be walked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "pickle_show.h"
#include "wire_samples.h"

struct bad {
    const char *bytes;
    size_t n;
    enum heft_code code;
    uint64_t at;
    const char *text; /* beginning of the error's text */
};
#define BAD(bytes, code, at, text)                                                                 \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, code, at, text                                                   \
    }

static void check_graph(const struct heft_pickle *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        struct heft_pickle_iter iter = heft_pickle_items(p, i);
        uint32_t item, n = 0;

        for (; heft_pickle_next(&iter, &item); n++)
            assert_true(item < p->count);
        assert_int_equal(n, heft_pickle_count(p, i));
    }
}

static void reject(const struct bad *bad)
{
    struct run run;

    run_pickle(&run, bad->bytes, bad->n);
    assert_false(run.done);
    if (strncmp(run.err.text, bad->text, strlen(bad->text)) != 0)
        assert_string_equal(run.err.text, bad->text);
    assert_int_equal(run.err.code, bad->code);
    assert_int_equal(run.err.offset, bad->at);
    check_graph(&run.pickle);
    end_run(&run);
}

static void reject_all(const struct bad *bad, size_t n)
{
    for (size_t i = 0; i < n; i++)
        reject(&bad[i]);
}

static void structure(void **state)
{
    static const struct bad bad[] = {
        BAD("", HEFT_MALFORMED, 0, "opcode at 0: the pickle is empty"),
        BAD("N", HEFT_MALFORMED, 1, "opcode at 1: the pickle ends without STOP"),
        BAD("\x80\x02", HEFT_MALFORMED, 2, "opcode at 2: the pickle ends without STOP"),
        BAD("Nw.", HEFT_MALFORMED, 1, "opcode at 1: byte 0x77 is not an opcode"),
        BAD("\x00.", HEFT_MALFORMED, 0, "opcode at 0: byte 0x00 is not an opcode"),
        BAD(".", HEFT_MALFORMED, 0, "STOP at 0: stack holds 0 values, 1 is needed"),
        BAD("N(.", HEFT_MALFORMED, 2, "STOP at 2: stack holds 0 values above the mark, 1 is"),
        BAD("\x80\x06N.", HEFT_UNSUPPORTED, 0, "PROTO at 0: protocol 6, 0 to 5 are known"),
        BAD("\x80\xffN.", HEFT_UNSUPPORTED, 0, "PROTO at 0: protocol 255"),
        BAD("N1.", HEFT_MALFORMED, 1, "POP_MARK at 1: no mark is open, one is needed"),
        BAD("0.", HEFT_MALFORMED, 0, "POP at 0: stack holds 0 values, 1 is needed"),
        BAD("N(2.", HEFT_MALFORMED, 2, "DUP at 2: stack holds 0 values above the mark"),
        BAD("K\1(\x85t.", HEFT_MALFORMED, 3, "TUPLE1 at 3: stack holds 0 values above the mark, 1"),
        BAD("K\1\x86.", HEFT_MALFORMED, 2, "TUPLE2 at 2: stack holds 1 value, 2 are needed"),
    };

    (void)state;
    reject_all(bad, HEFT_COUNT(bad));
}

static void targets_and_pairs(void **state)
{
    static const struct bad bad[] = {
        BAD("}(K\1u.", HEFT_MALFORMED, 4, "SETITEMS at 4: 1 value above the mark, keys and values"),
        BAD("(K\1K\2K\3d.", HEFT_MALFORMED, 7, "DICT at 7: 3 values above the mark"),
        BAD("]K\1K\2s.", HEFT_MALFORMED, 5, "SETITEM at 5: applied to a list made at 0"),
        BAD("NK\1K\2s.", HEFT_MALFORMED, 5, "SETITEM at 5: applied to None made at 0"),
        BAD("K\1Q(NNu.", HEFT_MALFORMED, 6, "SETITEMS at 6: applied to a persistent object made"),
        BAD("\x8f(NNu.", HEFT_MALFORMED, 4, "SETITEMS at 4: applied to a set made at 0"),
        BAD("}Na.", HEFT_MALFORMED, 2, "APPEND at 2: applied to a dict made at 0"),
        BAD(")(Ne.", HEFT_MALFORMED, 3, "APPENDS at 3: applied to a tuple made at 0"),
        BAD("cm\nn\n(Ne.", HEFT_MALFORMED, 7, "APPENDS at 7: applied to a global made at 0"),
        BAD("](N\x90.", HEFT_MALFORMED, 3, "ADDITEMS at 3: applied to a list made at 0"),
        BAD("K\1Nb.", HEFT_MALFORMED, 3, "BUILD at 3: applied to an int made at 0"),
        BAD("NNb.", HEFT_MALFORMED, 2, "BUILD at 2: applied to None made at 0"),
        BAD("\x8c\1xNb.", HEFT_MALFORMED, 4, "BUILD at 4: applied to a str made at 0"),
        BAD(")Nb.", HEFT_MALFORMED, 2, "BUILD at 2: applied to a tuple made at 0"),
        BAD("cm\nn\n)R}b}b.", HEFT_UNSUPPORTED, 10,
            "BUILD at 10: a second state for the value made at 6"),
        BAD("cm\nn\n)RNaNNs.", HEFT_UNSUPPORTED, 11,
            "SETITEM at 11: an object takes both items and keys with values"),
        BAD("(u.", HEFT_MALFORMED, 1, "SETITEMS at 1: stack holds 0 values, 1 is needed"),
        BAD("N((Ne.", HEFT_MALFORMED, 4, "APPENDS at 4: stack holds 0 values above the mark, 1"),
    };

    (void)state;
    reject_all(bad, HEFT_COUNT(bad));
}

static void memo_entries(void **state)
{
    static const struct bad bad[] = {
        BAD("h\0.", HEFT_MALFORMED, 0, "BINGET at 0: memo entry 0 was never put"),
        BAD("Nq\0h\1.", HEFT_MALFORMED, 3, "BINGET at 3: memo entry 1 was never put"),
        BAD("j\xff\xff\xff\xff.", HEFT_MALFORMED, 0, "LONG_BINGET at 0: memo entry 4294967295 was"),
        BAD("g7\n.", HEFT_MALFORMED, 0, "GET at 0: memo entry 7 was never put"),
        BAD("q\0.", HEFT_MALFORMED, 0, "BINPUT at 0: stack holds 0 values, 1 is needed"),
        BAD("r\0\0\0\0.", HEFT_MALFORMED, 0, "LONG_BINPUT at 0: stack holds 0 values"),
        BAD("\x94.", HEFT_MALFORMED, 0, "MEMOIZE at 0: stack holds 0 values"),
        BAD("N(\x94.", HEFT_MALFORMED, 2, "MEMOIZE at 2: stack holds 0 values above the mark"),
    };

    (void)state;
    reject_all(bad, HEFT_COUNT(bad));
}

static void globals_and_calls(void **state)
{
    static const struct bad bad[] = {
        BAD("K\1K\2\x93.", HEFT_MALFORMED, 4, "STACK_GLOBAL at 4: the module is an int, a str is"),
        BAD("\x8c\1mN\x93.", HEFT_MALFORMED, 4, "STACK_GLOBAL at 4: the name is None, a str is"),
        BAD("C\1mC\1n\x93.", HEFT_MALFORMED, 6, "STACK_GLOBAL at 6: the module is bytes"),
        BAD("\x8c\0\x8c\1n\x93.", HEFT_MALFORMED, 5, "STACK_GLOBAL at 5: the module is empty"),
        BAD("cm\nn\n)R\x8c\1n\x93.", HEFT_UNSUPPORTED, 10,
            "STACK_GLOBAL at 10: the module is an object, a str is needed"),
        BAD("cm\nn", HEFT_MALFORMED, 0, "GLOBAL at 0: the pickle ends inside a line"),
        BAD("cm", HEFT_MALFORMED, 0, "GLOBAL at 0: the pickle ends inside a line"),
        BAD("c\nn\n.", HEFT_MALFORMED, 0, "GLOBAL at 0: the module is empty"),
        BAD("cm\n\n.", HEFT_MALFORMED, 0, "GLOBAL at 0: the name is empty"),
        BAD("cm\r\nn\r\n.", HEFT_MALFORMED, 0, "GLOBAL at 0: the module has the control character"),
        BAD("cm\nn\x7f\n.", HEFT_MALFORMED, 0,
            "GLOBAL at 0: the name has the control character 0x"),
        BAD("cm\n\xff\n.", HEFT_MALFORMED, 0, "GLOBAL at 0: the name is not UTF-8 at byte 0"),
        BAD("cm\nn\nNR.", HEFT_MALFORMED, 6, "REDUCE at 6: the arguments are None, a tuple is"),
        BAD("cm\nn\n]R.", HEFT_MALFORMED, 6, "REDUCE at 6: the arguments are a list, a tuple is"),
        BAD("cm\nn\n)R2R.", HEFT_UNSUPPORTED, 8, "REDUCE at 8: the arguments are an object"),
        BAD("K\1)R.", HEFT_MALFORMED, 3, "REDUCE at 3: the callee is an int, a global is needed"),
        BAD("\x8c\1x)R.", HEFT_MALFORMED, 4, "REDUCE at 4: the callee is a str, a global is"),
        BAD("])\x81.", HEFT_MALFORMED, 2, "NEWOBJ at 2: the callee is a list"),
        BAD("cm\nn\n))\x92.", HEFT_MALFORMED, 7,
            "NEWOBJ_EX at 7: the arguments are a tuple, a dict"),
        BAD("(o.", HEFT_MALFORMED, 1, "OBJ at 1: stack holds 0 values above the mark, 1 is needed"),
        BAD("o.", HEFT_MALFORMED, 0, "OBJ at 0: no mark is open, one is needed"),
        BAD("(NNo.", HEFT_MALFORMED, 3, "OBJ at 3: the callee is None"),
        BAD("im\nn\n.", HEFT_MALFORMED, 0, "INST at 0: no mark is open"),
        BAD("P\xff\n.", HEFT_MALFORMED, 0, "PERSID at 0: byte 0xff at 0 of 1 is not UTF-8"),
        BAD("N\x97.", HEFT_UNSUPPORTED, 1, "NEXT_BUFFER at 1: asks for an out-of-band buffer"),
        BAD("\x98.", HEFT_MALFORMED, 0, "READONLY_BUFFER at 0: stack holds 0 values"),
        BAD("\x82\xff.", HEFT_UNSUPPORTED, 0, "EXT1 at 0: code 255 of a private registry"),
        BAD("\x83\xff\xff.", HEFT_UNSUPPORTED, 0, "EXT2 at 0: code 65535"),
        BAD("\x84\xff\xff\xff\xff.", HEFT_UNSUPPORTED, 0, "EXT4 at 0: code -1"),
    };

    (void)state;
    reject_all(bad, HEFT_COUNT(bad));
}

static void lengths(void **state)
{
    static const struct bad bad[] = {
        BAD("X\xff\xff\xff\xffhi.", HEFT_MALFORMED, 0,
            "BINUNICODE at 0: needs 4294967295 more bytes, the pickle has 3 left"),
        BAD("X\xff\xff", HEFT_MALFORMED, 0,
            "BINUNICODE at 0: needs 4 more bytes, the pickle has 2"),
        BAD("\x8d\0\0\0\0\0\0\0\x80.", HEFT_MALFORMED, 0,
            "BINUNICODE8 at 0: needs 9223372036854775808 more bytes"),
        BAD("\x8e\0\0\0\0\0\0\0\x80.", HEFT_MALFORMED, 0,
            "BINBYTES8 at 0: needs 92233720368547758"),
        BAD("\x96\xff\xff\xff\xff\xff\xff\xff\xff.", HEFT_MALFORMED, 0,
            "BYTEARRAY8 at 0: needs 18446744073709551615 more bytes"),
        BAD("T\xff\xff\xff\xff.", HEFT_MALFORMED, 0, "BINSTRING at 0: negative length -1"),
        BAD("\x8b\0\0\0\x80.", HEFT_MALFORMED, 0, "LONG4 at 0: negative length -2147483648"),
        BAD("\x8b\xff\xff\xff\x7f.", HEFT_MALFORMED, 0, "LONG4 at 0: needs 2147483647 more bytes"),
        BAD("K", HEFT_MALFORMED, 0, "BININT1 at 0: needs 1 more byte, the pickle has 0 left"),
        BAD("G1234567", HEFT_MALFORMED, 0, "BINFLOAT at 0: needs 8 more bytes, the pickle has 7"),
        BAD("X\2\0\0\0\xc3(.", HEFT_MALFORMED, 0,
            "BINUNICODE at 0: byte 0xc3 at 0 of 2 is not UTF-8"),
        BAD("\x8c\4ab\xed\x20.", HEFT_MALFORMED, 0,
            "SHORT_BINUNICODE at 0: byte 0xed at 2 of 4 is not UTF-8"),
        BAD("\x8c\2\xed\xa0.", HEFT_MALFORMED, 0, "SHORT_BINUNICODE at 0: byte 0xed at 0 of 2"),
        BAD("\x8c\4\xf4\x90\x80\x80.", HEFT_MALFORMED, 0, "SHORT_BINUNICODE at 0: byte 0xf4"),
    };

    (void)state;
    reject_all(bad, HEFT_COUNT(bad));
}

static void frames(void **state)
{
    static const struct bad bad[] = {
        BAD("\x95\x03\0\0\0\0\0\0\0N.", HEFT_MALFORMED, 0,
            "FRAME at 0: a frame of 3 bytes, the pickle has 2 left"),
        BAD("\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", HEFT_MALFORMED, 0,
            "FRAME at 0: a frame of 18446744073709551615 bytes"),
        BAD("\x95\x0b\0\0\0\0\0\0\0N\x95\0\0\0\0\0\0\0\0.", HEFT_MALFORMED, 10,
            "FRAME at 10: a frame within the frame that ends at 20"),
        BAD("\x95\x01\0\0\0\0\0\0\0K\1.", HEFT_MALFORMED, 9,
            "BININT1 at 9: reaches to 11, its frame ends at 10"),
    };

    (void)state;
    reject_all(bad, HEFT_COUNT(bad));
}

/* Each opcode on an empty stack and directly after a mark: an error that names the opcode, unless
 * it needs no operand. */
static void every_opcode_reports_an_empty_stack(void **state)
{
    static const uint8_t needy[] = {'.', '0', '2',  'q', 'r',  0x94, 0x85, 0x86, 0x87,
                                    'a', 's', 0x93, 'R', 0x81, 0x92, 'b',  'Q',  0x98,
                                    'e', 'u', 0x90, 't', 'l',  'd',  0x91, '1',  'o'};

    (void)state;
    for (size_t i = 0; i < sizeof needy; i++) {
        const uint8_t bytes[8] = {needy[i]};
        struct run run;

        run_pickle(&run, bytes, needy[i] == 'q' ? 2 : needy[i] == 'r' ? 5 : 1);
        assert_false(run.done);
        assert_int_equal(run.err.code, HEFT_MALFORMED);
        assert_int_equal(run.err.offset, 0);
        assert_non_null(strstr(run.err.text, heft_pickle_opcode_name(needy[i])));
        assert_true(strstr(run.err.text, "stack holds 0 values") ||
                    strstr(run.err.text, "no mark is open"));
        end_run(&run);
    }
}

static void limits(void **state)
{
    const struct heft_pickle_limits few = {.opcodes = 3, .nodes = 2, .marks = 1, .text = 4};
    struct run run;

    (void)state;
    run_pickle_at(&run, "(0(0.", 5, 0, &few);
    assert_string_equal(run.err.text, "POP at 3: more than 3 opcodes");
    end_run(&run);
    run_pickle_at(&run, "NNN.", 4, 0, &few);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_string_equal(run.err.text, "NONE at 2: more than 2 values");
    assert_int_equal(run.pickle.count, 2);
    end_run(&run);
    run_pickle_at(&run, "((", 2, 0, &few);
    assert_string_equal(run.err.text, "MARK at 1: more than 1 open marks");
    end_run(&run);
    run_pickle_at(&run, "C\5hello.", 8, 0, &few);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_string_equal(run.err.text, "SHORT_BINBYTES at 0: 5 bytes, the limit is 4");
    end_run(&run);
    run_pickle_at(&run, "Vhello\n.", 8, 0, &few);
    assert_string_equal(run.err.text, "UNICODE at 0: a line of more than 4 bytes");
    end_run(&run);
}

static void a_global_with_a_name_without_end(void **state)
{
    char bytes[3000] = "c";
    struct run run;

    (void)state;
    memset(bytes + 1, 'm', sizeof bytes - 1);
    run_pickle(&run, bytes, sizeof bytes);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_string_equal(run.err.text, "GLOBAL at 0: a line of more than 1024 bytes");
    end_run(&run);
}

static void an_integer_of_megabytes(void **state)
{
    const size_t n = (1 << 20) + 1;
    uint8_t *bytes = calloc(n + 6, 1);
    struct run run;

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, "\x8b\x01\x00\x10\x00", 5);
    bytes[n + 5] = '.';
    run_pickle(&run, bytes, n + 6);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_string_equal(run.err.text,
                        "LONG4 at 0: an integer of 1048577 bytes, the limit is 1048576");
    end_run(&run);
    free(bytes);
}

static void errors_count_from_the_base(void **state)
{
    struct run run;

    (void)state;
    run_pickle_at(&run, "NR.", 3, 1000, NULL);
    assert_int_equal(run.err.offset, 1001);
    assert_string_equal(run.err.text, "REDUCE at 1: stack holds 1 value, 2 are needed");
    end_run(&run);
    run_pickle_at(&run, "NR.", 3, HEFT_NO_OFFSET, NULL);
    assert_true(run.err.offset == HEFT_NO_OFFSET);
    assert_string_equal(run.err.text,
                        "REDUCE at pickle position 1: stack holds 1 value, 2 are needed");
    end_run(&run);
}

/* Runs `begin` and then `piece` many times: must exceed the memory budget although it makes few
 * nodes. */
static void expect_over_budget(const char *begin, size_t n_begin, const char *piece, size_t n_piece)
{
    const struct heft_pickle_limits few = {.nodes = 100};
    const size_t times = 100000, n = n_begin + times * n_piece;
    char *bytes = malloc(n);
    struct run run;

    assert_non_null(bytes);
    memcpy(bytes, begin, n_begin);
    for (size_t i = 0; i < times; i++)
        memcpy(bytes + n_begin + i * n_piece, piece, n_piece);
    run_pickle_at(&run, bytes, n, 0, &few);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_non_null(strstr(run.err.text, "values, items, stack and memo of more than 266944 bytes, "
                                         "which is what 100 values may take"));
    check_graph(&run.pickle);
    end_run(&run);
    free(bytes);
}

static void shared_values_have_a_budget(void **state)
{
    (void)state;
    expect_over_budget("]q\0", 3, "h\0a", 3);
    expect_over_budget("]q\0", 3, "2", 1);
    expect_over_budget("N", 1, "2", 1);
    expect_over_budget("]q\0", 3, "h\0h\0h\0h\0(h\0h\0h\0h\0h\0e", 20);
}

/* 200 000 lists of 32 bytes; the pickle itself counts, too. */
static void the_memory_of_values_has_a_limit_of_its_own(void **state)
{
    const struct heft_pickle_limits enough = {.bytes = 16000000}, few = {.bytes = 4000000};
    static char bytes[200002];
    struct run run;

    (void)state;
    memset(bytes, ']', sizeof bytes);
    bytes[sizeof bytes - 1] = '.';
    run_pickle_at(&run, bytes, sizeof bytes, 0, &enough);
    assert_true(run.done);
    end_run(&run);
    run_pickle_at(&run, bytes, sizeof bytes, 0, &few);
    assert_int_equal(run.err.code, HEFT_LIMIT);
    assert_non_null(strstr(run.err.text, "values, items, stack and memo of more than 3799996 "
                                         "bytes, which is what the rest of the input leaves"));
    check_graph(&run.pickle);
    end_run(&run);
}

static void values_before_an_error_are_kept(void **state)
{
    struct run run;

    (void)state;
    run_pickle(&run, "cos\nsystem\n\x8c\2ls\x85Rw", 17);
    assert_false(run.done);
    assert_int_equal(run.pickle.count, 5);
    assert_int_equal(heft_pickle_at(&run.pickle, 4)->kind, HEFT_PICKLE_CALL);
    assert_int_equal(run.pickle.root, HEFT_PICKLE_NIL);
    end_run(&run);
}

static const struct {
    const uint8_t *p;
    size_t n;
} samples[] = {
    {sample_pickle_0, sizeof sample_pickle_0},          {sample_pickle_1, sizeof sample_pickle_1},
    {sample_pickle_2, sizeof sample_pickle_2},          {sample_pickle_3, sizeof sample_pickle_3},
    {sample_pickle_4, sizeof sample_pickle_4},          {sample_pickle_5, sizeof sample_pickle_5},
    {sample_pickle_linear, sizeof sample_pickle_linear}};

static void truncated_at_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(samples); i++)
        for (size_t n = 0; n < samples[i].n; n++) {
            struct run run;

            run_pickle(&run, samples[i].p, n);
            assert_false(run.done);
            assert_int_equal(run.err.code, HEFT_MALFORMED);
            assert_true(run.err.offset <= n);
            check_graph(&run.pickle);
            end_run(&run);
        }
}

static void every_byte_flipped(void **state)
{
    static const uint8_t masks[] = {0x01, 0x20, 0x80, 0xff};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(samples); i++)
        for (size_t at = 0; at < samples[i].n * sizeof masks; at++) {
            uint8_t bytes[2048];
            struct run run;

            assert_true(samples[i].n <= sizeof bytes);
            memcpy(bytes, samples[i].p, samples[i].n);
            bytes[at / sizeof masks] ^= masks[at % sizeof masks];
            run_pickle(&run, bytes, samples[i].n);
            assert_true(run.done || run.err.code != HEFT_OK);
            check_graph(&run.pickle);
            end_run(&run);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structure),
        cmocka_unit_test(targets_and_pairs),
        cmocka_unit_test(memo_entries),
        cmocka_unit_test(globals_and_calls),
        cmocka_unit_test(lengths),
        cmocka_unit_test(frames),
        cmocka_unit_test(every_opcode_reports_an_empty_stack),
        cmocka_unit_test(limits),
        cmocka_unit_test(shared_values_have_a_budget),
        cmocka_unit_test(a_global_with_a_name_without_end),
        cmocka_unit_test(an_integer_of_megabytes),
        cmocka_unit_test(errors_count_from_the_base),
        cmocka_unit_test(the_memory_of_values_has_a_limit_of_its_own),
        cmocka_unit_test(values_before_an_error_are_kept),
        cmocka_unit_test(truncated_at_every_length),
        cmocka_unit_test(every_byte_flipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
