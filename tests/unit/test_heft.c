/* test_heft.c: functions of the public headers that the command does not use, on golden files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <heft/heft.h>
#include <heft/tokens.h>

#include "scratch.h"

static struct heft_checkpoint *open_golden(const char *name, const struct heft_open_options *how)
{
    char *path = heft_scratch_path(HEFT_TESTS "/golden", name);
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(path, how, &err);

    if (!c)
        fail_msg("%s: %s", path, err.text);
    free(path);
    return c;
}

static size_t index_of(const struct heft_checkpoint *c, const char *name)
{
    size_t index;

    assert_true(heft_tensor_find(c, name, strlen(name), &index));
    return index;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void check_block(enum heft_dtype dtype, unsigned elements, unsigned bytes)
{
    assert_int_equal(heft_dtype_block_elements(dtype), elements);
    assert_int_equal(heft_dtype_block_bytes(dtype), bytes);
}

static void names_of_dtypes_come_back(void **state)
{
    enum heft_dtype found = HEFT_BOOL;

    (void)state;
    for (int i = 0; i < HEFT_DTYPE_COUNT; i++) {
        assert_true(heft_dtype_parse(heft_dtype_name((enum heft_dtype)i), &found));
        assert_int_equal(found, i);
    }
    assert_false(heft_dtype_parse("f32", &found));
    assert_false(heft_dtype_parse("?", &found));
    assert_string_equal(heft_dtype_name(HEFT_DTYPE_COUNT), "?");
}

static void sizes_are_counted_in_blocks(void **state)
{
    uint64_t bytes = 0;

    (void)state;
    check_block(HEFT_F4, 2, 1);
    check_block(HEFT_F6_E3M2, 4, 3);
    check_block(HEFT_C128, 1, 16);
    check_block(HEFT_STRING, 0, 0);
    check_block(HEFT_DTYPE_COUNT, 0, 0);
    assert_true(heft_dtype_bytes(HEFT_F6_E2M3, 12, &bytes) && bytes == 9);
    assert_true(heft_dtype_bytes(HEFT_F64, UINT64_MAX / 8, &bytes) && bytes == UINT64_MAX - 7);
    assert_true(heft_dtype_bytes(HEFT_F4, UINT64_MAX - 1, &bytes) && bytes == UINT64_MAX / 2);
    assert_false(heft_dtype_bytes(HEFT_F64, UINT64_MAX / 8 + 1, &bytes));
    assert_false(heft_dtype_bytes(HEFT_F4, 3, &bytes));
    assert_false(heft_dtype_bytes(HEFT_F6_E2M3, 2, &bytes));
    assert_false(heft_dtype_bytes(HEFT_STRING, 0, &bytes));
    assert_false(heft_dtype_bytes(HEFT_DTYPE_COUNT, 1, &bytes));
    assert_false(heft_dtype_bytes(HEFT_F32, 1, NULL));
    assert_string_equal(heft_version(), HEFT_VERSION);
}

/* ---- what a checkpoint holds ----------------------------------------------------------------- */

static void files_and_values(void **state)
{
    struct heft_checkpoint *c = open_golden("torch/training.ckpt", NULL);
    struct heft_file file = HEFT_INIT(struct heft_file);
    const struct heft_value *value;
    uint64_t stored, used;
    struct heft_error err = {0};

    (void)state;
    assert_int_equal(heft_file_count(c), 1);
    assert_true(heft_file_at(c, 0, &file));
    assert_non_null(strstr(file.path, "training.ckpt"));
    assert_true(file.bytes > 4000);
    assert_false(heft_file_at(c, 1, &file));
    assert_string_equal(heft_format(c), "torch");
    assert_non_null(strstr(heft_format_version(c), "pickle protocol 2"));
    value = heft_value_find(c, "optimizer.param_groups.0.weight_decay");
    assert_non_null(value);
    assert_int_equal(value->kind, HEFT_VALUE_FLOAT);
    assert_true(value->as.number == 0.01);
    assert_null(heft_value_find(c, "optimizer.nothing"));
    assert_non_null(heft_values(c));
    assert_null(heft_file_info(c));
    assert_true(heft_storage_use(c, &stored, &used, &err));
    assert_true(used > 0 && used <= stored);
    heft_close(c);
}

