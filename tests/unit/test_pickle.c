/* test_pickle.c: the pickle machine on valid input: every opcode, every protocol, shared values,
 * frames, memo, linear time, iterators of the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "failures.h"
#include "pickle_show.h"
#include "wire_samples.h"

static void expect_shown(const char *bytes, size_t n, size_t length, const char *want)
{
    struct heft_buf got;
    struct run run;

    run_pickle(&run, bytes, n);
    show_root(&got, &run);
    assert_string_equal(got.p, want);
    assert_int_equal(run.pickle.length, length);
    heft_buf_release(&got);
    end_run(&run);
}

/* Runs each pickle alone and inside a longer one. The loop for common opcodes leaves the first
 * opcode and the last few bytes to the table; so both paths run it. */
static void expect(const char *bytes, size_t n, const char *want)
{
    struct heft_buf middle = {0};

    expect_shown(bytes, n, n, want);
    heft_buf_text(&middle, "N0");
    heft_buf_put(&middle, bytes, n);
    heft_buf_text(&middle, "................");
    assert_false(middle.failed);
    expect_shown(middle.p, middle.n, n + 2, want);
    heft_buf_release(&middle);
}
#define EXPECT(bytes, want) expect(bytes, sizeof(bytes) - 1, want)

static void constants_and_numbers(void **state)
{
    (void)state;
    EXPECT("N.", "None");
    EXPECT("\x88.", "True");
    EXPECT("\x89.", "False");
    EXPECT("K\xff.", "255");
    EXPECT("M\xff\xff.", "65535");
    EXPECT("J\xff\xff\xff\xff.", "-1");
    EXPECT("J\x00\x00\x00\x80.", "-2147483648");
    EXPECT("G\x3f\xe0\x00\x00\x00\x00\x00\x00.", "0.5");
    EXPECT("G\xff\xf0\x00\x00\x00\x00\x00\x00.", "-inf");
}

