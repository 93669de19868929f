/* test_validate.c: models that heft_model_validate refuses, and its guarantees for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/model.h"
#include "format/formats.h"

static uint8_t data[256];

struct yard {
    struct heft_model model;
    struct heft_error err;
    uint32_t storage;
};

/* A model with one memory source of 256 bytes and one storage of 64. */
static void open_yard(struct yard *y)
{
    const struct heft_bytes bytes = {data, sizeof data};
    const struct heft_storage storage = {.len = 64, .packed = 64};
    struct heft_source source = {0};
    uint32_t index;

    *y = (struct yard){0};
    heft_model_init(&y->model, NULL, &heft_formats);
    heft_source_open_memory(&source, bytes, "yard");
    assert_true(heft_model_add_file(&y->model, &source, "yard", &index, &y->err));
    assert_true(heft_model_add_storage(&y->model, &storage, &y->storage, &y->err));
}

static void add(struct yard *y, const char *name, enum heft_dtype dtype, unsigned rank,
                const uint64_t *shape, const uint64_t *stride, uint64_t offset)
{
    const struct heft_row row = {.name = heft_str_of(name),
                                 .shape = shape,
                                 .stride = stride,
                                 .offset = offset,
                                 .storage = y->storage,
                                 .dtype = (uint8_t)dtype,
                                 .rank = (uint8_t)rank};

    assert_true(heft_model_add_row(&y->model, &row, &y->err));
}

#define DIMS(...)                                                                                  \
    (const uint64_t[])                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void expect_refused(enum heft_dtype dtype, unsigned rank, const uint64_t *shape,
                           const uint64_t *stride, uint64_t offset, enum heft_code code)
{
    struct yard y;

    open_yard(&y);
    add(&y, "t", dtype, rank, shape, stride, offset);
    assert_false(heft_model_validate(&y.model, &y.err));
    assert_int_equal(y.err.code, code);
    assert_non_null(strstr(y.err.text, "tensor t: "));
    assert_string_equal(y.err.file, "yard");
    heft_model_release(&y.model);
}

static void geometry_outside_the_storage_is_refused(void **state)
{
    (void)state;
    expect_refused(HEFT_F32, 1, DIMS(17), NULL, 0, HEFT_MALFORMED);
    expect_refused(HEFT_F32, 1, DIMS(16), NULL, 4, HEFT_MALFORMED);
    expect_refused(HEFT_F32, 2, DIMS(4, 4), DIMS(1, 5), 0, HEFT_MALFORMED);
    expect_refused(HEFT_F32, 0, NULL, NULL, 61, HEFT_MALFORMED);
    expect_refused(HEFT_F32, 1, DIMS(0), NULL, 65, HEFT_MALFORMED);
}

static void arithmetic_that_overflows_is_refused(void **state)
{
    (void)state;
    expect_refused(HEFT_F32, 2, DIMS(1ull << 32, 1ull << 32), NULL, 0, HEFT_MALFORMED);
    expect_refused(HEFT_F32, 1, DIMS((1ull << 62) + 1), NULL, 0, HEFT_MALFORMED);
    expect_refused(HEFT_U8, 2, DIMS(2, 2), DIMS(UINT64_MAX, UINT64_MAX), 0, HEFT_MALFORMED);
    expect_refused(HEFT_F4, 1, DIMS(3), NULL, 0, HEFT_MALFORMED);
}

static void an_expansion_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    expect_refused(HEFT_U8, 2, DIMS(64, 1ull << 40), DIMS(1, 0), 0, HEFT_LIMIT);
}

static bool add_named(struct yard *y, size_t name, uint8_t rank)
{
    static char text[64 << 10];
    static const uint64_t ones[64];
    const struct heft_row row = {.name = {text, name}, .shape = ones, .rank = rank};

    return heft_model_add_row(&y->model, &row, &y->err);
}

/* The limit is 1 MiB plus 32 bytes per allowed tensor; dimensions beyond four count as 8 bytes
 * each. */
