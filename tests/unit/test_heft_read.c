/* test_heft_read.c: tensors read with casts, strides of the destination, slices, threads, progress,
 * and checks of stored checksums; casts in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "file_order.h"
#include "heft/heft.h"
#include "scratch.h"

#define GOLDEN HEFT_TESTS "/golden/"

enum { ROWS = 700, COLUMNS = 901, N = ROWS * COLUMNS };

static struct heft_error err;
static struct heft_checkpoint *c; /* tensors big (F32), few (F32), half (F16), name (F4) */
static float *big;                /* the elements of big */
static float *stored;             /* the same in the byte order of files */

/* ---- the file ------------------------------------------------------------------------------- */

static const char header[] =
    "{\"big\":{\"dtype\":\"F32\",\"shape\":[700,901],\"data_offsets\":[0,2522800]},"
    "\"few\":{\"dtype\":\"F32\",\"shape\":[2,3,4],\"data_offsets\":[2522800,2522896]},"
    "\"none\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[2522896,2522896]},"
    "\"scalar\":{\"dtype\":\"I16\",\"shape\":[],\"data_offsets\":[2522896,2522898]},"
    "\"four\":{\"dtype\":\"F4\",\"shape\":[2,4],\"data_offsets\":[2522898,2522902]}}";

enum { BIG, FEW, NONE, SCALAR, FOUR };

static int setup(void **state)
{
    char *const folder = heft_scratch_new(), *const path =
                                                 heft_scratch_path(folder, "m.safetensors");
    const size_t head = 8 + sizeof header - 1, size = head + 2522902;
    uint8_t *const bytes = calloc(1, size);

    (void)state;
    bytes[0] = (uint8_t)((sizeof header - 1) & 0xFF);
    bytes[1] = (uint8_t)((sizeof header - 1) >> 8);
    memcpy(bytes + 8, header, sizeof header - 1);
    big = malloc(N * sizeof *big);
    for (int i = 0; i < N; i++)
        big[i] = (float)(i - N / 2) * 0.25F;
    stored = malloc(N * sizeof *stored);
    memcpy(stored, big, N * sizeof *big);
    in_file_order(stored, N * sizeof *stored, sizeof *stored);
    memcpy(bytes + head, stored, N * sizeof *stored);
    memcpy(bytes + head + 2522800, stored, 24 * sizeof *stored);
    memcpy(bytes + head + 2522896, "\xFE\xFF\x21\x43\x65\x07", 6);
    heft_scratch_write(folder, "m.safetensors", bytes, size);
    c = heft_open(path, NULL, &err);
    free(bytes);
    free(path);
    heft_scratch_free(folder); /* the file stays open */
    return c ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    heft_close(c);
    free(big);
    free(stored);
    return 0;
}

static void expect_usage(bool ok, const char *text)
{
    assert_false(ok);
    assert_int_equal(err.code, HEFT_USAGE);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err.text);
    err = (struct heft_error){0};
}

/* Reads numbers in the byte order of the processor, otherwise with these options. */
static bool read_with(size_t index, const struct heft_read_options *options, void *dst, size_t size)
{
    struct heft_read_options native = options ? *options : (struct heft_read_options){0};

    native.native_order = true;
    return heft_tensor_read_with(c, index, options ? &native : NULL, dst, size, NULL, &err);
}

/* ---- casts ------------------------------------------------------------------------------------ */

static void casts_as_in_conversions(void **state)
{
    struct heft_read_options options = {.cast = true, .as = HEFT_BF16};
    uint16_t *const read = malloc(N * sizeof *read), *const wanted = malloc(N * sizeof *wanted);
    uint64_t read_over, cast_over;

    (void)state;
    for (unsigned threads = 0; threads < 4; threads++)
        for (int k = 0; k < 2; k++) {
            options.threads = threads;
            options.as = k ? HEFT_F16 : HEFT_BF16;
            read_over = cast_over = 5;
            assert_true(heft_cast(HEFT_F32, stored, options.as, wanted, N, &cast_over, &err));
            assert_true(heft_tensor_read_with(c, BIG, &options, read, N * 2, &read_over, &err));
            assert_memory_equal(read, wanted, N * 2);
            assert_true(read_over == cast_over && (k == 0 ? read_over == 5 : read_over > 1000));
        }
    free(read);
    free(wanted);
}

