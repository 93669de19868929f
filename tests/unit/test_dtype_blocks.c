/* test_dtype_blocks.c: dtypes whose blocks contain more than one element and may not cross rows:
 * reading, slicing and copying.
 *
 * heft has no such dtype yet. This program links its own table instead of dtype_table.c, which
 * gives two numbers of dtypes that safetensors reads another meaning:
 *
 *     BLOCK32    32 elements in 18 bytes, as Q4_0 of ggml      (the number of F6_E3M2)
 *     BLOCK256   256 elements in 144 bytes, as Q4_K            (the number of C64, which no cast takes) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/byte_range.h"
#include "core/reader.h"
#include "scratch.h"
#include "format/formats.h"

#define PLAIN(name, bytes, kind) [HEFT_##name] = {#name, 1, bytes, bytes, HEFT_KIND_##kind, 0}
#define BLOCK32                  HEFT_F6_E3M2
#define BLOCK256                 HEFT_C64

const struct heft_dtype_info heft_dtype_infos[HEFT_DTYPE_COUNT] = {
    PLAIN(BOOL, 1, BOOL),
    [HEFT_F4] = {"F4", 2, 1, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F6_E2M3] = {"F6_E2M3", 4, 3, 1, HEFT_KIND_FLOAT, 0},
    [BLOCK32] = {"BLOCK32", 32, 18, 1, HEFT_KIND_SCALED, 0},
    PLAIN(U8, 1, UINT),
    PLAIN(I8, 1, INT),
    PLAIN(F8_E5M2, 1, FLOAT),
    PLAIN(F8_E4M3, 1, FLOAT),
    PLAIN(F8_E8M0, 1, FLOAT),
    PLAIN(F8_E4M3FNUZ, 1, FLOAT),
    PLAIN(F8_E5M2FNUZ, 1, FLOAT),
    PLAIN(I16, 2, INT),
    PLAIN(U16, 2, UINT),
    PLAIN(F16, 2, FLOAT),
    PLAIN(BF16, 2, FLOAT),
    PLAIN(I32, 4, INT),
    PLAIN(U32, 4, UINT),
    PLAIN(F32, 4, FLOAT),
    [BLOCK256] = {"BLOCK256", 256, 144, 1, HEFT_KIND_SCALED, 0},
    PLAIN(F64, 8, FLOAT),
    PLAIN(I64, 8, INT),
    PLAIN(U64, 8, UINT),
    PLAIN(C32, 4, COMPLEX),
    PLAIN(C128, 16, COMPLEX),
    PLAIN(F8_E4M3B11FNUZ, 1, FLOAT),
    PLAIN(QI8, 1, INT),
    PLAIN(QU8, 1, UINT),
    PLAIN(QI16, 2, INT),
    PLAIN(QU16, 2, UINT),
    PLAIN(QI32, 4, INT),
    PLAIN(I4, 1, INT),
    PLAIN(U4, 1, UINT),
    PLAIN(I2, 1, INT),
    PLAIN(U2, 1, UINT),
    PLAIN(QU4X2, 1, PACKED),
    PLAIN(QU2X4, 1, PACKED),
    PLAIN(BITS1X8, 1, PACKED),
    PLAIN(BITS2X4, 1, PACKED),
    PLAIN(BITS4X2, 1, PACKED),
    PLAIN(BITS8, 1, PACKED),
    PLAIN(BITS16, 2, PACKED),
    [HEFT_STRING] = {"STRING", 0, 0, 1, HEFT_KIND_VARYING, 0},
    [HEFT_VARIANT] = {"VARIANT", 0, 0, 1, HEFT_KIND_VARYING, 0},
};

/* ---- files of one tensor "w" ------------------------------------------------------------- */

struct bench {
    char *folder, *path;
    uint8_t *data; /* bytes of the tensor */
    size_t n;
    struct heft_checkpoint *c;
    struct heft_error err;
};

