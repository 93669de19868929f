/* test_heft_null.c: NULL for each argument of each function of heft.h returns an error and never
 * crashes; callbacks that return false. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "heft/confine.h"
#include "heft/heft.h"
#include "heft/job.h"
#include "heft/split.h"
#include "heft/tokens.h"
#include "skip_because.h"

#define GOLDEN HEFT_TESTS "/golden/"

static struct heft_error err;

/* The call must fail with HEFT_USAGE. */
#define REFUSES(call)                                                                              \
    do {                                                                                           \
        err = (struct heft_error){0};                                                              \
        assert_false(call);                                                                        \
        assert_int_equal(err.code, HEFT_USAGE);                                                    \
        assert_true(err.text[0]);                                                                  \
    } while (0)

static bool each_piece(void *ctx, const void *piece, size_t n)
{
    (void)ctx, (void)piece, (void)n;
    return false;
}

static bool each_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    (void)ctx;
    (void)stats;
    return false;
}

static bool each_string(void *ctx, const char *text, size_t n)
{
    (void)ctx, (void)text, (void)n;
    return false;
}

static void each_scan(void *ctx, const struct heft_scan_item *item)
{
    (void)ctx, (void)item;
}

static bool each_index(void *ctx, const struct heft_index_entry *entry)
{
    (void)ctx, (void)entry;
    return false;
}

static bool no_progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx, (void)done, (void)total;
    return false;
}

static void without_a_handle(void **state)
{
    struct heft_file file = HEFT_INIT(struct heft_file);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    struct heft_metadata pair;
    struct heft_difference difference = HEFT_INIT(struct heft_difference);
    struct heft_finding finding = HEFT_INIT(struct heft_finding);
    uint64_t expected;
    size_t index;
    bool at_least;

    (void)state;
    assert_string_equal(heft_format(NULL), "");
    assert_string_equal(heft_format_version(NULL), "");
    assert_int_equal(heft_file_count(NULL), 0);
    assert_false(heft_file_at(NULL, 0, &file));
    assert_int_equal(heft_tensor_count(NULL), 0);
    assert_false(heft_tensor_at(NULL, 0, &t));
    assert_int_equal(heft_tensor_part_count(NULL, 0), 0);
    assert_false(heft_tensor_part_at(NULL, 0, 0, &part));
    assert_false(heft_tensor_find(NULL, "a", 1, &index));
    assert_int_equal(heft_unread_count(NULL), 0);
    assert_false(heft_unread_at(NULL, 0, &unread));
    assert_int_equal(heft_blob_count(NULL), 0);
    assert_false(heft_blob_at(NULL, 0, &blob));
    assert_false(heft_blob_find(NULL, "a", 1, &index));
    assert_int_equal(heft_metadata_count(NULL), 0);
    assert_false(heft_metadata_at(NULL, 0, &pair));
    assert_int_equal(heft_tie_count(NULL), 0);
    assert_false(heft_tie_at(NULL, 0, &pair));
    assert_int_equal(heft_difference_count(NULL), 0);
    assert_false(heft_difference_at(NULL, 0, &difference));
    assert_null(heft_values(NULL));
    assert_null(heft_file_info(NULL));
    assert_null(heft_value_find(NULL, "a"));
    assert_false(heft_missing_at(NULL, 0, &expected, &at_least));
    assert_false(heft_damage_at(NULL, 0, &finding));
    assert_false(heft_left_at(NULL, 0, &finding));
    assert_false(heft_lack_at(NULL, 0, &finding));
    heft_close(NULL);
}

