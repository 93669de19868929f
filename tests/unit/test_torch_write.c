/* test_torch_write.c: properties of the torch writers that no small file shows: zip64, the
 * iteration order of libstdc++'s hash set, batches, failed allocations. tests/cli and tests/interop
 * compare complete files with torch's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failures.h"
#include "core/convert.h"
#include "format/formats.h"
#include "format/torch/write/torch_write.h"

/* ---- where payloads begin ---------------------------------------------------------------- */

static void check_payload(uint64_t begin, size_t name, uint64_t size, uint64_t want, uint16_t wide)
{
    uint16_t got;

    assert_int_equal(heft_torch_payload(begin, name, size, &got), want);
    assert_int_equal(got, wide);
}

static void payloads_are_aligned_also_beyond_4_gib(void **state)
{
    const uint64_t big = UINT64_C(1) << 32;

    (void)state;
    check_payload(0, 16, 290, 64, 0); /* linear/data.pkl */
    check_payload(0, 30, 1, 64, 0);   /* exact alignment: no padding */
    check_payload(0, 31, 1, 128, 0);
    check_payload(big, 14, 1, big + 64, 12); /* archive/data/0 */
    check_payload(16, 14, big + 16, 128, 20);
    check_payload(big, 14, big, big + 128, 28);
    check_payload(0, 14, UINT32_MAX, 128, 20); /* sizes from UINT32_MAX on need zip64 */
    check_payload(0, 14, UINT32_MAX - 1u, 64, 0);
    check_payload(UINT32_MAX, 14, 1, big + 64, 12);
    check_payload(UINT32_MAX - 1u, 14, 1, big + 64, 0);
}

/* ---- the names' number ------------------------------------------------------------------- */

/* Name of record i in a file of n storages, as torch 2.13 writes it. */
static struct heft_str name_of(const void *ctx, size_t i, char *room)
{
    static const char *const first[] = {"data.pkl", ".format_version", ".storage_alignment",
                                        "byteorder"};
    const size_t n = *(const unsigned *)ctx;

    if (i < 4)
        return heft_str_of(first[i]);
    return i == n + 4 ? HEFT_STR("version") : heft_torch_key_name("data/", i - 4, room);
}

static uint64_t number_of(unsigned n, struct heft_arena *mem)
{
    struct heft_error err = {0};
    uint64_t number = 1;

    assert_true(heft_torch_hash_names(name_of, &n, n + 5, mem, &number, &err));
    return number;
}

/* Numbers as written by torch: below, at and beyond the sizes at which the hash set grows. */
static void names_are_combined_in_the_order_of_the_hash_set(void **state)
{
    static const struct {
        unsigned n;
        uint64_t number;
    } known[] = {
        {0, UINT64_C(2908468677762923104)},    {1, UINT64_C(15728199511854643026)},
        {2, UINT64_C(5611085236196705294)},    {5, UINT64_C(551901853203590787)},
        {6, UINT64_C(12685673969646462611)},   {7, UINT64_C(6895295647852065578)},
        {8, UINT64_C(8268647735604577700)},    {20, UINT64_C(6053964841146262084)},
        {24, UINT64_C(12647775507600111753)},  {25, UINT64_C(14750728607576356699)},
        {60, UINT64_C(137648793660415785)},    {200, UINT64_C(3369029643746416174)},
        {1200, UINT64_C(7006458023395743877)},
    };
    struct heft_arena mem = {0};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(known); i++)
        assert_int_equal(number_of(known[i].n, &mem), known[i].number);
    heft_arena_release(&mem);
}

/* ---- plans ------------------------------------------------------------------------------- */

struct bench {
    uint8_t data[4096];
    struct heft_model model;
    struct heft_conversion conversion;
    struct heft_error err;
};

static struct bench bench;

/* Fills the model with one storage and rows of all kinds on it. */
static void fill(unsigned n_rows)
{
    static const uint64_t four[] = {2, 2}, columns[] = {1, 2};
    struct heft_source source = {0};
    struct heft_storage storage = {.packed = sizeof bench.data, .len = sizeof bench.data};
    uint32_t index, number;

    bench = (struct bench){0};
    heft_model_init(&bench.model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){bench.data, sizeof bench.data}, "memory");
    assert_true(heft_model_add_file(&bench.model, &source, "memory", &index, &bench.err));
    assert_true(heft_model_add_storage(&bench.model, &storage, &number, &bench.err));
    for (unsigned i = 0; i < n_rows; i++) {
        const char *name = heft_arena_printf(&bench.model.mem, &bench.err, "%u", i);
        const struct heft_row row = {
            .name = heft_str_of(name),
            .shape = four,
            .stride = i % 2 ? columns : NULL,
            .offset = 16 * (i % 200),
            .rank = (uint8_t)(i % 3),
            .dtype = i % 5 ? HEFT_F32 : HEFT_U16,
            .flags = i % 7 ? 0 : HEFT_ROW_SWAP,
        };

        assert_true(heft_model_add_row(&bench.model, &row, &bench.err));
    }
    assert_true(heft_model_validate(&bench.model, &bench.err));
}

static void empty(void)
{
    heft_conversion_release(&bench.conversion);
    heft_model_release(&bench.model);
}

static bool plan(const char *to, const char *layout)
{
    const struct heft_option option = {"torch-layout", layout};
    const struct heft_convert_options options = {.size = sizeof options,
                                                 .output = "/none/x.pth",
                                                 .to = to,
                                                 .format_options = &option,
                                                 .n_format_options = layout != NULL};

    bench.err = (struct heft_error){0};
    return heft_conversion_plan(&bench.conversion, &bench.model, &options, &bench.err);
}

