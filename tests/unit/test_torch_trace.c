/* test_torch_trace.c: text trace of a pickle: argument and effect of every opcode, limits of
 * values, machine state, offsets of storages; errors, stops, failed allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "core/model.h"
#include "format/formats.h"
#include "format/torch/trace/torch_trace.h"
#include "torch_zip.h"

struct log {
    struct heft_buf text;
    struct heft_trace_total total;
    struct heft_error err;
    size_t steps, stop_after; /* 0: never stops */
    bool ok;
};

static bool take_pickle(void *ctx, const struct heft_trace_pickle *pickle)
{
    struct log *log = ctx;

    heft_buf_printf(&log->text, "[%s %u/%u %s at %lld, %llu]\n", pickle->record, pickle->number,
                    pickle->count, pickle->what, (long long)pickle->offset,
                    (unsigned long long)pickle->bytes);
    return true;
}

/* Writes a step as "5 BINUNICODE 21: push "tok_embeddings.weight"". */
static bool take_step(void *ctx, const struct heft_trace_step *step)
{
    struct log *log = ctx;

    heft_buf_printf(&log->text, "%llu %s%s", (unsigned long long)step->position, step->name,
                    step->value_len ? " " : "");
    heft_buf_put(&log->text, step->value, step->value_len);
    heft_buf_text(&log->text, ": ");
    heft_buf_put(&log->text, step->effect, step->effect_len);
    heft_buf_char(&log->text, '\n');
    return ++log->steps != log->stop_after;
}

static bool take_entry(void *ctx, const struct heft_trace_entry *entry)
{
    static const char *const parts[] = {"stack", "metastack", "memo"};
    struct log *log = ctx;

    heft_buf_printf(&log->text, "  %s[%llu] %llu/%llu ", parts[entry->part],
                    (unsigned long long)entry->level, (unsigned long long)entry->index,
                    (unsigned long long)entry->count);
    if (entry->left_out)
        heft_buf_printf(&log->text, "and %llu", (unsigned long long)entry->left_out);
    heft_buf_put(&log->text, entry->text, entry->text_len);
    heft_buf_char(&log->text, '\n');
    return true;
}

static void walk_with(struct log *log, const void *bytes, size_t n,
                      const struct heft_trace_options *options)
{
    const struct heft_trace_watcher watcher = {sizeof watcher, log,        take_pickle,
                                               take_step,      take_entry, NULL};
    const size_t stop_after = log->stop_after;
    struct heft_model model; /* only for its default limits */
    struct heft_source source;
    struct heft_tracer tr = {.src = &source,
                             .limits = &model.limits,
                             .options = options,
                             .watcher = &watcher,
                             .total = &log->total,
                             .err = &log->err};

    *log = (struct log){.stop_after = stop_after};
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){bytes, n}, "file");
    log->ok = heft_torch_trace(&tr);
    heft_tracer_release(&tr);
    heft_model_release(&model);
    heft_buf_char(&log->text, '\0');
}

static void walk(struct log *log, const void *bytes, size_t n)
{
    static const struct heft_trace_options usual = HEFT_INIT(struct heft_trace_options);

    walk_with(log, bytes, n, &usual);
    assert_false(log->text.failed);
}

/* Compares the lines after the first, which announces the pickle. */
static void expect_steps(const char *bytes, size_t n, const char *want)
{
    struct log log = {0};
    const char *steps;

    walk(&log, bytes, n);
    steps = strchr(log.text.p, '\n');
    assert_non_null(steps);
    assert_string_equal(steps + 1, want);
    heft_buf_release(&log.text);
}
#define EXPECT(bytes, want) expect_steps(bytes, sizeof(bytes) - 1, want)

/* Compares the value that the line of STOP shows. */
static void expect_shown(const char *bytes, size_t n, const char *want)
{
    static const char end[] = "the end; the result is ";
    struct log log = {0};
    char *at;

    walk(&log, bytes, n);
    assert_true(log.ok);
    at = strstr(log.text.p, end);
    assert_non_null(at);
    at += sizeof end - 1;
    at[strlen(at) - 1] = '\0'; /* removes the line feed */
    assert_string_equal(at, want);
    heft_buf_release(&log.text);
}
#define VALUE(bytes, want) expect_shown(bytes, sizeof(bytes) - 1, want)

