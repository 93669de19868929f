/* test_encoder_batch.c: texts side by side → ids side by side. */
#include "heft/tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char TEXTS[] = "low lower lowestnull"
                            "\xFF"
                            "low";
static const int64_t OFFSETS[] = {0, 4, 10, 10, 16, 20};
static const int32_t OFFSETS32[] = {0, 4, 10, 10, 16, 20};
static const uint8_t VALID[] = {0x0F}; /* the fifth text is null */

struct test {
    struct heft_vocab *v;
    struct heft_encoder *e;
};

static int set_up(void **state)
{
    static struct test test;
    struct heft_error err = {0};

    test.v = heft_vocab_open(NULL, &err);
    test.e = test.v ? heft_encoder_new(test.v, NULL, &err) : NULL;
    *state = &test;
    return test.e ? 0 : -1;
}

static int tear_down(void **state)
{
    struct test *test = *state;

    heft_encoder_free(test->e);
    heft_vocab_close(test->v);
    return 0;
}

static struct heft_text_batch texts(bool is_wide)
{
    struct heft_text_batch batch = {.size = sizeof batch, .data = TEXTS, .valid = VALID, .n = 5};

    batch.offsets = is_wide ? OFFSETS : NULL;
    batch.offsets32 = is_wide ? NULL : OFFSETS32;
    return batch;
}

/* The ids of each text by heft_encode, one after the other. */
static size_t encode_each(struct heft_encoder *e, uint32_t end, uint32_t *ids, int64_t *ends)
{
    struct heft_error err = {0};
    size_t n = 0, count;

    ends[0] = 0;
    for (size_t i = 0; i < 5; i++) {
        if (i < 4) {
            assert_true(heft_encode(e, TEXTS + OFFSETS[i], (size_t)(OFFSETS[i + 1] - OFFSETS[i]),
                                    ids + n, 64 - n, &count, &err));
            n += count;
            if (end != HEFT_NO_TOKEN)
                ids[n++] = end;
        }
        ends[i + 1] = (int64_t)n;
    }
    return n;
}

static uint32_t id_at(const void *ids, unsigned width, size_t i)
{
    return width == 2 ? ((const uint16_t *)ids)[i] : ((const uint32_t *)ids)[i];
}

/* Encodes with room for `room` ids at first, and twice as much each time it does not suffice. */
static void check_batch(struct heft_encoder *e, bool is_wide, unsigned width, size_t room,
                        uint32_t end)
{
    const struct heft_text_batch from = texts(is_wide);
    int64_t ends[6], wanted_ends[6];
    struct heft_id_batch to = {
        .size = sizeof to, .width = width, .room = room, .ends = ends, .end_id = end};
    struct heft_error err = {0};
    uint32_t wanted[64];
    const size_t n = encode_each(e, end, wanted, wanted_ends);
    size_t done = 0;

    do {
        to.ids = realloc(to.ids, to.room * width);
        assert_non_null(to.ids);
        assert_true(heft_encode_batch(e, &from, &to, &done, &err));
        to.room *= 2;
    } while (done < from.n);
    assert_memory_equal(ends, wanted_ends, sizeof ends);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(id_at(to.ids, width, i), wanted[i]);
    free(to.ids);
}

static void test_same_as_each(void **state)
{
    const struct test *test = *state;

    for (int is_wide = 0; is_wide < 2; is_wide++)
        for (unsigned width = 2; width <= 4; width += 2)
            for (size_t room = 1; room < 64; room++) {
                check_batch(test->e, is_wide, width, room, HEFT_NO_TOKEN);
                check_batch(test->e, is_wide, width, room, 50256);
            }
}

static void test_text_in_error(void **state)
{
    static const int64_t offsets[] = {0, 4, 20, 21, 24};
    const struct test *test = *state;
    const struct heft_text_batch from = {
        .size = sizeof from, .data = TEXTS, .offsets = offsets, .n = 4};
    uint32_t ids[64];
    int64_t ends[5];
    const struct heft_id_batch to = {.size = sizeof to,
                                     .ids = ids,
                                     .width = 4,
                                     .room = 64,
                                     .ends = ends,
                                     .end_id = HEFT_NO_TOKEN};
    struct heft_error err = {0};
    size_t done = 0;

    assert_false(heft_encode_batch(test->e, &from, &to, &done, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_int_equal(done, 2);
    assert_int_equal(err.offset, 0);
    done = 3; /* the caller may leave the text out */
    ends[3] = ends[2];
    assert_true(heft_encode_batch(test->e, &from, &to, &done, &err));
    assert_int_equal(done, 4);
    assert_int_equal(ends[4] - ends[3], 1);
}

static void expect_refusal(struct heft_encoder *e, const struct heft_text_batch *from,
                           const struct heft_id_batch *to, const char *text)
{
    struct heft_error err = {0};
    size_t done = 0;

    assert_false(heft_encode_batch(e, from, to, &done, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_string_equal(err.text, text);
}

static void test_refusals(void **state)
{
    static const int64_t falling[] = {0, 4, 2};
    const struct test *test = *state;
    struct heft_text_batch from = texts(true);
    uint32_t ids[64];
    int64_t ends[6];
    struct heft_id_batch to = {.size = sizeof to,
                               .ids = ids,
                               .width = 3,
                               .room = 64,
                               .ends = ends,
                               .end_id = HEFT_NO_TOKEN};

    expect_refusal(test->e, &from, &to, "ids of 3 bytes; expected 2 or 4");
    to.width = 2;
    to.end_id = 65536;
    expect_refusal(test->e, &from, &to, "some ids need 4 bytes; 2 were given");
    to.width = 4;
    to.ends = NULL;
    expect_refusal(test->e, &from, &to, "no place for ids or ends");
    to.ends = ends;
    from.offsets = falling;
    from.n = 2;
    expect_refusal(test->e, &from, &to, "the offsets of text 1 descend");
    from.data = NULL;
    expect_refusal(test->e, &from, &to, "texts without data or offsets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_each),
        cmocka_unit_test(test_text_in_error),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