static void metadata_of_a_model(void **state)
{
    struct heft_checkpoint *c = open_golden("saved-model/tf2", NULL);

    (void)state;
    assert_null(heft_values(c));
    assert_non_null(heft_file_info(c));
    assert_int_equal(heft_file_info(c)->kind, HEFT_VALUE_DICT);
    assert_ptr_equal(heft_value_find(c, heft_file_info(c)->first_child->key),
                     heft_file_info(c)->first_child);
    heft_close(c);
}

static void metadata_and_ties(void **state)
{
    struct heft_checkpoint *c = open_golden("safetensors/tied.safetensors", NULL);
    struct heft_metadata pair;

    (void)state;
    assert_int_equal(heft_metadata_count(c), 2);
    assert_true(heft_metadata_at(c, 0, &pair));
    assert_string_equal(pair.key, "format");
    assert_int_equal(pair.value_len, 2);
    assert_false(heft_metadata_at(c, 2, &pair));
    assert_int_equal(heft_tie_count(c), 1);
    assert_true(heft_tie_at(c, 0, &pair));
    assert_string_equal(pair.key, "lm_head.weight");
    assert_string_equal(pair.value, "embed.weight");
    assert_false(heft_tie_at(c, 1, &pair));
    assert_int_equal(index_of(c, "lm_head.weight"), index_of(c, "embed.weight"));
    heft_close(c);
}

static void unreadable_tensors_are_named(void **state)
{
    struct heft_checkpoint *c = open_golden("torch/unreadable.pt", NULL);
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    struct heft_finding damage = HEFT_INIT(struct heft_finding);
    uint64_t expected;
    bool at_least;

    (void)state;
    assert_int_equal(heft_unread_count(c), 1);
    assert_true(heft_unread_at(c, 0, &unread));
    assert_string_equal(unread.name, "meta");
    assert_non_null(strstr(unread.reason, "meta device"));
    assert_false(heft_unread_at(c, 1, &unread));
    assert_false(heft_missing_at(c, 0, &expected, &at_least)); /* the file is complete */
    assert_false(heft_damage_at(c, 0, &damage));
    heft_close(c);
}

static void shards_listed_one_by_one_equal_the_directory(void **state)
{
    const char *const paths[] = {
        HEFT_TESTS "/golden/safetensors/sharded/model-00001-of-00003.safetensors",
        HEFT_TESTS "/golden/safetensors/sharded/model-00002-of-00003.safetensors",
        HEFT_TESTS "/golden/safetensors/sharded/model-00003-of-00003.safetensors"};
    struct heft_checkpoint *folder = open_golden("safetensors/sharded", NULL), *shards;
    struct heft_error err = {0};
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    (void)state;
    shards = heft_open_many(paths, 3, NULL, &err);
    assert_non_null(shards);
    assert_int_equal(heft_file_count(shards), 3);
    assert_int_equal(heft_tensor_count(shards), heft_tensor_count(folder));
    for (size_t i = 0; heft_tensor_at(shards, i, &t); i++)
        (void)index_of(folder, t.name);
    heft_close(shards);
    heft_close(folder);
}

static void the_map_has_no_holes(void **state)
{
    struct heft_checkpoint *c = open_golden("torch/linear.pt", NULL);
    struct heft_error err = {0};
    struct heft_map *map = heft_map_new(c, &err);
    struct heft_segment s = HEFT_INIT(struct heft_segment);
    struct heft_file file = HEFT_INIT(struct heft_file);
    uint64_t at = 0;

    (void)state;
    assert_non_null(map);
    for (size_t i = 0; i < heft_map_count(map); i++) {
        assert_true(heft_map_at(map, i, &s));
        assert_int_equal(s.file, 0);
        assert_int_equal(s.offset, at);
        assert_true(s.claimed && s.what[0]);
        at += s.bytes;
    }
    assert_false(heft_map_at(map, heft_map_count(map), &s));
    assert_true(heft_file_at(c, 0, &file));
    assert_int_equal(at, file.bytes);
    heft_map_free(map);
    heft_map_free(NULL);
    heft_close(c);
}