static void other_handles(void **state)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    struct heft_planned_tensor tensor = HEFT_INIT(struct heft_planned_tensor);
    struct heft_file file = HEFT_INIT(struct heft_file);
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    struct heft_segment segment = HEFT_INIT(struct heft_segment);
    struct heft_restore_step step = HEFT_INIT(struct heft_restore_step);
    struct heft_restore_target target = HEFT_INIT(struct heft_restore_target);
    struct heft_restore_piece piece = HEFT_INIT(struct heft_restore_piece);
    struct heft_finding finding = HEFT_INIT(struct heft_finding);
    struct heft_split_file part = HEFT_INIT(struct heft_split_file);
    size_t a, b;

    (void)state;
    heft_convert_summary(NULL, &planned);
    assert_false(heft_convert_file(NULL, 0, &file));
    assert_false(heft_convert_tensor(NULL, 0, &tensor));
    assert_int_equal(heft_convert_note_count(NULL), 0);
    assert_null(heft_convert_note(NULL, 0));
    assert_false(heft_convert_lost_at(NULL, 0, &unread));
    REFUSES(heft_convert_run(NULL, NULL, &err));
    REFUSES(heft_convert_check(NULL, &err));
    heft_convert_free(NULL);
    assert_int_equal(heft_map_count(NULL), 0);
    assert_false(heft_map_at(NULL, 0, &segment));
    heft_map_free(NULL);
    assert_null(heft_items_value(NULL));
    heft_items_free(NULL);
    assert_null(heft_restore_tag(NULL, 0));
    heft_restore_metagraph(NULL, &a, &b);
    assert_false(heft_restore_step_at(NULL, 0, &step));
    assert_false(heft_restore_target_at(NULL, 0, &target));
    assert_false(heft_restore_piece_at(NULL, 0, 0, &piece));
    assert_false(heft_restore_finding_at(NULL, 0, &finding));
    heft_restore_free(NULL);
    assert_false(heft_split_file_at(NULL, 0, &part));
    assert_int_equal(heft_split_total(NULL), 0);
    heft_split_free(NULL);
}

static void without_a_checkpoint(void **state)
{
    bool numbered;
    const struct heft_convert_options options = {.size = sizeof options, .output = "x"};
    uint64_t shape[64], bytes, used;
    struct heft_range ranges[64];
    const void *data;
    unsigned rank;
    size_t n;
    bool selected[1];
    struct heft_view view;
    uint8_t dst[8];

    (void)state;
    REFUSES(heft_open(NULL, NULL, &err));
    REFUSES(heft_open_inputs(NULL, 1, NULL, &err));
    REFUSES(heft_open_memory(NULL, 1, NULL, &err));
    REFUSES(heft_open_fd(-1, 0, 1, NULL, &err));
    REFUSES(heft_open_many(NULL, 1, NULL, &err));
    REFUSES(heft_open_many((const char *const[]){GOLDEN "x", NULL}, 2, NULL, &err));
    REFUSES(heft_storage_use(NULL, &bytes, &used, &err));
    REFUSES(heft_tensor_strings(NULL, 0, each_string, NULL, &err));
    REFUSES(heft_tensor_read(NULL, 0, dst, 8, &err));
    REFUSES(heft_tensor_read_slice(NULL, 0, NULL, 0, dst, 8, &err));
    REFUSES(heft_tensor_read_with(NULL, 0, NULL, dst, 8, NULL, &err));
    REFUSES(heft_cast(HEFT_F32, NULL, HEFT_F16, dst, 1, NULL, &err));
    REFUSES(heft_cast(HEFT_F32, dst, HEFT_F16, NULL, 1, NULL, &err));
    REFUSES(heft_tensor_require(NULL, "a", 1, &n, &err));
    assert_true(heft_tensor_elements(NULL, 0) == 0);
    assert_int_equal(heft_edit_distance(NULL, 1, NULL, 1, 2), 3);
    REFUSES(heft_slice_shape(NULL, 0, NULL, 0, shape, &rank, &bytes, &err));
    REFUSES(heft_slice_shape_as(NULL, 0, NULL, 0, HEFT_F32, shape, &rank, &bytes, &err));
    REFUSES(heft_slice_parse(NULL, 0, "0", ranges, &n, &err));
    REFUSES(heft_tensor_map(NULL, 0, &data, &err));
    REFUSES(heft_tensor_view(NULL, 0, NULL, &view, &err));
    assert_null(heft_retain(NULL));
    REFUSES(heft_tensor_check(NULL, 0, &err));
    REFUSES(heft_tensor_stream(NULL, 0, NULL, 0, each_piece, NULL, &err));
    REFUSES(heft_blob_stream(NULL, 0, each_piece, NULL, &err));
    REFUSES(heft_blob_check(NULL, 0, &err));
    REFUSES(heft_map_new(NULL, &err));
    REFUSES(heft_items_new(NULL, NULL, &err));
    REFUSES(heft_verify(NULL, NULL, NULL, NULL, &err));
    REFUSES(heft_stats(NULL, NULL, each_stats, NULL, &err));
    REFUSES(heft_restore_new(NULL, NULL, &err));
    REFUSES(heft_select(NULL, NULL, NULL, 0, selected, &err));
    REFUSES(heft_rule_matches(NULL, NULL, NULL, 0, NULL, &err));
    REFUSES(heft_rules_view(NULL, NULL, NULL, 0, &err));
    REFUSES(heft_rules_numbered(NULL, 0, NULL, &err));
    REFUSES(heft_rules_numbered(NULL, 1, &numbered, &err));
    assert_false(heft_rules_preset_at(0, NULL));
    REFUSES(
        heft_quantization(NULL, &(struct heft_quantized)HEFT_INIT(struct heft_quantized), &err));
    REFUSES(heft_modules_new(NULL, NULL, NULL, 0, &err));
    assert_false(heft_modules_at(NULL, 0, &(struct heft_module)HEFT_INIT(struct heft_module)));
    heft_modules_tied(NULL, NULL);
    heft_modules_free(NULL);
    assert_null(heft_choice_at(NULL, 0));
    assert_null(heft_idle_option_at(NULL, 0));
    REFUSES(heft_convert_plan(NULL, &options, &err));
    REFUSES(heft_from_tensors(NULL, 1, NULL, 0, &err));
    REFUSES(heft_from_tensors(NULL, 0, NULL, 1, &err));
    REFUSES(heft_save(NULL, 1, NULL, 0, &options, &err));
    REFUSES(heft_save(NULL, 0, NULL, 0, NULL, &err));
}

