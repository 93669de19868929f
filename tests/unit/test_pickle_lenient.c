/* test_pickle_lenient.c: what the pickle machine runs, as CPython does, when it is asked to be lenient. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/pickle.h"

#define RUN(p, literal, ...)                                                                       \
    run(p, (struct heft_bytes){(const uint8_t *)(literal), sizeof(literal) - 1}, __VA_ARGS__)

static bool run(struct heft_pickle *out, struct heft_bytes data, bool lenient,
                struct heft_arena *arena)
{
    const struct heft_pickle_limits limits = {.lenient = lenient};
    struct heft_error err = {0};

    return heft_pickle_run(out, data, 0, &limits, arena, &err);
}

/* Refused by readers of checkpoints, run by CPython, and so by the machine when it is asked to. */
static void what_cpython_runs_is_run(void **state)
{
    static const struct heft_bytes pickles[] = {
#define PICKLE(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}
        PICKLE("\x80\4cm\nf\n)RX\1\0\0\0a\x93."), /* a module that a call gives */
        PICKLE("\x80\4cm\nf\ncm\na\n)RR."),       /* arguments that a call gives */
        PICKLE("\x80\4cm\nf\n)cm\nk\n)R\x92."),   /* keywords */
        PICKLE("\x80\2\x82\1."),                  /* a code of copyreg's registry */
        PICKLE("\x80\2cm\nC\n)\x81}b}b."),        /* a second state */
        PICKLE("\x80\2cm\nC\n}b."),               /* a state for a class */
        PICKLE("\x80\2cm\nd\nNNs."),              /* items for what a name stands for */
        PICKLE("\x80\2]NaK\0Ns."),                /* item 0 of a list */
        PICKLE("\x80\2cm\nC\n)\x81NaNNs."),       /* both kinds of items */
        PICKLE("\x80\4\x95\2\0\0\0\0\0\0\0X\1\0\0\0a."),
        PICKLE("\x80\4\x95\x0c\0\0\0\0\0\0\0\x95\2\0\0\0\0\0\0\0NN."),
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(pickles); i++) {
        struct heft_arena arena = {0};
        struct heft_pickle p;

        assert_false(run(&p, pickles[i], false, &arena));
        assert_true(run(&p, pickles[i], true, &arena));
        heft_arena_release(&arena);
    }
}

static void what_cpython_refuses_is_refused(void **state)
{
    struct heft_arena arena = {0};
    struct heft_pickle p;

    (void)state;
    assert_false(RUN(&p, "\x80\4K\1X\1\0\0\0a\x93.", true, &arena));
    assert_false(RUN(&p, "\x80\2K\1)R.", true, &arena));
    assert_false(RUN(&p, "\x80\2K\1NNs.", true, &arena));
    assert_false(RUN(&p, "\x80\4\x95\xff\0\0\0\0\0\0\0N.", true, &arena));
    assert_false(RUN(&p, "\x80\2h\1.", true, &arena));
    heft_arena_release(&arena);
}

static void an_opcode_that_leaves_its_frame_is_marked(void **state)
{
    struct heft_arena arena = {0};
    struct heft_pickle p;

    (void)state;
    assert_true(RUN(&p, "\x80\4\x95\3\0\0\0\0\0\0\0NX\1\0\0\0a.", true, &arena));
    assert_int_equal(p.bent, 12);
    assert_true(RUN(&p, "\x80\4\x95\1\0\0\0\0\0\0\0NX\1\0\0\0a.", true, &arena));
    assert_int_equal(p.bent, HEFT_PICKLE_NIL);
    heft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cpython_runs_is_run),
        cmocka_unit_test(what_cpython_refuses_is_refused),
        cmocka_unit_test(an_opcode_that_leaves_its_frame_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
