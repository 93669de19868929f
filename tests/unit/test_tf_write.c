/* test_tf_write.c: bundles planned from rows in memory: hostile object graphs and failed
 * allocations. tests/interop compares the bytes with TensorFlow's. */
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
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

#define GRAPH     "_CHECKPOINTABLE_OBJECT_GRAPH"
#define ATTRIBUTE "/.ATTRIBUTES/VARIABLE_VALUE"

struct bench {
    struct heft_model model;
    struct heft_arena mem;
    struct heft_error err;
};

static bool is_fine(const struct heft_model *model, const struct heft_storage *storage,
                    struct heft_error *err)
{
    (void)model, (void)storage, (void)err;
    return true;
}

/* Adds a row on memory of its own. */
static void add(struct bench *b, struct heft_str name, enum heft_dtype dtype, unsigned rank,
                uint64_t extent, struct heft_str bytes)
{
    static const struct heft_storage_more string = {.check = is_fine, .count = 1};
    struct heft_storage s = {.packed = bytes.n, .len = bytes.n};
    uint64_t *shape = heft_arena_u64(&b->model.mem, 1, &b->err);
    struct heft_row row = {.name = name, .rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    const struct heft_bytes memory = {(const uint8_t *)bytes.p, bytes.n};
    struct heft_source source;

    heft_source_open_memory(&source, memory, "memory");
    assert_true(heft_model_add_file(&b->model, &source, "memory", &s.source, &b->err));
    if (dtype == HEFT_STRING) {
        s.sum = HEFT_SUM_OWN;
        s.more = &string;
    }
    *shape = extent;
    row.shape = shape;
    assert_true(heft_model_add_storage(&b->model, &s, &row.storage, &b->err));
    assert_true(heft_model_add_row(&b->model, &row, &b->err));
}

static void put_attribute(struct heft_buf *graph, const char *name, struct heft_str key)
{
    const size_t node = heft_proto_put_begin(graph, 1);
    size_t attribute;

    heft_proto_put_bytes(graph, 7, HEFT_STR("not known"));
    attribute = heft_proto_put_begin(graph, 2);
    heft_proto_put_bytes(graph, 1, HEFT_STR("VARIABLE_VALUE"));
    heft_proto_put_bytes(graph, 2, heft_str_of(name));
    heft_proto_put_bytes(graph, 3, key);
    heft_proto_put_end(graph, attribute);
    heft_proto_put_end(graph, node);
}

static int open_bench(void **state)
{
    static const float numbers[] = {1, 2, 3, 4};
    const struct heft_str bytes = {(const char *)numbers, sizeof numbers};
    struct bench *b = calloc(1, sizeof *b);

    heft_model_init(&b->model, NULL, &heft_formats);
    add(b, HEFT_STR("dense/kernel"), HEFT_F32, 1, 4, bytes);
    add(b, HEFT_STR("dense/bias" ATTRIBUTE), HEFT_F32, 1, 4, bytes);
    add(b, HEFT_STR("dense/bias/.OPTIMIZER_SLOT/opt/m" ATTRIBUTE), HEFT_F32, 1, 4, bytes);
    *state = b;
    return 0;
}

static int close_bench(void **state)
{
    struct bench *b = *state;

    heft_model_release(&b->model);
    heft_arena_release(&b->mem);
    free(b);
    return 0;
}

static void add_graph(struct bench *b, struct heft_str graph)
{
    struct heft_str stored;
    uint32_t crc;

    assert_true(heft_tf_put_string(graph, &b->mem, &stored, &crc, &b->err));
    add(b, HEFT_STR(GRAPH), HEFT_STRING, 0, 0, stored);
}

static bool plan(struct bench *b, const struct heft_convert_options *options,
                 struct heft_conversion *c)
{
    b->err = (struct heft_error){0};
    return heft_conversion_plan(c, &b->model, options, &b->err);
}

/* Concatenates the literal bytes of the first file. */
static struct heft_str literals(struct bench *b, const struct heft_conversion *c)
{
    struct heft_buf buf = {0};
    struct heft_str out;

    for (size_t i = 0; i < c->plan.files[0].ops; i++)
        if (c->plan.ops[i].kind == HEFT_OP_PUT)
            heft_buf_put(&buf, c->plan.ops[i].u.bytes, (size_t)c->plan.ops[i].len);
    assert_true(heft_buf_take(&buf, &b->mem, &out, &b->err));
    return out;
}

static bool holds(struct heft_str text, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, word, n) == 0)
            return true;
    return false;
}

