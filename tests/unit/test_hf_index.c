/* test_hf_index.c: indexes of sharded checkpoints, read from a directory made for each test, and
 * written. The samples of tests/reject/index cover malformed ones. */
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
#include "base/endian.h"
#include "core/plan.h"
#include "format/formats.h"
#include "core/registry.h"

extern const struct heft_format heft_format_hf_index;

#define U8_1(begin, end) "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[" #begin "," #end "]}"

struct folder {
    char path[64];
    char name[128]; /* file requested last */
    struct heft_model model;
    struct heft_error err;
};

static const char *in_folder(struct folder *f, const char *name)
{
    snprintf(f->name, sizeof f->name, "%s/%s", f->path, name);
    return f->name;
}

static void put_file(struct folder *f, const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(in_folder(f, name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void put_shard(struct folder *f, const char *name, const char *header, size_t data)
{
    uint8_t bytes[1024] = {0};
    const size_t n = strlen(header);

    assert_true(8 + n + data <= sizeof bytes);
    heft_put_le64(bytes, n);
    memcpy(bytes + 8, header, n);
    put_file(f, name, bytes, 8 + n + data);
}

/* Creates two shards: s1 with a and b, s2 with c. */
static void make_folder(struct folder *f)
{
    *f = (struct folder){.path = "/tmp/heft-test-index-XXXXXX"};
    assert_non_null(mkdtemp(f->path));
    put_shard(f, "s1",
              "{\"__metadata__\":{\"format\":\"pt\"},\"a\":" U8_1(0, 1) ",\"b\":" U8_1(1, 2) "}",
              2);
    put_shard(f, "s2", "{\"__metadata__\":{\"format\":\"pt\"},\"c\":" U8_1(0, 1) "}", 1);
}

static void clear_folder(struct folder *f)
{
    heft_model_release(&f->model);
    (void)remove(in_folder(f, "s1"));
    (void)remove(in_folder(f, "s2"));
    (void)remove(in_folder(f, "index"));
    assert_int_equal(rmdir(f->path), 0);
}

static bool open_index(struct folder *f, const char *text)
{
    const char *paths[1];

    put_file(f, "index", text, strlen(text));
    heft_model_release(&f->model);
    heft_model_init(&f->model, NULL, &heft_formats);
    f->err = (struct heft_error){0};
    paths[0] = in_folder(f, "index");
    return heft_registry_open(&f->model, paths, 1, NULL, &f->err) &&
           heft_model_validate(&f->model, &f->err);
}

static void expect_open(struct folder *f, const char *text)
{
    if (!open_index(f, text))
        fail_msg("%s\n%s", text, f->err.text);
}

static void expect_refused(const char *text, enum heft_code code, uint64_t offset, const char *says)
{
    struct folder f;

    make_folder(&f);
    assert_false(open_index(&f, text));
    if (f.err.code != code || f.err.offset != offset || !strstr(f.err.text, says))
        fail_msg("%s\n%s at %u expected, found code %d at %u: %s", text, says, (unsigned)offset,
                 (int)f.err.code, (unsigned)f.err.offset, f.err.text);
    clear_folder(&f);
}

static void expect_note(const char *text, enum heft_severity severity, const char *says)
{
    struct folder f;

    make_folder(&f);
    expect_open(&f, text);
    assert_int_equal(f.model.n_notes, 1);
    assert_int_equal(f.model.notes[0].severity, severity);
    if (!strstr(f.model.notes[0].text, says))
        fail_msg("%s\n%s expected, found %s", text, says, f.model.notes[0].text);
    clear_folder(&f);
}

static void shards_come_in_order_of_their_names(void **state)
{
    struct folder f;

    (void)state;
    make_folder(&f);
    expect_open(&f, "{\"metadata\":{\"total_size\":3},"
                    "\"weight_map\":{\"c\":\"s2\",\"b\":\"s1\",\"a\":\"s1\"},\"more\":[1,{}]}");
    assert_int_equal(f.model.n_rows, 3);
    assert_string_equal(f.model.rows[0].name.p, "a");
    assert_string_equal(f.model.rows[2].name.p, "c");
    assert_int_equal(f.model.n_notes, 0);
    assert_int_equal(f.model.n_sources, 3);
    assert_string_equal(f.model.format, "safetensors");
    clear_folder(&f);
}

static void metadata_is_kept_as_text(void **state)
{
    static const char *const pairs[][2] = {
        {"total_size", "3"}, {"s", "\n"},           {"f", "1.50"},
        {"n", "null"},       {"o", "{\"x\": [1]}"}, {"format", "pt"},
    };
    struct folder f;

    (void)state;
    make_folder(&f);
    expect_open(&f, "{\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"},"
                    "\"metadata\":{\"total_size\":3,\"s\":\"\\n\",\"f\":1.50,\"n\":null,"
                    "\"o\":{\"x\": [1]}}}");
    assert_int_equal(f.model.n_metadata, HEFT_COUNT(pairs));
    for (size_t i = 0; i < HEFT_COUNT(pairs); i++) {
        assert_string_equal(f.model.metadata[i].key.p, pairs[i][0]);
        assert_string_equal(f.model.metadata[i].value.p, pairs[i][1]);
    }
    clear_folder(&f);
}

static void ties_of_the_index_are_read(void **state)
{
    struct folder f;

    (void)state;
    make_folder(&f);
    expect_open(&f, "{\"metadata\":{\"total_size\":3,\"d\":\"c\"},"
                    "\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"}}");
    assert_int_equal(f.model.n_ties, 1);
    assert_int_equal(heft_model_find(&f.model, HEFT_STR("d")), 2);
    clear_folder(&f);
}

static void disagreements_are_findings(void **state)
{
    (void)state;
    expect_note("{\"weight_map\":{\"a\":\"s1\",\"c\":\"s2\"}}", HEFT_FINDING,
                "tensor b: not in the index, but in s1");
    expect_note("{\"weight_map\":{\"a\":\"s1\",\"b\":\"s2\",\"c\":\"s2\"}}", HEFT_FINDING,
                "tensor b: not where the index says, but in s1");
    expect_note("{\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\",\"d\":\"s2\"}}",
                HEFT_FINDING, "tensor d: the index has it in s2");
}

static void a_wrong_total_is_a_note(void **state)
{
    (void)state;
    expect_note("{\"metadata\":{\"total_size\":4},"
                "\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"}}",
                HEFT_NOTE, "total_size is 4, the tensors have 3 bytes");
    expect_note("{\"metadata\":{\"total_size\":3.0},"
                "\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"}}",
                HEFT_NOTE, "total_size is 3.0");
}