/* The bytes of a nested stream that cannot be interpreted were claimed with a wrong length. */
static void the_map_of_a_salvaged_pickle(void **state)
{
    static const char pickle[] = "\x80\x05" /* PROTO 5 */
                                 "ctorch.storage\n_load_from_bytes\n"
                                 "\x96\x04\0\0\0\0\0\0\0" /* BYTEARRAY8, 4 bytes: */
                                 "\x80\x02N."             /* a pickle of None */
                                 "\x85R.";                /* TUPLE1, REDUCE, STOP */
    const size_t n = sizeof pickle - 1;
    const struct heft_open_options options = {.size = sizeof options, .salvage = true};
    struct heft_segment s = HEFT_INIT(struct heft_segment);
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open_memory(pickle, n, &options, &err);
    struct heft_map *map = c ? heft_map_new(c, &err) : NULL;
    uint64_t at = 0;

    (void)state;
    assert_non_null(map);
    for (size_t i = 0; heft_map_at(map, i, &s); i++) {
        assert_int_equal(s.offset, at);
        at += s.bytes;
    }
    assert_int_equal(at, n);
    heft_map_free(map);
    heft_close(c);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void a_slice_from_text(void **state)
{
    struct heft_checkpoint *c = open_golden("torch/views.pt", NULL);
    const size_t index = index_of(c, "transposed"); /* shape [6,4], as strides */
    struct heft_error err = {0};
    struct heft_range ranges[2];
    uint64_t shape[2], bytes;
    float all[24], part[3];
    unsigned rank;
    size_t n;

    (void)state;
    assert_true(heft_tensor_read(c, index, all, sizeof all, &err));
    assert_true(heft_slice_parse(c, index, "-4:-1,2", ranges, &n, &err));
    assert_int_equal(n, 2);
    assert_true(ranges[0].start == 2 && ranges[0].stop == 5 && !ranges[0].drop);
    assert_true(ranges[1].start == 2 && ranges[1].stop == 3 && ranges[1].drop);
    assert_true(heft_slice_shape(c, index, ranges, n, shape, &rank, &bytes, &err));
    assert_int_equal(rank, 1);
    assert_int_equal(shape[0], 3);
    assert_int_equal(bytes, sizeof part);
    assert_true(heft_tensor_read_slice(c, index, ranges, n, part, sizeof part, &err));
    for (size_t i = 0; i < 3; i++)
        assert_true(part[i] == all[4 * (i + 2) + 2]);
    assert_int_equal(err.code, HEFT_OK);
    assert_false(heft_tensor_read_slice(c, index, ranges, n, part, sizeof part - 1, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_slice_parse(c, index, "::2", ranges, &n, &err));
    assert_false(heft_slice_parse(c, index, "0,0,0", ranges, &n, &err));
    assert_false(heft_tensor_read(c, 1000, all, sizeof all, &err));
    heft_close(c);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void rules_select(void **state)
{
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_GLOB, "*.weight", NULL},
                                      {sizeof(struct heft_rule), HEFT_RULE_GLOB, "!norm.*", NULL}};
    struct heft_checkpoint *c = open_golden("safetensors/tied.safetensors", NULL);
    struct heft_error err = {0};
    bool selected[2];

    (void)state;
    assert_int_equal(heft_tensor_count(c), 2);
    assert_true(heft_select(c, NULL, rules, 2, selected, &err));
    assert_true(selected[index_of(c, "embed.weight")]);
    assert_false(selected[index_of(c, "norm.weight")]);
    heft_close(c);
}

static void a_plan_can_be_looked_at(void **state)
{
    const struct heft_rule cast = {sizeof(struct heft_rule), HEFT_RULE_CAST, "weight", "BF16"};
    const struct heft_convert_options how = {
        .size = sizeof how, .output = "never-written.safetensors", .rules = &cast, .n_rules = 1};
    struct heft_checkpoint *c = open_golden("torch/linear.pt", NULL);
    struct heft_error err = {0};
    struct heft_conversion *conversion = heft_convert_plan(c, &how, &err);
    struct heft_planned_tensor tensor = HEFT_INIT(struct heft_planned_tensor);
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    struct heft_unread lost = HEFT_INIT(struct heft_unread);
    struct heft_file file = HEFT_INIT(struct heft_file);
    uint64_t bytes = 0;

    (void)state;
    assert_non_null(conversion);
    heft_convert_summary(conversion, &planned);
    assert_true(planned.files == 1 && planned.tensors == 2 && !planned.is_sharded);
    assert_true(heft_convert_file(conversion, 0, &file));
    assert_string_equal(file.path, "never-written.safetensors");
    assert_int_equal(file.bytes, planned.bytes);
    assert_false(heft_convert_file(conversion, 1, &file));
    for (size_t i = 0; heft_convert_tensor(conversion, i, &tensor); i++) {
        assert_int_equal(tensor.dtype, strcmp(tensor.name, "weight") ? HEFT_F32 : HEFT_BF16);
        assert_string_equal(tensor.name, tensor.source_name);
        assert_true(tensor.offset + tensor.bytes <= planned.bytes);
        bytes += tensor.bytes;
    }
    assert_int_equal(bytes, planned.total_size);
    assert_int_equal(bytes, 12 + 12);
    assert_false(heft_convert_lost_at(conversion, 0, &lost));
    heft_convert_free(conversion);
    heft_close(c);
}

/* Asserts that a call failed with HEFT_USAGE and this text; resets err. */
static void assert_refused(bool ok, struct heft_error *err, const char *why)
{
    assert_false(ok);
    assert_int_equal(err->code, HEFT_USAGE);
    assert_non_null(strstr(err->text, why));
    *err = (struct heft_error){0};
}

static void meaningless_conversions_are_refused(void **state)
{
    struct heft_checkpoint *c = open_golden("safetensors/tied.safetensors", NULL);
    const struct heft_rule rule = {sizeof(struct heft_rule),
                                   (enum heft_rule_kind)(HEFT_RULE_SET + 1), "a", "b"};
    const struct heft_convert_options unnamed = {.size = sizeof unnamed, .to = "npz"};
    const struct heft_convert_options odd = {
        .size = sizeof odd, .output = "none.npz", .rules = &rule, .n_rules = 1};
    struct heft_error err = {0};

    (void)state;
    assert_refused(heft_convert_plan(c, NULL, &err), &err, "a name to write to");
    assert_refused(heft_convert_plan(c, &unnamed, &err), &err, "a name to write to");
    assert_refused(heft_convert_plan(c, &odd, &err), &err, "there is no rule kind 10");
    heft_close(c);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void inputs_and_outputs_of_an_encoding(void **state)
{
    const char *const inputs[] = {HEFT_TESTS "/golden/tokens/small/text.txt"};
    char *folder = heft_scratch_new(), *output = heft_scratch_path(folder, "out.bin");
    const struct heft_encode_options how = {.size = sizeof how, .output = output, .no_sync = true};
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open(HEFT_TESTS "/golden/tokens/small", &err);
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);
    struct heft_encoding *e;

    (void)state;
    assert_non_null(v);
    e = heft_encode_plan(v, inputs, 1, &how, &err);
    assert_non_null(e);
    assert_string_equal(heft_encode_input(e, 0), inputs[0]);
    assert_null(heft_encode_input(e, 1));
    assert_true(heft_encode_run(e, &err));
    heft_encode_summarize(e, &sum);
    assert_string_equal(heft_encode_output(e, 0), output);
    assert_null(heft_encode_output(e, 1));
    assert_true(sum.inputs == 1 && sum.documents == 1 && sum.tokens > 0);
    assert_true(heft_encode_tokens(e, 0) > 0 && heft_encode_tokens(e, 0) <= sum.tokens);
    assert_true(heft_scratch_has(folder, "out.bin"));
    heft_encode_free(e);
    heft_vocab_close(v);
    free(output);
    heft_scratch_free(folder);
}

static bool take_ids(void *ctx, const uint32_t *ids, size_t count)
{
    (void)ctx, (void)ids, (void)count;
    return true;
}

static bool take_text(void *ctx, const char *text, size_t n)
{
    (void)ctx, (void)text, (void)n;
    return true;
}

static bool take_word(void *ctx, const struct heft_word *word)
{
    (void)ctx, (void)word;
    return true;
}

static void a_missing_vocabulary_is_refused(void **state)
{
    const char *const paths[] = {"text"};
    struct heft_error err = {0};
    uint32_t ids[4] = {0};
    size_t n;

    (void)state;
    assert_int_equal(heft_vocab_size(NULL), 0);
    assert_int_equal(heft_vocab_end(NULL), HEFT_NO_TOKEN);
    assert_null(heft_vocab_token(NULL, 0, NULL));
    assert_null(heft_vocab_doubt(NULL));
    assert_null(heft_vocab_pattern(NULL, 0, &n));
    heft_vocab_describe(NULL, NULL);
    assert_refused(heft_encode_batch(NULL, NULL, NULL, &n, &err), &err, "an encoder");
    assert_null(heft_vocab_note(NULL, false, 0));
    assert_refused(heft_encoder_new(NULL, NULL, &err), &err, "a vocabulary");
    assert_refused(heft_decoder_new(NULL, &err), &err, "a vocabulary");
    assert_refused(heft_encode_plan(NULL, paths, 1, NULL, &err), &err, "a vocabulary");
    assert_refused(heft_decode(NULL, ids, 4, NULL, 0, &n, &err), &err, "a vocabulary");
    assert_refused(heft_decode_files(NULL, paths, 1, take_text, NULL, &err), &err, "a vocabulary");
    assert_refused(heft_decode_file(NULL, "text", take_text, NULL, &err), &err, "a vocabulary");
    assert_refused(heft_decode_files_with(NULL, paths, 1, NULL, take_text, NULL, &err), &err,
                   "a vocabulary");
    assert_refused(heft_join(NULL, 1, "all.bin", NULL, NULL, &err), &err, "a list of paths");
    assert_refused(heft_join(paths, 1, NULL, NULL, NULL, &err), &err, "an output");
    assert_null(heft_encode_format(NULL));
    assert_int_equal(heft_encode_width(NULL), 0);
    heft_sampler_close(NULL);
    assert_refused(heft_explain_text(NULL, NULL, "", 0, take_word, NULL, &err), &err,
                   "a vocabulary");
    assert_refused(heft_encode(NULL, "", 0, ids, 4, &n, &err), &err, "an encoder");
    assert_refused(heft_encoder_feed(NULL, "", 0, take_ids, NULL, &err), &err, "an encoder");
    assert_refused(heft_encoder_finish(NULL, take_ids, NULL, &err), &err, "an encoder");
    assert_refused(heft_decoder_feed(NULL, ids, 4, take_text, NULL, &err), &err, "a decoder");
    assert_refused(heft_decoder_finish(NULL, take_text, NULL, &err), &err, "a decoder");
    assert_refused(heft_encode_run(NULL, &err), &err, "an encoding");
    assert_refused(heft_sampler_next(NULL, 1, ids, NULL, &err), &err, "a sampler");
}

static void missing_arguments_are_refused(void **state)
{
    const char *const paths[] = {NULL};
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open_with(HEFT_TESTS "/golden/tokens/small", NULL, &err);
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);
    struct heft_decoder *d = heft_decoder_new(v, &err);
    uint32_t ids[4] = {0};
    size_t n;

    (void)state;
    assert_true(e && d);
    assert_refused(heft_encode(e, NULL, 1, ids, 4, &n, &err), &err, "a text");
    assert_refused(heft_encode(e, "a", 1, NULL, 4, &n, &err), &err, "a place");
    assert_refused(heft_encode(e, "a", 1, ids, 4, NULL, &err), &err, "a place");
    assert_refused(heft_encoder_feed(e, NULL, 1, take_ids, NULL, &err), &err, "a text");
    assert_refused(heft_encoder_feed(e, "a", 1, NULL, NULL, &err), &err, "a function");
    assert_refused(heft_encoder_finish(e, NULL, NULL, &err), &err, "a function");
    assert_refused(heft_explain_text(v, NULL, NULL, 1, take_word, NULL, &err), &err, "a text");
    assert_refused(heft_explain_text(v, NULL, "a", 1, NULL, NULL, &err), &err, "a function");
    assert_refused(heft_decode(v, NULL, 4, NULL, 0, &n, &err), &err, "a list of ids");
    assert_refused(heft_decode(v, ids, 4, NULL, 4, &n, &err), &err, "a place");
    assert_refused(heft_decode(v, ids, 4, NULL, 0, NULL, &err), &err, "a place");
    assert_refused(heft_decoder_feed(d, NULL, 4, take_text, NULL, &err), &err, "a list of ids");
    assert_refused(heft_decoder_feed(d, ids, 4, NULL, NULL, &err), &err, "a function");
    assert_refused(heft_decoder_finish(d, NULL, NULL, &err), &err, "a function");
    assert_refused(heft_decode_file(v, NULL, take_text, NULL, &err), &err, "a path");
    assert_refused(heft_decode_files(v, NULL, 1, take_text, NULL, &err), &err, "a list of paths");
    assert_refused(heft_decode_file(v, "text", NULL, NULL, &err), &err, "a function");
    assert_refused(heft_encode_plan(v, NULL, 1, NULL, &err), &err, "a list of paths");
    assert_refused(heft_encode_plan(v, paths, 1, NULL, &err), &err, "a path");
    assert_refused(heft_train(paths, 1, "out", NULL, NULL, &err), &err, "a path");
    assert_refused(heft_sampler_open(paths, 1, NULL, &err), &err, "a path");
    assert_true(heft_encode(e, NULL, 0, NULL, 0, &n, &err) && n == 0);
    assert_true(heft_explain_text(v, NULL, NULL, 0, take_word, NULL, &err));
    assert_true(heft_decode(v, NULL, 0, NULL, 0, &n, &err) && n == 0);
    heft_decoder_free(d);
    heft_encoder_free(e);
    heft_vocab_close(v);
}