/* The N-th allocation fails: HEFT_NOMEM, no leak (detected by sanitizers), until all succeed. */
static void plan_without_memory(const char *to, const char *layout)
{
    fill(60);
    for (unsigned i = 0; i < bench.model.n_rows; i++)
        if (!strcmp(to, "torch-legacy"))
            bench.model.rows[i].dtype = HEFT_F32;
    for (struct failures fail = {.most = 500}; !fail.done;) {
        FAIL_ALLOCATION(&fail, plan(to, layout), &bench.err);
        if (!fail.done)
            heft_conversion_release(&bench.conversion);
    }
    empty();
}

static void any_failing_allocation_of_a_plan(void **state)
{
    (void)state;
    plan_without_memory("torch", "2.8");
    plan_without_memory("torch", "1.6");
    plan_without_memory("torch-legacy", NULL);
}

/* Byte offset of an item in its output file. */
static uint64_t offset_of(size_t i)
{
    return heft_plan_offset(&bench.conversion.plan, &bench.conversion.exports.items[i]);
}

/* Equal options give equal plans, and each item is inside the file. */
static void plans_are_deterministic_and_items_inside_the_file(void **state)
{
    uint64_t first[60], size;

    (void)state;
    fill(60);
    assert_true(plan("torch", NULL));
    size = bench.conversion.plan.files[0].size;
    for (unsigned i = 0; i < 60; i++)
        first[i] = offset_of(i);
    heft_conversion_release(&bench.conversion);
    assert_true(plan("torch", NULL));
    assert_int_equal(bench.conversion.plan.files[0].size, size);
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(offset_of(i), first[i]);
        assert_true(first[i] + bench.conversion.exports.items[i].bytes < size);
    }
    assert_int_equal(bench.conversion.plan.n_notes, 1);
    empty();
}

/* A tensor of two parts, the second half stored before the first, becomes one contiguous storage.
 */
static void a_tensor_in_parts_is_written_contiguously(void **state)
{
    static uint64_t shape[] = {8}, first[] = {0}, second[] = {4}, half[] = {4};
    struct heft_part list[] = {{.offset = 32, .start = first, .extent = half},
                               {.offset = 0, .start = second, .extent = half}};
    struct heft_parts parts = {.list = list, .n = 2};
    struct heft_row row = {.name = HEFT_STR("w"), .shape = shape, .rank = 1, .dtype = HEFT_F32};
    char folder[] = "/tmp/heft-test-torch-XXXXXX", path[64], got[32];
    struct heft_convert_options options = {.size = sizeof options, .output = path, .no_sync = true};
    uint64_t overflowed;
    FILE *f;

    (void)state;
    fill(3);
    row.parts = &parts;
    for (unsigned i = 0; i < sizeof bench.data; i++)
        bench.data[i] = (uint8_t)i;
    assert_true(heft_model_add_row(&bench.model, &row, &bench.err));
    heft_strmap_release(&bench.model.names);
    assert_true(heft_model_validate(&bench.model, &bench.err));
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.pth", folder);
    assert_true(heft_conversion_plan(&bench.conversion, &bench.model, &options, &bench.err));
    assert_true(heft_conversion_run(&bench.conversion, &overflowed, &bench.err));
    f = fopen(path, "rb");
    assert_int_equal(fseek(f, (long)offset_of(3), SEEK_SET), 0);
    assert_int_equal(fread(got, 1, 32, f), 32);
    fclose(f);
    assert_memory_equal(got, bench.data + 32, 16);
    assert_memory_equal(got + 16, bench.data, 16);
    empty();
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- hulls ------------------------------------------------------------------------------- */

static void a_byte_range_reaches_from_the_first_to_the_last_byte(void **state)
{
    static const uint64_t shape[] = {3, 2}, stride[] = {10, 1}, none[] = {3, 0}, same[] = {0, 0};
    struct heft_row row = {.shape = shape, .rank = 2, .dtype = HEFT_F32, .offset = 8, .bytes = 24};
    struct heft_byte_range range = heft_byte_range_of(&row), all = {0};

    (void)state;
    assert_int_equal(range.begin, 8);
    assert_int_equal(range.end, 32);
    row.stride = stride;
    range = heft_byte_range_of(&row);
    assert_int_equal(range.begin, 8);
    assert_int_equal(range.end, 8 + 4 * 22);
    heft_byte_range_add(&all, range);
    row.stride = same;
    row.offset = 0;
    range = heft_byte_range_of(&row);
    assert_int_equal(range.end, 4);
    heft_byte_range_add(&all, range);
    row.shape = none;
    row.bytes = 0;
    row.offset = 4000;
    heft_byte_range_add(&all, heft_byte_range_of(&row));
    assert_int_equal(all.begin, 0);
    assert_int_equal(all.end, 96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_are_aligned_also_beyond_4_gib),
        cmocka_unit_test(names_are_combined_in_the_order_of_the_hash_set),
        cmocka_unit_test(any_failing_allocation_of_a_plan),
        cmocka_unit_test(plans_are_deterministic_and_items_inside_the_file),
        cmocka_unit_test(a_tensor_in_parts_is_written_contiguously),
        cmocka_unit_test(a_byte_range_reaches_from_the_first_to_the_last_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