static void long_integers(void **state)
{
    (void)state;
    EXPECT("\x8a\x00.", "0");
    EXPECT("\x8a\x01\x80.", "-128");
    EXPECT("\x8a\x02\x80\x00.", "128");
    EXPECT("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", "-9223372036854775808");
    EXPECT("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\x00.", "9223372036854775807");
    EXPECT("\x8a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff.", "-1");
    EXPECT("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.", "big:000000000000008000");
    EXPECT("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "big:6cfc9c46f9206aa85019");
    EXPECT("\x8b\x02\x00\x00\x00\x00\x80.", "-32768");
    EXPECT("\x8b\x00\x00\x00\x00.", "0");
}

static void text_and_bytes(void **state)
{
    (void)state;
    EXPECT("X\x02\x00\x00\x00hi.", "'hi'");
    EXPECT("X\x00\x00\x00\x00.", "''");
    EXPECT("\x8c\x02hi.", "'hi'");
    EXPECT("\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi.", "'hi'");
    EXPECT("U\x02\xff\xfe.", "p'\xff\xfe'");
    EXPECT("T\x02\x00\x00\x00hi.", "p'hi'");
    EXPECT("C\x02\x00\xff.", "b'00ff'");
    EXPECT("B\x01\x00\x00\x00\x01.", "b'01'");
    EXPECT("\x8e\x01\x00\x00\x00\x00\x00\x00\x00\x01.", "b'01'");
    EXPECT("\x96\x01\x00\x00\x00\x00\x00\x00\x00\x01\x98.", "bytearray'01'");
}

static void surrogates_pass_as_python_writes_them(void **state)
{
    (void)state;
    EXPECT("\x8c\x03\xed\xa0\x80.", "'\xed\xa0\x80'");
    EXPECT("\x8c\x09\xed\xbf\xbf\xc3\xbc\xed\xa0\x80x.", "'\xed\xbf\xbf\xc3\xbc\xed\xa0\x80x'");
}

static void containers(void **state)
{
    (void)state;
    EXPECT(").", "()");
    EXPECT("K\1\x85.", "(1)");
    EXPECT("K\1K\2\x86.", "(1, 2)");
    EXPECT("K\1K\2K\3\x87.", "(1, 2, 3)");
    EXPECT("(K\1K\2K\3K\4t.", "(1, 2, 3, 4)");
    EXPECT("(t.", "()");
    EXPECT("(K\1l.", "[1]");
    EXPECT("]K\1a.", "[1]");
    EXPECT("](K\1K\2e(e(K\3e.", "[1, 2, 3]");
    EXPECT("(K\1K\2d.", "{1: 2}");
    EXPECT("}K\1K\2s.", "{1: 2}");
    EXPECT("}(K\1K\2K\1K\3u(u.", "{1: 2, 1: 3}");
    EXPECT("\x8f(K\1K\2\x90.", "set{1, 2}");
    EXPECT("(K\1\x91.", "frozenset{1}");
}

static void stack_and_marks(void **state)
{
    (void)state;
    EXPECT("K\1K\2"
           "0.",
           "1");
    EXPECT("K\1(0.", "1");
    EXPECT("K\1(K\2K\3"
           "1.",
           "1");
    EXPECT("K\1"
           "2\x86.",
           "(1, 1)");
    EXPECT("((K\1tK\2t.", "((1), 2)");
    EXPECT("(K\1.", "1");
}

static void memo(void **state)
{
    (void)state;
    EXPECT("K\1q\0"
           "0K\2h\0\x86.",
           "(2, 1)");
    EXPECT("K\1r\xff\xff\xff\xff"
           "0j\xff\xff\xff\xff.",
           "1");
    EXPECT("K\1p4294967295\n0g4294967295\n.", "1");
    EXPECT("K\1q\0K\2q\0h\0\x87.", "(1, 2, 2)");
    /* MEMOIZE uses the number of entries as its index */
    EXPECT("K\1q\5K\2\x94K\3h\1\x87.", "(2, 3, 2)");
    EXPECT("K\1q\1"
           "0K\2q\2"
           "0h\1h\2\x86.",
           "(1, 2)"); /* Python 2 numbers memo entries from 1 */
    EXPECT("K\1q\2K\1q\0K\1q\1K\1q\2K\4\x94"
           "00000h\3.",
           "4");
}

static void globals_and_calls(void **state)
{
    (void)state;
    EXPECT("cos\nsystem\n.", "os.system");
    EXPECT("\x8c\x02os\x8c\x06system\x93.", "os.system");
    EXPECT("U\x02osU\x06system\x93.", "os.system");
    EXPECT("cos\nsystem\n\x8c\x02ls\x85R.", "os.system('ls')");
    EXPECT("cm\nC\nK\1\x85\x81.", "m.C.new(1)");
    EXPECT("cm\nC\n)}\x92.", "m.C.newex(){}");
    EXPECT("cm\nC\n)R)R.", "m.C()()");
    EXPECT("(K\1K\2im\nC\n.", "m.C.inst(1, 2)");
    EXPECT("(cm\nC\nK\1o.", "m.C.obj(1)");
    EXPECT("(cm\nC\no.", "m.C.obj()");
    EXPECT("K\1Q.", "pid(1)");
    EXPECT("Pabc\n.", "pid('abc')");
    EXPECT("K\1Q)\x81.", "pid(1).new()");
}

static void objects_take_items_and_state(void **state)
{
    (void)state;
    EXPECT("cm\nC\n)R(K\1K\2uK\3K\4s.", "m.C(){1: 2, 3: 4}");
    EXPECT("cm\nC\n)R(K\1K\2eK\3a.", "m.C()[1, 2, 3]");
    EXPECT("cm\nC\n)R(K\1\x90.", "m.C()[1]");
    EXPECT("cm\nC\n)\x81}K\1K\2sb.", "m.C.new()!{1: 2}");
    EXPECT("}N.", "None");
    EXPECT("}Nb.", "{}!None");
    EXPECT("]Nb.", "[]!None");
    EXPECT("\x8fNb.", "set{}!None");
}

static void a_value_may_contain_itself(void **state)
{
    struct run run;
    uint32_t item;

    (void)state;
    run_pickle(&run, "]q\0h\0a.", 7);
    assert_true(run.done);
    item = heft_pickle_item(&run.pickle, run.pickle.root, 0);
    assert_int_equal(item, run.pickle.root);
    assert_int_equal(heft_pickle_item(&run.pickle, run.pickle.root, 1), HEFT_PICKLE_NIL);
    end_run(&run);
}

static void protocol_and_frames(void **state)
{
    struct run run;

    (void)state;
    EXPECT("\x80\x02N\x80\x04.", "None");
    EXPECT("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00N.", "None");
    EXPECT("\x95\x01\x00\x00\x00\x00\x00\x00\x00N\x95\x01\x00\x00\x00\x00\x00\x00\x00.", "None");
    EXPECT("\x95\x00\x00\x00\x00\x00\x00\x00\x00N.", "None");
    run_pickle(&run, "\x80\x04\x80\x02K\1K\2.rest", 12);
    assert_true(run.done);
    assert_int_equal(run.pickle.protocol, 4);
    assert_int_equal(run.pickle.length, 9);
    assert_int_equal(run.pickle.left_over, 1);
    assert_int_equal(run.pickle.opcodes, 5);
    end_run(&run);
}

static const char sample_common[] =
    "{'none': None, 'bools': (True, False), 'ints': [0, 255, 256, 65535, 65536, -1, -2147483648, "
    "2147483648, -9223372036854775808, big:000000000000008000, big:000000000000000040, "
    "big:0000000000000000c0], 'floats': [0.5, -1.0000000000000001e+300, inf], "
    "'text': 'gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80 \\ \n', 'bytes': ";
static const char sample_middle[] =
    ", 'tuples': ((), (1), (1, 2), (1, 2, 3), (1, 2, 3, 4)), 'shared': [['a', 'b'], ['a', 'b']], "
    "'sets': [";

static void expect_sample(const uint8_t *bytes, size_t n, const char *raw, const char *rest)
{
    struct heft_buf want = {0};

    heft_buf_printf(&want, "%s%s%s%s", sample_common, raw, sample_middle, rest);
    heft_buf_put(&want, "", 1);
    expect((const char *)bytes, n, want.p);
    heft_buf_release(&want);
}

static void every_protocol_gives_the_same_values(void **state)
{
    const char *codec = "_codecs.encode('\x01\xc3\xbf', 'latin1')";
    const char *old = "builtins.set([1]), builtins.frozenset([2])], 'ordered': "
                      "collections.OrderedDict(){'k': 1}, 'object': copy_reg._reconstructor("
                      "shapes.Point, builtins.object, None)!{'x': 1, 'y': -2}}";
    const char *two = "builtins.set([1]), builtins.frozenset([2])], 'ordered': "
                      "collections.OrderedDict(){'k': 1}, 'object': shapes.Point.new()!{'x': 1, "
                      "'y': -2}}";
    const char *four = "set{1}, frozenset{2}], 'ordered': collections.OrderedDict(){'k': 1}, "
                       "'object': shapes.Point.new()!{'x': 1, 'y': -2}}";

    (void)state;
    expect_sample(sample_pickle_0, sizeof sample_pickle_0, codec, old);
    expect_sample(sample_pickle_1, sizeof sample_pickle_1, codec, old);
    expect_sample(sample_pickle_2, sizeof sample_pickle_2, codec, two);
    expect_sample(sample_pickle_3, sizeof sample_pickle_3, "b'01ff'", two);
    expect_sample(sample_pickle_4, sizeof sample_pickle_4, "b'01ff'", four);
    expect_sample(sample_pickle_5, sizeof sample_pickle_5, "b'01ff'", four);
}

static void a_state_dict_as_torch_writes_it(void **state)
{
    (void)state;
    expect((const char *)sample_pickle_linear, sizeof sample_pickle_linear,
           "collections.OrderedDict(){'weight': torch._utils._rebuild_tensor_v2(pid(('storage', "
           "torch.FloatStorage, '0', 'cpu', 6)), 0, (3, 2), (2, 1), False, "
           "collections.OrderedDict()), 'bias': torch._utils._rebuild_tensor_v2(pid(('storage', "
           "torch.FloatStorage, '1', 'cpu', 3)), 0, (3), (1), False, collections.OrderedDict())}"
           "!{'_metadata': collections.OrderedDict(){'': {'version': 1}}}");
}

static void shared_values_are_one_node(void **state)
{
    struct heft_pickle_iter iter;
    uint32_t a = 0, b = 0;
    struct run run;

    (void)state;
    run_pickle(&run, "(]q\0h\0t.", 8);
    assert_true(run.done);
    iter = heft_pickle_items(&run.pickle, run.pickle.root);
    assert_true(heft_pickle_next(&iter, &a) && heft_pickle_next(&iter, &b));
    assert_int_equal(a, b);
    assert_false(heft_pickle_next(&iter, &a));
    assert_int_equal(heft_pickle_at(&run.pickle, a)->at, 1);
    end_run(&run);
}

/* Appends to two lists in turn: each list has one segment per item. */
static void items_of_interleaved_lists_stay_apart(void **state)
{
    enum { N = 1000 };
    static const char turn[] = "h\0K\7a0h\1K\11a0";
    char bytes[6 + N * 12 + 2];
    struct heft_pickle_iter iter;
    uint32_t item, n = 0;
    struct run run;

    (void)state;
    memcpy(bytes, "]q\0]q\1", 6);
    for (size_t i = 0; i < N; i++)
        memcpy(bytes + 6 + i * 12, turn, 12);
    memcpy(bytes + 6 + N * 12, "0.", 2);
    run_pickle(&run, bytes, sizeof bytes);
    assert_true(run.done);
    for (iter = heft_pickle_items(&run.pickle, run.pickle.root); heft_pickle_next(&iter, &item);
         n++)
        assert_int_equal(heft_pickle_at(&run.pickle, item)->u.integer, 7);
    assert_int_equal(n, N);
    item = heft_pickle_item(&run.pickle, run.pickle.root, N - 1);
    assert_int_equal(heft_pickle_at(&run.pickle, item)->u.integer, 7);
    end_run(&run);
}

/* Runs `op` n times between two texts: deep nesting and memo bombs take linear time. */
static void run_bomb(const char *before, char op, size_t n, const char *after, struct run *run)
{
    const size_t b = strlen(before), a = strlen(after);
    char *bytes = malloc(b + n + a);

    assert_non_null(bytes);
    memcpy(bytes, before, b);
    memset(bytes + b, op, n);
    memcpy(bytes + b + n, after, a);
    run_pickle(run, bytes, b + n + a);
    free(bytes);
}

static void bombs_take_linear_time_and_memory(void **state)
{
    const size_t n = 1000000;
    static const struct {
        const char *before;
        char op;
        const char *after;
    } bombs[] = {{")", (char)0x85, "."}, {"N", (char)0x94, "."}, {"(N", '2', "t."},
                 {"]", '2', "a."},       {"", ']', "."},         {"", '(', "N."}};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bombs); i++) {
        struct run run;

        run_bomb(bombs[i].before, bombs[i].op, n, bombs[i].after, &run);
        assert_true(run.done);
        assert_true(run.pickle.count <= n + 1);
        assert_true(run.arena.total < 200 * n);
        end_run(&run);
    }
}

