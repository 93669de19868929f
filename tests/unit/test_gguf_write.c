/* test_gguf_write.c: GGUF files written from others: long paddings, plans and runs with failing allocations,
 * pairs of version 1, limits. The bytes of gguf-py are compared in tests/cli and tests/interop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/endian.h"
#include "core/convert.h"
#include "format/formats.h"
#include "format/gguf/gguf_write.h"
#include "scratch.h"

#define GOLDEN HEFT_TESTS "/golden/"

struct bench {
    struct heft_model model;
    struct heft_conversion conversion;
    struct heft_error err;
    char *folder;
};

static struct heft_rule rule(enum heft_rule_kind kind, const char *left, const char *right)
{
    return (struct heft_rule){sizeof(struct heft_rule), kind, left, right};
}

static bool open_file(struct bench *b, const char *path)
{
    heft_model_init(&b->model, NULL, &heft_formats);
    return heft_registry_open(&b->model, &path, 1, NULL, &b->err) &&
           heft_model_validate(&b->model, &b->err);
}

static void close_file(struct bench *b)
{
    heft_conversion_release(&b->conversion);
    heft_model_release(&b->model);
}

static bool convert(struct bench *b, const char *output, struct heft_convert_options options)
{
    uint64_t overflowed;

    options.size = sizeof options;
    options.output = output;
    options.overwrite = options.no_sync = true;
    return heft_conversion_plan(&b->conversion, &b->model, &options, &b->err) &&
           heft_conversion_run(&b->conversion, &overflowed, &b->err) &&
           heft_conversion_reread(&b->conversion, &b->err);
}

static struct bench new_bench(void)
{
    return (struct bench){.folder = heft_scratch_new()};
}

/* ---- tests ------------------------------------------------------------------------------------ */

/* Paddings longer than a literal are made while the file is written. */
static void long_paddings_are_zeros(void **state)
{
    const struct heft_rule rules[] = {
        rule(HEFT_RULE_METADATA, "general.architecture", "x"),
        rule(HEFT_RULE_METADATA, "general.alignment", "32768"),
    };
    const struct heft_convert_options how = {.rules = rules, .n_rules = 2};
    struct bench b = new_bench();
    char *const path = heft_scratch_path(b.folder, "x.gguf");
    uint8_t *bytes;
    size_t n;

    (void)state;
    assert_true(open_file(&b, GOLDEN "torch/linear.pt") && convert(&b, path, how));
    bytes = (uint8_t *)heft_scratch_read(b.folder, "x.gguf", &n);
    assert_non_null(bytes);
    assert_int_equal(n, 3 * 32768);
    for (size_t i = 300; i < n; i++)
        if (i < 32768 || (i - 32768) % 32768 >= 24)
            assert_int_equal(bytes[i], 0);
    assert_int_equal(heft_plan_offset(&b.conversion.plan, &b.conversion.exports.items[0]), 32768);
    assert_int_equal(heft_plan_offset(&b.conversion.plan, &b.conversion.exports.items[1]), 65536);
    free(bytes);
    free(path);
    close_file(&b);
    heft_scratch_free(b.folder);
}

/* Pairs that are not changed are ranges of the source, adjacent ones together: not in memory. */
static void unchanged_pairs_are_copied_in_runs(void **state)
{
    const struct heft_rule changed = rule(HEFT_RULE_METADATA, "s.f32", "2");
    const struct heft_convert_options how = {.rules = &changed, .n_rules = 1};
    struct bench b = new_bench();
    char *const path = heft_scratch_path(b.folder, "x.gguf");
    size_t made = 0;

    (void)state;
    assert_true(open_file(&b, GOLDEN "gguf/kv.gguf") && convert(&b, path, how));
    for (size_t i = 0; i < b.conversion.plan.n_ops; i++)
        made += b.conversion.plan.ops[i].kind == HEFT_OP_MADE;
    assert_int_equal(made, 2);
    free(path);
    close_file(&b);
    heft_scratch_free(b.folder);
}

static void shards_are_counted_and_placed(void **state)
{
    const struct heft_option most = {"max-shard-tensors", "2"};
    const struct heft_convert_options how = {.format_options = &most, .n_format_options = 1};
    struct bench b = new_bench();
    char *const path = heft_scratch_path(b.folder, "x.gguf");

    (void)state;
    assert_true(open_file(&b, GOLDEN "gguf/whole.gguf") && convert(&b, path, how));
    assert_int_equal(b.conversion.exports.n_shards, 3);
    assert_int_equal(b.conversion.exports.items[2].shard, 1);
    assert_int_equal(b.conversion.exports.items[4].shard, 2);
    assert_int_equal(heft_scratch_count(b.folder), 3);
    free(path);
    close_file(&b);
    heft_scratch_free(b.folder);
}