static void names_and_long_shapes_are_limited_together(void **state)
{
    struct yard y;

    (void)state;
    open_yard(&y);
    y.model.limits.tensors = 100;
    for (int i = 0; i < 16; i++)
        assert_true(add_named(&y, 64 << 10, 4));
    assert_true(add_named(&y, 3200 - 480, 0));
    assert_true(add_named(&y, 0, 64));
    assert_true(add_named(&y, 0, 4));
    assert_false(add_named(&y, 0, 5));
    assert_int_equal(y.err.code, HEFT_LIMIT);
    assert_non_null(strstr(y.err.text, "more than 1051776 bytes of names and long shapes"));
    heft_model_release(&y.model);
}

static void rank_is_limited(void **state)
{
    uint64_t ones[65];

    (void)state;
    for (int i = 0; i < 65; i++)
        ones[i] = 1;
    expect_refused(HEFT_U8, 65, ones, NULL, 0, HEFT_LIMIT);
}

static void names_must_be_unique_and_utf8(void **state)
{
    struct yard y;

    (void)state;
    open_yard(&y);
    add(&y, "t", HEFT_U8, 0, NULL, NULL, 0);
    add(&y, "t", HEFT_U8, 0, NULL, NULL, 1);
    assert_false(heft_model_validate(&y.model, &y.err));
    assert_int_equal(y.err.code, HEFT_MALFORMED);
    heft_model_release(&y.model);

    open_yard(&y);
    add(&y, "\xff", HEFT_U8, 0, NULL, NULL, 0);
    assert_false(heft_model_validate(&y.model, &y.err));
    assert_int_equal(y.err.code, HEFT_MALFORMED);
    heft_model_release(&y.model);
}

static void names_are_found_in_any_order(void **state)
{
    static const char *const orders[][4] = {{"a", "a.b", "b", "c"}, {"c", "a", "b", "a.b"}};
    struct yard y;

    (void)state;
    for (size_t k = 0; k < HEFT_COUNT(orders); k++) {
        open_yard(&y);
        for (size_t i = 0; i < HEFT_COUNT(orders[k]); i++)
            add(&y, orders[k][i], HEFT_U8, 0, NULL, NULL, 0);
        assert_true(heft_model_validate(&y.model, &y.err));
        assert_int_equal(y.model.names_ascend, k == 0);
        assert_false(y.model.no_shared_storage);
        for (size_t i = 0; i < HEFT_COUNT(orders[k]); i++)
            assert_int_equal(heft_model_find(&y.model, heft_str_of(orders[k][i])), i);
        assert_int_equal(heft_model_find(&y.model, HEFT_STR("")), HEFT_NONE);
        assert_int_equal(heft_model_find(&y.model, HEFT_STR("aa")), HEFT_NONE);
        assert_int_equal(heft_model_find(&y.model, HEFT_STR("d")), HEFT_NONE);
        heft_model_release(&y.model);
    }
}

static void row_major_strides_become_null(void **state)
{
    struct yard y;

    (void)state;
    open_yard(&y);
    add(&y, "a", HEFT_F32, 2, DIMS(2, 3), DIMS(3, 1), 0);
    add(&y, "b", HEFT_F32, 3, DIMS(2, 1, 3), DIMS(3, 99, 1), 0);
    add(&y, "c", HEFT_F32, 2, DIMS(3, 2), DIMS(1, 3), 0);
    add(&y, "d", HEFT_F32, 2, DIMS(0, 7), DIMS(1, 3), 0);
    assert_true(heft_model_validate(&y.model, &y.err));
    assert_null(y.model.rows[0].stride);
    assert_null(y.model.rows[1].stride);
    assert_non_null(y.model.rows[2].stride);
    assert_null(y.model.rows[3].stride);
    assert_int_equal(y.model.rows[1].bytes, 24);
    assert_int_equal(y.model.rows[3].bytes, 0);
    assert_int_equal(heft_model_find(&y.model, HEFT_STR("c")), 2);
    assert_int_equal(heft_model_find(&y.model, HEFT_STR("x")), HEFT_NONE);
    heft_model_release(&y.model);
}

