/* test_pickle_watch.c: runs with a watcher: same result as without one, and each step has the state
 * after the opcode: stack, marks, memo, argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "pickle_show.h"
#include "wire/pickle_watch.h"
#include "wire_samples.h"

struct seen {
    struct heft_buf text;
    size_t steps, stop_after; /* 0: never stops */
};

static void show_stack(struct heft_buf *out, const struct heft_pickle_step *s)
{
    size_t mark = 0;

    for (size_t i = 0; i <= s->depth; i++) {
        for (; mark < s->n_marks && s->marks[mark] == i; mark++)
            heft_buf_char(out, '|');
        if (i < s->depth) {
            heft_buf_char(out, ' ');
            show_node(out, s->pickle, s->stack[i], 0);
        }
    }
}

/* Writes a step as "5 X 4/21: ( 'a'  memo 2". */
static bool take(void *ctx, const struct heft_pickle_step *s)
{
    struct seen *seen = ctx;

    heft_buf_printf(&seen->text, "%zu %s", s->at, s->name);
    if (s->form == HEFT_FORM_NUMBER)
        heft_buf_printf(&seen->text, " %" PRIu64, s->number);
    if (s->form >= HEFT_FORM_TEXT)
        heft_buf_printf(&seen->text, " %d+%zu", s->prefix, s->text.n);
    heft_buf_printf(&seen->text, " %zu:", s->raw.n);
    show_stack(&seen->text, s);
    heft_buf_printf(&seen->text, " m%zu\n", s->memo_count);
    seen->steps++;
    return seen->steps != seen->stop_after;
}

static bool watch(struct run *run, const void *bytes, size_t n, struct seen *seen)
{
    struct heft_pickle_watcher watcher = {take, seen, false};

    *run = (struct run){0};
    run->copy = malloc(n ? n : 1);
    assert_non_null(run->copy);
    memcpy(run->copy, bytes, n);
    run->done = heft_pickle_watch(&run->pickle, (struct heft_bytes){run->copy, n}, 0, NULL,
                                  &watcher, &run->arena, &run->err);
    heft_buf_char(&seen->text, '\0');
    assert_false(seen->text.failed);
    return watcher.stopped;
}

static void expect(const char *bytes, size_t n, const char *want)
{
    struct seen seen = {0};
    struct run run;

    assert_false(watch(&run, bytes, n, &seen));
    assert_string_equal(seen.text.p, want);
    assert_int_equal(run.pickle.opcodes, seen.steps);
    heft_buf_release(&seen.text);
    end_run(&run);
}
#define EXPECT(bytes, want) expect(bytes, sizeof(bytes) - 1, want)

static void stack_marks_and_memo(void **state)
{
    (void)state;
    EXPECT("\x80\2}q\0(X\1\0\0\0aK\1u.", "0 PROTO 2 1: m0\n"
                                         "2 EMPTY_DICT 0: {} m0\n"
                                         "3 BINPUT 0 1: {} m1\n"
                                         "5 MARK 0: {}| m1\n"
                                         "6 BINUNICODE 4+1 5: {}| 'a' m1\n"
                                         "12 BININT1 1 1: {}| 'a' 1 m1\n"
                                         "14 SETITEMS 0: {'a': 1} m1\n"
                                         "15 STOP 0: {'a': 1} m1\n");
    EXPECT("((t(N10].", "0 MARK 0:| m0\n1 MARK 0:|| m0\n2 TUPLE 0:| () m0\n"
                        "3 MARK 0:| ()| m0\n4 NONE 0:| ()| None m0\n5 POP_MARK 0:| () m0\n"
                        "6 POP 0:| m0\n7 EMPTY_LIST 0:| [] m0\n8 STOP 0:| [] m0\n");
}

static void arguments_as_lines(void **state)
{
    (void)state;
    EXPECT("cos\nsystem\np7\ng7\n.", "0 GLOBAL 0+2 10: os.system m0\n"
                                     "11 PUT 0+1 2: os.system m1\n"
                                     "14 GET 0+1 2: os.system os.system m1\n"
                                     "17 STOP 0: os.system os.system m1\n");
}

