/* test_slice.c: slices of rows: geometry, and the normal form that heft_model_validate gives to
 * rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/reader.h"
#include "format/formats.h"

static const uint64_t shape[3] = {4, 5, 6};
static const struct heft_row packed = {
    .shape = shape, .rank = 3, .dtype = HEFT_F32, .bytes = 480, .offset = 16, .storage = 7};

static void slices_move_and_shrink(void **state)
{
    const struct heft_range ranges[2] = {{1, 3, false}, {2, 5, false}};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    (void)state;
    assert_true(heft_row_slice(&packed, ranges, 2, &arena, &out, &err));
    assert_int_equal(out.rank, 3);
    assert_true(out.shape[0] == 2 && out.shape[1] == 3 && out.shape[2] == 6);
    assert_true(out.stride[0] == 30 && out.stride[1] == 6 && out.stride[2] == 1);
    assert_int_equal(out.offset, 16 + 4 * (30 + 12));
    assert_int_equal(out.bytes, 4 * 2 * 3 * 6);
    assert_int_equal(out.storage, 7);
    heft_arena_release(&arena);
}

static void dropped_dimensions_vanish(void **state)
{
    const struct heft_range ranges[3] = {{3, 4, true}, {1, 2, true}, {5, 6, true}};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    (void)state;
    assert_true(heft_row_slice(&packed, ranges, 1, &arena, &out, &err));
    assert_true(out.rank == 2 && out.shape[0] == 5 && out.shape[1] == 6 && out.bytes == 120);
    assert_true(heft_row_slice(&packed, ranges, 3, &arena, &out, &err));
    assert_true(out.rank == 0 && out.bytes == 4 && out.offset == 16 + 4 * (90 + 6 + 5));
    assert_null(out.stride);
    heft_arena_release(&arena);
}

static void packed_slices_have_no_strides(void **state)
{
    const struct heft_range front[1] = {{1, 3, false}};
    const struct heft_range middle[2] = {{2, 3, false}, {1, 4, false}};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    (void)state;
    assert_true(heft_row_slice(&packed, front, 1, &arena, &out, &err));
    assert_null(out.stride);
    assert_true(heft_row_slice(&packed, middle, 2, &arena, &out, &err));
    assert_null(out.stride);
    assert_true(heft_row_slice(&packed, NULL, 0, &arena, &out, &err));
    assert_true(out.rank == 3 && out.bytes == 480 && !out.stride);
    heft_arena_release(&arena);
}

static void empty_slices_are_valid_and_stay_inside(void **state)
{
    const struct heft_range end[1] = {{4, 4, false}};
    const struct heft_range mixed[2] = {{3, 4, false}, {5, 5, false}};
    const struct heft_range inner[2] = {{1, 3, false}, {2, 2, false}};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    (void)state;
    assert_true(heft_row_slice(&packed, end, 1, &arena, &out, &err));
    assert_true(out.bytes == 0 && out.shape[0] == 0 && out.offset == 16 && !out.stride);
    assert_true(heft_row_slice(&packed, mixed, 2, &arena, &out, &err));
    assert_true(out.bytes == 0 && out.shape[1] == 0 && out.offset == 16 && !out.stride);
    assert_true(heft_row_slice(&packed, inner, 2, &arena, &out, &err));
    assert_true(out.bytes == 0 && out.shape[0] == 2 && out.offset == 16 && !out.stride);
    heft_arena_release(&arena);
}

static void check_refused(const struct heft_row *row, const struct heft_range *ranges, size_t n)
{
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    assert_false(heft_row_slice(row, ranges, n, &arena, &out, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_arena_release(&arena);
}

static void ranges_outside_the_row_are_refused(void **state)
{
    const struct heft_range beyond[1] = {{0, 5, false}}, backwards[1] = {{2, 1, false}};
    const struct heft_range wide[1] = {{0, 2, true}}, none[1] = {{1, 1, true}};
    const struct heft_range many[4] = {{0, 1, false}, {0, 1, false}, {0, 1, false}, {0, 1, false}};
    const struct heft_row scalar = {.dtype = HEFT_F32, .bytes = 4};
    const struct heft_row nibbles = {.shape = shape, .rank = 3, .dtype = HEFT_F4, .bytes = 60};

    (void)state;
    check_refused(&packed, beyond, 1);
    check_refused(&packed, backwards, 1);
    check_refused(&packed, wide, 1);
    check_refused(&packed, none, 1);
    check_refused(&packed, many, 4);
    check_refused(&scalar, many, 1);
    check_refused(&nibbles, many, 1);
}

/* Strides of dimensions with extent 1 or 0 are arbitrary: they never move an element. */
static void strides_of_extents_of_one_are_ignored(void **state)
{
    const uint64_t one[2] = {1, 3}, none[2] = {3, 0}, stride[2] = {UINT64_MAX, 2};
    const struct heft_range ranges[2] = {{0, 1, false}, {1, 3, false}};
    const struct heft_range late[1] = {{2, 3, false}};
    struct heft_row row = {
        .shape = one, .stride = stride, .rank = 2, .dtype = HEFT_U8, .bytes = 3, .offset = 1};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    (void)state;
    assert_true(heft_row_slice(&row, ranges, 2, &arena, &out, &err));
    assert_true(out.offset == 3 && out.bytes == 2 && out.stride && out.stride[1] == 2);
    row.shape = none;
    row.bytes = 0;
    assert_true(heft_row_slice(&row, late, 1, &arena, &out, &err));
    assert_true(out.offset == 1 && out.bytes == 0 && !out.stride);
    heft_arena_release(&arena);
}

