/* test_model_memory.c: the memory of a model and its readers is limited as a whole, also if each
 * kind of contents is within its own limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/model.h"
#include "format/formats.h"

/* 12 MiB, and a little for the values, tensors and nodes. */
static const struct heft_limits FEW = {.nodes = 1000, .tensors = 100000, .expansion = 100000};
#define MOST ((12ull << 20) + 44 * 1000 + 110 * 100000 + 40 * 100000)

static void the_limit_is_a_sum_over_the_other_limits(void **state)
{
    const struct heft_limits usual = heft_limits_complete(NULL);
    struct heft_limits large = usual;

    (void)state;
    assert_int_equal(heft_limit_memory(&FEW, 0), MOST);
    assert_int_equal(heft_limit_memory(&usual, 64 << 20), 195582912);
    assert_true(heft_limit_memory(&usual, 65 << 20) > 195582912 + (8 << 20));
    large.nodes = UINT64_MAX;
    assert_int_equal(heft_limit_memory(&large, 0), UINT64_MAX);
}

static void readers_and_the_model_share_the_room(void **state)
{
    struct heft_model model;
    struct heft_error err = {0};
    uint64_t held = 0;

    (void)state;
    heft_model_init(&model, &FEW, &heft_formats);
    assert_int_equal(heft_model_room(&model), MOST);
    heft_model_hold(&model, &held, MOST - 1000);
    assert_int_equal(heft_model_room(&model), 1000);
    assert_true(heft_model_fits(&model, &err));
    assert_non_null(heft_arena_alloc(&model.mem, 1000, &err));
    assert_int_equal(heft_model_room(&model), 1);
    assert_false(heft_model_fits(&model, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_non_null(strstr(err.text, "need more than 27626912 bytes of memory"));
    heft_model_hold(&model, &held, 0);
    assert_int_equal(model.reading, 0);
    assert_int_equal(heft_model_room(&model), MOST - heft_model_bytes(&model));
    heft_model_release(&model);
}

/* Pairs of 500 bytes: their number is below the limit, their memory is not. */
static void metadata_is_limited_by_its_memory(void **state)
{
    static char text[500];
    const struct heft_pair pair = {.key = {text, 250}, .value = {text, 250}};
    struct heft_model model;
    struct heft_error err = {0};

    (void)state;
    memset(text, 'a', sizeof text);
    heft_model_init(&model, &FEW, &heft_formats);
    while (model.n_metadata < 100000 && heft_model_add_metadata(&model, &pair, &err))
        continue;
    assert_true(model.n_metadata < 100000);
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_true(heft_model_bytes(&model) < MOST + (8 << 20));
    heft_model_release(&model);
}

/* A large piece is refused when it is asked for, not some pieces later. */
static void arenas_of_an_operation_share_its_budget(void **state)
{
    struct heft_model model;
    struct heft_budget budget;
    struct heft_error err = {0};

    (void)state;
    heft_model_init(&model, &FEW, &heft_formats);
    assert_non_null(heft_arena_alloc(&model.mem, 1 << 20, &err));
    budget = heft_model_budget(&model);
    assert_int_equal(budget.held, heft_model_bytes(&model));
    assert_int_equal(budget.most, MOST);
    struct heft_arena plan = {.budget = &budget}, scratch = {.budget = &budget};
    assert_non_null(heft_arena_alloc(&plan, 10 << 20, &err));
    assert_true(heft_budget_take(&budget, 10 << 20, &err));
    assert_null(heft_arena_alloc(&scratch, 10 << 20, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_non_null(strstr(err.text, "need more than 27626912 bytes of memory"));
    assert_false(heft_budget_take(&budget, UINT64_MAX, &err));
    heft_arena_release(&plan);
    assert_non_null(heft_arena_alloc(&scratch, 10 << 20, &err));
    heft_arena_release(&scratch);
    heft_budget_return(&budget, 10 << 20);
    assert_int_equal(budget.held, heft_model_bytes(&model));
    heft_model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_a_sum_over_the_other_limits),
        cmocka_unit_test(readers_and_the_model_share_the_room),
        cmocka_unit_test(metadata_is_limited_by_its_memory),
        cmocka_unit_test(arenas_of_an_operation_share_its_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