static void renaming_changes_the_graph(void **state)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^dense/bias",
                                   "dense/long_name_instead"};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .to = "tf", .rules = &rule, .n_rules = 1};
    struct bench *b = *state;
    struct heft_conversion c;
    struct heft_buf graph = {0};
    struct heft_str text;

    put_attribute(&graph, "bias", HEFT_STR("dense/bias" ATTRIBUTE));
    put_attribute(&graph, "other", HEFT_STR("elsewhere" ATTRIBUTE));
    add_graph(b, (struct heft_str){graph.p, graph.n});
    assert_true(heft_model_validate(&b->model, &b->err));
    assert_true(plan(b, &options, &c));
    text = literals(b, &c);
    assert_true(holds(text, "dense/long_name_instead" ATTRIBUTE));
    assert_false(holds(text, "dense/bias" ATTRIBUTE));
    assert_true(holds(text, "elsewhere" ATTRIBUTE));
    assert_true(holds(text, "not known"));
    heft_conversion_release(&c);
    heft_buf_release(&graph);
}

static void a_broken_graph_is_refused(void **state)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^dense/bias", "x"};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .to = "tf", .rules = &rule, .n_rules = 1};
    struct bench *b = *state;
    struct heft_conversion c;

    add_graph(b, HEFT_STR("\x0a\x05\x12\x03\x1a\x7f"));
    assert_true(heft_model_validate(&b->model, &b->err));
    assert_false(plan(b, &options, &c));
    assert_int_equal(b->err.code, HEFT_MALFORMED);
    assert_non_null(strstr(b->err.text, GRAPH));
    heft_conversion_release(&c);
}

/* The length of the string exceeds its bytes. */
static void a_truncated_string_is_refused(void **state)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^dense/bias", "x"};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .to = "tf", .rules = &rule, .n_rules = 1};
    struct bench *b = *state;
    struct heft_conversion c;

    add(b, HEFT_STR(GRAPH), HEFT_STRING, 0, 0,
        HEFT_STR("\x30"
                 "1234"
                 "\x0a"));
    assert_true(heft_model_validate(&b->model, &b->err));
    assert_false(plan(b, &options, &c));
    assert_int_equal(b->err.code, HEFT_MALFORMED);
    heft_conversion_release(&c);
}

static void objects_have_slots(void **state)
{
    const struct heft_option names = {"names", "objects"};
    const struct heft_convert_options options = {.size = sizeof options,
                                                 .output = "x",
                                                 .to = "tf",
                                                 .format_options = &names,
                                                 .n_format_options = 1};
    struct bench *b = *state;
    struct heft_conversion c;
    struct heft_str text;

    assert_true(heft_model_validate(&b->model, &b->err));
    assert_true(plan(b, &options, &c));
    text = literals(b, &c);
    assert_true(holds(text, "dense/kernel" ATTRIBUTE));
    /* root: dense, opt, save_counter; dense: kernel, bias; opt: slot variable "m" of node 5 is node
     * 6 */
    assert_true(holds(text, "\x1a\x07\x08\x05\x12\x01m\x18\x06"));
    heft_conversion_release(&c);
}