static void opcode_names_are_those_of_pickletools(void **state)
{
    size_t n = 0;

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        n += heft_pickle_opcode_name((uint8_t)i) != NULL;
    assert_int_equal(n, 68);
    assert_string_equal(heft_pickle_opcode_name('X'), "BINUNICODE");
    assert_string_equal(heft_pickle_opcode_name(0x93), "STACK_GLOBAL");
    assert_null(heft_pickle_opcode_name('w'));
}

/* For each failing allocation: HEFT_NOMEM, no leak, and a graph that can be walked. */
static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct heft_buf got;
        struct run run;

        FAIL_ALLOCATION(
            &fail, (run_pickle(&run, sample_pickle_0, sizeof sample_pickle_0), run.done), &run.err);
        for (uint32_t i = 0; i < run.pickle.count; i++) {
            got = (struct heft_buf){0};
            show_node(&got, &run.pickle, i, 0);
            heft_buf_release(&got);
        }
        end_run(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_and_numbers),
        cmocka_unit_test(long_integers),
        cmocka_unit_test(text_and_bytes),
        cmocka_unit_test(surrogates_pass_as_python_writes_them),
        cmocka_unit_test(containers),
        cmocka_unit_test(stack_and_marks),
        cmocka_unit_test(memo),
        cmocka_unit_test(globals_and_calls),
        cmocka_unit_test(objects_take_items_and_state),
        cmocka_unit_test(a_value_may_contain_itself),
        cmocka_unit_test(protocol_and_frames),
        cmocka_unit_test(every_protocol_gives_the_same_values),
        cmocka_unit_test(a_state_dict_as_torch_writes_it),
        cmocka_unit_test(shared_values_are_one_node),
        cmocka_unit_test(items_of_interleaved_lists_stay_apart),
        cmocka_unit_test(bombs_take_linear_time_and_memory),
        cmocka_unit_test(opcode_names_are_those_of_pickletools),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
