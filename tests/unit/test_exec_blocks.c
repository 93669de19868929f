/* test_exec_blocks.c: large transposed rows, which are written in blocks: each element is in its place, also
 * after a cast, between other bytes, and where blocks end; comparing finds a changed byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/endian.h"
#include "core/exec.h"
#include "core/shaping.h"

enum { SIZE = 41 << 20, DIMS = 4 };

struct bench {
    char folder[64], path[96];
    uint8_t *data;
    struct heft_model model;
    struct heft_arena mem;
    struct heft_plan plan;
    struct heft_row row;
    struct heft_error err;
};

static int open_bench(void **state)
{
    const struct heft_storage storage = {.off = 0, .len = SIZE, .packed = SIZE};
    struct bench *const b = calloc(1, sizeof *b);
    struct heft_source source = {0};
    uint32_t index;

    assert_non_null(b);
    strcpy(b->folder, "/tmp/heft-test-blocks-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    snprintf(b->path, sizeof b->path, "%s/out", b->folder);
    b->data = malloc(SIZE);
    assert_non_null(b->data);
    for (size_t i = 0; i + 4 <= SIZE; i += 4) /* small normal numbers of F32 */
        heft_put_le32(b->data + i, 0x3f000000u | ((uint32_t)i * 2654435761u >> 9));
    heft_model_init(&b->model, NULL, NULL);
    heft_source_open_memory(&source, (struct heft_bytes){b->data, SIZE}, "memory");
    assert_true(heft_model_add_file(&b->model, &source, "memory", &index, &b->err));
    assert_true(heft_model_add_storage(&b->model, &storage, &index, &b->err));
    b->plan = (struct heft_plan){.model = &b->model, .mem = &b->mem, .sum = HEFT_SUM_CRC32};
    *state = b;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *const b = *state;

    heft_plan_release(&b->plan);
    heft_arena_release(&b->mem);
    heft_model_release(&b->model);
    (void)unlink(b->path);
    (void)rmdir(b->folder);
    free(b->data);
    free(b);
    return 0;
}