static void the_map_has_no_holes(void **state)
{
    const struct heft_segment *segments;
    size_t count;
    uint64_t at = 0;
    struct yard y;

    (void)state;
    open_yard(&y);
    add(&y, "a", HEFT_U8, 1, DIMS(64), NULL, 0);
    assert_true(heft_model_claim(&y.model, 0, 100, 20, "middle", &y.err));
    assert_true(heft_model_validate(&y.model, &y.err));
    assert_true(heft_model_map(&y.model, &y.model.mem, &segments, &count, &y.err));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(segments[i].offset, at);
        at += segments[i].bytes;
    }
    assert_int_equal(at, sizeof data);
    assert_string_equal(segments[0].what, "tensor a");
    assert_false(segments[1].claimed);
    assert_string_equal(segments[2].what, "middle");
    heft_model_release(&y.model);
}

static void overlapping_tensors_are_marked_in_the_map(void **state)
{
    const struct heft_segment *segments;
    size_t count;
    struct heft_storage second = {.off = 60, .packed = 20, .len = 20};
    uint32_t index;
    struct yard y;

    (void)state;
    open_yard(&y);
    add(&y, "a", HEFT_U8, 1, DIMS(64), NULL, 0);
    assert_true(heft_model_add_storage(&y.model, &second, &index, &y.err));
    assert_true(heft_model_validate(&y.model, &y.err));
    assert_true(heft_model_map(&y.model, &y.model.mem, &segments, &count, &y.err));
    assert_int_equal(count, 3);
    assert_false(segments[0].overlaps);
    assert_true(segments[1].overlaps && segments[1].claimed);
    assert_int_equal(segments[1].offset, 60);
    assert_int_equal(segments[2].offset, 80);
    assert_false(segments[2].overlaps || segments[2].claimed);
    heft_model_release(&y.model);
}

static void overlapping_claims_are_an_error(void **state)
{
    const struct heft_segment *segments;
    size_t count;
    struct yard y;

    (void)state;
    open_yard(&y);
    assert_true(heft_model_claim(&y.model, 0, 60, 20, "header", &y.err));
    assert_true(heft_model_validate(&y.model, &y.err));
    assert_false(heft_model_map(&y.model, &y.model.mem, &segments, &count, &y.err));
    assert_int_equal(y.err.code, HEFT_MALFORMED);
    assert_int_equal(y.err.offset, 60);
    heft_model_release(&y.model);
}

/* A reader that failed after it appended is undone, and another appends the same: if its counts
 * remained, the names would exceed the limit. */
static void undoing_a_reader_restores_all_counts(void **state)
{
    struct heft_model_counts before;
    struct yard y;

    (void)state;
    open_yard(&y);
    y.model.limits.tensors = 100;
    before = y.model.counts;
    for (unsigned k = 0; k < 2; k++) {
        y.model.counts = before;
        for (int i = 0; i < 16; i++)
            assert_true(add_named(&y, 64 << 10, 4));
        assert_true(heft_model_add_wanted(&y.model, heft_str_of("w"), "a file", &y.err));
        assert_true(heft_model_claim(&y.model, 0, 0, 8, "header", &y.err));
        assert_int_equal(y.model.n_rows, 16);
        assert_int_equal(y.model.n_wanted, 1);
        assert_int_equal(y.model.n_claims, 1);
        assert_int_equal(y.model.name_bytes, 1 << 20);
    }
    heft_model_release(&y.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometry_outside_the_storage_is_refused),
        cmocka_unit_test(arithmetic_that_overflows_is_refused),
        cmocka_unit_test(an_expansion_beyond_the_limit_is_refused),
        cmocka_unit_test(names_and_long_shapes_are_limited_together),
        cmocka_unit_test(undoing_a_reader_restores_all_counts),
        cmocka_unit_test(rank_is_limited),
        cmocka_unit_test(names_must_be_unique_and_utf8),
        cmocka_unit_test(names_are_found_in_any_order),
        cmocka_unit_test(row_major_strides_become_null),
        cmocka_unit_test(the_map_has_no_holes),
        cmocka_unit_test(overlapping_tensors_are_marked_in_the_map),
        cmocka_unit_test(overlapping_claims_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
