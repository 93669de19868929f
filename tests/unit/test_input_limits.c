/* test_input_limits.c: defaults of limits that grow with the size of the input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/input_limits.h"

static void records_are_limited_by_the_size_of_the_input(void **state)
{
    struct heft_limits limits = HEFT_INIT(struct heft_limits);

    (void)state;
    assert_int_equal(heft_limit_entries(&limits, 0), 400000);
    assert_int_equal(heft_limit_entries(&limits, 64 << 20), 400000);
    assert_int_equal(heft_limit_entries(&limits, (64 << 20) + 6400), 400100);
    assert_int_equal(heft_limit_entries(&limits, UINT64_MAX), 1000000);
    limits.entries = 7;
    assert_int_equal(heft_limit_entries(&limits, UINT64_MAX), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_limited_by_the_size_of_the_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