static void integers_and_packed_floats(void **state)
{
    const struct heft_read_options wide = {.cast = true, .as = HEFT_I64};
    const struct heft_read_options real = {.cast = true, .as = HEFT_F32};
    const struct heft_read_options same = {.cast = true, .as = HEFT_F4};
    const float values[8] = {0.5F, 1, 1.5F, 2, 3, 4, 6, 0};
    float read[8];
    uint8_t packed[4];
    int64_t one;

    (void)state;
    assert_true(read_with(SCALAR, &wide, &one, 8));
    assert_true(one == -2);
    assert_true(read_with(FOUR, &real, read, sizeof read));
    assert_memory_equal(read, values, sizeof read);
    assert_true(read_with(FOUR, &same, packed, 4));
    assert_memory_equal(packed, "\x21\x43\x65\x07", 4);
}

static void refused_casts(void **state)
{
    struct heft_read_options options = {.cast = true, .as = HEFT_I32};
    float values[24];

    (void)state;
    expect_usage(read_with(FEW, &options, values, 96), "tensor few: F32 cannot be cast to I32");
    options.as = (enum heft_dtype)999;
    expect_usage(read_with(FEW, &options, values, 96), "tensor few: F32 cannot be cast to ?");
    expect_usage(heft_cast(HEFT_F32, values, HEFT_I32, values, 1, NULL, &err), "cannot be cast");
    expect_usage(heft_cast(HEFT_STRING, values, HEFT_F32, values, 1, NULL, &err), "cannot be cast");
    expect_usage(heft_cast((enum heft_dtype) - 1, values, HEFT_F32, values, 1, NULL, &err),
                 "cannot be cast");
    expect_usage(heft_cast(HEFT_F4, "\x21", HEFT_F32, values, 1, NULL, &err),
                 "1 elements are not a multiple of 2, a block of F4");
    assert_true(heft_cast(HEFT_F32, NULL, HEFT_F16, NULL, 0, NULL, &err));
    assert_true(heft_cast(HEFT_F4, "\x21", HEFT_F32, values, 2, NULL, &err));
    in_file_order(values, 2 * sizeof *values, sizeof *values);
    assert_true(values[0] == 0.5F && values[1] == 1);
}

/* ---- strides of the destination ---------------------------------------------------------------- */

/* Reads big with these strides and compares each element, and that nothing else was written. */
static void expect_strided(uint64_t first, uint64_t second, unsigned threads, bool cast)
{
    const uint64_t strides[] = {first, second};
    const struct heft_read_options options = {
        .cast = cast, .as = cast ? HEFT_F64 : HEFT_F32, .strides = strides, .threads = threads};
    const size_t each = cast ? 8 : 4, n = (size_t)((ROWS - 1) * first + (COLUMNS - 1) * second + 1);
    uint8_t *const read = malloc((n + 1) * each), *const wanted = malloc((n + 1) * each);

    memset(read, 0xA5, (n + 1) * each);
    memset(wanted, 0xA5, (n + 1) * each);
    for (size_t i = 0; i < N; i++) {
        const size_t at = i / COLUMNS * (size_t)first + i % COLUMNS * (size_t)second;
        const double wide = (double)big[i];

        memcpy(wanted + at * each, cast ? (const void *)&wide : &big[i], each);
    }
    assert_true(read_with(BIG, &options, read, n * each));
    assert_memory_equal(read, wanted, (n + 1) * each);
    assert_true(read_with(BIG, &options, read, (n + 1) * each)); /* more room than is needed */
    expect_usage(read_with(BIG, &options, read, n * each - 1), "the buffer has");
    free(read);
    free(wanted);
}

static void strided_destinations(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++)
        for (int cast = 0; cast < 2; cast++) {
            expect_strided(COLUMNS, 1, threads, cast);     /* row-major */
            expect_strided(1, ROWS, threads, cast);        /* column-major */
            expect_strided(COLUMNS + 3, 1, threads, cast); /* padded rows */
            expect_strided(2 * COLUMNS, 2, threads, cast);
            expect_strided(3, 3 * ROWS + 1, threads, cast);
        }
}

