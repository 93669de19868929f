/* test_equal_rows.c: pairs of tensors that must be equal: found equal, found different, in other byte order
 * and in other layouts, of different lengths, and with memory running out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "shaping_bench.h"
#include "core/equal_rows.h"

enum { N = 60000, FAR = 400000 }; /* elements; byte offset of the second tensor */

/* The second tensor is a copy of the first one. */
static void copy_first(struct bench *b)
{
    memcpy(b->data + FAR, b->data, (size_t)N * 4);
}

static struct heft_row make(const char *name, uint64_t offset, const uint64_t *shape)
{
    return (struct heft_row){.name = {name, strlen(name)},
                             .shape = shape,
                             .rank = 1,
                             .offset = offset,
                             .bytes = *shape * 4,
                             .dtype = HEFT_F32};
}

static void test_equal_and_different(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[] = {N};
    const struct heft_row first = make("a", 0, shape), second = make("b", FAR, shape);
    const struct heft_equal_rows pairs[] = {{&first, &first, "r:1"}, {&first, &second, "r:7"}};

    copy_first(b);
    assert_true(heft_equal_rows_check(&b->model, NULL, 0, &b->err));
    assert_true(heft_equal_rows_check(&b->model, pairs, 2, &b->err));
    b->data[FAR + 4 * 54321 + 2] ^= 1;
    assert_false(heft_equal_rows_check(&b->model, pairs, 2, &b->err));
    expect_failure(&b->err, HEFT_MALFORMED,
                   "r:7: tensors a and b must be equal, and differ in element 54321");
}

static void test_layouts(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[] = {N}, longer[] = {N + 1};
    const struct heft_row first = make("a", 0, shape), more = make("b", FAR, longer);
    struct heft_row second = make("b", FAR, shape);
    const struct heft_equal_rows pair = {&first, &second, "r:7"}, uneven = {&first, &more, "r:8"};

    copy_first(b);
    for (size_t i = 0; i < N; i++) {
        uint8_t *const p = b->data + FAR + 4 * i;
        const uint32_t was = heft_le32(p);

        for (unsigned k = 0; k < 4; k++)
            p[k] = (uint8_t)(was >> (24 - 8 * k));
    }
    assert_false(heft_equal_rows_check(&b->model, &pair, 1, &b->err));
    expect_failure(&b->err, HEFT_MALFORMED, "differ in element 1");
    second.flags = HEFT_ROW_SWAP;
    assert_true(heft_equal_rows_check(&b->model, &pair, 1, &b->err));
    copy_first(b);
    assert_false(heft_equal_rows_check(&b->model, &uneven, 1, &b->err));
    expect_failure(&b->err, HEFT_MALFORMED, "differ in element 60000");
}

static void test_no_memory(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[] = {N};
    const struct heft_row first = make("a", 0, shape), second = make("b", FAR, shape);
    const struct heft_equal_rows pair = {&first, &second, "r:7"};

    copy_first(b);
    for (struct failures fail = {.most = 20}; !fail.done;)
        FAIL_ALLOCATION(&fail, heft_equal_rows_check(&b->model, &pair, 1, &b->err), &b->err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_equal_and_different, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layouts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
