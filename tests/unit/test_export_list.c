/* test_export_list.c: selection, renaming and casting of rows, and resolution of ties as in
 * huggingface_hub. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/export_list.h"
#include "format/formats.h"

static uint8_t data[4096];

struct bench {
    struct heft_model model;
    struct heft_arena mem;
    struct heft_export_list exports;
    struct heft_error err;
};

static void open_bench(struct bench *b)
{
    const struct heft_bytes bytes = {data, sizeof data};
    struct heft_source source = {0};
    uint32_t index;

    *b = (struct bench){0};
    heft_model_init(&b->model, NULL, &heft_formats);
    heft_source_open_memory(&source, bytes, "bench");
    assert_true(heft_model_add_file(&b->model, &source, "bench", &index, &b->err));
}

static uint32_t storage(struct bench *b, uint64_t len)
{
    const struct heft_storage s = {.len = len, .packed = len};
    uint32_t index;

    assert_true(heft_model_add_storage(&b->model, &s, &index, &b->err));
    return index;
}

static void row(struct bench *b, const char *name, uint32_t s, uint64_t from, uint64_t n,
                enum heft_dtype dtype, const uint64_t *stride)
{
    uint64_t *shape = heft_arena_alloc(&b->model.mem, sizeof *shape, &b->err);
    const struct heft_row r = {.name = heft_str_of(name),
                               .shape = shape,
                               .stride = stride,
                               .offset = from,
                               .storage = s,
                               .dtype = (uint8_t)dtype,
                               .rank = 1};

    *shape = n;
    assert_true(heft_model_add_row(&b->model, &r, &b->err));
}

static bool load(struct bench *b, const struct heft_convert_options *options)
{
    assert_true(heft_model_validate(&b->model, &b->err));
    return heft_export_load(&b->exports, &b->model, options, &b->mem, &b->err);
}

static void close_bench(struct bench *b)
{
    heft_export_release(&b->exports);
    heft_arena_release(&b->mem);
    heft_model_release(&b->model);
}

/* Compares the names of the exports with `want`: "a b c". */
static void expect_names(const struct bench *b, const char *want)
{
    char got[512] = "";

    for (size_t i = 0; i < b->exports.n_items; i++) {
        strcat(got, i ? " " : "");
        strcat(got, b->exports.items[i].name.p);
    }
    assert_string_equal(got, want);
}

/* Compares the recorded ties with `want`: "dropped:kept dropped:kept". */
static void expect_metadata(const struct bench *b, const char *want)
{
    char got[512] = "";

    for (size_t i = 0; i < b->exports.n_metadata; i++) {
        strcat(got, i ? " " : "");
        strcat(got, b->exports.metadata[i].key.p);
        strcat(got, ":");
        strcat(got, b->exports.metadata[i].value.p);
    }
    assert_string_equal(got, want);
}

static const struct heft_convert_options plain = {.size = sizeof plain, .output = "x"};

static void the_first_complete_name_is_kept(void **state)
{
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 64);
    row(&b, "z", s, 0, 64, HEFT_U8, NULL);
    row(&b, "a_part", s, 0, 8, HEFT_U8, NULL);
    row(&b, "b", s, 0, 64, HEFT_U8, NULL);
    row(&b, "own", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    assert_true(load(&b, &plain) && heft_export_untie(&b.exports, &plain, &b.err));
    expect_names(&b, "a_part b own");
    expect_metadata(&b, "z:b");
    close_bench(&b);
}

static void views_that_the_hub_refuses_keep_their_own_bytes(void **state)
{
    struct bench b;
    uint32_t halves, slice;

    (void)state;
    open_bench(&b);
    halves = storage(&b, 64);
    slice = storage(&b, 64);
    row(&b, "left", halves, 0, 32, HEFT_U8, NULL);
    row(&b, "right", halves, 32, 32, HEFT_U8, NULL);
    row(&b, "slice", slice, 8, 8, HEFT_U8, NULL);
    assert_true(load(&b, &plain) && heft_export_untie(&b.exports, &plain, &b.err));
    expect_names(&b, "left right slice");
    expect_metadata(&b, "");
    close_bench(&b);
}

static void another_view_keeps_its_own_bytes(void **state)
{
    const uint64_t two = 2, zero = 0;
    struct bench b;
    uint32_t every, one;

    (void)state;
    open_bench(&b);
    every = storage(&b, 64);
    one = storage(&b, 64);
    row(&b, "every", every, 0, 64, HEFT_U8, NULL);
    row(&b, "second", every, 0, 32, HEFT_U8, &two);
    row(&b, "whole", one, 0, 64, HEFT_U8, NULL);
    row(&b, "expanded", one, 0, 64, HEFT_U8, &zero);
    assert_true(load(&b, &plain) && heft_export_untie(&b.exports, &plain, &b.err));
    expect_names(&b, "every second whole expanded");
    expect_metadata(&b, "");
    close_bench(&b);
}

