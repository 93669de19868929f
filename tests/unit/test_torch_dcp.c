/* test_torch_dcp.c: distributed checkpoints through the public API, with failed allocations; slices
 * of files, whose storages and notes the model moves to the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"
#include "file_order.h"
#include "core/model.h"
#include "format/formats.h"
#include "heft/heft.h"

#define MESH "tests/golden/torch-dcp/mesh"

static struct heft_checkpoint *open_golden(const char *path, struct heft_error *err)
{
    struct heft_checkpoint *c = heft_open(path, NULL, err);

    if (!c)
        fail_msg("%s", err->text);
    return c;
}

static size_t find(const struct heft_checkpoint *c, const char *name)
{
    size_t index = 0;

    assert_true(heft_tensor_find(c, name, strlen(name), &index));
    return index;
}

/* Each element belongs to exactly one part, and each part has its position. */
static void parts_are_listed_with_their_positions(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = open_golden(MESH, &err);
    const size_t blocks = find(c, "blocks");
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);
    struct heft_tensor tensor = HEFT_INIT(struct heft_tensor);
    unsigned held[5][3] = {{0}};
    uint64_t bytes = 0;
    const void *view;

    (void)state;
    assert_true(heft_tensor_at(c, blocks, &tensor));
    assert_int_equal(tensor.storage, -1);
    assert_int_equal(heft_tensor_part_count(c, blocks), 4);
    for (size_t k = 0; heft_tensor_part_at(c, blocks, k, &part); k++) {
        assert_null(part.strides);
        assert_int_equal(part.stored, HEFT_STORED_PLAIN);
        assert_int_equal(part.stored_bytes, part.bytes);
        assert_true(k > 0 || (part.file == tensor.file && part.offset == tensor.offset));
        bytes += part.bytes;
        for (uint64_t i = 0; i < part.extent[0]; i++)
            for (uint64_t j = 0; j < part.extent[1]; j++)
                held[part.start[0] + i][part.start[1] + j]++;
    }
    assert_int_equal(bytes, tensor.bytes);
    for (unsigned i = 0; i < 15; i++)
        assert_int_equal(held[i / 3][i % 3], 1);
    assert_false(heft_tensor_map(c, blocks, &view, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    assert_true(heft_tensor_check(c, blocks, &err));
    assert_int_equal(heft_tensor_part_count(c, 1000), 0);
    assert_false(heft_tensor_part_at(c, 1000, 0, &part));
    heft_close(c);
}

static void contiguous_tensors_have_no_parts(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = open_golden("tests/golden/torch-dcp/single", &err);
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);
    const void *view = NULL;
    const float *weights;
    float copy[6];

    (void)state;
    assert_int_equal(heft_tensor_part_count(c, 0), 0);
    assert_false(heft_tensor_part_at(c, 0, 0, &part));
    assert_true(heft_tensor_map(c, 0, &view, &err));
    assert_true(heft_tensor_read(c, 0, copy, sizeof copy, &err));
    weights = view;
    assert_memory_equal(weights, copy, sizeof copy);
    heft_close(c);
}

static bool use(struct heft_checkpoint *c, struct heft_error *err)
{
    float values[15];

    for (unsigned i = 0; i < 15; i++)
        values[i] = -1;
    if (!heft_tensor_read(c, find(c, "blocks"), values, sizeof values, err))
        return false;
    in_file_order(values, sizeof values, sizeof *values);
    for (unsigned i = 0; i < 15; i++)
        assert_true(values[i] == (float)i);
    return true;
}

static void opens_without_memory(void **state)
{
    static const char *const paths[] = {MESH, "tests/golden/torch-dcp/objects"};
    struct heft_error err = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct failures fail = {.most = 20000};

        while (!fail.done) {
            struct heft_checkpoint *c;

            FAIL_ALLOCATION(&fail, (c = heft_open(paths[i], NULL, &err)) && (i > 0 || use(c, &err)),
                            &err);
            heft_close(c);
        }
        assert_true(fail.n >= 20);
    }
}

/* ---- slices ------------------------------------------------------------------------------ */

static uint32_t add_slice(struct heft_model *model, uint64_t off, uint64_t len)
{
    struct heft_error err = {0};
    uint32_t index = 0;

    assert_true(heft_model_add_slice(model, 0, off, len, &index, &err));
    return index;
}

static void contents_of_slices_move_to_their_file(void **state)
{
    static const uint8_t bytes[100] = {[42] = 7};
    struct heft_storage storage = {.off = 2, .packed = 4, .len = 4};
    struct heft_source source;
    struct heft_error err = {0};
    struct heft_model model;
    uint32_t slice, index;
    uint8_t byte = 0;

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){bytes, sizeof bytes}, "file");
    assert_true(heft_model_add_file(&model, &source, "file", &index, &err));
    slice = add_slice(&model, 40, 20);
    for (unsigned i = 0; i < 50; i++) /* reallocates the array of sources */
        (void)add_slice(&model, i, 1);
    assert_true(heft_source_read(&model.sources[slice].source, 2, &byte, 1, &err));
    assert_int_equal(byte, 7);

    storage.source = slice;
    assert_true(heft_model_add_storage(&model, &storage, &index, &err));
    assert_true(heft_model_claim(&model, slice, 8, 3, "claim", &err));
    assert_true(heft_model_note(&model, HEFT_NOTE, slice, 5, &err, "note"));
    assert_true(heft_model_note(&model, HEFT_NOTE, slice, HEFT_NO_OFFSET, &err, "note"));
    assert_true(heft_model_add_unreadable(&model, HEFT_STR("w"), slice, 6, "why", &err));
    assert_true(heft_model_add_memory(&model, (struct heft_bytes){bytes, 1}, "inner", slice, 1, 2,
                                      &index, &err));
    assert_true(model.storages[0].source == 0 && model.storages[0].off == 42);
    assert_true(model.claims[0].source == 0 && model.claims[0].off == 48);
    assert_true(model.notes[0].source == 0 && model.notes[0].offset == 45);
    assert_true(model.notes[1].offset == HEFT_NO_OFFSET);
    assert_true(model.unreadable[0].source == 0 && model.unreadable[0].offset == 46);
    assert_true(model.sources[index].origin == 0 && model.sources[index].origin_off == 41);
    assert_int_equal(model.n_files, 1);
    heft_model_release(&model);
}

static void errors_in_slices_have_offsets_of_the_file(void **state)
{
    static const uint8_t bytes[100];
    struct heft_source source;
    struct heft_error err = {0};
    struct heft_model model;
    uint32_t slice, index;
    uint8_t byte;

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){bytes, sizeof bytes}, "file");
    assert_true(heft_model_add_file(&model, &source, "file", &index, &err));
    assert_false(heft_model_add_slice(&model, 0, 90, 11, &index, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    slice = add_slice(&model, 40, 20);
    assert_false(heft_source_read(&model.sources[slice].source, 20, &byte, 1, &err));
    assert_false(heft_model_blame_slice(&model, slice, &err));
    assert_int_equal(err.offset, 60);
    assert_string_equal(err.file, "file");
    heft_model_drop_slice(&model, 0); /* a file, not a slice: ignored */
    assert_int_equal(model.n_sources, 2);
    heft_model_drop_slice(&model, slice);
    assert_int_equal(model.n_sources, 1);
    heft_model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_listed_with_their_positions),
        cmocka_unit_test(contiguous_tensors_have_no_parts),
        cmocka_unit_test(opens_without_memory),
        cmocka_unit_test(contents_of_slices_move_to_their_file),
        cmocka_unit_test(errors_in_slices_have_offsets_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