static void plan_without_memory(void **state, const struct heft_convert_options *options)
{
    struct bench *b = *state;

    assert_true(heft_model_validate(&b->model, &b->err));
    for (struct failures fail = {.most = 2000}; !fail.done;) {
        struct heft_conversion c;

        FAIL_ALLOCATION(&fail, plan(b, options, &c), &b->err);
        heft_conversion_release(&c);
    }
}

static void objects_without_memory(void **state)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_PARTITION, "*", "0:3"};
    const struct heft_option given[] = {{"names", "objects"}, {"shards", "2"}};
    const struct heft_convert_options options = {.size = sizeof options,
                                                 .output = "x",
                                                 .to = "tf",
                                                 .format_options = given,
                                                 .n_format_options = 2,
                                                 .rules = &rule,
                                                 .n_rules = 1};

    plan_without_memory(state, &options);
}

static void renaming_without_memory(void **state)
{
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^dense/bias", "x"};
    const struct heft_convert_options options = {
        .size = sizeof options, .output = "x", .to = "tf", .rules = &rule, .n_rules = 1};
    struct heft_buf graph = {0};

    put_attribute(&graph, "bias", HEFT_STR("dense/bias" ATTRIBUTE));
    add_graph(*state, (struct heft_str){graph.p, graph.n});
    plan_without_memory(state, &options);
    heft_buf_release(&graph);
}

static void names_of_a_graph(void **state)
{
    struct bench *b = *state;
    struct heft_buf graph = {0};
    struct heft_tf_names names;

    put_attribute(&graph, "layer/bias", HEFT_STR("dense/bias" ATTRIBUTE));
    put_attribute(&graph, "twice", HEFT_STR("dense/bias" ATTRIBUTE));
    put_attribute(&graph, "twice", HEFT_STR("dense/kernel"));
    add_graph(b, (struct heft_str){graph.p, graph.n});
    assert_true(heft_model_validate(&b->model, &b->err));
    assert_true(heft_tf_names_load(&names, &b->model, &b->err));
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("dense/bias" ATTRIBUTE)), 1);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("layer/bias")), 1);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("layer/bias:0")), 1);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("dense/bias")), 1);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("dense.bias")), 1);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("dense/kernel:0")), 0);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("twice")), HEFT_NONE);
    assert_int_equal(heft_tf_names_find(&names, HEFT_STR("bias")), HEFT_NONE);
    heft_tf_names_release(&names);
    heft_buf_release(&graph);
}

/* ---- strings of the other byte order ------------------------------------------------------ */

/* Three strings as a big-endian bundle stores them: "", 300 bytes, "heft". */
static struct heft_str put_big(struct bench *b, uint32_t *crc)
{
    static const uint8_t lengths[3][4] = {{0}, {0, 0, 1, 300 - 256}, {0, 0, 0, 4}};
    struct heft_buf buf = {0};
    struct heft_str out;
    uint8_t word[4];
    size_t text;

    heft_buf_str(&buf, HEFT_STR("\0\xac\x02\x04"));
    *crc = heft_crc32c(0, lengths, sizeof lengths);
    heft_put_le32(word, heft_crc_mask(*crc));
    for (unsigned i = 4; i-- > 0;)
        heft_buf_char(&buf, (char)word[i]);
    text = buf.n;
    for (unsigned i = 0; i < 300; i++)
        heft_buf_char(&buf, (char)i);
    heft_buf_str(&buf, HEFT_STR("heft"));
    *crc = heft_crc32c(*crc, buf.p + text - 4, buf.n - text + 4);
    assert_true(heft_buf_take(&buf, &b->mem, &out, &b->err));
    return out;
}

/* Adds a row of three strings with these bytes, whose storage is checked as big-endian. */
static struct heft_storage *add_big(struct bench *b, struct heft_str bytes, uint32_t crc)
{
    static const struct heft_storage_more big = {.check = heft_tf_check_strings_big, .count = 3};
    struct heft_storage *s;

    b->err = (struct heft_error){0};
    add(b, HEFT_STR("words"), HEFT_STRING, 1, 3, bytes);
    s = &b->model.storages[b->model.n_storages - 1];
    s->more = &big;
    s->crc = crc;
    return s;
}