static void invalid_options_are_refused(void **state)
{
    const char *const inputs[] = {HEFT_TESTS "/golden/tokens/small/text.txt"};
    const struct heft_encode_options eot = {.size = sizeof eot,
                                            .eot = (enum heft_eot)(HEFT_EOT_NONE + 1)};
    const struct heft_train_options style = {
        .size = sizeof style,
        .style = (enum heft_train_style)(HEFT_TRAIN_SUBWORD_NMT + 1),
        .vocab_size = 300};
    char *folder = heft_scratch_new(), *output = heft_scratch_path(folder, "learnt");
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open(HEFT_TESTS "/golden/tokens/small", &err);
    struct heft_encoding *e;

    (void)state;
    assert_refused(heft_encode_plan(v, inputs, 1, &eot, &err), &err, "unknown kind of separator 4");
    assert_refused(heft_train(inputs, 1, output, &style, NULL, &err), &err,
                   "unknown style of training 2");
    assert_refused(heft_train(inputs, 1, output, NULL, NULL, &err), &err, "a vocabulary of 0 ids");
    assert_refused(heft_train(inputs, 1, NULL, NULL, NULL, &err), &err, "a name to write to");
    assert_false(heft_scratch_has(folder, "learnt"));
    e = heft_encode_plan(v, inputs, 1, NULL, &err); /* without an output, tokens are counted */
    assert_true(e && heft_encode_run(e, &err) && heft_encode_tokens(e, 0) > 0);
    assert_null(heft_encode_output(e, 0));
    heft_encode_free(e);
    heft_vocab_close(v);
    free(output);
    heft_scratch_free(folder);
}