static void lists_without_an_output_argument(void **state)
{
    struct heft_checkpoint *c = heft_open(GOLDEN "h5/types.h5", NULL, &err);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    uint64_t bytes;
    size_t n;

    (void)state;
    needs_hdf5();
    assert_non_null(c);
    assert_true(heft_tensor_at(c, 0, &t));
    assert_false(heft_file_at(c, 0, NULL));
    assert_false(heft_tensor_at(c, 0, NULL));
    assert_false(heft_tensor_part_at(c, 0, 0, NULL));
    assert_false(heft_tensor_find(c, NULL, 4, &n));
    assert_false(heft_tensor_find(c, t.name, t.name_len, NULL));
    assert_false(heft_unread_at(c, 0, NULL));
    assert_false(heft_blob_find(c, NULL, 4, &n));
    assert_false(heft_blob_at(c, 0, NULL));
    assert_false(heft_metadata_at(c, 0, NULL));
    assert_false(heft_tie_at(c, 0, NULL));
    assert_false(heft_difference_at(c, 0, NULL));
    assert_null(heft_value_find(c, NULL));
    assert_false(heft_missing_at(c, 0, NULL, NULL));
    assert_false(heft_damage_at(c, 0, NULL));
    assert_false(heft_left_at(c, 0, NULL));
    REFUSES(heft_storage_use(c, NULL, &bytes, &err));
    REFUSES(heft_storage_use(c, &bytes, NULL, &err));
    heft_close(c);
}