static void three_dimensions(void **state)
{
    const uint64_t strides[] = {2, 30, 5};
    const struct heft_range ranges[] = {{0, 2, false}, {1, 3, false}, {2, 3, true}};
    const uint64_t few[] = {1, 4};
    struct heft_read_options options = {.strides = strides};
    float read[128];

    (void)state;
    memset(read, 0, sizeof read);
    assert_true(read_with(FEW, &options, read, sizeof read));
    for (size_t i = 0; i < 24; i++)
        assert_true(read[i / 12 * 2 + i / 4 % 3 * 30 + i % 4 * 5] == big[i]);
    options = (struct heft_read_options){.strides = few, .ranges = ranges, .n_ranges = 3};
    memset(read, 0, sizeof read);
    assert_true(read_with(FEW, &options, read, 4 * 6));
    assert_true(read[0] == big[6] && read[4] == big[10] && read[1] == big[18] &&
                read[5] == big[22]);
    assert_true(read[2] == 0 && read[3] == 0);
}

static void refused_strides(void **state)
{
    static const uint64_t bad[][3] = {{12, 4, 0},
                                      {12, 3, 1},
                                      {4, 4, 1},
                                      {11, 4, 1},
                                      {1, 1, 1},
                                      {UINT64_MAX, 4, 1},
                                      {UINT64_MAX / 4 + 2, 4, 1}};
    struct heft_read_options options = {0};
    float read[24];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.strides = bad[i];
        expect_usage(read_with(FEW, &options, read, sizeof read), "strides of the destination");
    }
    options.strides = (const uint64_t[]){4, 1};
    expect_usage(read_with(FOUR, &options, read, sizeof read),
                 "elements of F4 are not whole bytes");
    options = (struct heft_read_options){
        .strides = (const uint64_t[]){1, 3}, .cast = true, .as = HEFT_F32};
    assert_true(read_with(FOUR, &options, read, 44)); /* (2-1)*1 + (4-1)*3 + 1 = 11 elements */
    assert_true(read[0] == 0.5F && read[3] == 1 && read[6] == 1.5F && read[9] == 2);
    assert_true(read[1] == 3 && read[4] == 4 && read[7] == 6 && read[10] == 0);
}

static void nothing_to_read(void **state)
{
    const struct heft_read_options options = {
        .strides = (const uint64_t[]){0, 0}, .cast = true, .as = HEFT_F16};

    (void)state;
    assert_true(read_with(NONE, NULL, NULL, 0));
    assert_true(read_with(NONE, &options, NULL, 0));
    assert_true(heft_tensor_elements(c, NONE) == 0 && heft_tensor_elements(c, SCALAR) == 1);
    assert_true(heft_tensor_elements(c, BIG) == N && heft_tensor_elements(c, FOUR) == 8);
    assert_true(heft_tensor_elements(c, 99) == 0);
}

/* ---- sources of other layouts ------------------------------------------------------------------- */

/* Every tensor of the file, read in each way that must give the same elements. */
static void expect_same_reads(const char *path)
{
    struct heft_checkpoint *const other = heft_open(path, NULL, &err);
    struct heft_read_options options = {
        .check = true, .threads = 2, .native_order = !heft_is_big_endian()};
    struct heft_tensor t;

    if (!other)
        fail_msg("%s: %s", path, err.text);
    for (size_t i = 0; heft_tensor_at(other, i, &t); i++) {
        uint8_t *const plain = malloc((size_t)t.bytes + 1), *const read =
                                                                malloc((size_t)t.bytes + 1);

        assert_true(heft_tensor_read(other, i, plain, (size_t)t.bytes, &err));
        memset(read, 0, (size_t)t.bytes + 1);
        assert_true(heft_tensor_read_with(other, i, &options, read, (size_t)t.bytes, NULL, &err));
        assert_memory_equal(plain, read, (size_t)t.bytes);
        free(plain);
        free(read);
    }
    heft_close(other);
}

