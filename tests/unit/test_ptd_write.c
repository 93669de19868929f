/* test_ptd_write.c: .ptd files equal to those of ExecuTorch's serializer, compared by checksum;
 * planning and opening with failed allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "file_order.h"
#include "core/plan.h"
#include "core/registry.h"
#include "format/formats.h"

extern const struct heft_format heft_format_ptd;

static struct heft_error err;

/* ---- files of known bytes -------------------------------------------------------------------- */

struct entry {
    const char *name;
    uint8_t dtype, rank;
    uint64_t shape[2];
    float value;
};

struct made {
    struct heft_model model;
    struct heft_arena mem;
    struct heft_plan plan;
    struct heft_export_list exports;
    struct heft_option_value values[8]; /* at least one for each option */
    uint8_t data[64];
};

static bool plan_entries(struct made *m, const struct entry *entries, size_t n, uint64_t alignment)
{
    struct heft_source source = {0};
    struct heft_storage storage = {.packed = 16, .len = 16};
    uint32_t index, file;

    *m = (struct made){0};
    heft_model_init(&m->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){m->data, sizeof m->data}, "in");
    if (!heft_model_add_file(&m->model, &source, "in", &index, &err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct heft_row row = {.name = heft_str_of(entries[i].name),
                               .shape = entries[i].shape,
                               .storage = (uint32_t)i,
                               .dtype = entries[i].dtype,
                               .rank = entries[i].rank};

        storage.off = 16 * i;
        for (size_t k = 0; k < 4; k++)
            memcpy(m->data + 16 * i + 4 * k, &entries[i].value, 4);
        in_file_order(m->data + 16 * i, 16, 4);
        if (!heft_model_add_storage(&m->model, &storage, &index, &err) ||
            !heft_model_add_row(&m->model, &row, &err))
            return false;
    }
    m->values[heft_format_option_named(&heft_format_ptd, HEFT_OPTION_WRITES, "segment-alignment") -
              heft_format_ptd.options] =
        (struct heft_option_value){.is_given = alignment > 0, .number = alignment};
    m->plan =
        (struct heft_plan){.model = &m->model, .request = {.options = m->values}, .mem = &m->mem};
    const struct heft_convert_options options = {.size = sizeof options, .output = "out"};
    return heft_model_validate(&m->model, &err) &&
           heft_export_load(&m->exports, &m->model, &options, &m->mem, &err) &&
           heft_export_split(&m->exports, UINT64_MAX, &err) &&
           heft_plan_expect_items(&m->plan, n, &err) &&
           heft_plan_file_begin(&m->plan, "out", &file, &err) &&
           heft_format_ptd.plan(&m->plan, file, &m->exports, &err) &&
           heft_plan_check(&m->plan, &err);
}

static void release(struct made *m)
{
    heft_export_release(&m->exports);
    heft_plan_release(&m->plan);
    heft_arena_release(&m->mem);
    heft_model_release(&m->model);
}

/* Assembles the file from the literal bytes and copies of the plan. Returns its size. */
static size_t assemble(const struct made *m, uint8_t *out, size_t room)
{
    assert_true(m->plan.files[0].size <= room);
    for (size_t i = 0; i < m->plan.n_ops; i++) {
        const struct heft_op *op = &m->plan.ops[i];

        if (op->kind == HEFT_OP_PUT)
            memcpy(out + op->off, op->u.bytes, (size_t)op->len);
        else
            memcpy(out + op->off,
                   m->data + m->model.storages[op->u.copy.storage].off + op->u.copy.from,
                   (size_t)op->len);
    }
    return (size_t)m->plan.files[0].size;
}

/* Expects a file of the reference writer, by size and CRCs (computed from files whose SHA-256 is
 * known). */
static void expect_file(const struct entry *entries, size_t n, uint64_t alignment, size_t bytes,
                        uint32_t crc, uint32_t crc_c)
{
    uint8_t out[1024];
    struct made m;

    assert_true(plan_entries(&m, entries, n, alignment));
    assert_int_equal(assemble(&m, out, sizeof out), bytes);
    assert_int_equal(heft_crc32(0, out, bytes), crc);
    assert_int_equal(heft_crc32c(0, out, bytes), crc_c);
    release(&m);
}

static const struct entry two[] = {{"a", HEFT_F32, 2, {2, 2}, 3.0f},
                                   {"b", HEFT_F32, 2, {2, 2}, 2.0f}};