static void reads_without_an_output_argument(void **state)
{
    struct heft_checkpoint *c = heft_open(GOLDEN "h5/types.h5", NULL, &err);
    struct heft_range ranges[64];
    uint64_t shape[64], bytes;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    unsigned rank;
    size_t n;

    (void)state;
    needs_hdf5();
    assert_non_null(c);
    assert_true(heft_tensor_at(c, 0, &t));
    REFUSES(heft_tensor_strings(c, 0, NULL, NULL, &err));
    REFUSES(heft_tensor_read(c, 0, NULL, (size_t)t.bytes, &err));
    REFUSES(heft_tensor_read_slice(c, 0, NULL, 1, &t, (size_t)t.bytes, &err));
    REFUSES(heft_tensor_read_slice(c, 0, NULL, 0, NULL, (size_t)t.bytes, &err));
    REFUSES(heft_tensor_read_with(c, 0, NULL, NULL, (size_t)t.bytes, NULL, &err));
    REFUSES(heft_tensor_read_with(c, 0, &(struct heft_read_options){.n_ranges = 1}, &t,
                                  (size_t)t.bytes, NULL, &err));
    REFUSES(heft_tensor_require(c, NULL, 4, &n, &err));
    REFUSES(heft_tensor_require(c, t.name, t.name_len, NULL, &err));
    REFUSES(heft_slice_shape(c, 0, NULL, 1, shape, &rank, &bytes, &err));
    REFUSES(heft_slice_shape(c, 0, NULL, 0, NULL, &rank, &bytes, &err));
    REFUSES(heft_slice_shape(c, 0, NULL, 0, shape, NULL, &bytes, &err));
    REFUSES(heft_slice_shape(c, 0, NULL, 0, shape, &rank, NULL, &err));
    REFUSES(heft_slice_shape_as(c, 0, NULL, 0, HEFT_F32, shape, &rank, NULL, &err));
    REFUSES(heft_slice_parse(c, 0, NULL, ranges, &n, &err));
    REFUSES(heft_slice_parse(c, 0, "0", NULL, &n, &err));
    REFUSES(heft_slice_parse(c, 0, "0", ranges, NULL, &err));
    REFUSES(heft_tensor_map(c, 0, NULL, &err));
    REFUSES(heft_tensor_view(c, 0, NULL, NULL, &err));
    REFUSES(heft_tensor_stream(c, 0, NULL, 1, each_piece, NULL, &err));
    REFUSES(heft_tensor_stream(c, 0, NULL, 0, NULL, NULL, &err));
    REFUSES(heft_tensor_stream_as(c, 0, NULL, 0, HEFT_F64, NULL, NULL, NULL, &err));
    REFUSES(heft_tensor_stream_as(c, 0, NULL, 1, HEFT_F64, each_piece, NULL, NULL, &err));
    REFUSES(heft_tensor_stream_as(NULL, 0, NULL, 0, HEFT_F64, each_piece, NULL, NULL, &err));
    REFUSES(heft_blob_stream(c, 0, NULL, NULL, &err));
    heft_close(c);
}

static void plans_without_an_output_argument(void **state)
{
    const struct heft_option nameless = {NULL, NULL};
    struct heft_checkpoint *c = heft_open(GOLDEN "h5/types.h5", NULL, &err);
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);

    (void)state;
    needs_hdf5();
    assert_non_null(c);
    REFUSES(heft_select(c, NULL, NULL, 1, (bool[64]){false}, &err));
    REFUSES(heft_select(c, NULL, NULL, 0, NULL, &err));
    REFUSES(heft_rules_view(c, NULL, NULL, 1, &err));
    REFUSES(heft_stats(c, NULL, NULL, NULL, &err));
    REFUSES(heft_modules_new(c, NULL, NULL, 1, &err));
    REFUSES(heft_convert_plan(c, NULL, &err));
    REFUSES(heft_convert_plan(
        c,
        &(struct heft_convert_options){
            .size = sizeof(struct heft_convert_options), .output = "x", .n_format_options = 1},
        &err));
    REFUSES(heft_convert_plan(
        c,
        &(struct heft_convert_options){.size = sizeof(struct heft_convert_options),
                                       .output = "x",
                                       .format_options = &nameless,
                                       .n_format_options = 1},
        &err));
    err = (struct heft_error){0};
    assert_true(heft_verify(c, NULL, NULL, NULL, &err));
    REFUSES(heft_diff(c, NULL, NULL, NULL, &result, &err));
    REFUSES(heft_diff(NULL, c, NULL, NULL, &result, &err));
    REFUSES(heft_diff(c, c, NULL, NULL, NULL, &err));
    err = (struct heft_error){0};
    assert_true(heft_diff(c, c, NULL, NULL, &result, &err));
    heft_close(c);
}

