/* test_shaping_row.c: how results of changes of shape are stored, limits, errors, dtypes whose elements are
 * not whole bytes, rows of zeros. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "shaping_bench.h"

/* ---- how results are stored ------------------------------------------------------------------------------ */

static void open_row(struct bench *b, struct heft_shaping *s, const uint64_t *shape, unsigned rank)
{
    struct heft_row *const row = heft_arena_zero(&b->model.mem, 1, sizeof *row, &b->err);

    assert_non_null(row);
    *row = (struct heft_row){.name = {"w", 1},
                             .shape = numbers(b, shape, rank),
                             .rank = (uint8_t)rank,
                             .dtype = HEFT_F32};
    assert_true(heft_model_check_row(&b->model, row, &b->err));
    assert_true(heft_shaping_open(s, row, &b->err));
}

#define SHAPE(...) (const uint64_t[]){__VA_ARGS__}, HEFT_COUNT(((const uint64_t[]){__VA_ARGS__}))

static void make_row(struct bench *b, struct heft_shaping *s, struct heft_row *row)
{
    assert_true(heft_shaping_row(s, &b->model.mem, row, &b->err));
    heft_shaping_release(s);
}

/* The permutation of rotary weights is one box with runs of a whole row. */
static void test_rotary_is_one_view(void **state)
{
    struct bench *const b = *state;
    struct heft_shaping s;
    struct heft_row row;

    open_row(b, &s, SHAPE(16, 10)); /* 2 heads of 8 */
    assert_true(heft_shaping_reshape(&s, SHAPE(2, 4, 2, 10), &b->err));
    assert_true(heft_shaping_transpose(&s, 1, 2, &b->err));
    assert_true(heft_shaping_reshape(&s, SHAPE(16, 10), &b->err));
    make_row(b, &s, &row);
    assert_true(heft_row_is_shaped(&row));
    assert_int_equal(row.rank, 2);
    assert_int_equal(row.parts->n, 1);
    assert_int_equal(row.parts->rank, 4);
    assert_int_equal(row.parts->list[0].stride[1], 10);
    assert_int_equal(row.parts->list[0].stride[2], 20);
}

/* A reshape alone stays on its storage; a slice is a packed box. */
static void test_results_are_as_plain_as_possible(void **state)
{
    struct bench *const b = *state;
    struct heft_shaping s;
    struct heft_row row;

    open_row(b, &s, SHAPE(6, 4));
    assert_true(heft_shaping_reshape(&s, SHAPE(3, 8), &b->err));
    make_row(b, &s, &row);
    assert_null(row.parts);
    assert_null(row.stride);
    open_row(b, &s, SHAPE(6, 4));
    assert_true(heft_shaping_slice(&s, 0, 2, 5, &b->err));
    make_row(b, &s, &row);
    assert_true(heft_row_is_shaped(&row));
    assert_int_equal(row.parts->n, 1);
    assert_null(row.parts->list[0].stride);
    assert_int_equal(row.parts->list[0].offset, 2 * 4 * 4);
}

static void test_parts_are_limited(void **state)
{
    struct bench *const b = *state;
    struct heft_shaping s;

    open_row(b, &s, SHAPE(4, 6));
    assert_true(heft_shaping_transpose(&s, 0, 1, &b->err));
    s.most = 5;
    assert_false(heft_shaping_reshape(&s, SHAPE(8, 3), &b->err));
    expect_failure(&b->err, HEFT_USAGE, "needs 6 parts, at most 5 are possible");
    heft_shaping_release(&s);
}

/* ---- errors ------------------------------------------------------------------------------------------------ */