/* ---- effects --------------------------------------------------------------------------------- */

static void stack_and_memo(void **state)
{
    (void)state;
    EXPECT("\x80\2Nq\0p7\n0h\0002g7\n.", "0 PROTO 2: protocol 2\n"
                                         "2 NONE: push None\n"
                                         "3 BINPUT 0: memo[0] = None\n"
                                         "5 PUT 7: memo[7] = None\n"
                                         "8 POP: pop None\n"
                                         "9 BINGET 0: push memo[0]: None\n"
                                         "11 DUP: push the top again: None\n"
                                         "12 GET 7: push memo[7]: None\n"
                                         "15 STOP: the end; the result is None\n");
    EXPECT("N\x94r\1\1\0\0j\1\1\0\0.", "0 NONE: push None\n"
                                       "1 MEMOIZE: memo[0] = None\n"
                                       "2 LONG_BINPUT 257: memo[257] = None\n"
                                       "7 LONG_BINGET 257: push memo[257]: None\n"
                                       "12 STOP: the end; the result is None\n");
}

static void marks(void **state)
{
    (void)state;
    EXPECT("N(K\1(0K\0021.", "0 NONE: push None\n"
                             "1 MARK: mark: 1 value goes to the metastack, depth 1\n"
                             "2 BININT1 1: push 1\n"
                             "4 MARK: mark: 1 value goes to the metastack, depth 2\n"
                             "5 POP: pop the mark; 1 value back from the metastack, depth 1\n"
                             "6 BININT1 2: push 2\n"
                             "8 POP_MARK: pop 2 items above the mark; 1 value back from the "
                             "metastack, depth 0\n"
                             "9 STOP: the end; the result is None\n");
}

static void containers(void **state)
{
    (void)state;
    EXPECT("(K\1t.", "0 MARK: mark: 0 values go to the metastack, depth 1\n"
                     "1 BININT1 1: push 1\n"
                     "3 TUPLE: pop 1 item above the mark → (1,); 0 values back from the metastack, "
                     "depth 0\n"
                     "4 STOP: the end; the result is (1,)\n");
    EXPECT("K\1K\2\x86]Na(NNNe.", "0 BININT1 1: push 1\n"
                                  "2 BININT1 2: push 2\n"
                                  "4 TUPLE2: pop 2 items → (1, 2)\n"
                                  "5 EMPTY_LIST: push []\n"
                                  "6 NONE: push None\n"
                                  "7 APPEND: pop 1 item: None into the top, now list of 1\n"
                                  "8 MARK: mark: 2 values go to the metastack, depth 1\n"
                                  "9 NONE: push None\n"
                                  "10 NONE: push None\n"
                                  "11 NONE: push None\n"
                                  "12 APPENDS: pop 3 items above the mark: None, None, … into the "
                                  "top, now list of 4; 2 values back from the metastack, depth 0\n"
                                  "13 STOP: the end; the result is [None, None, None, None]\n");
    EXPECT("}K\1Ns(K\2NK\3Nu(u.",
           "0 EMPTY_DICT: push {}\n"
           "1 BININT1 1: push 1\n"
           "3 NONE: push None\n"
           "4 SETITEM: pop 2 items: 1: None into the top, now dict of 1\n"
           "5 MARK: mark: 1 value goes to the metastack, depth 1\n"
           "6 BININT1 2: push 2\n"
           "8 NONE: push None\n"
           "9 BININT1 3: push 3\n"
           "11 NONE: push None\n"
           "12 SETITEMS: pop 4 items above the mark: 2: None, … into the top, now dict of 3; 1 "
           "value back from the metastack, depth 0\n"
           "13 MARK: mark: 1 value goes to the metastack, depth 1\n"
           "14 SETITEMS: pop 0 items above the mark:  into the top, now dict of 3; 1 value back "
           "from the metastack, depth 0\n"
           "15 STOP: the end; the result is {1: None, 2: None, 3: None}\n");
}