static void without_a_path(void **state)
{
    const struct heft_trace_watcher watcher = HEFT_INIT(struct heft_trace_watcher);
    const struct heft_scan_visitor visitor = HEFT_INIT(struct heft_scan_visitor);
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    const struct heft_option option = {NULL, "x"};
    struct heft_format_option described = HEFT_INIT(struct heft_format_option);
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);
    enum heft_dtype dtype;
    uint64_t number;
    uint32_t n_shards;
    char line[100];
    bool flag;

    (void)state;
    assert_false(heft_format_option_at(NULL, 0, &described));
    assert_false(heft_format_option_at("tf", 0, NULL));
    REFUSES(heft_host_set(NULL, &err));
    REFUSES(heft_format_option_check(NULL, &option, &err));
    REFUSES(heft_format_option_check("tf", NULL, &err));
    REFUSES(heft_format_option_check("tf", &option, &err));
    REFUSES(heft_open(
        "x", &(struct heft_open_options){.size = sizeof(struct heft_open_options), .n_options = 1},
        &err));
    REFUSES(heft_open("x",
                      &(struct heft_open_options){.size = sizeof(struct heft_open_options),
                                                  .options = &option,
                                                  .n_options = 1},
                      &err));
    REFUSES(heft_index_walk(
        "x", &(struct heft_open_options){.size = sizeof(struct heft_open_options), .n_options = 1},
        each_index, NULL, &flag, &err));
    REFUSES(heft_scan(NULL, NULL, each_scan, NULL, &flag, &err));
    REFUSES(heft_scan("x", NULL, NULL, NULL, &flag, &err));
    REFUSES(heft_scan("x", NULL, each_scan, NULL, NULL, &err));
    REFUSES(heft_scan_tree(NULL, NULL, &visitor, &err));
    REFUSES(heft_scan_tree("x", NULL, NULL, &err));
    REFUSES(heft_trace(NULL, NULL, &watcher, &total, &err));
    REFUSES(heft_trace("x", NULL, NULL, &total, &err));
    REFUSES(heft_trace("x", NULL, &watcher, NULL, &err));
    REFUSES(heft_index_walk(NULL, NULL, each_index, NULL, &flag, &err));
    REFUSES(heft_index_walk("x", NULL, NULL, NULL, &flag, &err));
    REFUSES(heft_index_walk("x", NULL, each_index, NULL, NULL, &err));
    REFUSES(heft_parse_bytes(NULL, &number, &err));
    REFUSES(heft_parse_bytes("1", NULL, &err));
    REFUSES(heft_split(1, NULL, NULL, 1, NULL, NULL, &n_shards, &number, &err));
    REFUSES(heft_split(0, NULL, NULL, 1, NULL, NULL, NULL, &number, &err));
    REFUSES(heft_split(0, NULL, NULL, 1, NULL, NULL, &n_shards, NULL, &err));
    REFUSES(heft_split_with(NULL, 1, "a{suffix}", &err));
    REFUSES(heft_split_with(&(struct heft_split_items)HEFT_INIT(struct heft_split_items), 1, NULL,
                            &err));
    assert_false(heft_format_at(0, NULL));
    assert_false(heft_format_find(NULL, &info));
    assert_false(heft_format_find("torch", NULL));
    assert_false(heft_format_supports_dtype(NULL, HEFT_F32));
    assert_false(heft_format_instead(NULL, HEFT_F32, &dtype));
    assert_false(heft_format_instead("npy", HEFT_BF16, NULL));
    assert_false(heft_dtype_parse(NULL, &dtype));
    assert_false(heft_dtype_parse("F32", NULL));
    assert_false(heft_dtype_named(NULL, &dtype));
    assert_false(heft_dtype_named("f32", NULL));
    REFUSES(heft_output_new(NULL, NULL, &err));
    REFUSES(heft_output_commit(NULL, &err));
    assert_int_equal(heft_output_descriptor(NULL), -1);
    heft_output_free(NULL);
    REFUSES(heft_parse_count(NULL, &number, &err));
    REFUSES(heft_parse_count("1", NULL, &err));
    assert_null(heft_error_format(&err, NULL, 10));
    assert_ptr_equal(heft_error_format(NULL, line, sizeof line), line);
}