/* A row of the permuted dimensions of a packed array. */
static void make_row(struct bench *b, enum heft_dtype dtype, const uint64_t *shape,
                     const uint64_t *order, unsigned rank)
{
    struct heft_shaping s;
    struct heft_row *const stored = heft_arena_zero(&b->mem, 1, sizeof *stored, &b->err);

    assert_non_null(stored);
    *stored = (struct heft_row){
        .name = {"w", 1}, .shape = shape, .rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    assert_true(heft_row_size(dtype, rank, shape, &stored->bytes));
    assert_true(heft_shaping_open(&s, stored, &b->err));
    assert_true(heft_shaping_permute(&s, order, rank, &b->err));
    assert_true(heft_shaping_row(&s, &b->mem, &b->row, &b->err));
    heft_shaping_release(&s);
    b->row.name = stored->name;
}

/* Plans three bytes, the row, and two bytes. */
static void plan_row(struct bench *b, enum heft_dtype as)
{
    struct heft_export_item item = {
        .row = &b->row, .name = b->row.name, .from = b->row.name, .as = (uint8_t)as};
    uint32_t file;

    assert_true(heft_row_size_as(&b->row, as, &item.bytes, &b->err));
    assert_true(heft_plan_file_begin(&b->plan, b->path, &file, &b->err));
    assert_true(heft_plan_put(&b->plan, file, (struct heft_str){"abc", 3}, &b->err));
    assert_true(heft_plan_item(&b->plan, file, &item, &b->err));
    assert_true(heft_plan_put(&b->plan, file, (struct heft_str){"yz", 2}, &b->err));
    assert_true(heft_plan_check(&b->plan, &b->err));
}

static uint8_t *read_back(const struct bench *b, size_t n)
{
    FILE *const file = fopen(b->path, "rb");
    uint8_t *const found = malloc(n + 1);

    assert_non_null(file);
    assert_non_null(found);
    assert_int_equal(fread(found, 1, n + 1, file), n);
    fclose(file);
    return found;
}

/* Compares all bytes with a loop over the elements. */
static void expect_permuted(const struct bench *b, const uint64_t *shape, const uint64_t *order,
                            unsigned rank, enum heft_dtype as)
{
    const uint32_t each = heft_dtype_element_bytes((enum heft_dtype)b->row.dtype);
    const uint32_t new_each = heft_dtype_element_bytes(as);
    uint64_t step[DIMS], stride[DIMS], n = 1, at[DIMS] = {0}, from = 0;
    uint8_t *found;
    bool ok = true;

    for (unsigned d = rank; d > 0; d--) {
        step[d - 1] = n;
        n *= shape[d - 1];
    }
    for (unsigned d = 0; d < rank; d++)
        stride[d] = step[order[d]];
    found = read_back(b, (size_t)n * new_each + 5);
    assert_memory_equal(found, "abc", 3);
    assert_memory_equal(found + 3 + n * new_each, "yz", 2);
    for (uint64_t i = 0; ok && i < n; i++) {
        uint8_t want[8];
        uint64_t ignored = 0;

        if (new_each == each)
            memcpy(want, b->data + from * each, each);
        else
            heft_cast_elements((enum heft_dtype)b->row.dtype, as, b->data + from * each, want, 1,
                               &ignored);
        ok = memcmp(found + 3 + i * new_each, want, new_each) == 0;
        for (unsigned d = rank; d > 0; d--) {
            from += stride[d - 1];
            if (++at[d - 1] < shape[order[d - 1]])
                break;
            from -= at[d - 1] * stride[d - 1];
            at[d - 1] = 0;
        }
    }
    assert_true(ok);
    free(found);
}

static void run(struct bench *b, enum heft_dtype dtype, enum heft_dtype as, const uint64_t *shape,
                const uint64_t *order, unsigned rank)
{
    const struct heft_exec_options options = {.threads = 2, .no_sync = true};
    uint64_t overflowed;

    make_row(b, dtype, shape, order, rank);
    plan_row(b, as);
    assert_true(heft_exec_run(&b->plan, &options, &overflowed, &b->err));
    assert_int_equal(overflowed, 0);
    expect_permuted(b, shape, order, rank, as);
    assert_true(heft_exec_compare(&b->plan, &options, &b->err));
}

/* [16, 400000], contiguous along the first dimension. */
static void test_matrix(void **state)
{
    const uint64_t shape[] = {400001, 16}, order[] = {1, 0};

    run(*state, HEFT_F32, HEFT_F32, shape, order, 2);
}

static void test_cast(void **state)
{
    const uint64_t shape[] = {400001, 16}, order[] = {1, 0};

    run(*state, HEFT_F32, HEFT_F16, shape, order, 2);
}

/* A batch of matrices, each in several blocks. */
static void test_batch(void **state)
{
    const uint64_t shape[] = {2, 17000, 520}, order[] = {0, 2, 1};

    run(*state, HEFT_U16, HEFT_U16, shape, order, 3);
}

/* The innermost dimension is so long that another one between is not part of a block. */
static void test_long_rows(void **state)
{
    const uint64_t shape[] = {2, 500009, 40}, order[] = {2, 0, 1};

    run(*state, HEFT_U8, HEFT_U8, shape, order, 3);
}

/* Two dimensions that are joined. */
static void test_wide(void **state)
{
    const uint64_t shape[] = {70, 300, 220}, order[] = {2, 0, 1};

    run(*state, HEFT_F64, HEFT_F64, shape, order, 3);
}

static void test_comparing(void **state)
{
    struct bench *const b = *state;
    const uint64_t shape[] = {400001, 16}, order[] = {1, 0};
    const struct heft_exec_options options = {.threads = 1, .no_sync = true};
    FILE *file;

    run(b, HEFT_F32, HEFT_F32, shape, order, 2);
    file = fopen(b->path, "rb+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 12345678, SEEK_SET), 0);
    assert_int_equal(fputc(0, file), 0);
    fclose(file);
    assert_false(heft_exec_compare(&b->plan, &options, &b->err));
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_int_equal(b->err.offset, 12345678);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matrix, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_cast, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_batch, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_long_rows, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_wide, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_comparing, open_bench, close_bench),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