struct received {
    size_t bytes, most;
};

static bool receive(void *ctx, const void *bytes, size_t n)
{
    struct received *r = ctx;

    assert_non_null(bytes);
    r->bytes += n;
    return r->bytes <= r->most;
}

static void tokens_go_to_a_function(void **state)
{
    const char *const inputs[] = {HEFT_TESTS "/golden/tokens/small/text.txt"};
    struct received all = {0, SIZE_MAX}, none = {0, 0};
    struct heft_encode_options how = {
        .size = sizeof how, .output = "-", .format = "bin", .eot = HEFT_EOT_NONE};
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open(HEFT_TESTS "/golden/tokens/small", &err);
    struct heft_encoding *e;

    (void)state;
    assert_refused(heft_encode_plan(v, inputs, 1, &how, &err), &err, "tokens are written to files");
    how.written = receive;
    how.written_ctx = &all;
    e = heft_encode_plan(v, inputs, 1, &how, &err);
    assert_true(e && heft_encode_run(e, &err));
    assert_int_equal(all.bytes, 2 * heft_encode_tokens(e, 0));
    assert_true(all.bytes > 0);
    assert_null(heft_encode_output(e, 0));
    heft_encode_free(e);
    how.written_ctx = &none;
    e = heft_encode_plan(v, inputs, 1, &how, &err);
    assert_non_null(e);
    assert_false(heft_encode_run(e, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    heft_encode_free(e);
    how.format = NULL;
    assert_refused(heft_encode_plan(v, inputs, 1, &how, &err), &err,
                   "only option format bin or ids");
    heft_vocab_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_go_to_a_function),
        cmocka_unit_test(names_of_dtypes_come_back),
        cmocka_unit_test(sizes_are_counted_in_blocks),
        cmocka_unit_test(files_and_values),
        cmocka_unit_test(metadata_of_a_model),
        cmocka_unit_test(metadata_and_ties),
        cmocka_unit_test(unreadable_tensors_are_named),
        cmocka_unit_test(shards_listed_one_by_one_equal_the_directory),
        cmocka_unit_test(the_map_has_no_holes),
        cmocka_unit_test(the_map_of_a_salvaged_pickle),
        cmocka_unit_test(a_slice_from_text),
        cmocka_unit_test(rules_select),
        cmocka_unit_test(a_plan_can_be_looked_at),
        cmocka_unit_test(meaningless_conversions_are_refused),
        cmocka_unit_test(inputs_and_outputs_of_an_encoding),
        cmocka_unit_test(a_missing_vocabulary_is_refused),
        cmocka_unit_test(missing_arguments_are_refused),
        cmocka_unit_test(invalid_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