static void layouts_of_files(void **state)
{
    (void)state;
    expect_same_reads(GOLDEN "torch/views.pt");
    expect_same_reads(GOLDEN "torch/conj_neg.pt");
    expect_same_reads(GOLDEN "torch/deflated.pt");
    expect_same_reads(GOLDEN "torch-legacy/big_endian.pt");
    expect_same_reads(GOLDEN "safetensors/dtypes.safetensors");
    expect_same_reads(GOLDEN "npy/fortran.npy");
}

/* ---- progress, checks, failures ----------------------------------------------------------------- */

struct watch {
    uint64_t last, total;
    int calls, most;
};

static bool watch_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct watch *const w = ctx;

    assert_true(done >= w->last && done <= total);
    w->last = done;
    w->total = total;
    return ++w->calls < w->most;
}

static void progress_and_cancelling(void **state)
{
    struct watch w = {.most = 1000};
    struct heft_read_options options = {
        .cast = true, .as = HEFT_F16, .progress = watch_progress, .progress_ctx = &w};
    uint16_t *const read = malloc(N * sizeof *read);

    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        w = (struct watch){.most = 1000};
        options.threads = threads;
        assert_true(read_with(BIG, &options, read, N * 2));
        assert_true(w.calls > 1 && w.last == N * 2 && w.total == N * 2);
        w = (struct watch){.most = 2};
        assert_false(read_with(BIG, &options, read, N * 2));
        assert_int_equal(err.code, HEFT_CANCELLED);
        err = (struct heft_error){0};
    }
    options.check = true; /* safetensors has no checksums: nothing is read for the check */
    w = (struct watch){.most = 1000};
    assert_true(read_with(BIG, &options, read, N * 2));
    free(read);
}

static void stored_checksums(void **state)
{
    struct heft_read_options options = {0};
    char *const folder = heft_scratch_new();
    struct heft_checkpoint *broken;
    struct heft_tensor t;
    uint8_t read[4096];
    char *bytes, *path;
    FILE *const file = fopen(GOLDEN "torch/linear.pt", "rb");
    size_t n;

    (void)state;
    bytes = malloc(100000);
    n = fread(bytes, 1, 100000, file);
    fclose(file);
    heft_scratch_write(folder, "m.pt", bytes, n);
    path = heft_scratch_path(folder, "m.pt");
    broken = heft_open(path, NULL, &err);
    assert_true(broken && heft_tensor_at(broken, 0, &t) && t.bytes <= sizeof read);
    bytes[t.offset] ^= 1;
    heft_scratch_write(folder, "m.pt", bytes, n);
    heft_close(broken);
    broken = heft_open(path, NULL, &err);
    assert_true(heft_tensor_read_with(broken, 0, &options, read, (size_t)t.bytes, NULL, &err));
    options.check = true;
    assert_false(heft_tensor_read_with(broken, 0, &options, read, (size_t)t.bytes, NULL, &err));
    assert_int_equal(err.code, HEFT_MISMATCH);
    assert_non_null(strstr(err.text, "tensor "));
    err = (struct heft_error){0};
    heft_close(broken);
    free(bytes);
    free(path);
    heft_scratch_free(folder);
}

static bool attempt_read(void *ctx, struct heft_error *failure)
{
    const uint64_t strides[] = {1, ROWS};
    const struct heft_read_options options = {
        .cast = true, .as = HEFT_F16, .strides = strides, .threads = 2};

    return heft_tensor_read_with(c, BIG, &options, ctx, N * 2, NULL, failure);
}

static void failing_allocations(void **state)
{
    uint16_t *const read = malloc(N * sizeof *read);

    (void)state;
    fail_each_allocation(attempt_read, read, 50);
    free(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_as_in_conversions), cmocka_unit_test(integers_and_packed_floats),
        cmocka_unit_test(refused_casts),           cmocka_unit_test(strided_destinations),
        cmocka_unit_test(three_dimensions),        cmocka_unit_test(refused_strides),
        cmocka_unit_test(nothing_to_read),         cmocka_unit_test(layouts_of_files),
        cmocka_unit_test(progress_and_cancelling), cmocka_unit_test(stored_checksums),
        cmocka_unit_test(failing_allocations),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