static const struct entry scalar[] = {{"s", HEFT_F32, 0, {0, 0}, 1.0f}};

/* Files written by ExecuTorch; their SHA-256 begin with 98b15d9c, 1c8cd9c9, 93399c8c and e0a6e947.
 */
static void files_equal_those_of_the_reference_byte_for_byte(void **state)
{
    (void)state;
    expect_file(two, 2, 16, 336, 0xcc5528f6, 0x806b2038);
    expect_file(two, 2, 0, 528, 0xf5b7a102, 0x7cf0dc93);
    expect_file(scalar, 1, 128, 260, 0x72344493, 0xdccf80ee);
    expect_file(NULL, 0, 128, 128, 0x13d5817b, 0xc80e95f1);
}

static size_t count_copies(const struct made *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->plan.n_ops; i++)
        n += m->plan.ops[i].kind == HEFT_OP_COPY;
    return n;
}

static uint64_t offset_of(const struct made *m, size_t i)
{
    return heft_plan_offset(&m->plan, &m->exports.items[i]);
}

/* Tensors share a segment if their bytes are equal, whatever their dtypes. */
static void equal_bytes_share_a_segment(void **state)
{
    static const struct entry same[] = {{"a", HEFT_F32, 2, {2, 2}, 3.0f},
                                        {"b", HEFT_I32, 1, {4, 0}, 3.0f},
                                        {"c", HEFT_F32, 1, {4, 0}, 2.0f},
                                        {"d", HEFT_F32, 1, {3, 0}, 3.0f}};
    struct made m;

    (void)state;
    assert_true(plan_entries(&m, same, 4, 0));
    assert_int_equal(count_copies(&m), 3);
    assert_int_equal(offset_of(&m, 0), offset_of(&m, 1));
    assert_int_not_equal(offset_of(&m, 0), offset_of(&m, 2));
    assert_int_not_equal(offset_of(&m, 0), offset_of(&m, 3));
    release(&m);
}

static void expect_no_plan(const struct entry *entry, enum heft_code code, const char *text)
{
    struct made m;

    err = (struct heft_error){0};
    assert_false(plan_entries(&m, entry, 1, 0));
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, text));
    release(&m);
}

static void tensors_that_ptd_cannot_store_are_refused(void **state)
{
    static const struct entry unnamed = {"", HEFT_F32, 1, {4, 0}, 1.0f};
    static const struct entry wide = {"w", HEFT_F32, 2, {0, 1ull << 31}, 1.0f};

    (void)state;
    expect_no_plan(&unnamed, HEFT_UNSUPPORTED, "must not be empty");
    expect_no_plan(&wide, HEFT_UNSUPPORTED, "each below 2^31");
}

static void planning_survives_each_failed_allocation(void **state)
{
    static const struct entry same[] = {{"a", HEFT_F32, 2, {2, 2}, 3.0f},
                                        {"b", HEFT_F32, 1, {4, 0}, 3.0f}};
    struct made m;

    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        FAIL_ALLOCATION(&fail, plan_entries(&m, same, 2, 0), &err);
        release(&m);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_path(const char *path, struct heft_model *model)
{
    heft_model_init(model, NULL, &heft_formats);
    return heft_registry_open(model, &path, 1, NULL, &err) && heft_model_validate(model, &err);
}

static void expect_each_failure(const char *path)
{
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct heft_model model;

        FAIL_ALLOCATION(&fail, open_path(path, &model) && heft_format_ptd.annotate(&model, 0, &err),
                        &err);
        heft_model_release(&model);
    }
}

static void opening_survives_each_failed_allocation(void **state)
{
    (void)state;
    expect_each_failure(HEFT_TESTS "/golden/ptd/blobs.ptd");
    expect_each_failure(HEFT_TESTS "/golden/ptd/orders.ptd");
    expect_each_failure(HEFT_TESTS "/reject/ptd/12-overlap-of-blobs.ptd");
    expect_each_failure(HEFT_TESTS "/reject/ptd/26-old-with-blob.ptd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_equal_those_of_the_reference_byte_for_byte),
        cmocka_unit_test(equal_bytes_share_a_segment),
        cmocka_unit_test(tensors_that_ptd_cannot_store_are_refused),
        cmocka_unit_test(planning_survives_each_failed_allocation),
        cmocka_unit_test(opening_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