static int open_bench(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->folder = heft_scratch_new();
    b->path = heft_scratch_path(b->folder, "in.safetensors");
    *state = b;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *b = *state;

    heft_close(b->c);
    heft_scratch_free(b->folder);
    free(b->path);
    free(b->data);
    free(b);
    return 0;
}

/* Writes a safetensors file: `shape` as JSON, n bytes that differ from block to block. */
static void write_file(struct bench *b, const char *dtype, const char *shape, size_t n)
{
    char header[200];
    const int text = snprintf(header + 8, sizeof header - 8,
                              "{\"w\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[0,%zu]}}",
                              dtype, shape, n);
    FILE *const f = fopen(b->path, "wb");

    assert_non_null(f);
    free(b->data);
    b->data = malloc(n);
    b->n = n;
    assert_non_null(b->data);
    for (size_t i = 0; i < n; i++)
        b->data[i] = (uint8_t)(i * 2654435761u >> 11);
    for (unsigned i = 0; i < 8; i++)
        header[i] = (char)((uint64_t)text >> 8 * i);
    assert_int_equal(fwrite(header, 1, 8 + (size_t)text, f), 8 + (size_t)text);
    assert_int_equal(fwrite(b->data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void open_file(struct bench *b, const char *dtype, const char *shape, size_t n)
{
    write_file(b, dtype, shape, n);
    heft_close(b->c);
    b->c = heft_open(b->path, NULL, &b->err);
    assert_non_null(b->c);
}

static void expect_error(struct bench *b, enum heft_code code, const char *text)
{
    assert_int_equal(b->err.code, code);
    assert_string_equal(b->err.text, text);
    b->err = (struct heft_error){0};
}

/* ---- sizes and extents ------------------------------------------------------------------- */

static void bytes_are_those_of_the_blocks(void **state)
{
    struct bench *b = *state;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    uint64_t bytes;

    assert_true(heft_dtype_bytes(BLOCK32, 96, &bytes) && bytes == 54);
    assert_true(heft_dtype_bytes(BLOCK256, 0, &bytes) && bytes == 0);
    assert_false(heft_dtype_bytes(BLOCK32, 95, &bytes));
    open_file(b, "BLOCK32", "[3,64]", 108);
    assert_true(heft_tensor_at(b->c, 0, &t));
    assert_true(t.dtype == BLOCK32 && t.bytes == 108 && t.rank == 2 && t.shape[1] == 64);
    open_file(b, "BLOCK256", "[2,1,256]", 288);
    assert_true(heft_tensor_at(b->c, 0, &t) && t.bytes == 288);
    open_file(b, "BLOCK32", "[3,0]", 0);
    assert_true(heft_tensor_at(b->c, 0, &t) && t.bytes == 0);
}

/* A whole number of blocks in the tensor but not in each row: valid for F4, not for these dtypes.
 */
static void blocks_across_rows_are_malformed(void **state)
{
    struct bench *b = *state;

    write_file(b, "BLOCK32", "[4,40]", 90);
    assert_null(heft_open(b->path, NULL, &b->err));
    expect_error(b, HEFT_MALFORMED,
                 "tensor w: innermost extent 40 is not a multiple of 32, the elements in a block "
                 "of BLOCK32");
    write_file(b, "BLOCK256", "[0,8]", 0);
    assert_null(heft_open(b->path, NULL, &b->err));
    expect_error(b, HEFT_MALFORMED,
                 "tensor w: innermost extent 8 is not a multiple of 256, the elements in a block "
                 "of BLOCK256");
    write_file(b, "BLOCK32", "[4,10]", 22);
    assert_null(heft_open(b->path, NULL, &b->err));
    expect_error(b, HEFT_MALFORMED,
                 "tensor w: element count 40 is not a multiple of 32, a block of BLOCK32");
    open_file(b, "F4", "[4,3]", 6); /* pairs of F4 may cross rows */
}

/* Validates a view of 2 rows of `inner` elements in 100 bytes of memory. */
static bool validate_view(const uint64_t *stride, uint8_t flags, uint8_t rank, uint64_t inner,
                          struct heft_error *err)
{
    static const uint8_t data[100];
    const uint64_t shape[] = {2, inner};
    const struct heft_storage storage = {.packed = sizeof data, .len = sizeof data};
    struct heft_row row = {.name = HEFT_STR("w"), .shape = shape, .rank = rank};
    struct heft_source source;
    struct heft_model model;
    uint32_t index;
    bool ok;

    row.stride = stride;
    row.flags = flags;
    row.dtype = BLOCK32;
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data, sizeof data}, "memory");
    ok = heft_model_add_file(&model, &source, "memory", &index, err) &&
         heft_model_add_storage(&model, &storage, &row.storage, err) &&
         heft_model_add_row(&model, &row, err) && heft_model_validate(&model, err);
    heft_model_release(&model);
    return ok;
}

static void views_of_blocks_are_refused_by_name(void **state)
{
    static const uint64_t packed[] = {64, 1}, apart[] = {128, 1}, turned[] = {1, 2};
    struct bench *b = *state;

    assert_true(validate_view(NULL, 0, 2, 64, &b->err));
    assert_true(validate_view(packed, 0, 2, 64, &b->err));
    assert_false(validate_view(apart, 0, 2, 32, &b->err));
    expect_error(b, HEFT_UNSUPPORTED,
                 "tensor w: BLOCK32 with strides: 32 elements share 18 bytes, so it must be "
                 "row-major");
    assert_false(validate_view(turned, 0, 2, 64, &b->err));
    assert_int_equal(b->err.code, HEFT_UNSUPPORTED);
    assert_false(validate_view(NULL, HEFT_ROW_SWAP, 2, 64, &b->err));
    expect_error(b, HEFT_UNSUPPORTED,
                 "tensor w: BLOCK32 in another byte order, or conjugated or negated: its blocks "
                 "can only be copied");
    assert_false(validate_view(NULL, 0, 0, 0, &b->err));
    expect_error(b, HEFT_MALFORMED,
                 "tensor w: innermost extent 1 is not a multiple of 32, the elements in a block of "
                 "BLOCK32");
    assert_false(validate_view(NULL, 0, 2, 96, &b->err)); /* ends at byte 108 of 100 */
    assert_int_equal(b->err.code, HEFT_MALFORMED);
}

/* ---- slices ------------------------------------------------------------------------------ */

/* Compares the slice [i0:i1, j0:j1, 32 k0:32 k1] of 3 × 4 × (5 blocks) with the blocks copied one
 * by one. */
static void check_slice(struct bench *b, const struct heft_range *ranges)
{
    uint8_t got[3 * 4 * 5 * 18];
    size_t n = 0;

    for (uint64_t i = ranges[0].start; i < ranges[0].stop; i++)
        for (uint64_t j = ranges[1].start; j < ranges[1].stop; j++)
            n += 18 * (size_t)(ranges[2].stop - ranges[2].start) / 32;
    assert_true(heft_tensor_read_slice(b->c, 0, ranges, 3, got, n, &b->err));
    n = 0;
    for (uint64_t i = ranges[0].start; i < ranges[0].stop; i++)
        for (uint64_t j = ranges[1].start; j < ranges[1].stop; j++)
            for (uint64_t k = ranges[2].start / 32; k < ranges[2].stop / 32; k++, n += 18)
                assert_memory_equal(got + n, b->data + 18 * ((i * 4 + j) * 5 + k), 18);
}

static void aligned_slices_hold_their_blocks(void **state)
{
    struct bench *b = *state;

    open_file(b, "BLOCK32", "[3,4,160]", 3 * 4 * 5 * 18);
    for (uint64_t i = 0; i < 4 * 4 * 5 * 5 * 6 * 6; i++) {
        const struct heft_range ranges[3] = {{i % 4, i / 4 % 4, false},
                                             {i / 16 % 5, i / 80 % 5, false},
                                             {i / 400 % 6 * 32, i / 2400 * 32, false}};

        if (ranges[0].start <= ranges[0].stop && ranges[1].start <= ranges[1].stop &&
            ranges[2].start <= ranges[2].stop)
            check_slice(b, ranges);
    }
}

/* Columns of three blocks at a distance of 36 bytes, in rows of 180 bytes, longer than the 1 MiB
 * window of the gather; the window ends after the second of three blocks. */
static void long_columns_hold_their_blocks(void **state)
{
    enum { ROWS = 30000 };
    const struct heft_range ranges[3] = {{0, ROWS, false}, {0, 3, false}, {32, 64, false}};
    struct bench *b = *state;
    uint8_t *const got = malloc(54 * (size_t)ROWS);

    assert_non_null(got);
    open_file(b, "BLOCK32", "[30000,5,64]", 180 * (size_t)ROWS);
    assert_true(heft_tensor_read_slice(b->c, 0, ranges, 3, got, 54 * (size_t)ROWS, &b->err));
    for (size_t i = 0; i < 3 * (size_t)ROWS; i++)
        assert_memory_equal(got + 18 * i, b->data + 180 * (i / 3) + 36 * (i % 3) + 18, 18);
    free(got);
}

static void dimensions_outside_the_blocks_can_be_dropped(void **state)
{
    const struct heft_range ranges[3] = {{2, 3, true}, {1, 3, false}, {64, 128, false}};
    struct bench *b = *state;
    uint64_t shape[3], bytes;
    uint8_t got[72];
    unsigned rank;

    open_file(b, "BLOCK32", "[3,4,160]", 3 * 4 * 5 * 18);
    assert_true(heft_slice_shape(b->c, 0, ranges, 3, shape, &rank, &bytes, &b->err));
    assert_true(rank == 2 && shape[0] == 2 && shape[1] == 64 && bytes == 72);
    assert_true(heft_tensor_read_slice(b->c, 0, ranges, 3, got, 72, &b->err));
    assert_memory_equal(got, b->data + 18 * (9 * 5 + 2), 36);
    assert_memory_equal(got + 36, b->data + 18 * (10 * 5 + 2), 36);
}

static void slices_that_cut_blocks_say_what_to_take(void **state)
{
    const struct heft_range begin[2] = {{0, 3, false}, {5, 64, false}};
    const struct heft_range end[2] = {{0, 3, false}, {32, 33, false}};
    const struct heft_range index[2] = {{0, 3, false}, {40, 41, true}};
    struct bench *b = *state;
    uint8_t got[108];

    open_file(b, "BLOCK32", "[3,64]", 108);
    assert_false(heft_tensor_read_slice(b->c, 0, begin, 2, got, 108, &b->err));
    expect_error(b, HEFT_USAGE,
                 "tensor w: slice 5:64 of dimension 1 cuts blocks of BLOCK32, which have 32 "
                 "elements; take 0:64");
    assert_false(heft_tensor_read_slice(b->c, 0, end, 2, got, 54, &b->err));
    expect_error(b, HEFT_USAGE,
                 "tensor w: slice 32:33 of dimension 1 cuts blocks of BLOCK32, which have 32 "
                 "elements; take 32:64");
    assert_false(heft_tensor_read_slice(b->c, 0, index, 2, got, 54, &b->err));
    expect_error(b, HEFT_USAGE,
                 "tensor w: slice 40:41 of dimension 1 cuts blocks of BLOCK32, which have 32 "
                 "elements; take 32:64");
}

/* Slice of a slice: a view with strides, as core represents rows of a slice, of blocks. */
static void slices_know_the_bytes_that_they_reach(void **state)
{
    const uint64_t shape[2] = {4, 160};
    const struct heft_row whole = {
        .shape = shape, .rank = 2, .dtype = BLOCK32, .bytes = 360, .offset = 7};
    const struct heft_range inner[2] = {{1, 4, false}, {32, 128, false}};
    const struct heft_range again[2] = {{1, 3, false}, {32, 64, false}};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_row row, row2;
    struct heft_byte_range range;

    (void)state;
    assert_true(heft_row_slice(&whole, inner, 2, &arena, &row, &err));
    assert_true(row.offset == 7 + 18 * 6 && row.bytes == 18 * 9);
    assert_true(row.stride && row.stride[0] == 160 && row.stride[1] == 1);
    range = heft_byte_range_of(&row);
    assert_true(range.begin == row.offset && range.end == 7 + 18 * 19);
    assert_true(heft_row_slice(&row, again, 2, &arena, &row2, &err));
    assert_true(row2.offset == 7 + 18 * 12 && row2.bytes == 18 * 2);
    range = heft_byte_range_of(&row2);
    assert_true(range.end == 7 + 18 * 18);
    heft_arena_release(&arena);
}

static void used_bytes_are_counted_in_blocks(void **state)
{
    struct bench *b = *state;
    uint64_t stored = 0, used = 0;

    open_file(b, "BLOCK32", "[3,64]", 108);
    assert_true(heft_storage_use(b->c, &stored, &used, &b->err));
    assert_true(stored == 108 && used == 108);
}

/* ---- streams, casts, conversions --------------------------------------------------------- */

struct taken {
    const uint8_t *data; /* bytes of the blocks 1 … of each row */
    size_t at, row_bytes;
};

static bool compare_piece(void *ctx, const void *piece, size_t n)
{
    struct taken *t = ctx;
    const uint8_t *p = piece;

    assert_int_equal(n % 18, 0);
    for (size_t some; n > 0; p += some, n -= some, t->at += some) {
        const size_t row = t->at / t->row_bytes, in_row = t->at % t->row_bytes;

        some = n < t->row_bytes - in_row ? n : t->row_bytes - in_row;
        assert_memory_equal(p, t->data + row * (t->row_bytes + 18) + 18 + in_row, some);
    }
    return true;
}

enum { WIDE = 600000 }; /* blocks per row: more than a piece of a stream, two more than a chunk */

static void pieces_of_a_stream_are_whole_blocks(void **state)
{
    const struct heft_range ranges[2] = {{0, 2, false}, {32, 32 * (uint64_t)WIDE, false}};
    struct bench *b = *state;
    struct taken t = {.row_bytes = 18 * (WIDE - 1)};

    open_file(b, "BLOCK32", "[2,19200000]", 2 * 18 * (size_t)WIDE);
    t.data = b->data;
    assert_true(heft_tensor_stream(b->c, 0, ranges, 2, compare_piece, &t, &b->err));
    assert_int_equal(t.at, 2 * t.row_bytes);
}

static void casts_are_refused_by_name(void **state)
{
    const struct heft_rule exact = {sizeof(struct heft_rule), HEFT_RULE_CAST, "w", "F32"};
    struct heft_convert_options options = {
        .size = sizeof options, .to = "safetensors", .rules = &exact, .n_rules = 1};
    struct bench *b = *state;
    char *const output = heft_scratch_path(b->folder, "out.safetensors");

    open_file(b, "BLOCK256", "[2,256]", 288);
    assert_false(
        heft_tensor_stream_as(b->c, 0, NULL, 0, HEFT_F32, compare_piece, NULL, NULL, &b->err));
    expect_error(b, HEFT_USAGE, "tensor w: BLOCK256 cannot be cast to F32");
    options.output = output;
    assert_null(heft_convert_plan(b->c, &options, &b->err));
    expect_error(b, HEFT_USAGE, "tensor w: BLOCK256 cannot be cast to F32");
    free(output);
}

static void formats_without_the_dtype_refuse_it(void **state)
{
    struct heft_convert_options options = {.size = sizeof options, .to = "ptd"};
    struct bench *b = *state;
    char *const output = heft_scratch_path(b->folder, "out.ptd");
    enum heft_dtype instead;

    open_file(b, "BLOCK32", "[2,32]", 36);
    options.output = output;
    assert_null(heft_convert_plan(b->c, &options, &b->err));
    expect_error(b, HEFT_UNSUPPORTED,
                 "tensor w: ptd has no BLOCK32, nor anything that it could be cast to");
    assert_false(heft_format_supports_dtype("ptd", BLOCK32));
    assert_false(heft_format_instead("ptd", BLOCK32, &instead));
    free(output);
}

/* Plans and runs a conversion, reopens its output, and compares. */
static void convert(struct bench *b, const struct heft_convert_options *options)
{
    struct heft_conversion *const conversion = heft_convert_plan(b->c, options, &b->err);
    uint64_t overflowed = 0;

    assert_non_null(conversion);
    assert_true(heft_convert_run(conversion, &overflowed, &b->err));
    assert_true(heft_convert_check(conversion, &b->err));
    heft_convert_free(conversion);
}

static void copies_are_the_same_bytes(void **state)
{
    struct heft_convert_options options = {
        .size = sizeof options, .to = "safetensors", .no_sync = true};
    struct bench *b = *state;
    char *const output = heft_scratch_path(b->folder, "out.safetensors");
    char *in, *out;
    size_t n, m;

    open_file(b, "BLOCK32", "[7,96]", 7 * 3 * 18);
    options.output = output;
    convert(b, &options);
    in = heft_scratch_read(b->folder, "in.safetensors", &n);
    out = heft_scratch_read(b->folder, "out.safetensors", &m);
    assert_true(in && out && m >= b->n && memcmp(out + m - b->n, in + n - b->n, b->n) == 0);
    free(in);
    free(out);
    free(output);
}

/* Chunks of a written slice end at block boundaries. */
static void slices_are_written_block_by_block(void **state)
{
    const struct heft_range ranges[2] = {{0, 2, false}, {32, 32 * (uint64_t)WIDE, false}};
    struct heft_convert_options options = {
        .size = sizeof options, .to = "raw", .no_sync = true, .ranges = ranges, .n_ranges = 2};
    struct bench *b = *state;
    char *const output = heft_scratch_path(b->folder, "out.raw");
    struct taken t = {.row_bytes = 18 * (WIDE - 1)};
    struct heft_conversion *conversion;
    uint64_t overflowed = 0;
    char *out;
    size_t n;

    open_file(b, "BLOCK32", "[2,19200000]", 2 * 18 * (size_t)WIDE);
    options.output = output;
    conversion = heft_convert_plan(b->c, &options, &b->err);
    assert_non_null(conversion);
    assert_true(heft_convert_run(conversion, &overflowed, &b->err));
    heft_convert_free(conversion);
    out = heft_scratch_read(b->folder, "out.raw", &n);
    assert_non_null(out);
    t.data = b->data;
    assert_int_equal(n, 2 * t.row_bytes);
    assert_true(compare_piece(&t, out, n));
    free(out);
    free(output);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_those_of_the_blocks),
        TEST(blocks_across_rows_are_malformed),
        TEST(views_of_blocks_are_refused_by_name),
        TEST(aligned_slices_hold_their_blocks),
        TEST(long_columns_hold_their_blocks),
        TEST(dimensions_outside_the_blocks_can_be_dropped),
        TEST(slices_that_cut_blocks_say_what_to_take),
        cmocka_unit_test(slices_know_the_bytes_that_they_reach),
        TEST(used_bytes_are_counted_in_blocks),
        TEST(pieces_of_a_stream_are_whole_blocks),
        TEST(casts_are_refused_by_name),
        TEST(formats_without_the_dtype_refuse_it),
        TEST(copies_are_the_same_bytes),
        TEST(slices_are_written_block_by_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
