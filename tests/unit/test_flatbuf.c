/* test_flatbuf.c: what no .ptd shows: tables built and read back, positions at the edges; and the
 * files whose checksums ExecuTorch's serializer gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/endian.h"
#include "core/plan.h"
#include "format/formats.h"
#include "core/registry.h"
#include "wire/flatbuf.h"

extern const struct heft_format heft_format_ptd;

static struct heft_error err;

/* ---- tables there and back ------------------------------------------------------------------- */

/* A root of a string, a vector of u64, a u8 and an absent u32. */
static struct heft_bytes build(struct heft_flat_out *out)
{
    static const uint64_t numbers[] = {1, 1ull << 40};
    struct heft_bytes bytes;
    uint32_t text, vector;

    *out = (struct heft_flat_out){0};
    text = heft_flat_put_string(out, HEFT_STR("five!"));
    vector = heft_flat_put_vector(out, numbers, 2, 8);
    heft_flat_begin(out);
    heft_flat_add_ref(out, 1, vector);
    heft_flat_add_ref(out, 0, text);
    heft_flat_add(out, 3, 0, 4);
    heft_flat_add(out, 2, 200, 1);
    assert_true(heft_flat_finish(out, heft_flat_end(out), "TEST", &bytes, &err));
    return bytes;
}

