/* test_pickle_lenient.c: pickles that CPython runs and that the pickle machine runs only in lenient
 * mode. */
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

/* Pickles that readers of checkpoints refuse; CPython runs them, and so does the machine in lenient
 * mode. */
static void pickles_that_cpython_runs_are_run(void **state)
{
    static const struct heft_bytes pickles[] = {
#define PICKLE(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}
        PICKLE("\x80\4cm\nf\n)RX\1\0\0\0a\x93."), /* module name from the result of a call */
        PICKLE("\x80\4cm\nf\ncm\na\n)RR."),       /* arguments from the result of a call */
        PICKLE("\x80\4cm\nf\n)cm\nk\n)R\x92."),   /* keyword arguments from a call */
        PICKLE("\x80\2\x82\1."),                  /* code of copyreg's extension registry */
        PICKLE("\x80\2cm\nC\n)\x81}b}b."),        /* second state of an object */
        PICKLE("\x80\2cm\nC\n}b."),               /* state of a class */
        PICKLE("\x80\2cm\nd\nNNs."),              /* items of a global */
        PICKLE("\x80\2]NaK\0Ns."),                /* item 0 of a list */
        PICKLE("\x80\2cm\nC\n)\x81NaNNs."),       /* both kinds of items in one object */
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

static void pickles_that_cpython_refuses_are_refused(void **state)
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
        cmocka_unit_test(pickles_that_cpython_runs_are_run),
        cmocka_unit_test(pickles_that_cpython_refuses_are_refused),
        cmocka_unit_test(an_opcode_that_leaves_its_frame_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