static void calls(void **state)
{
    (void)state;
    EXPECT("cos\nsystem\nX\2\0\0\0id\x85R.",
           "0 GLOBAL os system: push os.system\n"
           "11 BINUNICODE 2: push \"id\"\n"
           "18 TUPLE1: pop 1 item → (\"id\",)\n"
           "19 REDUCE: callable os.system, arguments (\"id\",) → system(\"id\")\n"
           "20 STOP: the end; the result is system(\"id\")\n");
    EXPECT("cm\nn\n)}\x92}b.", "0 GLOBAL m n: push m.n\n"
                               "5 EMPTY_TUPLE: push ()\n"
                               "6 EMPTY_DICT: push {}\n"
                               "7 NEWOBJ_EX: callable m.n, arguments (), keywords {} → n()\n"
                               "8 EMPTY_DICT: push {}\n"
                               "9 BUILD: pop the state {}, set on n()\n"
                               "10 STOP: the end; the result is n()\n");
    EXPECT("N(K\1ios\ngetpid\n.",
           "0 NONE: push None\n"
           "1 MARK: mark: 1 value goes to the metastack, depth 1\n"
           "2 BININT1 1: push 1\n"
           "4 INST os getpid: callable os.getpid, arguments (1,) → getpid(1); 1 value back from "
           "the metastack, depth 0\n"
           "15 STOP: the end; the result is getpid(1)\n");
}

static void arguments(void **state)
{
    (void)state;
    EXPECT("J\xff\xff\xff\xff\x95\2\0\0\0\0\0\0\0N0G\xbf\xb9\x99\x99\x99\x99\x99\x9a.",
           "0 BININT -1: push -1\n"
           "5 FRAME 2: a frame of 2 bytes, up to position 16\n"
           "14 NONE: push None\n"
           "15 POP: pop None\n"
           "16 BINFLOAT -0.1: push -0.1\n"
           "25 STOP: the end; the result is -0.1\n");
    EXPECT("Va\\u00fc\nI01\nL12L\nF1e300\n.", "0 UNICODE a\\\\u00fc: push \"aü\"\n"
                                              "9 INT 01: push True\n"
                                              "13 LONG 12L: push 12\n"
                                              "18 FLOAT 1e300: push 1e+300\n"
                                              "25 STOP: the end; the result is 1e+300\n");
}

/* ---- values ---------------------------------------------------------------------------------- */

static void numbers(void **state)
{
    (void)state;
    VALUE("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x1a.", "0x1a50a86a20f9469cfc6c");
    VALUE("\x8a\x09\0\0\0\0\0\0\0\0\xff.", "-0x010000000000000000");
    VALUE("\x8a\x09\1\0\0\0\0\0\0\0\xf0.", "-0x0fffffffffffffffff");
    VALUE("J\0\0\0\x80.", "-2147483648");
    VALUE("\x8a\x08\0\0\0\0\0\0\0\x80.", "-9223372036854775808");
    VALUE("G\x3f\xf0\0\0\0\0\0\0.", "1.0");
    VALUE("G\x3f\xd5\x55\x55\x55\x55\x55\x55.", "0.3333333333333333");
    VALUE("G\x7f\xf0\0\0\0\0\0\0.", "inf");
    VALUE("G\xff\xf0\0\0\0\0\0\0.", "-inf");
    VALUE("G\x7f\xf8\0\0\0\0\0\0.", "nan");
}

static void texts(void **state)
{
    (void)state;
    VALUE("X\x04\0\0\0\"\\\x1b\n.", "\"\\\"\\\\\\x1b\\n\"");
    VALUE("X\x03\0\0\0\xe2\x80\xae.", "\"\\u202e\"");
    VALUE("U\2'\xff.", "'\\'\\xff'");
    VALUE("C\3a\"\xff.", "b\"a\\x22\\xff\"");
    VALUE("\x8e\1\0\0\0\0\0\0\0a.", "b\"a\"");
    VALUE("\x96\1\0\0\0\0\0\0\0a.", "bytearray b\"a\"");
    VALUE("X\x3d\0\0\0aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg.",
          "\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff…\" (61 bytes)");
    VALUE("C\x10"
          "0123456789abcdef.",
          "b\"0123456789abcde…\" (16 bytes)");
}

static void names_are_safe(void **state)
{
    struct log log = {0};

    (void)state;
    walk(&log, "V\x1b[31m\xff\nP\x1b[31m\n.", 17);
    assert_true(log.ok);
    for (const char *p = log.text.p; *p; p++)
        assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
    heft_buf_release(&log.text);
}

