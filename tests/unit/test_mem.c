/* test_mem.c: allocation hook that makes the N-th allocation fail, in every module that allocates;
 * growing arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"

static void the_nth_allocation_fails_and_only_that_one(void **state)
{
    struct heft_error err = {0};
    const uint64_t before = heft_alloc_count();

    (void)state;
    heft_alloc_fail_at(2);
    void *first = heft_alloc(10, &err);
    assert_non_null(first);
    assert_int_equal(err.code, HEFT_OK);
    assert_null(heft_alloc(10, &err));
    assert_int_equal(err.code, HEFT_NOMEM);
    first = heft_realloc(first, 20, &err);
    assert_non_null(first);
    assert_int_equal(heft_alloc_count() - before, 3);
    heft_alloc_fail_at(1);
    heft_alloc_fail_at(0);
    void *zero = heft_calloc(3, 5, &err);
    assert_non_null(zero);
    heft_free(zero);
    heft_free(first);
    heft_free(NULL);
}

static void zero_is_a_valid_size(void **state)
{
    struct heft_error err = {0};
    void *a = heft_alloc(0, &err), *b = heft_calloc(0, 8, &err), *c = heft_calloc(8, 0, &err);

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    heft_free(a);
    heft_free(b);
    heft_free(c);
}

static void impossible_sizes_are_refused_without_trying(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};

    (void)state;
    assert_null(heft_alloc(SIZE_MAX, &err));
    assert_int_equal(err.code, HEFT_NOMEM);
    assert_null(heft_calloc(SIZE_MAX / 2, 3, &err));
    assert_null(heft_arena_alloc(&arena, SIZE_MAX - 3, &err));
    assert_null(heft_arena_zero(&arena, SIZE_MAX / 4, 5, &err));
    heft_arena_release(&arena);
}

static bool fill_arena(struct heft_arena *arena, struct heft_error *err)
{
    for (size_t i = 0; i < 40; i++)
        if (!heft_arena_alloc(arena, i * 1000, err) ||
            !heft_arena_printf(arena, err, "%0300d", 1) || !heft_arena_zero(arena, i, 900, err))
            return false;
    return true;
}

static bool fill_buffer(struct heft_buf *buf, struct heft_arena *arena, struct heft_error *err)
{
    struct heft_str out;

    for (unsigned i = 0; i < 500; i++) {
        heft_buf_text(buf, "item ");
        heft_buf_u64(buf, i);
        heft_buf_printf(buf, " %s\n", "and so on");
    }
    return heft_buf_take(buf, arena, &out, err);
}

static bool fill_array(uint32_t **items, size_t *cap, struct heft_error *err)
{
    for (uint32_t i = 0; i < 1000; i++) {
        if (!heft_grow(items, cap, i, 1, sizeof **items, err))
            return false;
        (*items)[i] = i;
    }
    return true;
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct heft_error err = {0};
        struct heft_arena arena = {0};
        struct heft_buf buf = {0};
        uint32_t *items = NULL;
        size_t cap = 0;

        FAIL_ALLOCATION(&fail,
                        fill_arena(&arena, &err) && fill_buffer(&buf, &arena, &err) &&
                            fill_array(&items, &cap, &err),
                        &err);
        heft_arena_release(&arena);
        heft_buf_release(&buf);
        heft_free(items);
    }
}

static void growing_keeps_the_contents(void **state)
{
    struct heft_error err = {0};
    uint32_t *items = NULL;
    size_t cap = 0;

    (void)state;
    assert_true(fill_array(&items, &cap, &err));
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    assert_false(heft_grow(&items, &cap, 1000, SIZE_MAX - 5, sizeof *items, &err));
    assert_false(heft_grow(&items, &cap, 1000, SIZE_MAX / 4, sizeof *items, &err));
    assert_true(cap < 2000);
    heft_free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_allocation_fails_and_only_that_one),
        cmocka_unit_test(zero_is_a_valid_size),
        cmocka_unit_test(impossible_sizes_are_refused_without_trying),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(growing_keeps_the_contents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