static void bad_indexes_are_refused(void **state)
{
    (void)state;
    expect_refused("{\"metadata\":{},\"weight_map\":{\"a\":1}}", HEFT_MALFORMED, 33,
                   "tensor a: its file in weight_map is a number, must be a string");
    expect_refused("{\"metadata\":{},\"weight_map\":[]}", HEFT_MALFORMED, 28, "an array");
    expect_refused("{\"metadata\":[],\"weight_map\":{}}", HEFT_MALFORMED, 12, "an array");
    expect_refused("{\"weight_map\":{},\"weight_map\":{}}", HEFT_MALFORMED, 17, "occurs twice");
    expect_refused("{\"weight_map\":{\"a\":\"s1\",\"a\":\"s2\"}}", HEFT_MALFORMED, 24,
                   "tensor a: is in weight_map twice, first at offset 0xf");
    expect_refused("{\"weight_map\":{\"a\":\"s1\"}", HEFT_MALFORMED, 24, "ends where");
    expect_refused("{\"weight_map\":{\"a\":\"s1\"}}x", HEFT_MALFORMED, 25, "found 'x'");
    expect_refused("{\"weight_map\":{\"\xff\":\"s1\"}}", HEFT_MALFORMED, 16, "not UTF-8");
    expect_refused("{\"weight_map\":{\"a\":\"../s1\"}}", HEFT_UNSAFE, HEFT_NO_OFFSET, "../s1");
    expect_refused("{\"weight_map\":{\"a\":\"s3\"}}", HEFT_IO, HEFT_NO_OFFSET, "");
    /* The index names itself as a shard. */
    expect_refused("{\"weight_map\":{\"a\":\"index\"}}", HEFT_UNSAFE, 0, "found an index");
}

static void a_missing_shard_is_named(void **state)
{
    struct folder f;

    (void)state;
    make_folder(&f);
    assert_false(open_index(&f, "{\"weight_map\":{\"a\":\"s3\"}}"));
    assert_string_equal(f.err.file, in_folder(&f, "s3"));
    clear_folder(&f);
}