/* Files of an earlier set with other numbers are outdated; a file with the plain name is not. */
static void an_earlier_set_is_replaced(void **state)
{
    const struct heft_option most = {"max-shard-tensors", "2"};
    const struct heft_convert_options how = {.format_options = &most, .n_format_options = 1};
    struct bench b = new_bench();
    char *const path = heft_scratch_path(b.folder, "x.gguf");

    (void)state;
    heft_scratch_write(b.folder, "x.gguf", "a", 1);
    heft_scratch_write(b.folder, "x-00001-of-00007.gguf", "a", 1);
    heft_scratch_write(b.folder, "y-00001-of-00007.gguf", "a", 1);
    heft_scratch_write(b.folder, "x-00008-of-00007.gguf", "a", 1);
    heft_scratch_write(b.folder, "x-00001-of-00007.gguf.bak", "a", 1);
    assert_true(open_file(&b, GOLDEN "gguf/whole.gguf") && convert(&b, path, how));
    assert_false(heft_scratch_has(b.folder, "x-00001-of-00007.gguf"));
    assert_int_equal(heft_scratch_count(b.folder), 3 + 4);
    free(path);
    close_file(&b);
    heft_scratch_free(b.folder);
}

/* A list that is too long for one set, without a file for each. */
static void too_many_files_are_refused(void **state)
{
    const struct heft_option most = {"max-shard-tensors", "1"};
    const struct heft_rule named = rule(HEFT_RULE_METADATA, "general.architecture", "x");
    const struct heft_convert_options how = {.format_options = &most,
                                             .n_format_options = 1,
                                             .rules = &named,
                                             .n_rules = 1,
                                             .output = "none.gguf",
                                             .size = sizeof how};
    static const uint64_t shape[] = {1};
    static uint8_t data[4];
    const struct heft_storage s = {.len = 4, .packed = 4};
    struct heft_source source = {0};
    struct bench b = {0};
    uint32_t index;

    (void)state;
    heft_model_init(&b.model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data, sizeof data}, "bench");
    assert_true(heft_model_add_file(&b.model, &source, "bench", &index, &b.err));
    assert_true(heft_model_add_storage(&b.model, &s, &index, &b.err));
    for (unsigned i = 0; i < 65536; i++) {
        const struct heft_row row = {
            .name = heft_str_of(heft_arena_printf(&b.model.mem, &b.err, "t%u", i)),
            .shape = shape,
            .dtype = HEFT_F32,
            .rank = 1};

        assert_true(heft_model_add_row(&b.model, &row, &b.err));
    }
    assert_true(heft_model_validate(&b.model, &b.err));
    assert_false(heft_conversion_plan(&b.conversion, &b.model, &how, &b.err));
    assert_int_equal(b.err.code, HEFT_LIMIT);
    assert_non_null(strstr(b.err.text, "65536 files, a GGUF may have 65535"));
    close_file(&b);
}

/* ---- failures --------------------------------------------------------------------------------- */

struct attempt {
    const char *input;
    struct heft_convert_options how;
    char *output;
};

static bool attempt(void *ctx, struct heft_error *err)
{
    const struct attempt *const a = ctx;
    struct bench b = {0};
    const bool ok = open_file(&b, a->input) && convert(&b, a->output, a->how);

    *err = b.err;
    close_file(&b);
    return ok;
}

/* Pairs that are copied, converted from version 1, changed, removed, new; one file and several. */
static void lack_of_memory_at_any_moment_is_an_error(void **state)
{
    const struct heft_rule rules[] = {
        rule(HEFT_RULE_METADATA, "heft.answer", "43"),
        rule(HEFT_RULE_METADATA, "heft.new", "str[]:[\"a\",\"b\"]"),
        rule(HEFT_RULE_METADATA, "general.alignment", "8192"),
        rule(HEFT_RULE_DROP_METADATA, "heft.list", NULL),
        rule(HEFT_RULE_CAST, "a.weight", "BF16"),
    };
    const struct heft_option split[] = {{"max-shard-tensors", "2"},
                                        {"no-tensor-first-shard", NULL}};
    static const char *const inputs[] = {GOLDEN "gguf/v1-le.gguf", GOLDEN "gguf/v3-le.gguf"};
    char *const folder = heft_scratch_new();

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(inputs); i++) {
        struct attempt a = {.input = inputs[i],
                            .how = {.rules = rules,
                                    .n_rules = HEFT_COUNT(rules),
                                    .format_options = split,
                                    .n_format_options = i == 0 ? HEFT_COUNT(split) : 0,
                                    .threads = 1},
                            .output = heft_scratch_path(folder, "x.gguf")};

        fail_each_allocation(attempt, &a, 2000);
        free(a.output);
    }
    assert_int_equal(heft_scratch_count(folder), 3 + 1);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_paddings_are_zeros),
        cmocka_unit_test(unchanged_pairs_are_copied_in_runs),
        cmocka_unit_test(shards_are_counted_and_placed),
        cmocka_unit_test(an_earlier_set_is_replaced),
        cmocka_unit_test(too_many_files_are_refused),
        cmocka_unit_test(lack_of_memory_at_any_moment_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