static void what_is_built_is_read_back(void **state)
{
    struct heft_flat_out out;
    const struct heft_bytes bytes = build(&out);
    struct heft_flat_vector vector;
    struct heft_flat_table root;
    struct heft_flat flat;
    struct heft_str text;
    uint64_t at;
    uint32_t none;
    uint8_t byte;

    (void)state;
    assert_memory_equal(bytes.p + 4, "TEST", 4);
    assert_int_equal(bytes.n % 8, 0);
    heft_flat_init(&flat, bytes, 8, 0);
    assert_true(heft_flat_root(&flat, "root", &root, &err));
    assert_true(heft_flat_ref(&flat, &root, 0, &at, &err));
    assert_true(heft_flat_string(&flat, at, 5, "text", &text, &err));
    assert_true(heft_str_is(text, "five!"));
    assert_false(heft_flat_string(&flat, at, 4, "text", &text, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_true(heft_flat_ref(&flat, &root, 1, &at, &err));
    assert_true(heft_flat_vector(&flat, at, 8, "numbers", &vector, &err));
    assert_int_equal(vector.count, 2);
    assert_int_equal(heft_le64(flat.p + vector.at + 8), 1ull << 40);
    assert_true(heft_flat_u8(&flat, &root, 2, &byte, &err));
    assert_int_equal(byte, 200);
    assert_false(heft_flat_has(&flat, &root, 3));
    assert_true(heft_flat_u32(&flat, &root, 3, &none, &err));
    assert_int_equal(none, 0);
    assert_true(heft_flat_ref(&flat, &root, 7, &at, &err));
    assert_int_equal(at, 0);
    heft_flat_release(&out);
}

static void vectors_share_a_budget(void **state)
{
    uint8_t bytes[64] = {0};
    struct heft_flat_vector vector;
    struct heft_flat flat;

    (void)state;
    heft_put_le32(bytes + 8, 10);
    heft_flat_init(&flat, (struct heft_bytes){bytes, sizeof bytes}, 8, 0);
    assert_true(heft_flat_refs(&flat, 8, "refs", &vector, &err));
    assert_false(heft_flat_refs(&flat, 8, "refs", &vector, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_non_null(strstr(err.text, "more elements than fit"));
}

/* Every byte of a buffer set to each of a few values, every length: nothing leaves the buffer, which
 * is exactly as large as it says. */
static void damage_never_leads_outside(void **state)
{
    static const uint8_t values[] = {0, 1, 4, 0x7f, 0x80, 0xff};
    struct heft_flat_out out;
    const struct heft_bytes bytes = build(&out);

    (void)state;
    for (size_t n = 8; n <= bytes.n; n++)
        for (size_t i = 0; i < n * HEFT_COUNT(values); i++) {
            uint8_t *copy = malloc(n);
            struct heft_flat_vector vector;
            struct heft_flat_table root;
            struct heft_flat flat;
            struct heft_str text;
            uint64_t at;

            assert_non_null(copy);
            memcpy(copy, bytes.p, n);
            copy[i / HEFT_COUNT(values)] = values[i % HEFT_COUNT(values)];
            heft_flat_init(&flat, (struct heft_bytes){copy, n}, 8, 0);
            if (heft_flat_root(&flat, "root", &root, &err) &&
                heft_flat_ref(&flat, &root, 0, &at, &err) && at &&
                heft_flat_string(&flat, at, 100, "text", &text, &err))
                assert_true(text.p + text.n < (const char *)copy + n && text.p[text.n] == 0);
            if (heft_flat_root(&flat, "root", &root, &err) &&
                heft_flat_ref(&flat, &root, 1, &at, &err) && at &&
                heft_flat_vector(&flat, at, 8, "numbers", &vector, &err))
                assert_true(vector.at + 8 * (uint64_t)vector.count <= n);
            free(copy);
        }
    heft_flat_release(&out);
}

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
        if (!heft_model_add_storage(&m->model, &storage, &index, &err) ||
            !heft_model_add_row(&m->model, &row, &err))
            return false;
    }
    m->plan = (struct heft_plan){.model = &m->model, .mem = &m->mem};
    const struct heft_convert_options options = {.output = "out", .segment_alignment = alignment};
    return heft_model_validate(&m->model, &err) &&
           heft_export_load(&m->exports, &m->model, &options, &m->mem, &err) &&
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

/* Literal bytes and copies put together: the file. */
static size_t assemble(const struct made *m, uint8_t *out, size_t room)
{
    assert_true(m->plan.files[0].size <= room);
    for (size_t i = 0; i < m->plan.n_ops; i++) {
        const struct heft_op *op = &m->plan.ops[i];

        if (op->kind == HEFT_OP_PUT)
            memcpy(out + op->off, op->u.bytes, op->len);
        else
            memcpy(out + op->off,
                   m->data + m->model.storages[op->u.copy.storage].off + op->u.copy.from, op->len);
    }
    return m->plan.files[0].size;
}

/* What the reference writes, by length and CRCs (of the files whose SHA-256 is known). */
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

/* SHA-256 98b15d9c…, 1c8cd9c9…, 93399c8c… and e0a6e947…: ExecuTorch's own. */
static void files_are_the_reference_s_byte_for_byte(void **state)
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

/* Of one dtype or of another, by content only; of no length all are the same. */
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
    assert_int_equal(m.exports.items[0].at, m.exports.items[1].at);
    assert_int_not_equal(m.exports.items[0].at, m.exports.items[2].at);
    assert_int_not_equal(m.exports.items[0].at, m.exports.items[3].at);
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

static void what_a_ptd_cannot_hold_is_refused(void **state)
{
    static const struct entry unnamed = {"", HEFT_F32, 1, {4, 0}, 1.0f};
    static const struct entry wide = {"w", HEFT_F32, 2, {0, 1ull << 31}, 1.0f};

    (void)state;
    expect_no_plan(&unnamed, HEFT_UNSUPPORTED, "a byte at least");
    expect_no_plan(&wide, HEFT_UNSUPPORTED, "each below 2^31");
}

static void planning_survives_each_failure_of_memory(void **state)
{
    static const struct entry same[] = {{"a", HEFT_F32, 2, {2, 2}, 3.0f},
                                        {"b", HEFT_F32, 1, {4, 0}, 3.0f}};
    struct made m;
    bool ok = false;

    (void)state;
    for (uint64_t nth = 1; !ok; nth++) {
        err = (struct heft_error){0};
        heft_alloc_fail_at(nth);
        ok = plan_entries(&m, same, 2, 0);
        heft_alloc_fail_at(0);
        assert_true(ok || err.code == HEFT_NOMEM);
        release(&m);
        assert_true(nth < 1000);
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
    bool ok = false;

    for (uint64_t nth = 1; !ok; nth++) {
        struct heft_model model;

        err = (struct heft_error){0};
        heft_alloc_fail_at(nth);
        ok = open_path(path, &model);
        if (ok)
            ok = heft_format_ptd.annotate(&model, 0, &err);
        heft_alloc_fail_at(0);
        assert_true(ok || err.code == HEFT_NOMEM);
        heft_model_release(&model);
        assert_true(nth < 1000);
    }
}

static void opening_survives_each_failure_of_memory(void **state)
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
        cmocka_unit_test(what_is_built_is_read_back),
        cmocka_unit_test(vectors_share_a_budget),
        cmocka_unit_test(damage_never_leads_outside),
        cmocka_unit_test(files_are_the_reference_s_byte_for_byte),
        cmocka_unit_test(equal_bytes_share_a_segment),
        cmocka_unit_test(what_a_ptd_cannot_hold_is_refused),
        cmocka_unit_test(planning_survives_each_failure_of_memory),
        cmocka_unit_test(opening_survives_each_failure_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