static void tokens_without_a_handle(void **state)
{
    uint32_t ids[4];
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);
    size_t n;

    (void)state;
    heft_encode_summarize(NULL, &sum);
    assert_null(heft_encode_input(NULL, 0));
    assert_null(heft_encode_output(NULL, 0));
    assert_int_equal(heft_encode_tokens(NULL, 0), 0);
    assert_int_equal(heft_sampler_total(NULL), 0);
    assert_int_equal(heft_vocab_size(NULL), 0);
    assert_int_equal(heft_vocab_end(NULL), HEFT_NO_TOKEN);
    assert_int_equal(heft_vocab_special_count(NULL), 0);
    assert_false(heft_vocab_special_at(
        NULL, 0, &(struct heft_special_token)HEFT_INIT(struct heft_special_token)));
    assert_null(heft_vocab_token(NULL, 0, &n));
    REFUSES(heft_encoder_new(NULL, NULL, &err));
    REFUSES(heft_encode(NULL, "a", 1, ids, 4, &n, &err));
    heft_encoder_free(NULL);
    heft_vocab_close(NULL);
}

static bool each_digest(void *ctx, const struct heft_digest *digest)
{
    (void)ctx, (void)digest;
    return false;
}

static void each_finding(void *ctx, const struct heft_finding *finding)
{
    (void)ctx, (void)finding;
}

static void digests_and_lists(void **state)
{
    static const char *const inputs[] = {NULL};
    const struct heft_digest_options rules = {.size = sizeof rules, .n_rules = 1};
    struct heft_checkpoint *c = heft_open(GOLDEN "torch/linear.pt", NULL, &err);
    struct heft_digest_list *list = heft_digest_list_open("hub", NULL, &err);

    (void)state;
    assert_non_null(c);
    assert_non_null(list);
    REFUSES(heft_digest_tensors(NULL, NULL, each_digest, NULL, &err));
    REFUSES(heft_digest_tensors(c, NULL, NULL, NULL, &err));
    REFUSES(heft_digest_tensors(c, &rules, each_digest, NULL, &err));
    REFUSES(heft_digest_files(NULL, NULL, each_digest, NULL, &err));
    REFUSES(heft_digest_files(c, NULL, NULL, NULL, &err));
    REFUSES(heft_digest_list_open(NULL, NULL, &err));
    REFUSES(heft_compare_digests(c, NULL, 0, NULL, NULL, each_finding, NULL, &err));
    REFUSES(heft_compare_digests(c, NULL, 0, list, NULL, NULL, NULL, &err));
    REFUSES(heft_compare_digests(c, NULL, 1, list, NULL, each_finding, NULL, &err));
    REFUSES(heft_compare_digests(c, inputs, 1, list, NULL, each_finding, NULL, &err));
    assert_int_equal(heft_digest_list_kind(NULL), HEFT_LIST_TENSORS);
    assert_int_equal(heft_digest_list_count(NULL), 0);
    heft_digest_list_close(NULL);
    heft_digest_list_close(list);
    heft_close(c);
}

/* A file whose verification has a note. */
static void notes_need_no_callback(void **state)
{
    struct heft_checkpoint *c = heft_open(GOLDEN "torch/no_crc.pt", NULL, &err);

    (void)state;
    assert_non_null(c);
    assert_true(heft_verify(c, NULL, NULL, NULL, &err));
    heft_close(c);
}