static void lack_of_memory_at_any_moment_is_an_error(void **state)
{
    struct folder f;

    (void)state;
    make_folder(&f);
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        FAIL_ALLOCATION(&fail,
                        open_index(&f, "{\"metadata\":{\"total_size\":3,\"\\u0064\":\"c\"},"
                                       "\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"}}"),
                        &f.err);
    }
    clear_folder(&f);
}

static void content_is_recognised(void **state)
{
    static const struct {
        const char *head;
        uint64_t size; /* size of the file; 0: that of the head */
        int least, most;
    } cases[] = {
        {"{\"weight_map\":{", 0, 90, 100},
        {" {\"x\":[1],\n\"metadata\":{\"a\":\"b\"},\"weight_map\":{}}", 0, 90, 100},
        {"{\"metadata\":{\"a\":\"bcde", 100000, 1, 50},
        {"{\"metadata\":{\"a\":\"b\"}}", 0, 0, 0},
        {"{\"x\":{\"weight_map\":{}}}", 0, 0, 0},
        {"[\"weight_map\"]", 0, 0, 0},
        {"", 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        const struct heft_bytes head = {(const uint8_t *)cases[i].head, strlen(cases[i].head)};
        const struct heft_probe probe = {head, head, cases[i].size ? cases[i].size : head.n, "x"};

        assert_in_range(heft_format_hf_index.probe(&probe), cases[i].least, cases[i].most);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

static void expect_written(struct heft_pair *metadata, size_t n_metadata, const char *text)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_plan plan = {.mem = &mem};
    struct heft_export_item items[] = {
        {.name = HEFT_STR("b"), .shard = 0},
        {.name = HEFT_STR("\xc3\xa9\x7f\"\xf0\x9f\x98\x80"), .shard = 1}};
    const struct heft_export_list exports = {.mem = &mem,
                                             .items = items,
                                             .n_items = HEFT_COUNT(items),
                                             .metadata = metadata,
                                             .n_metadata = n_metadata,
                                             .n_shards = 2,
                                             .total_size = 40};
    uint32_t file;

    assert_true(heft_plan_file_begin(&plan, "out/m-00001-of-00002.bin", &file, &err));
    assert_true(heft_plan_file_begin(&plan, "m-00002-of-00002.bin", &file, &err));
    assert_true(heft_plan_file_begin(&plan, "out/m.bin.index.json", &file, &err));
    assert_true(heft_format_hf_index.plan_index(&plan, file, &exports, &err));
    assert_int_equal(plan.n_ops, 1);
    assert_int_equal(plan.ops[0].len, strlen(text));
    assert_memory_equal(plan.ops[0].u.bytes, text, strlen(text));
    heft_plan_release(&plan);
    heft_arena_release(&mem);
}

static void the_written_index_equals_that_of_json_dump(void **state)
{
    struct heft_pair pairs[] = {{HEFT_STR("k"), HEFT_STR("\xe2\x98\x83\n"), 0, false},
                                {HEFT_STR("total_size"), HEFT_STR("7"), 0, false}};

    (void)state;
    expect_written(NULL, 0,
                   "{\n  \"metadata\": {\n    \"total_size\": 40\n  },\n  \"weight_map\": {\n"
                   "    \"b\": \"m-00001-of-00002.bin\",\n"
                   "    \"\\u00e9\\u007f\\\"\\ud83d\\ude00\": \"m-00002-of-00002.bin\"\n  }\n}");
    expect_written(pairs, 2,
                   "{\n  \"metadata\": {\n    \"total_size\": \"7\",\n    \"k\": \"\\u2603\\n\"\n"
                   "  },\n  \"weight_map\": {\n    \"b\": \"m-00001-of-00002.bin\",\n"
                   "    \"\\u00e9\\u007f\\\"\\ud83d\\ude00\": \"m-00002-of-00002.bin\"\n  }\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_come_in_order_of_their_names),
        cmocka_unit_test(metadata_is_kept_as_text),
        cmocka_unit_test(ties_of_the_index_are_read),
        cmocka_unit_test(disagreements_are_findings),
        cmocka_unit_test(a_wrong_total_is_a_note),
        cmocka_unit_test(bad_indexes_are_refused),
        cmocka_unit_test(a_missing_shard_is_named),
        cmocka_unit_test(lack_of_memory_at_any_moment_is_an_error),
        cmocka_unit_test(content_is_recognised),
        cmocka_unit_test(the_written_index_equals_that_of_json_dump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
