/* test_tf_restore.c: tracing of restore operations through the public API, with failed allocations;
 * slice specifications and constants of restore ops; the tensors that a checkpoint must contain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"
#include "file_order.h"
#include "api/checkpoint.h"
#include "format/tensorflow/saved_model/tf_restore_uses.h"
#include "heft/heft.h"

#define GOLDEN "tests/golden/tf-restore/"
#define REJECT "tests/reject/tf-restore/"

static struct heft_checkpoint *open_model(const char *path)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(path, NULL, &err);

    if (!c)
        fail_msg("%s", err.text);
    return c;
}

/* ---- the door ---- */

static void steps_and_offsets_are_reported(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_model(GOLDEN "half_plus_two");
    struct heft_restore *const r = heft_restore_new(c, NULL, &err);
    struct heft_restore_target target = HEFT_INIT(struct heft_restore_target);
    struct heft_restore_piece piece = HEFT_INIT(struct heft_restore_piece);
    struct heft_restore_step step = HEFT_INIT(struct heft_restore_step);
    struct heft_finding finding = HEFT_INIT(struct heft_finding);
    size_t number, count, steps = 0;
    float value;

    (void)state;
    assert_non_null(r);
    heft_restore_metagraph(r, &number, &count);
    assert_int_equal(number, 0);
    assert_int_equal(count, 1);
    assert_string_equal(heft_restore_tag(r, 0), "serve");
    assert_null(heft_restore_tag(r, 1));
    while (heft_restore_step_at(r, steps, &step))
        steps++;
    assert_int_equal(steps, 12);
    assert_int_equal(step.kind, HEFT_RESTORE_INIT);
    assert_true(heft_restore_target_at(r, 1, &target));
    assert_string_equal(target.variable, "b");
    assert_string_equal(target.key, "b");
    assert_string_equal(target.by, "save/Assign_1");
    assert_string_equal(target.dtype, "F32");
    assert_true(target.has_shape);
    assert_int_equal(target.rank, 0);
    assert_int_equal(target.pieces, 1);
    assert_true(heft_restore_piece_at(r, 1, 0, &piece));
    assert_int_equal(piece.offset, 4);
    assert_int_equal(piece.bytes, 4);
    assert_true(piece.has_crc);
    assert_true(heft_tensor_read(c, target.tensor, &value, sizeof value, &err));
    in_file_order(&value, sizeof value, sizeof value);
    assert_true(value == 2.0F);
    assert_false(heft_restore_target_at(r, 2, &target));
    assert_false(heft_restore_piece_at(r, 1, 1, &piece));
    assert_false(heft_restore_piece_at(r, 2, 0, &piece));
    assert_false(heft_restore_finding_at(r, 0, &finding));
    heft_restore_free(r);
    heft_close(c);
}

static void slices_consist_of_their_pieces(void **state)
{
    const struct heft_restore_options how = {.size = sizeof how, .tags = "gpu, serve"};
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_model(GOLDEN "sliced");
    struct heft_restore *const r = heft_restore_new(c, &how, &err);
    struct heft_restore_target target = HEFT_INIT(struct heft_restore_target);
    struct heft_restore_piece piece = HEFT_INIT(struct heft_restore_piece);

    (void)state;
    assert_non_null(r);
    assert_true(heft_restore_target_at(r, 2, &target));
    assert_string_equal(target.variable, "rows/part_1");
    assert_string_equal(target.slice, "4 3 2,2:0,3");
    assert_int_equal(target.pieces, 1);
    assert_true(heft_restore_piece_at(r, 2, 0, &piece));
    assert_int_equal(piece.offset, 32);
    assert_int_equal(piece.bytes, 24);
    heft_restore_free(r);
    heft_close(c);
}