/* Writes the memo index as a number, in whatever form the opcode has it, or implies it. */
static bool take_index(void *ctx, const struct heft_pickle_step *s)
{
    struct heft_buf *out = ctx;

    if (strchr("qrpghj\x94", s->byte))
        heft_buf_printf(out, "%c%" PRIu64 "=%" PRIu32 " ", s->byte & 0x7F, s->number,
                        heft_pickle_memo_at(s, (uint32_t)s->number) == HEFT_PICKLE_NIL
                            ? UINT32_MAX
                            : s->memo_count > 0);
    return true;
}

static void memo_indexes(void **state)
{
    static const char bytes[] = "N\x94q\3r\x00\x01\x00\x00p70000\ng3\n\x94.";
    struct heft_buf text = {0};
    struct heft_pickle_watcher watcher = {take_index, &text, false};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_pickle p;

    (void)state;
    assert_true(heft_pickle_watch(&p, (struct heft_bytes){(const uint8_t *)bytes, sizeof bytes - 1},
                                  0, NULL, &watcher, &arena, &err));
    heft_buf_char(&text, '\0');
    assert_string_equal(text.p, "\x14"
                                "0=1 q3=1 r256=1 p70000=1 g3=1 \x14"
                                "4=1 ");
    heft_buf_release(&text);
    heft_arena_release(&arena);
}

static void steps_before_an_error_are_shown(void **state)
{
    struct seen seen = {0};
    struct run run;

    (void)state;
    assert_false(watch(&run, "NK\1X\5\0\0\0ab", 10, &seen));
    assert_false(run.done);
    assert_int_equal(seen.steps, 2);
    assert_int_equal(run.err.code, HEFT_MALFORMED);
    assert_int_equal(run.err.offset, 3);
    heft_buf_release(&seen.text);
    end_run(&run);
}

static void a_watcher_may_stop_the_run(void **state)
{
    struct seen seen = {.stop_after = 2};
    struct run run;

    (void)state;
    assert_true(watch(&run, "NNNN.", 5, &seen));
    assert_true(run.done);
    assert_int_equal(seen.steps, 2);
    heft_buf_release(&seen.text);
    end_run(&run);
}

#define SAMPLE(name)                                                                               \
    {                                                                                              \
        name, sizeof name                                                                          \
    }
static const struct heft_bytes samples[] = {SAMPLE(sample_pickle_0),     SAMPLE(sample_pickle_1),
                                            SAMPLE(sample_pickle_2),     SAMPLE(sample_pickle_3),
                                            SAMPLE(sample_pickle_4),     SAMPLE(sample_pickle_5),
                                            SAMPLE(sample_pickle_linear)};

/* On samples of all picklers: same graph and counts as without a watcher. */
static void watching_does_not_change_the_result(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(samples); i++) {
        struct heft_buf one, other;
        struct seen seen = {0};
        struct run plain, watched;

        run_pickle(&plain, samples[i].p, samples[i].n);
        assert_false(watch(&watched, samples[i].p, samples[i].n, &seen));
        show_root(&one, &plain);
        show_root(&other, &watched);
        assert_string_equal(one.p, other.p);
        assert_int_equal(plain.pickle.opcodes, watched.pickle.opcodes);
        assert_int_equal(plain.pickle.opcodes, seen.steps);
        assert_int_equal(plain.pickle.memo_count, watched.pickle.memo_count);
        assert_int_equal(plain.pickle.count, watched.pickle.count);
        heft_buf_release(&one);
        heft_buf_release(&other);
        heft_buf_release(&seen.text);
        end_run(&plain);
        end_run(&watched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_marks_and_memo),
        cmocka_unit_test(arguments_as_lines),
        cmocka_unit_test(memo_indexes),
        cmocka_unit_test(steps_before_an_error_are_shown),
        cmocka_unit_test(a_watcher_may_stop_the_run),
        cmocka_unit_test(watching_does_not_change_the_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
