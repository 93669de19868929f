/* test_arena.c: arena allocation: alignment, texts, large pieces that grow or move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"

static void allocations_are_aligned_and_do_not_overlap(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    uint8_t *pieces[600];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(pieces); i++) {
        pieces[i] = heft_arena_alloc(&arena, i * 7, &err);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)(i & 255), i * 7);
    }
    for (size_t i = 0; i < HEFT_COUNT(pieces); i++)
        for (size_t k = 0; k < i * 7; k++)
            assert_int_equal(pieces[i][k], i & 255);
    heft_arena_release(&arena);
    assert_null(arena.blocks);
    heft_arena_release(&arena);
}

static void text_is_packed_and_numbers_are_aligned_after_it(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    const char *first = heft_arena_text(&arena, HEFT_STR("abc"), &err);
    const char *second = heft_arena_text(&arena, HEFT_STR("de"), &err);
    uint64_t *numbers = heft_arena_u64(&arena, 3, &err);

    (void)state;
    assert_ptr_equal(second, first + 4);
    assert_int_equal((uintptr_t)numbers % sizeof *numbers, 0);
    assert_ptr_equal(numbers, first + 8);
    assert_ptr_equal(heft_arena_alloc(&arena, 1, &err), first + 32);
    assert_true(heft_arena_u64(&arena, 0, &err) != heft_arena_u64(&arena, 0, &err));
    assert_null(heft_arena_u64(&arena, SIZE_MAX / 8 + 1, &err));
    assert_int_equal(err.code, HEFT_NOMEM);
    heft_arena_release(&arena);
}

static void large_allocations_keep_the_current_block_in_use(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    uint8_t *small, *large, *next;

    (void)state;
    small = heft_arena_alloc(&arena, 16, &err);
    large = heft_arena_alloc(&arena, (size_t)10 << 20, &err);
    next = heft_arena_alloc(&arena, 16, &err);
    assert_non_null(large);
    memset(large, 1, (size_t)10 << 20);
    assert_ptr_equal(next, small + 16);
    heft_arena_release(&arena);
    /* a large piece as the first allocation */
    large = heft_arena_alloc(&arena, (size_t)1 << 20, &err);
    assert_non_null(large);
    assert_non_null(heft_arena_alloc(&arena, 1, &err));
    heft_arena_release(&arena);
}

static void arenas_allocate_little_more_than_requested(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};

    (void)state;
    for (size_t i = 0; i < 1000000; i++)
        assert_non_null(heft_arena_alloc(&arena, 48, &err));
    assert_true(arena.total < (size_t)48000000 + (8 << 20));
    heft_arena_release(&arena);
}

static void arena_text_ends_in_a_nul_that_is_not_counted(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    char *copy;

    (void)state;
    copy = heft_arena_text(&arena, (struct heft_str){"abcdef", 3}, &err);
    assert_string_equal(copy, "abc");
    copy = heft_arena_text(&arena, (struct heft_str){NULL, 0}, &err);
    assert_string_equal(copy, "");
    for (int width = 250; width < 260; width++) { /* around the buffer size of the first attempt */
        copy = heft_arena_printf(&arena, &err, "%*d", width, 7);
        assert_int_equal(strlen(copy), width);
        assert_int_equal(copy[width - 1], '7');
    }
    heft_arena_release(&arena);
}

/* Builds 3 MB of text in an arena that already holds other pieces. */
static bool take_large(struct heft_arena *arena, struct heft_str *out, struct heft_error *err)
{
    struct heft_buf buf = {0};
    const char *before = heft_arena_text(arena, HEFT_STR("before"), err);

    for (unsigned i = 0; i < 3000000; i++)
        heft_buf_char(&buf, (char)('a' + i % 23));
    if (!before || !heft_buf_take(&buf, arena, out, err)) {
        heft_buf_release(&buf);
        return false;
    }
    assert_null(buf.p);
    assert_string_equal(before, "before");
    return true;
}

static void a_large_text_moves_into_the_arena(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    struct heft_str out;
    const char *after;

    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        heft_arena_release(&arena);
        FAIL_ALLOCATION(&fail, take_large(&arena, &out, &err), &err);
    }
    after = heft_arena_text(&arena, HEFT_STR("after"), &err);
    assert_int_equal(out.n, 3000000);
    for (size_t i = 0; i < out.n; i++)
        assert_int_equal(out.p[i], 'a' + i % 23);
    assert_int_equal(out.p[out.n], 0);
    assert_string_equal(after, "after");
    assert_true(arena.total < 4000000);
    heft_arena_release(&arena);
}