/* Bytes of the storage after the conversion to little-endian. */
static struct heft_str swap(struct bench *b, struct heft_str bytes,
                            const struct heft_tf_swapped *swapped)
{
    char *all = heft_arena_text(&b->mem, bytes, &b->err);

    memcpy(all + swapped->lengths, swapped->word, sizeof swapped->word);
    return (struct heft_str){all, bytes.n};
}

static void big_endian_strings_are_swapped(void **state)
{
    struct bench *b = *state;
    struct heft_tf_swapped swapped;
    struct heft_storage *s;
    uint32_t crc;
    const struct heft_str bytes = put_big(b, &crc);

    s = add_big(b, bytes, crc);
    assert_true(heft_tf_check_strings_big(&b->model, s, &b->err));
    assert_true(heft_tf_swap_strings(&b->model, s, &swapped, &b->err));
    assert_int_equal(swapped.lengths, 4);
    s = add_big(b, swap(b, bytes, &swapped), swapped.crc);
    assert_true(heft_tf_check_strings(&b->model, s, &b->err));
    assert_false(heft_tf_check_strings_big(&b->model, s, &b->err));
}

/* For any damaged byte, or a wrong checksum: the swapped storage fails its check too, or swapping
 * is refused. */
static void damaged_strings_stay_damaged_after_swapping(void **state)
{
    struct bench *b = *state;
    struct heft_tf_swapped swapped;
    uint32_t crc;
    const struct heft_str bytes = put_big(b, &crc);
    struct heft_storage *s = add_big(b, bytes, crc ^ 4);

    assert_true(heft_tf_swap_strings(&b->model, s, &swapped, &b->err));
    s = add_big(b, swap(b, bytes, &swapped), swapped.crc);
    assert_false(heft_tf_check_strings(&b->model, s, &b->err));
    for (size_t i = 0; i < bytes.n; i++) {
        char *bad = heft_arena_text(&b->mem, bytes, &b->err);

        bad[i] ^= 0x10;
        s = add_big(b, (struct heft_str){bad, bytes.n}, crc);
        if (!heft_tf_swap_strings(&b->model, s, &swapped, &b->err)) {
            assert_int_equal(b->err.code, HEFT_MALFORMED);
            continue;
        }
        s = add_big(b, swap(b, (struct heft_str){bad, bytes.n}, &swapped), swapped.crc);
        if (heft_tf_check_strings(&b->model, s, &b->err))
            fail_msg("byte %zu is wrong, but the checksum matches", i);
    }
}

static void big_endian_strings_without_memory(void **state)
{
    const struct heft_convert_options options = {.size = sizeof options, .output = "x", .to = "tf"};
    struct bench *b = *state;
    uint32_t crc;
    const struct heft_str bytes = put_big(b, &crc);

    add_big(b, bytes, crc);
    plan_without_memory(state, &options);
}

static void truncated_big_endian_strings_are_refused(void **state)
{
    struct bench *b = *state;
    struct heft_tf_swapped swapped;
    uint32_t crc;
    const struct heft_str bytes = put_big(b, &crc);

    for (size_t n = 0; n < bytes.n; n++) {
        const struct heft_storage *s = add_big(b, (struct heft_str){bytes.p, n}, crc);

        assert_false(heft_tf_swap_strings(&b->model, s, &swapped, &b->err));
        assert_int_equal(b->err.code, HEFT_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(renaming_changes_the_graph, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_broken_graph_is_refused, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_truncated_string_is_refused, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(objects_have_slots, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(objects_without_memory, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(renaming_without_memory, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(names_of_a_graph, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(big_endian_strings_are_swapped, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(damaged_strings_stay_damaged_after_swapping, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(truncated_big_endian_strings_are_refused, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(big_endian_strings_without_memory, open_bench, close_bench),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
