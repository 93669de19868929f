/* test_sort.c: the stable sort of indices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/sort.h"

static bool key_after(const void *ctx, uint32_t a, uint32_t b)
{
    const unsigned *const keys = ctx;

    return keys[a] > keys[b];
}

static void equal_items_keep_their_order(void **state)
{
    static const unsigned keys[] = {3, 1, 2, 1, 3, 0, 2, 1, 3};
    static const uint32_t sorted[] = {5, 1, 3, 7, 2, 6, 0, 4, 8};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    const uint32_t *const order = heft_sort_indices(HEFT_COUNT(keys), key_after, keys, &mem, &err);

    (void)state;
    assert_non_null(order);
    assert_memory_equal(order, sorted, sizeof sorted);
    heft_arena_release(&mem);
}

/* Of every length up to 70: descending keys, which all move. */
static void every_length_is_sorted(void **state)
{
    unsigned keys[70];

    (void)state;
    for (size_t n = 0; n <= HEFT_COUNT(keys); n++) {
        struct heft_arena mem = {0};
        struct heft_error err = {0};
        const uint32_t *order;

        for (size_t i = 0; i < n; i++)
            keys[i] = (unsigned)(n - i);
        order = heft_sort_indices(n, key_after, keys, &mem, &err);
        assert_non_null(order);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(order[i], n - 1 - i);
        heft_arena_release(&mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_items_keep_their_order),
        cmocka_unit_test(every_length_is_sorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
