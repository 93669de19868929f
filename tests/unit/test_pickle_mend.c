/* test_pickle_mend.c: truncated pickles: the graph keeps completed values, drops the value under
 * construction, and equals the usual one for a complete pickle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "failures.h"
#include "pickle_show.h"
#include "wire_samples.h"

struct mended {
    struct heft_pickle pickle;
    struct heft_arena arena;
    struct heft_error why, err;
    struct heft_buf text;
    uint8_t *copy;
    bool done;
};

static void mend(struct mended *m, const void *bytes, size_t n)
{
    *m = (struct mended){0};
    m->copy = malloc(n ? n : 1);
    if (!m->copy)
        abort();
    if (n)
        memcpy(m->copy, bytes, n);
    m->done = heft_pickle_salvage(&m->pickle, (struct heft_bytes){m->copy, n}, 0, NULL, &m->arena,
                                  &m->why, &m->err);
    if (m->done)
        show_node(&m->text, &m->pickle, m->pickle.root, 0);
    heft_buf_char(&m->text, '\0');
}

static void leave(struct mended *m)
{
    heft_arena_release(&m->arena);
    heft_buf_release(&m->text);
    free(m->copy);
}

static void expect(const char *bytes, size_t n, const char *want)
{
    struct mended m;

    mend(&m, bytes, n);
    assert_int_equal(m.done, want != NULL);
    if (want)
        assert_string_equal(m.text.p, want);
    assert_int_equal(m.why.code, HEFT_MALFORMED);
    assert_int_equal(m.err.code, want ? HEFT_OK : HEFT_MALFORMED);
    leave(&m);
}

#define EXPECT(bytes, want) expect("\x80\2" bytes, sizeof("\x80\2" bytes) - 1, want)
#define KEY(c)              "X\1\0\0\0" c
#define ODICT               "ccollections\nOrderedDict\n)R"

static void containers_under_construction(void **state)
{
    (void)state;
    EXPECT("}(" KEY("a") "K\1" KEY("b") "K\2", "{'a': 1, 'b': 2}");
    EXPECT("}(" KEY("a") "K\1" KEY("b"), "{'a': 1}");
    EXPECT("}(" KEY("a") "](K\1K\2", "{'a': [1, 2]}");
    EXPECT(ODICT "(" KEY("a") "K\1", "collections.OrderedDict(){'a': 1}");
    EXPECT("}(" KEY("a") ODICT "(" KEY("b") "K\1", "{'a': collections.OrderedDict(){'b': 1}}");
    /* dropped, as no batch of 1000 items came before */
    EXPECT("}(" KEY("a") "K\1u(" KEY("b") "K\2", "{'a': 1}");
    EXPECT("](K\1K\2e", "[1, 2]");
}

static void calls_under_construction(void **state)
{
    (void)state;
    EXPECT("}(" KEY("a") "K\1" KEY("b") "cm\nf\n", "{'a': 1}");
    EXPECT("}(" KEY("a") "K\1" KEY("b") "cm\nf\n(K\5", "{'a': 1}");
    EXPECT("}(" KEY("a") "K\1" KEY("b") "cm\nf\nK\5K\6", "{'a': 1}");
    EXPECT("}(" KEY("a") "K\1" KEY("b") "cm\nf\n(cm\ng\n(K\5", "{'a': 1}");
    EXPECT("](K\1cm\nf\n(K\2", "[1]");
    /* the marked items are a tuple under construction */
    EXPECT("}(" KEY("a") "K\1" KEY("b") "(K\1K\2", "{'a': 1}");
}

static void single_items_and_attributes(void **state)
{
    (void)state;
    EXPECT("}" KEY("a") "}(" KEY("b") "K\1", "{'a': {'b': 1}}");
    EXPECT("}" KEY("a") "}" KEY("b") ODICT "(" KEY("c") "K\1",
           "{'a': {'b': collections.OrderedDict(){'c': 1}}}");
    EXPECT("cm\nC\n)\x81}(" KEY("a") "K\1", "m.C.new()!{'a': 1}");
    EXPECT("}(" KEY("x") "cm\nC\n)\x81}(" KEY("a") "K\1", "{'x': m.C.new()!{'a': 1}}");
    EXPECT("}" KEY("a") "cm\nf\n", "{}");
}

static void pickles_without_a_complete_value(void **state)
{
    (void)state;
    EXPECT("", NULL);
    EXPECT("cm\nf\n", NULL);
    EXPECT("(", NULL);
    EXPECT("(K\1", NULL);
}

/* Each pickle that Python wrote, truncated at every length: the nodes can be walked, and with each
 * byte the graph grows or stays the same. */
static void every_truncation(void **state)
{
    static const struct {
        const uint8_t *p;
        size_t n;
    } samples[] = {{sample_pickle_0, sizeof sample_pickle_0},
                   {sample_pickle_2, sizeof sample_pickle_2},
                   {sample_pickle_4, sizeof sample_pickle_4},
                   {sample_pickle_linear, sizeof sample_pickle_linear}};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(samples); i++) {
        struct mended m;
        struct run whole;

        for (size_t n = 0; n < samples[i].n; n++) {
            mend(&m, samples[i].p, n);
            assert_int_equal(m.why.code, HEFT_MALFORMED);
            leave(&m);
        }
        mend(&m, samples[i].p, samples[i].n);
        run_pickle(&whole, samples[i].p, samples[i].n);
        assert_true(m.done && whole.done);
        assert_int_equal(m.why.code, HEFT_OK);
        assert_int_equal(m.pickle.root, whole.pickle.root);
        assert_int_equal(m.pickle.count, whole.pickle.count);
        end_run(&whole);
        leave(&m);
    }
}

static void every_failing_allocation_is_reported(void **state)
{
    static const char bytes[] = "}(" KEY("a") "](K\1K\2";

    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct heft_arena arena = {0};
        struct heft_error why = {0}, err = {0};
        struct heft_pickle pickle;

        FAIL_ALLOCATION(&fail,
                        heft_pickle_salvage(
                            &pickle, (struct heft_bytes){(const uint8_t *)bytes, sizeof bytes - 1},
                            0, NULL, &arena, &why, &err),
                        &err);
        heft_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_under_construction),
        cmocka_unit_test(calls_under_construction),
        cmocka_unit_test(single_items_and_attributes),
        cmocka_unit_test(pickles_without_a_complete_value),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
