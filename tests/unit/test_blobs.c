/* test_blobs.c: blobs (named bytes that are not tensors), from the model to the public API. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/checkpoint.h"
#include "core/export_list.h"
#include "format/formats.h"
#include "core/usage.h"

static const uint8_t data[] = "0123456789abcdefghij";

struct yard {
    struct heft_checkpoint c;
    struct heft_error err;
};

/* Model of 20 bytes with storages [0,8) and [8,16), and a tensor "t" on the first. */
static void open_yard(struct yard *y)
{
    static const uint64_t shape[] = {4};
    struct heft_model *model = &y->c.model;
    struct heft_row row = {
        .name = HEFT_STR("t"), .shape = shape, .rank = 1, .dtype = HEFT_U8, .storage = 0};
    struct heft_source source;
    uint32_t index;

    *y = (struct yard){0};
    heft_model_init(model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data, 20}, "yard");
    assert_true(heft_model_add_file(model, &source, "yard", &index, &y->err));
    for (uint64_t i = 0; i < 2; i++) {
        const struct heft_storage s = {.off = 8 * i, .len = 8, .packed = 8};

        assert_true(heft_model_add_storage(model, &s, &index, &y->err));
    }
    assert_true(heft_model_add_row(model, &row, &y->err));
}

static bool add(struct yard *y, struct heft_str name, uint32_t storage)
{
    return heft_model_add_blob(&y->c.model, name, storage, "blob", &y->err);
}

static void close_yard(struct yard *y)
{
    heft_reader_release(&y->c.reader);
    heft_model_release(&y->c.model);
}

static bool collect(void *ctx, const void *piece, size_t n)
{
    strncat(ctx, piece, n);
    return true;
}

static void blobs_are_listed_found_and_streamed(void **state)
{
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    struct yard y;
    char text[32] = "";
    size_t index;

    (void)state;
    open_yard(&y);
    assert_true(add(&y, HEFT_STR("a.b"), 1));
    assert_true(add(&y, HEFT_STR("both"), 0));
    assert_true(heft_model_validate(&y.c.model, &y.err));
    assert_true(heft_reader_init(&y.c.reader, &y.c.model, false, &y.err));
    assert_int_equal(heft_blob_count(&y.c), 2);
    assert_false(heft_blob_at(&y.c, 2, &blob));
    assert_false(heft_blob_find(&y.c, "t", 1, &index));
    assert_true(heft_blob_find(&y.c, "a.b", 3, &index));
    assert_true(heft_blob_at(&y.c, index, &blob));
    assert_string_equal(blob.name, "a.b");
    assert_int_equal(blob.bytes, 8);
    assert_int_equal(blob.offset, 8);
    assert_true(heft_blob_check(&y.c, index, &y.err));
    assert_true(heft_blob_stream(&y.c, index, collect, text, &y.err));
    assert_string_equal(text, "89abcdef");
    assert_false(heft_blob_stream(&y.c, 2, collect, text, &y.err));
    assert_int_equal(y.err.code, HEFT_USAGE);
    close_yard(&y);
}

static void expect_refused(struct heft_str name, uint32_t storage, const char *text)
{
    struct yard y;

    open_yard(&y);
    assert_true(add(&y, HEFT_STR("a"), 1));
    assert_true(add(&y, name, storage));
    assert_false(heft_model_validate(&y.c.model, &y.err));
    assert_int_equal(y.err.code, HEFT_MALFORMED);
    assert_non_null(strstr(y.err.text, text));
    close_yard(&y);
}

static void validation_checks_names_and_storages(void **state)
{
    (void)state;
    expect_refused(HEFT_STR("a"), 0, "blob a: a second blob of this name");
    expect_refused(HEFT_STR("\xff"), 0, "not valid UTF-8");
    expect_refused(HEFT_STR("b"), 2, "blob b: blob without a storage");
}

static void blobs_count_as_used_bytes_and_are_named_in_the_map(void **state)
{
    const struct heft_segment *segments;
    uint64_t stored, used;
    struct yard y;
    size_t n;

    (void)state;
    open_yard(&y);
    assert_true(add(&y, HEFT_STR("a"), 1));
    assert_true(heft_model_validate(&y.c.model, &y.err));
    assert_true(heft_model_usage(&y.c.model, &stored, &used, &y.err));
    assert_int_equal(stored, 16);
    assert_int_equal(used, 12);
    assert_true(heft_model_map(&y.c.model, &y.c.model.mem, &segments, &n, &y.err));
    assert_int_equal(n, 3);
    assert_string_equal(segments[0].what, "tensor t");
    assert_string_equal(segments[1].what, "blob a");
    assert_false(segments[2].claimed);
    close_yard(&y);
}

static void conversions_select_and_rename_blobs(void **state)
{
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_GLOB, "!b*", NULL},
                                      {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^a", "z"}};
    const struct heft_convert_options options = {
        .size = sizeof options, .rules = rules, .n_rules = 2};
    struct heft_export_list exports;
    struct yard y;

    (void)state;
    open_yard(&y);
    assert_true(add(&y, HEFT_STR("a1"), 1));
    assert_true(add(&y, HEFT_STR("b1"), 1));
    assert_true(heft_model_validate(&y.c.model, &y.err));
    assert_true(heft_export_load(&exports, &y.c.model, &options, &y.c.model.mem, &y.err));
    assert_int_equal(exports.n_blobs, 1);
    assert_string_equal(exports.blobs[0].name.p, "z1");
    assert_int_equal(exports.blobs[0].storage, 1);
    heft_export_release(&exports);
    close_yard(&y);
}

static void salvage_reports_a_truncated_blob_as_lost(void **state)
{
    const struct heft_storage long_one = {.off = 16, .len = 9, .packed = 9};
    struct yard y;
    uint32_t index;

    (void)state;
    open_yard(&y);
    y.c.model.salvage = true;
    assert_true(heft_model_add_storage(&y.c.model, &long_one, &index, &y.err));
    assert_true(add(&y, HEFT_STR("a"), index));
    assert_true(add(&y, HEFT_STR("b"), 1));
    assert_true(heft_model_validate(&y.c.model, &y.err));
    assert_int_equal(y.c.model.n_blobs, 1);
    assert_string_equal(y.c.model.blobs[0].name.p, "b");
    assert_int_equal(y.c.model.n_unreadable, 1);
    assert_string_equal(y.c.model.unreadable[0].name.p, "a");
    close_yard(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs_are_listed_found_and_streamed),
        cmocka_unit_test(validation_checks_names_and_storages),
        cmocka_unit_test(blobs_count_as_used_bytes_and_are_named_in_the_map),
        cmocka_unit_test(conversions_select_and_rename_blobs),
        cmocka_unit_test(salvage_reports_a_truncated_blob_as_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