static void refuse(const char *path, const char *tags, enum heft_code code, const char *text)
{
    const struct heft_restore_options how = {.size = sizeof how, .tags = tags};
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_model(path);

    assert_null(heft_restore_new(c, &how, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
    heft_close(c);
}

static void models_that_cannot_be_restored_are_refused(void **state)
{
    (void)state;
    refuse(GOLDEN "sliced", NULL, HEFT_USAGE, "several metagraphs");
    refuse(GOLDEN "sliced", "gpu", HEFT_USAGE,
           "no metagraph has exactly these tags, there are: serve");
    refuse(GOLDEN "sliced", "", HEFT_USAGE, "no metagraph");
    refuse(GOLDEN "sliced", "serve,gpu,tpu", HEFT_USAGE, "no metagraph");
    refuse(REJECT "calls-itself", NULL, HEFT_MALFORMED, "deeper than 64");
    refuse("tests/golden/tf-bundle/partitioned", NULL, HEFT_UNSUPPORTED,
           "does not restore a checkpoint");
}

/* The n-th allocation fails, for every n until opening succeeds: an error, and no leak. */
static void fail_in_turn(const char *path)
{
    struct heft_checkpoint *const c = open_model(path);
    struct heft_restore *r = NULL;
    struct heft_error err;

    for (struct failures fail = {.most = 20000}; !fail.done;)
        FAIL_ALLOCATION(&fail, (r = heft_restore_new(c, NULL, &err)) != NULL, &err);
    heft_restore_free(r);
    heft_close(c);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    fail_in_turn(GOLDEN "half_plus_two");
    fail_in_turn(GOLDEN "nested");
    fail_in_turn(REJECT "object-key");
    fail_in_turn(REJECT "objects-swapped");
}

/* ---- what a checkpoint has to hold ---- */

static void the_writer_of_a_checkpoint_is_reported(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_model(GOLDEN "sliced");
    const uint64_t whole[] = {4, 3}, part[] = {2, 3};
    struct heft_tf_wants wants;

    (void)state;
    assert_true(heft_tf_restore_expect(&wants, &c->model, heft_tf_restore_source(&c->model), &err));
    assert_int_equal(wants.n, 2);
    assert_true(heft_tf_restore_fits(&wants, HEFT_STR("rows"), HEFT_F32, 2, whole, &err));
    assert_true(heft_tf_restore_fits(&wants, HEFT_STR("n"), HEFT_I64, 0, NULL, &err));
    assert_true(heft_tf_restore_fits(&wants, HEFT_STR("other"), HEFT_I64, 0, NULL, &err));
    assert_false(heft_tf_restore_fits(&wants, HEFT_STR("rows"), HEFT_F32, 2, part, &err));
    assert_int_equal(err.code, HEFT_MISMATCH);
    assert_false(heft_tf_restore_fits(&wants, HEFT_STR("rows"), HEFT_F32, 1, whole, &err));
    assert_false(heft_tf_restore_fits(&wants, HEFT_STR("rows"), HEFT_F16, 2, whole, &err));
    assert_non_null(strstr(err.text, "\"rows\" is F16, the model expects F32"));
    heft_tf_wants_release(&wants);
    heft_close(c);
}

static void reporting_the_writer_without_memory(void **state)
{
    struct heft_checkpoint *const c = open_model(GOLDEN "nested");

    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct heft_error err = {0};
        struct heft_tf_wants wants;

        FAIL_ALLOCATION(
            &fail,
            heft_tf_restore_expect(&wants, &c->model, heft_tf_restore_source(&c->model), &err),
            &err);
        heft_tf_wants_release(&wants);
    }
    heft_close(c);
}

/* ---- slices ---- */

static void slices_are_read(void **state)
{
    static const struct {
        const char *text;
        unsigned rank;
        uint64_t shape[2], start[2], extent[2];
    } good[] = {
        {"4 0,2", 1, {4}, {0}, {2}},
        {"4 -", 1, {4}, {0}, {4}},
        {"4 3 2,2:-", 2, {4, 3}, {2, 0}, {2, 3}},
        {"4 3 -:1,2", 2, {4, 3}, {0, 1}, {4, 2}},
        {"9223372036854775000 0,1", 1, {UINT64_C(9223372036854775000)}, {0}, {1}},
    };
    struct heft_tf_spec spec;
    const char *why;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(good); i++) {
        if (!heft_tf_spec_parse(heft_str_of(good[i].text), &spec, &why))
            fail_msg("%s %s", good[i].text, why);
        assert_int_equal(spec.rank, good[i].rank);
        assert_memory_equal(spec.shape, good[i].shape, spec.rank * sizeof *spec.shape);
        assert_memory_equal(spec.start, good[i].start, spec.rank * sizeof *spec.start);
        assert_memory_equal(spec.extent, good[i].extent, spec.rank * sizeof *spec.extent);
    }
}

