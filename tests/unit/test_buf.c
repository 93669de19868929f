/* test_buf.c: growing text buffer: numbers, failed allocations, transfer to an arena. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void numbers_are_written_as_printf_writes_them(void **state)
{
    char wanted[32];

    (void)state;
    for (uint64_t v = 1; v < UINT64_MAX / 7; v = v * 7 + 3) {
        for (uint64_t d = 0; d < 3; d++) {
            struct heft_buf buf = {0};
            const int n = snprintf(wanted, sizeof wanted, "%" PRIu64, v + d);

            heft_buf_u64(&buf, v + d);
            assert_int_equal(buf.n, n);
            assert_memory_equal(buf.p, wanted, buf.n);
            heft_buf_release(&buf);
        }
    }
    struct heft_buf buf = {0};
    heft_buf_u64(&buf, 0);
    heft_buf_u64(&buf, UINT64_MAX);
    heft_buf_u64(&buf, 10);
    heft_buf_u64(&buf, 99);
    heft_buf_u64(&buf, 100);
    heft_buf_char(&buf, '\0');
    assert_string_equal(buf.p, "0184467440737095516151099100");
    heft_buf_release(&buf);
}

static void a_failed_buffer_stays_failed(void **state)
{
    struct heft_error err = {0};
    struct heft_buf buf = {0};
    size_t n;

    (void)state;
    heft_buf_text(&buf, "kep"); /* leaves a few free bytes in the block before the failure */
    n = buf.n;
    heft_alloc_fail_at(1);
    for (size_t i = 0; !buf.failed; i++) {
        heft_buf_text(&buf, "more");
        n = buf.failed ? n : buf.n;
    }
    heft_buf_char(&buf, 'x');
    heft_buf_printf(&buf, "%d", 5);
    assert_int_equal(buf.n, n);
    assert_false(heft_buf_ok(&buf, &err));
    assert_int_equal(err.code, HEFT_NOMEM);
    heft_buf_release(&buf);
    heft_alloc_fail_at(0);
    heft_buf_text(&buf, "anew");
    assert_true(heft_buf_ok(&buf, &err));
    heft_buf_release(&buf);
}

static void taking_moves_the_text_and_empties_the_buffer(void **state)
{
    struct heft_error err = {0};
    struct heft_arena arena = {0};
    struct heft_buf buf = {0};
    struct heft_str out;

    (void)state;
    heft_buf_str(&buf, HEFT_STR("ab\0cd"));
    assert_true(heft_buf_take(&buf, &arena, &out, &err));
    assert_int_equal(out.n, 5);
    assert_memory_equal(out.p, "ab\0cd", 6);
    assert_int_equal(buf.n, 0);
    assert_true(heft_buf_take(&buf, &arena, &out, &err));
    assert_int_equal(out.n, 0);
    assert_string_equal(out.p, "");
    heft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_as_printf_writes_them),
        cmocka_unit_test(a_failed_buffer_stays_failed),
        cmocka_unit_test(taking_moves_the_text_and_empties_the_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