static void runs_are_cut_where_the_hub_cuts_them(void **state)
{
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 100);
    row(&b, "all", s, 0, 100, HEFT_U8, NULL);
    row(&b, "copy", s, 0, 100, HEFT_U8, NULL);
    row(&b, "low", s, 10, 10, HEFT_U8, NULL);
    row(&b, "mid", s, 30, 10, HEFT_U8, NULL); /* begins after the end of "low": a run of its own */
    assert_true(load(&b, &plain) && heft_export_untie(&b.exports, &plain, &b.err));
    expect_names(&b, "all low mid");
    expect_metadata(&b, "copy:all");
    close_bench(&b);
}

static void users_metadata_wins_over_a_tie(void **state)
{
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_METADATA, "b", "mine"},
                                      {sizeof(struct heft_rule), HEFT_RULE_METADATA, "k", "v"}};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .rules = rules, .n_rules = 2};
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 8);
    row(&b, "a", s, 0, 8, HEFT_U8, NULL);
    row(&b, "b", s, 0, 8, HEFT_U8, NULL);
    assert_true(load(&b, &options) && heft_export_untie(&b.exports, &options, &b.err));
    expect_names(&b, "a");
    expect_metadata(&b, "b:mine k:v");
    close_bench(&b);
}

static void tensors_cast_to_different_dtypes_are_not_tied(void **state)
{
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_CAST, "b", "F16"},
                                      {sizeof(struct heft_rule), HEFT_RULE_CAST, "c", "F16"}};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .rules = rules, .n_rules = 2};
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 8);
    row(&b, "a", s, 0, 2, HEFT_F32, NULL);
    row(&b, "b", s, 0, 2, HEFT_F32, NULL);
    row(&b, "c", s, 0, 2, HEFT_F32, NULL);
    row(&b, "d", s, 0, 2, HEFT_F32, NULL);
    assert_true(load(&b, &options) && heft_export_untie(&b.exports, &options, &b.err));
    expect_names(&b, "a b c");
    expect_metadata(&b, "d:a");
    close_bench(&b);
}

static void the_requested_name_is_kept(void **state)
{
    const struct heft_rule rules[] = {
        {sizeof(struct heft_rule), HEFT_RULE_KEEP_TIED, "part", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_KEEP_TIED, "*wte*", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_KEEP_TIED, "*", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_RENAME, "wte", "embed"}};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .rules = rules, .n_rules = 4};
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 8);
    row(&b, "a.head", s, 0, 8, HEFT_U8, NULL);
    row(&b, "a.wte", s, 0, 8, HEFT_U8, NULL);
    row(&b, "part", s, 0, 4, HEFT_U8, NULL);
    row(&b, "top", s, 0, 8, HEFT_U8, NULL);
    assert_true(load(&b, &options) && heft_export_untie(&b.exports, &options, &b.err));
    expect_names(&b, "a.embed part");
    expect_metadata(&b, "a.head:a.embed top:a.embed heft.ties:a.head\ntop");
    close_bench(&b);
}

static void metadata_that_would_be_read_as_ties_is_listed(void **state)
{
    const struct heft_rule keep[] = {{sizeof(struct heft_rule), HEFT_RULE_KEEP_TIED, "b", NULL}};
    const struct heft_rule note[] = {{sizeof(struct heft_rule), HEFT_RULE_METADATA, "key", "a"}};
    const struct heft_convert_options keeping = {
        .size = sizeof keeping, .output = "x", .rules = keep, .n_rules = 1};
    const struct heft_convert_options noting = {
        .size = sizeof noting, .output = "x", .rules = note, .n_rules = 1};
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 8);
    row(&b, "a", s, 0, 8, HEFT_U8, NULL);
    row(&b, "b", s, 0, 8, HEFT_U8, NULL);
    row(&b, "c", s, 0, 8, HEFT_U8, NULL);
    assert_true(load(&b, &keeping) && heft_export_untie(&b.exports, &keeping, &b.err));
    expect_metadata(&b, "a:b c:b heft.ties:a\nc");
    close_bench(&b);
    open_bench(&b);
    row(&b, "a", storage(&b, 8), 0, 8, HEFT_U8, NULL);
    assert_true(load(&b, &noting) && heft_export_untie(&b.exports, &noting, &b.err));
    expect_metadata(&b, "key:a heft.ties:");
    close_bench(&b);
}