static void bounded_values(void **state)
{
    (void)state;
    VALUE("]q\0h\0a.", "[[[[list of 1]]]]");
    VALUE("(K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1t.", "(1, 1, 1, 1, 1, 1, 1, 1, … 2 more)");
    VALUE("}(K\1NK\2NK\3NK\4NK\5NK\6NK\7NK\x08NK\tNu.",
          "{1: None, 2: None, 3: None, 4: None, 5: None, 6: None, 7: None, 8: None, … 1 more}");
    VALUE("\x8f(K\1\x90.", "set{1}");
    VALUE("(K\1\x91.", "frozenset{1}");
    VALUE("cm\nn\n)R(NNe.", "n()[None, None]");
    VALUE("cm\nn\n)R(NNu.", "n(){None: None}");
    VALUE("cm\nn\n)R)R.", "object()");
}

/* ---- torch ----------------------------------------------------------------------------------- */

#define PERSID(key) "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" key "X\3\0\0\0cpuK\x10tQ"
#define TENSOR(key)                                                                                \
    "ctorch._utils\n_rebuild_tensor_v2\n(" PERSID(key) "K\0K\4K\4\x86K\4K\1\x86\x89NtR"

static void walk_zipped(struct log *log, const char *pickle, size_t n,
                        const struct heft_trace_options *options)
{
    struct heft_buf zip = {0};

    torch_zip_of(&zip, (struct heft_bytes){(const uint8_t *)pickle, n});
    walk_with(log, zip.p, zip.n, options);
    heft_buf_release(&zip);
}

static void expect_zipped(const char *pickle, size_t n, const char *line)
{
    static const struct heft_trace_options usual = HEFT_INIT(struct heft_trace_options);
    struct log log = {0};

    walk_zipped(&log, pickle, n, &usual);
    assert_true(log.ok);
    assert_memory_equal(log.text.p, "[a/data.pkl 1/1  at 40, ", 24);
    assert_non_null(strstr(log.text.p, line));
    heft_buf_release(&log.text);
}
#define ZIPPED(pickle, line) expect_zipped(pickle, sizeof(pickle) - 1, line)

static void storages_and_tensors(void **state)
{
    char line[200];

    (void)state;
    /* the payload follows the next local header: 30 bytes and the name a/data/0 */
    snprintf(line, sizeof line, "elements 16, record a/data/0, bytes %zu to %zu of the file\n",
             40 + sizeof(TENSOR("0") ".") - 1 + 38, 40 + sizeof(TENSOR("0") ".") - 1 + 38 + 64);
    ZIPPED(TENSOR("0") ".", line);
    ZIPPED(TENSOR("0") ".",
           "BINPERSID: pop the id (\"storage\", torch.FloatStorage, \"0\", \"cpu\", 16) → storage "
           "\"0\": class torch.FloatStorage, key \"0\", on \"cpu\"");
    ZIPPED(TENSOR("0") ".",
           "REDUCE: callable torch._utils._rebuild_tensor_v2, arguments (storage \"0\", 0, (4, 4), "
           "(4, 1), False, None) → tensor F32 (4, 4)\n");
    ZIPPED(TENSOR("7") ".", ", the archive has no record a/data/7\n");
    ZIPPED("K\1Q.", "BINPERSID: pop the id 1 → persistent object 1\n");
    ZIPPED("Pkey\n.",
           "PERSID key: pop the id \"key\" → persistent object \"key\", the archive has");
    ZIPPED("ctorch._utils\n_rebuild_tensor_v2\n)R.", "→ _rebuild_tensor_v2()\n");
}

