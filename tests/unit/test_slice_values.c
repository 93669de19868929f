/* Slices of the values of block types, which begin and end anywhere, against slices of the whole tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <heft/heft.h>

enum { MOST = 4096 }; /* elements of the tensors */

static bool is_block_type(enum heft_dtype dtype)
{
    return heft_dtype_block_elements(dtype) > 1;
}

/* Compares one slice of a matrix of `columns` columns; a row index that is dropped if `drop`. */
static void compare(struct heft_checkpoint *c, size_t index, const float *whole, uint64_t columns,
                    const struct heft_range ranges[2])
{
    const struct heft_read_options options = {
        .size = sizeof options, .cast = true, .as = HEFT_F32, .ranges = ranges, .n_ranges = 2};
    const uint64_t wide = ranges[1].stop - ranges[1].start;
    uint64_t shape[2], bytes;
    float values[MOST];
    unsigned rank;
    struct heft_error err = {0};

    assert_true(heft_slice_shape_as(c, index, ranges, 2, HEFT_F32, shape, &rank, &bytes, &err));
    assert_int_equal(rank, ranges[0].drop ? 1 : 2);
    assert_int_equal(shape[rank - 1], wide);
    assert_int_equal(bytes, (ranges[0].stop - ranges[0].start) * wide * sizeof *values);
    assert_true(heft_tensor_read_with(c, index, &options, values, (size_t)bytes, NULL, &err));
    for (uint64_t r = ranges[0].start; r < ranges[0].stop; r++)
        assert_memory_equal(values + (r - ranges[0].start) * wide,
                            whole + r * columns + ranges[1].start, (size_t)wide * sizeof *values);
}

static void compare_slices(struct heft_checkpoint *c, size_t index, const struct heft_tensor *t)
{
    const struct heft_read_options options = {.size = sizeof options, .cast = true, .as = HEFT_F32};
    const uint64_t rows = t->shape[0], columns = t->shape[1];
    float whole[MOST];
    struct heft_error err = {0};

    assert_true(rows * columns <= MOST);
    assert_true(
        heft_tensor_read_with(c, index, &options, whole, (size_t)(rows * columns * 4), NULL, &err));
    for (uint64_t start = 0; start < columns; start += 37)
        for (uint64_t stop = start; stop <= columns; stop += 29) {
            const struct heft_range all[2] = {{0, rows, false}, {start, stop, false}};
            const struct heft_range last[2] = {{rows - 1, rows, true}, {start, stop, false}};

            compare(c, index, whole, columns, all);
            compare(c, index, whole, columns, last);
        }
}

static void values_begin_and_end_anywhere(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(HEFT_TESTS "/golden/gguf/types.gguf", NULL, &err);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t compared = 0;

    (void)state;
    assert_non_null(c);
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++)
        if (is_block_type(t.dtype) && t.dtype != HEFT_Q8_1 && t.rank == 2) {
            compare_slices(c, i, &t);
            compared++;
        }
    assert_true(compared > 20);
    heft_close(c);
}

static void stored_blocks_stay_whole(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(HEFT_TESTS "/golden/gguf/types.gguf", NULL, &err);
    const struct heft_range cut[2] = {{0, 1, false}, {1, 5, false}};
    const struct heft_range beyond[2] = {{0, 1, false}, {1, 5000, false}};
    uint64_t shape[2], bytes;
    unsigned rank;
    size_t index;

    (void)state;
    assert_true(heft_tensor_find(c, "q.q4_k", strlen("q.q4_k"), &index));
    assert_false(heft_slice_shape(c, index, cut, 2, shape, &rank, &bytes, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "cuts blocks"));
    assert_false(heft_slice_shape_as(c, index, beyond, 2, HEFT_F32, shape, &rank, &bytes, &err));
    assert_non_null(strstr(err.text, "whose extent is 512"));
    assert_false(heft_slice_shape_as(c, index, cut, 2, HEFT_STRING, shape, &rank, &bytes, &err));
    heft_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_begin_and_end_anywhere),
        cmocka_unit_test(stored_blocks_stay_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