static void select_root_and_rename(void **state)
{
    const struct heft_rule rules[] = {
        {sizeof(struct heft_rule), HEFT_RULE_GLOB, "model.*", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_GLOB, "!*.bias", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^model\\.([a-z]+)\\.", "\\1/"}};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .root = "state", .rules = rules, .n_rules = 3};
    struct bench b;

    (void)state;
    open_bench(&b);
    row(&b, "state.model.fc.weight", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    row(&b, "state.model.fc.bias", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    row(&b, "state.head", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    row(&b, "model.out", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    assert_true(load(&b, &options));
    expect_names(&b, "fc/weight");
    close_bench(&b);
}

static void renames_that_collide_are_refused(void **state)
{
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_RENAME, "[0-9]", ""}};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .rules = rules, .n_rules = 1};
    struct bench b;

    (void)state;
    open_bench(&b);
    row(&b, "w1", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    row(&b, "w2", storage(&b, 4), 0, 4, HEFT_U8, NULL);
    assert_false(load(&b, &options));
    assert_int_equal(b.err.code, HEFT_USAGE);
    assert_string_equal(b.err.text, "w1 and w2 would both be called w");
    close_bench(&b);
}

static void a_wildcard_casts_floats_and_a_name_casts_all(void **state)
{
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_CAST, "*", "BF16"},
                                      {sizeof(struct heft_rule), HEFT_RULE_CAST, "n", "F32"},
                                      {sizeof(struct heft_rule), HEFT_RULE_CAST, "keep", "F64"}};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .rules = rules, .n_rules = 3};
    struct bench b;

    (void)state;
    open_bench(&b);
    row(&b, "w", storage(&b, 16), 0, 4, HEFT_F32, NULL);
    row(&b, "n", storage(&b, 32), 0, 4, HEFT_I64, NULL);
    row(&b, "count", storage(&b, 32), 0, 4, HEFT_I64, NULL);
    row(&b, "keep", storage(&b, 16), 0, 4, HEFT_F32, NULL);
    assert_true(load(&b, &options));
    assert_int_equal(b.exports.items[0].as, HEFT_BF16);
    assert_int_equal(b.exports.items[0].bytes, 8);
    assert_int_equal(b.exports.items[1].as, HEFT_F32);
    assert_int_equal(b.exports.items[2].as, HEFT_I64);
    assert_int_equal(b.exports.items[3].as, HEFT_F64);
    close_bench(&b);
}

static void empty_storages_stay_together(void **state)
{
    struct bench b;
    struct heft_export_list part;

    (void)state;
    open_bench(&b);
    row(&b, "e1", storage(&b, 0), 0, 0, HEFT_F32, NULL);
    row(&b, "a", storage(&b, 8), 0, 8, HEFT_U8, NULL);
    row(&b, "b", storage(&b, 8), 0, 8, HEFT_U8, NULL);
    row(&b, "e2", storage(&b, 0), 0, 0, HEFT_F32, NULL);
    assert_true(load(&b, &plain) && heft_export_untie(&b.exports, &plain, &b.err));
    assert_true(heft_export_split(&b.exports, 8, &b.err));
    expect_names(&b, "e1 a e2 b");
    assert_int_equal(b.exports.n_shards, 2);
    part = heft_export_shard(&b.exports, 1);
    assert_int_equal(part.n_items, 1);
    close_bench(&b);
}

static void a_conjugated_name_keeps_its_own_bytes(void **state)
{
    struct bench b;
    uint32_t s;

    (void)state;
    open_bench(&b);
    s = storage(&b, 16);
    row(&b, "conj", s, 0, 2, HEFT_C64, NULL);
    b.model.rows[0].flags = HEFT_ROW_CONJ;
    row(&b, "plain", s, 0, 2, HEFT_C64, NULL);
    row(&b, "tied", s, 0, 2, HEFT_C64, NULL);
    b.model.rows[2].flags = HEFT_ROW_CONJ;
    assert_true(load(&b, &plain) && heft_export_untie(&b.exports, &plain, &b.err));
    expect_names(&b, "conj plain");
    expect_metadata(&b, "tied:conj");
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_complete_name_is_kept),
        cmocka_unit_test(views_that_the_hub_refuses_keep_their_own_bytes),
        cmocka_unit_test(another_view_keeps_its_own_bytes),
        cmocka_unit_test(runs_are_cut_where_the_hub_cuts_them),
        cmocka_unit_test(users_metadata_wins_over_a_tie),
        cmocka_unit_test(tensors_cast_to_different_dtypes_are_not_tied),
        cmocka_unit_test(the_requested_name_is_kept),
        cmocka_unit_test(metadata_that_would_be_read_as_ties_is_listed),
        cmocka_unit_test(select_root_and_rename),
        cmocka_unit_test(renames_that_collide_are_refused),
        cmocka_unit_test(a_wildcard_casts_floats_and_a_name_casts_all),
        cmocka_unit_test(empty_storages_stay_together),
        cmocka_unit_test(a_conjugated_name_keeps_its_own_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