static void a_large_allocation_grows_in_place_and_a_small_one_moves(void **state)
{
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    const size_t large = (size_t)1 << 20;
    uint8_t *piece = heft_arena_alloc(&arena, large, &err), *small;

    (void)state;
    memset(piece, 7, large);
    for (size_t n = large; n < 64 * large; n *= 2) {
        piece = heft_arena_widen(&arena, piece, n, 2 * n, &err);
        assert_non_null(piece);
        assert_int_equal(piece[large - 1], 7);
        memset(piece + n, 7, n);
    }
    assert_true(arena.total < 65 * large); /* all earlier large pieces were freed */

    small = heft_arena_alloc(&arena, 32, &err);
    memset(small, 9, 32);
    small = heft_arena_widen(&arena, small, 32, 4096, &err);
    assert_int_equal(small[31], 9);
    assert_int_equal(piece[64 * large - 1], 7);
    heft_arena_release(&arena);
}

static void the_end_of_a_large_allocation_is_given_back(void **state)
{
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    const size_t large = (size_t)8 << 20, part = (size_t)3 << 20;
    uint8_t *piece = heft_arena_alloc(&arena, large, &err), *small;
    const size_t total = arena.total;

    (void)state;
    memset(piece, 7, part);
    piece = heft_arena_shrink(&arena, piece, large, part, &err);
    assert_non_null(piece);
    assert_int_equal(piece[part - 1], 7);
    assert_int_equal(arena.total, total - large + part);

    small = heft_arena_alloc(&arena, 32, &err);
    assert_null(heft_arena_shrink(&arena, small, 32, 16, &err)); /* it shares its block */
    assert_int_equal(err.code, HEFT_OK);
    heft_arena_release(&arena);
}

/* Whatever a piece goes through, its budget holds what its arena holds. */
static void a_budget_holds_what_its_arena_holds(void **state)
{
    struct heft_error err = {0};
    struct heft_budget budget = {.most = 3000000};
    struct heft_arena arena = {.budget = &budget};
    struct heft_buf buf = {0};
    struct heft_str text;
    char *piece;

    (void)state;
    assert_non_null(heft_arena_chars(&arena, 1000, &err));
    piece = heft_arena_alloc(&arena, 500000, &err);
    piece = heft_arena_widen(&arena, piece, 500000, 1000000, &err);
    assert_non_null(piece);
    assert_int_equal(budget.held, arena.total);
    assert_null(heft_arena_widen(&arena, piece, 1000000, 4000000, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_int_equal(budget.held, arena.total);
    piece = heft_arena_shrink(&arena, piece, 1000000, 600000, &err);
    assert_non_null(piece);
    assert_int_equal(budget.held, arena.total);
    assert_true(heft_buf_room(&buf, 1500000));
    buf.n = 1500000;
    assert_true(heft_buf_take(&buf, &arena, &text, &err));
    assert_int_equal(budget.held, arena.total);
    assert_true(heft_buf_room(&buf, 1500000));
    buf.n = 1500000;
    assert_false(heft_buf_take(&buf, &arena, &text, &err));
    assert_int_equal(budget.held, arena.total);
    for (int i = 0; i < 100; i++)
        assert_non_null(heft_arena_chars(&arena, 1000, &err));
    assert_int_equal(budget.held, arena.total);
    heft_arena_release(&arena);
    assert_int_equal(budget.held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_do_not_overlap),
        cmocka_unit_test(text_is_packed_and_numbers_are_aligned_after_it),
        cmocka_unit_test(large_allocations_keep_the_current_block_in_use),
        cmocka_unit_test(arenas_allocate_little_more_than_requested),
        cmocka_unit_test(arena_text_ends_in_a_nul_that_is_not_counted),
        cmocka_unit_test(a_large_text_moves_into_the_arena),
        cmocka_unit_test(a_large_allocation_grows_in_place_and_a_small_one_moves),
        cmocka_unit_test(the_end_of_a_large_allocation_is_given_back),
        cmocka_unit_test(a_budget_holds_what_its_arena_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