static void slices_are_refused(void **state)
{
    static const char *const bad[] = {"4",
                                      "4 ",
                                      "-",
                                      "0,2",
                                      "4 0,2:-",
                                      "4 3 0,2",
                                      "4 0",
                                      "4 0,",
                                      "4 ,2",
                                      "4 0,0",
                                      "4 0,2 ",
                                      "4  0,2",
                                      " 4 0,2",
                                      "4 -1,2",
                                      "4 0,2:",
                                      "x 0,2",
                                      "4 3,2",
                                      "4 0,5",
                                      "4 3 -",
                                      "4 --",
                                      "4 99999999999999999999,1",
                                      "99999999999999999999 0,1"};
    struct heft_tf_spec spec;
    const char *why;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++)
        if (heft_tf_spec_parse(heft_str_of(bad[i]), &spec, &why))
            fail_msg("\"%s\" was taken", bad[i]);
}

/* ---- constants ---- */

struct constant {
    struct heft_source source;
    struct heft_proto_doc doc;
    struct heft_arena mem;
    struct heft_tf_strings strings;
};

static bool read_constant(struct constant *k, const char *bytes, size_t n, uint32_t most,
                          struct heft_error *err)
{
    bool ok;

    *k = (struct constant){0};
    heft_source_open_memory(&k->source, (struct heft_bytes){(const uint8_t *)bytes, n}, "constant");
    ok = heft_proto_doc_open(&k->doc, &k->source, false, err) &&
         heft_tf_strings_read(&k->doc, (struct heft_tf_range){0, n}, most, &k->mem, &k->strings,
                              err);
    heft_proto_doc_close(&k->doc);
    return ok;
}

static void check_constant(const char *bytes, size_t n, uint32_t most, uint64_t count,
                           const char *wanted)
{
    struct heft_error err = {0};
    struct heft_buf got = {0};
    struct constant k;

    if (!read_constant(&k, bytes, n, most, &err))
        fail_msg("%s", err.text);
    assert_int_equal(k.strings.count, count);
    for (uint32_t i = 0; i < k.strings.n; i++) {
        heft_buf_str(&got, k.strings.list[i]);
        heft_buf_char(&got, ';');
    }
    heft_buf_char(&got, '\0');
    assert_string_equal(got.p, wanted);
    heft_buf_release(&got);
    heft_arena_release(&k.mem);
}

#define SHAPE3 "\x08\x07\x12\x04\x12\x02\x08\x03" /* DT_STRING, [3] */

static void constants_are_read(void **state)
{
    static const char all[] = SHAPE3 "\x42\x01"
                                     "a\x42\x02"
                                     "bb\x42\x00";
    static const char last[] = SHAPE3 "\x42\x01"
                                      "a\x42\x02"
                                      "bb";
    static const char content[] = SHAPE3 "\x22\x06\x01\x00\x02"
                                         "abb";

    (void)state;
    check_constant(all, sizeof all - 1, 9, 3, "a;bb;;");
    check_constant(all, sizeof all - 1, 2, 3, "a;bb;");
    check_constant(last, sizeof last - 1, 9, 3, "a;bb;bb;");
    check_constant(SHAPE3, sizeof SHAPE3 - 1, 9, 3, ";;;");
    check_constant(content, sizeof content - 1, 9, 3, "a;;bb;");
    check_constant(content, sizeof content - 1, 1, 3, "a;");
    /* more strings than elements */
    check_constant("\x08\x07\x12\x00\x42\x01x\x42\x01y", 10, 9, 1, "x;");
}

static void constants_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"\x08\x01\x12\x00", 4}, /* DT_FLOAT */
        /* lengths of three strings in two bytes */
        {"\x08\x07\x12\x04\x12\x02\x08\x03\x22\x02\x01\x00", 12},
        /* five bytes of text where one is left */
        {"\x08\x07\x12\x04\x12\x02\x08\x02\x22\x03\x05\x00x", 13},
        /* shape [-1] */
        {"\x08\x07\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 17},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        struct heft_error err = {0};
        struct constant k;

        if (read_constant(&k, bad[i].bytes, bad[i].n, 9, &err))
            fail_msg("constant %zu was accepted", i);
        assert_int_equal(err.code, HEFT_MALFORMED);
        heft_arena_release(&k.mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_offsets_are_reported),
        cmocka_unit_test(slices_consist_of_their_pieces),
        cmocka_unit_test(models_that_cannot_be_restored_are_refused),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(the_writer_of_a_checkpoint_is_reported),
        cmocka_unit_test(reporting_the_writer_without_memory),
        cmocka_unit_test(slices_are_read),
        cmocka_unit_test(slices_are_refused),
        cmocka_unit_test(constants_are_read),
        cmocka_unit_test(constants_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