static void test_errors(void **state)
{
    struct bench *const b = *state;
    struct heft_shaping s, other;
    struct heft_shaping out = {0};

    open_row(b, &s, SHAPE(4, 6));
    assert_false(heft_shaping_squeeze(&s, 1, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "dimension 1 has extent 6, expected 1");
    assert_false(heft_shaping_squeeze(&s, 2, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "there is no dimension 2, the tensor has 2");
    assert_false(heft_shaping_unsqueeze(&s, 3, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "cannot be inserted before dimension 3");
    assert_false(heft_shaping_permute(&s, (const uint64_t[]){0, 0}, 2, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "no permutation of the dimensions: 0 at position 1");
    assert_false(heft_shaping_permute(&s, (const uint64_t[]){0}, 1, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "a permutation of 1 dimensions, the tensor has 2");
    assert_false(heft_shaping_reshape(&s, SHAPE(5, 5), &b->err));
    expect_failure(&b->err, HEFT_USAGE, "the tensor has 24 elements, the new shape has 25");
    assert_false(heft_shaping_reshape(&s, SHAPE(UINT64_MAX, 3), &b->err));
    expect_failure(&b->err, HEFT_USAGE, "2^64 elements or more");
    assert_false(heft_shaping_slice(&s, 0, 3, 5, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "slice 3:5 of dimension 0, whose extent is 4");
    assert_false(heft_shaping_reorder(&s, 0, (const uint64_t[]){0, 1, 2}, 3, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "does not divide into 3 blocks");
    assert_false(heft_shaping_reorder(&s, 0, (const uint64_t[]){0, 2}, 2, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "no permutation of the blocks: 2 at position 1");
    assert_false(heft_shaping_split(&s, 1, (const uint64_t[]){1, 3}, 2, &out, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "an extent of 6 does not divide by 4");
    assert_false(heft_shaping_split(&s, 1, NULL, 4, &out, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "does not divide into 4 equal parts");
    assert_false(heft_shaping_unstack(&s, 0, 3, &out, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "dimension 0 has extent 4, and 3 tensors are named");
    open_row(b, &other, SHAPE(4, 7));
    assert_false(heft_shaping_cat((struct heft_shaping[]){s, other}, 2, 0, &out, &b->err));
    expect_failure(&b->err, HEFT_USAGE,
                   "tensor 2 has extent 7 in dimension 1, the first one has 6");
}

/* ---- dtypes whose elements are not whole bytes --------------------------------------------------------------- */

static void open_packed(struct bench *b, struct heft_shaping *s, enum heft_dtype dtype,
                        uint64_t offset, const uint64_t *shape, unsigned rank)
{
    struct heft_row *const row = heft_arena_zero(&b->model.mem, 1, sizeof *row, &b->err);

    assert_non_null(row);
    *row = (struct heft_row){.name = {"w", 1},
                             .shape = numbers(b, shape, rank),
                             .rank = (uint8_t)rank,
                             .offset = offset,
                             .dtype = (uint8_t)dtype};
    assert_true(heft_model_check_row(&b->model, row, &b->err));
    assert_true(heft_shaping_open(s, row, &b->err));
}

static void test_packed_dtypes(void **state)
{
    struct bench *const b = *state;
    struct heft_shaping list[2], s = {0};
    struct heft_row row;
    uint8_t found[64];

    open_packed(b, &list[0], HEFT_F4, 100, SHAPE(4, 6));
    open_packed(b, &list[1], HEFT_F4, 300, SHAPE(2, 6));
    assert_true(heft_shaping_slice(&list[0], 0, 1, 3, &b->err));
    assert_true(heft_shaping_cat(list, 2, 0, &s, &b->err));
    assert_false(heft_shaping_transpose(&s, 0, 1, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "dimensions of F4 cannot be permuted");
    assert_false(heft_shaping_slice(&s, 1, 0, 2, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "F4 can be cut along dimension 0 only");
    make_row(b, &s, &row);
    assert_int_equal(row.bytes, 12);
    assert_true(heft_reader_row(&b->reader, &row, 0, found, 12, &b->err));
    assert_memory_equal(found, b->data + 103, 6);
    assert_memory_equal(found + 6, b->data + 300, 6);
    assert_true(heft_reader_row(&b->reader, &row, 5, found, 3, &b->err));
    assert_memory_equal(found, b->data + 108, 1);
    assert_memory_equal(found + 1, b->data + 300, 2);
}

static void test_blocks(void **state)
{
    struct bench *const b = *state;
    struct heft_shaping list[2], s = {0};
    struct heft_row row;
    uint8_t found[18 * 8];

    open_packed(b, &list[0], HEFT_Q4_0, 0, SHAPE(2, 64));
    open_packed(b, &list[1], HEFT_Q4_0, 720, SHAPE(2, 64));
    assert_true(heft_shaping_stack(list, 2, 0, &s, &b->err));
    assert_false(heft_shaping_reshape(&s, SHAPE(16, 16), &b->err));
    expect_failure(&b->err, HEFT_USAGE, "an innermost extent of 16 is not a multiple of 32");
    heft_shaping_release(&s);
    open_packed(b, &list[0], HEFT_Q4_0, 0, SHAPE(2, 64));
    open_packed(b, &list[1], HEFT_Q4_0, 720, SHAPE(2, 64));
    assert_true(heft_shaping_stack(list, 2, 0, &s, &b->err));
    make_row(b, &s, &row);
    assert_int_equal(row.rank, 3);
    assert_int_equal(row.bytes, sizeof found);
    assert_true(heft_reader_row(&b->reader, &row, 0, found, sizeof found, &b->err));
    assert_memory_equal(found, b->data, 72);
    assert_memory_equal(found + 72, b->data + 720, 72);
}

static void test_fixed_rows(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[] = {3};
    const struct heft_row text = {
        .name = {"t", 1}, .shape = shape, .rank = 1, .bytes = 5, .dtype = HEFT_STRING};
    struct heft_row out, zeros;
    struct heft_shaping s;
    uint8_t found[12] = {1};

    assert_true(heft_shaping_open(&s, &text, &b->err));
    make_row(b, &s, &out);
    assert_ptr_equal(out.shape, text.shape);
    assert_true(heft_shaping_open(&s, &text, &b->err));
    assert_false(heft_shaping_unsqueeze(&s, 0, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "STRING, of which only the name can change");
    heft_shaping_release(&s);
    open_row(b, &s, shape, 1);
    make_row(b, &s, &out);
    assert_true(heft_shaping_zeros(&out, &b->model.mem, &zeros, &b->err));
    assert_true(heft_reader_row(&b->reader, &zeros, 0, found, 12, &b->err));
    for (size_t i = 0; i < sizeof found; i++)
        assert_int_equal(found[i], 0);
    assert_int_equal(zeros.bytes, 12);
}

/* ---- extents that a program may name -------------------------------------------------------------------------- */

static void test_many_dimensions(void **state)
{
    struct bench *const b = *state;
    uint64_t shape[17], order[17];
    struct heft_shaping s;
    struct heft_row row;

    for (unsigned i = 0; i < 17; i++) {
        shape[i] = 2;
        order[i] = 16 - i;
    }
    open_row(b, &s, SHAPE(1 << 17));
    assert_true(heft_shaping_reshape(&s, shape, 17, &b->err));
    assert_true(heft_shaping_permute(&s, order, 17, &b->err));
    assert_false(heft_shaping_row(&s, &b->model.mem, &row, &b->err));
    expect_failure(&b->err, HEFT_USAGE, "read along 17 dimensions, at most 16 are possible");
    heft_shaping_release(&s);
}

/* ---- memory that runs out --------------------------------------------------------------------- */

/* A chain that cuts boxes, joins tensors and makes a row. */
static bool try_chain(const struct heft_row *row, struct heft_error *err)
{
    struct heft_arena arena = {0};
    struct heft_shaping list[3] = {{0}}, out = {0};
    struct heft_row made;
    bool ok =
        heft_shaping_open(&list[2], row, err) && heft_shaping_transpose(&list[2], 0, 1, err) &&
        heft_shaping_reshape(&list[2], SHAPE(8, 3), err) &&
        heft_shaping_reorder(&list[2], 0, (const uint64_t[]){1, 0}, 2, err) &&
        heft_shaping_split(&list[2], 0, NULL, 2, list, err) &&
        heft_shaping_stack(list, 2, 1, &out, err) && heft_shaping_row(&out, &arena, &made, err);

    for (size_t i = 0; i < 3; i++)
        heft_shaping_release(&list[i]);
    heft_shaping_release(&out);
    heft_arena_release(&arena);
    return ok;
}

static void test_no_memory(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[] = {4, 6};
    const struct heft_row row = {
        .name = {"w", 1}, .shape = shape, .rank = 2, .bytes = 96, .dtype = HEFT_F32};

    for (struct failures fail = {.most = 200}; !fail.done;)
        FAIL_ALLOCATION(&fail, try_chain(&row, &b->err), &b->err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rotary_is_one_view, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_results_are_as_plain_as_possible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_are_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_packed_dtypes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fixed_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_dimensions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
