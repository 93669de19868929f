/* test_mt19937.c: random numbers, compared with those of NumPy. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tokens/sampler/mt19937.h"

static void test_draws(void **unused)
{
    FILE *file = fopen(HEFT_TESTS "/golden/tokens/sampler/draws.tsv", "r");
    static struct heft_mt19937 mt;
    unsigned rows = 0;
    uint32_t seed;
    uint64_t below, wanted;

    (void)unused;
    assert_non_null(file);
    for (; fscanf(file, "%" SCNu32 "%" SCNu64, &seed, &below) == 2; rows++) {
        heft_mt_seed(&mt, seed);
        for (unsigned i = 0; i < 12; i++) {
            assert_int_equal(fscanf(file, "%" SCNu64, &wanted), 1);
            assert_int_equal(heft_mt_below(&mt, below), wanted);
        }
    }
    assert_int_equal(rows, 64);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