/* A callback that returns false is reported as HEFT_CANCELLED, not as success. */
static void cancelled(void **state)
{
    const struct heft_verify_options options = {
        .size = sizeof options, .progress = no_progress, .threads = 1};
    struct heft_checkpoint *c = heft_open(GOLDEN "torch/linear.pt", NULL, &err);

    (void)state;
    assert_non_null(c);
    err = (struct heft_error){0};
    assert_false(heft_tensor_stream(c, 0, NULL, 0, each_piece, NULL, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    err = (struct heft_error){0};
    assert_false(heft_verify(c, &options, NULL, NULL, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    heft_close(c);
}

static void objects(void **state)
{
    struct heft_objects *const o = heft_objects_new(GOLDEN "torch/linear.pt", NULL, &err);
    uint8_t byte;

    (void)state;
    assert_non_null(o);
    REFUSES(heft_objects_new(NULL, NULL, &err));
    assert_null(heft_objects_checkpoint(NULL));
    assert_int_equal(heft_objects_root(NULL), HEFT_NO_OBJECT);
    assert_int_equal(heft_objects_count(NULL), 0);
    assert_false(heft_object_at(NULL, 0, NULL));
    assert_false(heft_object_at(o, 0, NULL));
    assert_false(heft_object_items(NULL, 0, NULL, 0));
    assert_false(heft_object_items(o, heft_objects_root(o), NULL, 1));
    assert_false(heft_object_storage_at(NULL, 0, NULL));
    assert_false(heft_object_storage_at(o, 0, NULL));
    REFUSES(heft_object_storage_read(NULL, 0, &byte, 1, &err));
    REFUSES(heft_object_storage_read(o, 0, NULL, 1, &err));
    REFUSES(heft_object_storage_view(NULL, 0, NULL, &err));
    REFUSES(heft_object_storage_view(o, 0, NULL, &err));
    heft_objects_free(o);
    heft_objects_free(NULL);
}

static void jobs(void **state)
{
    struct heft_confine_path path;
    const char *const inputs[] = {NULL};
    const struct heft_convert_options how = {.size = sizeof how, .output = "x.npz"};

    (void)state;
    REFUSES(heft_job_plan(NULL, 1, NULL, &how, 1, &err));
    REFUSES(heft_job_plan(inputs, 0, NULL, &how, 1, &err));
    REFUSES(heft_job_plan(inputs, 1, NULL, &how, 1, &err));
    REFUSES(heft_job_plan(inputs, 1, NULL, NULL, 1, &err));
    REFUSES(heft_job_read(NULL, &err));
    REFUSES(heft_job_open(NULL, NULL, &err));
    REFUSES(heft_job_run(NULL, 1, NULL, &err));
    REFUSES(heft_job_commit(NULL, NULL, &err));
    REFUSES(heft_job_abort(NULL, NULL, &err));
    assert_null(heft_job_text(NULL, NULL));
    assert_null(heft_job_id(NULL));
    assert_int_equal(heft_job_parts(NULL), 0);
    assert_false(heft_job_path_at(NULL, 0, &path));
    assert_null(heft_job_checkpoint(NULL));
    assert_null(heft_job_conversion(NULL));
    heft_job_free(NULL);
}

/* In a process of its own, which stays confined. */
static void confinement(void **state)
{
    pid_t child;
    int status;

    (void)state;
    (void)heft_confine_available(NULL);
    child = fork();
    if (child == 0) {
        (void)heft_confine(NULL, 1);
        (void)heft_confine_processes();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_handle),
        cmocka_unit_test(other_handles),
        cmocka_unit_test(without_a_checkpoint),
        cmocka_unit_test(lists_without_an_output_argument),
        cmocka_unit_test(reads_without_an_output_argument),
        cmocka_unit_test(plans_without_an_output_argument),
        cmocka_unit_test(without_a_path),
        cmocka_unit_test(tokens_without_a_handle),
        cmocka_unit_test(digests_and_lists),
        cmocka_unit_test(notes_need_no_callback),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(objects),
        cmocka_unit_test(jobs),
        cmocka_unit_test(confinement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