/* Every slice of a strided 3 × 4 × 2 view contains the elements that it names. */
static void check_elements(const struct heft_row *row, struct heft_reader *reader,
                           const struct heft_range *ranges, struct heft_arena *arena)
{
    struct heft_error err = {0};
    struct heft_row out;
    uint8_t got[24];
    size_t n = 0;

    assert_true(heft_row_slice(row, ranges, 3, arena, &out, &err));
    assert_true(heft_reader_row(reader, &out, 0, got, (size_t)out.bytes, &err));
    for (uint64_t i = ranges[0].start; i < ranges[0].stop; i++)
        for (uint64_t j = ranges[1].start; j < ranges[1].stop; j++)
            for (uint64_t k = ranges[2].start; k < ranges[2].stop; k++)
                assert_int_equal(got[n++], row->offset + i * row->stride[0] + j * row->stride[1] +
                                               k * row->stride[2]);
    assert_int_equal(out.bytes, n);
}

static void slices_of_views_hold_the_named_elements(void **state)
{
    static uint8_t data[128];
    const uint64_t extents[3] = {3, 4, 2}, stride[3] = {1, 5, 40};
    const struct heft_row row = {
        .shape = extents, .stride = stride, .rank = 3, .dtype = HEFT_U8, .bytes = 24, .offset = 9};
    const struct heft_storage storage = {.len = sizeof data, .packed = sizeof data};
    struct heft_source source = {0};
    struct heft_model model;
    struct heft_reader reader;
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    uint32_t index;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data, sizeof data}, "data");
    assert_true(heft_model_add_file(&model, &source, "data", &index, &err));
    assert_true(heft_model_add_storage(&model, &storage, &index, &err));
    assert_true(heft_reader_init(&reader, &model, false, &err));
    for (uint64_t i = 0; i < 4 * 4 * 5 * 5 * 3 * 3; i++) {
        const struct heft_range ranges[3] = {{i % 4, i / 4 % 4, false},
                                             {i / 16 % 5, i / 80 % 5, false},
                                             {i / 400 % 3, i / 1200 % 3, false}};

        if (ranges[0].start <= ranges[0].stop && ranges[1].start <= ranges[1].stop &&
            ranges[2].start <= ranges[2].stop)
            check_elements(&row, &reader, ranges, &arena);
    }
    heft_reader_release(&reader);
    heft_arena_release(&arena);
    heft_model_release(&model);
}

static void lack_of_memory_is_an_error(void **state)
{
    const struct heft_range ranges[1] = {{1, 3, false}};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row out;

    (void)state;
    heft_alloc_fail_at(1);
    assert_false(heft_row_slice(&packed, ranges, 1, &arena, &out, &err));
    heft_alloc_fail_at(0);
    assert_int_equal(err.code, HEFT_NOMEM);
    heft_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_move_and_shrink),
        cmocka_unit_test(dropped_dimensions_vanish),
        cmocka_unit_test(packed_slices_have_no_strides),
        cmocka_unit_test(empty_slices_are_valid_and_stay_inside),
        cmocka_unit_test(ranges_outside_the_row_are_refused),
        cmocka_unit_test(strides_of_extents_of_one_are_ignored),
        cmocka_unit_test(slices_of_views_hold_the_named_elements),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
