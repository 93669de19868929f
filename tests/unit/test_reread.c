/* test_reread.c: re-reading the output after a conversion: it is opened and compared with the
 * source, tensor by tensor. The tests simulate errors of a writer by changing the planned
 * conversion after it was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "core/convert.h"
#include "format/formats.h"
#include "scratch.h"

struct bench {
    struct heft_model model;
    struct heft_conversion conversion;
    char *folder, *output;
    struct heft_error err;
};

/* Converts a model of a, b, and t, which is tied to a; each is F32 [2]. */
static void fill(struct bench *b, const char *name, const struct heft_convert_options *options)
{
    static const uint8_t data[16] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 9};
    static const uint64_t shape[] = {2};
    static const char *const names[] = {"a", "b", "t"};
    struct heft_convert_options how = *options;
    struct heft_source source;
    uint64_t ignored;
    uint32_t index;

    *b = (struct bench){.folder = heft_scratch_new()};
    b->output = heft_scratch_path(b->folder, name);
    heft_model_init(&b->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data, sizeof data}, "memory");
    assert_true(heft_model_add_file(&b->model, &source, "memory", &index, &b->err));
    for (unsigned i = 0; i < 2; i++) {
        const struct heft_storage storage = {.off = 8 * i, .packed = 8, .len = 8, .source = index};
        uint32_t number;

        assert_true(heft_model_add_storage(&b->model, &storage, &number, &b->err));
    }
    for (unsigned i = 0; i < 3; i++) {
        const struct heft_row row = {
            .name = {names[i], 1}, .shape = shape, .rank = 1, .dtype = HEFT_F32, .storage = i % 2};

        assert_true(heft_model_add_row(&b->model, &row, &b->err));
    }
    assert_true(heft_model_validate(&b->model, &b->err));
    how.output = b->output;
    how.no_sync = true;
    assert_true(heft_conversion_plan(&b->conversion, &b->model, &how, &b->err) &&
                heft_conversion_run(&b->conversion, &ignored, &b->err));
}

static void empty(struct bench *b)
{
    heft_conversion_release(&b->conversion);
    heft_model_release(&b->model);
    free(b->output);
    heft_scratch_free(b->folder);
}

static void refused(struct bench *b, const char *text)
{
    b->err = (struct heft_error){0};
    assert_false(heft_conversion_reread(&b->conversion, &b->err));
    assert_int_equal(b->err.code, HEFT_MISMATCH);
    assert_non_null(strstr(b->err.text, text));
}

static void output_equal_to_the_plan_is_accepted(void **state)
{
    static const char *const files[] = {"x.safetensors", "x.pth", "x.npz", "x.ptd"};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(files); i++) {
        const struct heft_convert_options options = HEFT_INIT(struct heft_convert_options);
        struct bench b;

        fill(&b, files[i], &options);
        assert_true(heft_conversion_reread(&b.conversion, &b.err));
        empty(&b);
    }
}

static void names_dtypes_shapes_and_elements(void **state)
{
    static const uint64_t longer[] = {3};
    const struct heft_convert_options options = HEFT_INIT(struct heft_convert_options);
    struct heft_row row;
    struct heft_export_item *item;
    struct bench b;

    (void)state;
    fill(&b, "x.safetensors", &options);
    item = &b.conversion.exports.items[1];
    assert_string_equal(item->name.p, "b");
    item->name = HEFT_STR("c");
    refused(&b, "no tensor of this name");
    item->name = HEFT_STR("b");
    item->as = HEFT_I32;
    refused(&b, "another dtype");
    item->as = HEFT_F32;
    row = *item->row;
    row.shape = longer;
    item->row = &row;
    refused(&b, "another shape");
    row = b.model.rows[0];
    refused(&b, "other elements");
    row = b.model.rows[1];
    assert_true(heft_conversion_reread(&b.conversion, &b.err));
    empty(&b);
}

static void ties_and_numbers(void **state)
{
    const struct heft_convert_options options = HEFT_INIT(struct heft_convert_options);
    struct bench b;

    (void)state;
    fill(&b, "x.safetensors", &options);
    assert_int_equal(b.conversion.exports.n_tied, 1);
    b.conversion.exports.tied[0].dropped = HEFT_STR("u");
    refused(&b, "does not record it as another name of a");
    b.conversion.exports.tied[0].dropped = HEFT_STR("t");
    b.conversion.exports.n_items--;
    refused(&b, "2 tensors, expected 1");
    b.conversion.exports.n_items++;
    assert_true(heft_conversion_reread(&b.conversion, &b.err));
    empty(&b);
}

/* Casts, for which the source is cast again; shards, which are opened through their index. */
static void casts_and_shards(void **state)
{
    const struct heft_rule half = {sizeof(struct heft_rule), HEFT_RULE_CAST, "*", "BF16"};
    const struct heft_convert_options options = {
        .size = sizeof options, .rules = &half, .n_rules = 1, .sharded = true, .max_shard_size = 4};
    struct bench b;

    (void)state;
    fill(&b, "x.safetensors", &options);
    assert_int_equal(b.conversion.plan.n_files, 3);
    assert_true(heft_conversion_reread(&b.conversion, &b.err));
    b.conversion.exports.items[0].row = &b.model.rows[1];
    refused(&b, "other elements");
    empty(&b);
}

static void any_failing_allocation(void **state)
{
    const struct heft_convert_options options = HEFT_INIT(struct heft_convert_options);
    struct bench b;

    (void)state;
    fill(&b, "x.safetensors", &options);
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        FAIL_ALLOCATION(&fail, heft_conversion_reread(&b.conversion, &b.err), &b.err);
    }
    empty(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_equal_to_the_plan_is_accepted),
        cmocka_unit_test(names_dtypes_shapes_and_elements),
        cmocka_unit_test(ties_and_numbers),
        cmocka_unit_test(casts_and_shards),
        cmocka_unit_test(any_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