static void five_of_a_stream(void **state)
{
    static const char stream[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                                 "\x80\2M\xe9\3.}.N.].";
    struct log log = {0};

    (void)state;
    walk(&log, stream, sizeof stream - 1);
    assert_true(log.ok);
    assert_int_equal(log.total.pickles, 5);
    assert_int_equal(log.total.opcodes, 3 + 3 + 2 + 2 + 2);
    assert_non_null(strstr(log.text.p, "[ 1/5 magic number at 0, 15]\n"));
    assert_non_null(strstr(log.text.p, "[ 4/5 the object at 23, 2]\n0 NONE"));
    assert_non_null(strstr(log.text.p, "[ 5/5 keys of the storages at 25, 2]\n0 EMPTY_LIST"));
    heft_buf_release(&log.text);
    walk(&log, stream, sizeof stream - 3);
    assert_false(log.ok);
    assert_int_equal(log.err.code, HEFT_MALFORMED);
    assert_int_equal(log.err.offset, 25);
    heft_buf_release(&log.text);
}

/* ---- state ----------------------------------------------------------------------------------- */

static void whole_state_of_a_range(void **state)
{
    static const struct heft_trace_options options = {.size = sizeof options, .from = 7, .to = 8};
    struct log log = {0};

    (void)state;
    walk_with(&log, "]q\0(K\7\x94(h\1.", 11, &options);
    assert_true(log.ok);
    assert_string_equal(log.text.p, "[ 1/1  at 0, 11]\n"
                                    "7 MARK: mark: 1 value goes to the metastack, depth 2\n"
                                    "  stack[0] 0/0 \n"
                                    "  metastack[0] 0/1 m0 []\n"
                                    "  metastack[1] 0/1 m1 7\n"
                                    "  memo[0] 0/2 m0 = []\n"
                                    "  memo[0] 1/2 m1 = 7\n");
    heft_buf_release(&log.text);
}

/* MEMOIZE uses the number of entries as its index: it may replace another value, which then has no
 * index. */
static void a_replaced_memo_entry(void **state)
{
    static const struct heft_trace_options options = {.size = sizeof options, .from = 5, .to = 6};
    struct log log = {0};

    (void)state;
    walk_with(&log, "]q\1K\7\x94.", 7, &options);
    assert_true(log.ok);
    assert_non_null(strstr(log.text.p, "  stack[0] 0/2 []\n  stack[0] 1/2 m1 7\n"));
    assert_non_null(strstr(log.text.p, "  memo[0] 1/1 m1 = 7\n"));
    heft_buf_release(&log.text);
}

static void ends_of_long_parts(void **state)
{
    static const struct heft_trace_options options = {.size = sizeof options, .state = true};
    struct heft_buf pickle = {0};
    struct log log = {0};
    size_t lines = 0;

    (void)state;
    for (int i = 0; i < 40; i++)
        heft_buf_text(&pickle, "N\x94");
    for (int i = 0; i < 40; i++)
        heft_buf_char(&pickle, '(');
    heft_buf_char(&pickle, '.');
    walk_with(&log, pickle.p, pickle.n, &options);
    assert_non_null(strstr(log.text.p, "  stack[0] 8/40 and 24\n"));
    assert_non_null(strstr(log.text.p, "  memo[0] 8/40 and 24\n"));
    assert_non_null(strstr(log.text.p, "  metastack[8] 0/0 and 24\n"));
    for (const char *p = strstr(log.text.p, "\n119 MARK"); *p; p++)
        lines += *p == '\n';
    assert_true(lines < 60);
    heft_buf_release(&log.text);
    heft_buf_release(&pickle);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void an_error_follows_the_steps_before_it(void **state)
{
    struct log log = {0};

    (void)state;
    walk(&log, "\x80\2}q\0X\5\0\0\0ab", 12);
    assert_false(log.ok);
    assert_int_equal(log.steps, 3);
    assert_int_equal(log.err.code, HEFT_MALFORMED);
    assert_int_equal(log.err.offset, 5);
    heft_buf_release(&log.text);
}

static void ranges_that_are_not_pickles_are_not_announced(void **state)
{
    struct log log = {0};

    (void)state;
    walk(&log, "\1\2\3", 3);
    assert_false(log.ok);
    assert_string_equal(log.text.p, "");
    heft_buf_release(&log.text);
}

static void a_watcher_may_stop(void **state)
{
    struct log log = {.stop_after = 2};

    (void)state;
    walk(&log, "NNNN", 4); /* without STOP: reading on would be an error */
    assert_true(log.ok);
    assert_int_equal(log.steps, 2);
    heft_buf_release(&log.text);
}

static void an_empty_range_is_an_error(void **state)
{
    static const struct heft_trace_options options = {.size = sizeof options, .from = 9, .to = 10};
    struct log log = {0};

    (void)state;
    walk_with(&log, "N.", 2, &options);
    assert_false(log.ok);
    assert_int_equal(log.err.code, HEFT_USAGE);
    heft_buf_release(&log.text);
}

static void records_by_name(void **state)
{
    static const struct heft_trace_options whole = {.size = sizeof whole, .record = "a/data.pkl"};
    static const struct heft_trace_options inner = {.size = sizeof inner, .record = "data.pkl"};
    static const struct heft_trace_options none = {.size = sizeof none, .record = "ata.pkl"};
    struct log log = {0};

    (void)state;
    walk_zipped(&log, "N.", 2, &whole);
    assert_true(log.ok);
    heft_buf_release(&log.text);
    walk_zipped(&log, "N.", 2, &inner);
    assert_true(log.ok);
    heft_buf_release(&log.text);
    walk_zipped(&log, "N.", 2, &none);
    assert_false(log.ok);
    assert_int_equal(log.err.code, HEFT_USAGE);
    assert_string_equal(log.err.text, "the archive has no record ata.pkl; pickles are a/data.pkl");
    heft_buf_release(&log.text);
}

/* ---- the door -------------------------------------------------------------------------------- */

static bool count_tensor(void *ctx, const struct heft_trace_tensor *tensor)
{
    size_t *n = ctx;

    assert_true(tensor->has_key);
    assert_string_equal(tensor->record, *n ? "linear/data/1" : "linear/data/0");
    assert_string_equal(tensor->id, *n ? "(\"storage\", FloatStorage, \"1\", \"cpu\", 3)"
                                       : "(\"storage\", FloatStorage, \"0\", \"cpu\", 6)");
    assert_int_equal(tensor->key_position, *n ? 173 : 34);
    assert_int_equal(tensor->made_position, *n ? 230 : 170);
    assert_int_equal(tensor->tensor->offset, *n ? 960 : 832);
    ++*n;
    return true;
}

static void from_tensors_to_bytes(void **state)
{
    size_t n = 0;
    const struct heft_trace_watcher watcher = {
        .size = sizeof watcher, .ctx = &n, .tensor = count_tensor};
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    struct heft_error err = {0};

    (void)state;
    assert_true(heft_trace(HEFT_TESTS "/golden/torch/linear.pt", NULL, &watcher, &total, &err));
    assert_int_equal(n, 2);
    assert_int_equal(total.tensors, 2);
    assert_int_equal(total.opcodes, 94);
    assert_int_equal(total.memo, 28);
    assert_int_equal(total.metastack, 0);
}

static void failing_allocations(void **state)
{
    static const char *const paths[] = {HEFT_TESTS "/golden/torch/linear.pt",
                                        HEFT_TESTS "/golden/torch/unknown.pt"};
    static const struct heft_trace_options options = {.size = sizeof options, .state = true};
    static const struct heft_trace_watcher none = HEFT_INIT(struct heft_trace_watcher);

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(paths); i++) {
        struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
        struct failures fail = {.most = 5000};
        struct heft_error err;

        while (!fail.done)
            FAIL_ALLOCATION(&fail, heft_trace(paths[i], &options, &none, &total, &err), &err);
        assert_true(fail.n > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_and_memo),
        cmocka_unit_test(marks),
        cmocka_unit_test(containers),
        cmocka_unit_test(calls),
        cmocka_unit_test(arguments),
        cmocka_unit_test(numbers),
        cmocka_unit_test(texts),
        cmocka_unit_test(names_are_safe),
        cmocka_unit_test(bounded_values),
        cmocka_unit_test(storages_and_tensors),
        cmocka_unit_test(five_of_a_stream),
        cmocka_unit_test(whole_state_of_a_range),
        cmocka_unit_test(a_replaced_memo_entry),
        cmocka_unit_test(ends_of_long_parts),
        cmocka_unit_test(an_error_follows_the_steps_before_it),
        cmocka_unit_test(ranges_that_are_not_pickles_are_not_announced),
        cmocka_unit_test(a_watcher_may_stop),
        cmocka_unit_test(an_empty_range_is_an_error),
        cmocka_unit_test(records_by_name),
        cmocka_unit_test(from_tensors_to_bytes),
        cmocka_unit_test(failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
