/* test_flat_run.c: runs of a row-major tensor as boxes: random runs that follow one another, whose boxes
 * must tile the tensor in order and be as few as promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/formats.h"
#include "format/torch/ranks/flat_run.h"

enum { DIMS = 4, MOST = 4096 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Number of the first element of a box, and its number of elements. */
static uint64_t first_of(const struct heft_row *row, const struct heft_part *part, uint64_t *n)
{
    uint64_t first = 0;

    *n = 1;
    for (unsigned d = 0; d < row->rank; d++) {
        first = first * row->shape[d] + part->start[d];
        *n *= part->extent[d];
        assert_true(part->extent[d] > 0 && part->start[d] + part->extent[d] <= row->shape[d]);
    }
    return first;
}

/* A box is contiguous if its last element is n - 1 after its first. */
static uint64_t last_of(const struct heft_row *row, const struct heft_part *part)
{
    uint64_t last = 0;

    for (unsigned d = 0; d < row->rank; d++)
        last = last * row->shape[d] + part->start[d] + part->extent[d] - 1;
    return last;
}

static void check_tensor(struct heft_model *model, uint32_t *seed)
{
    uint64_t shape[DIMS], total = 1, budget = MOST, at = 0;
    struct heft_flat_row flat = {.model = model, .budget = &budget};
    struct heft_error err = {0};

    flat.row.rank = (uint8_t)(next_random(seed) % (DIMS + 1));
    flat.row.dtype = HEFT_F32;
    flat.row.shape = shape;
    for (unsigned d = 0; d < flat.row.rank; d++)
        total *= shape[d] = 1 + next_random(seed) % 5;
    while (at < total) {
        const uint64_t n = 1 + next_random(seed) % (total - at);
        const size_t before = flat.n;
        const struct heft_flat_run run = {.at = at, .n = n, .offset = 1000 + 4 * at, .storage = 7};

        assert_true(heft_flat_row_add(&flat, &run, &err));
        assert_true(flat.n - before <= (flat.row.rank > 1 ? 2 * flat.row.rank - 1u : 1u));
        at += n;
    }
    at = 0;
    for (size_t i = 0; i < flat.n; i++) {
        uint64_t n;

        assert_int_equal(first_of(&flat.row, &flat.list[i], &n), at);
        assert_int_equal(last_of(&flat.row, &flat.list[i]), at + n - 1);
        assert_int_equal(flat.list[i].offset, 1000 + 4 * at);
        at += n;
    }
    assert_int_equal(at, total);
    assert_int_equal(budget, MOST - flat.n);
    heft_flat_row_release(&flat);
}

static void test_runs(void **state)
{
    struct heft_model model;
    uint32_t seed = 5;

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    for (int i = 0; i < 3000; i++)
        check_tensor(&model, &seed);
    heft_model_release(&model);
}

static void test_budget(void **state)
{
    const uint64_t shape[] = {3, 3};
    uint64_t budget = 2;
    struct heft_model model;
    struct heft_flat_row flat = {.model = &model, .budget = &budget};
    struct heft_error err = {0};

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    flat.row = (struct heft_row){.rank = 2, .shape = shape, .dtype = HEFT_F32};
    assert_false(heft_flat_row_add(&flat, &(struct heft_flat_run){.at = 1, .n = 7}, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    heft_flat_row_release(&flat);
    heft_model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
