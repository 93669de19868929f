/* test_heft_objects.c: the graph of a torch file: kinds, sharing, storages read and mapped; files that
 * have none; wrong arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heft/heft.h"

#define TRAINING                                                                                   \
    HEFT_TESTS "/../examples/data/training.ckpt" /* {"model": {"weight", "bias"}, "optimizer": …} */

static struct heft_error err;

static struct heft_objects *open_training(void)
{
    struct heft_objects *const o = heft_objects_new(TRAINING, NULL, &err);

    if (!o)
        fail_msg("%s", err.text);
    return o;
}

static struct heft_object object_at(const struct heft_objects *o, uint32_t index)
{
    struct heft_object x = HEFT_INIT(struct heft_object);

    assert_true(heft_object_at(o, index, &x));
    return x;
}

/* The value of a text key in a dict. */
static uint32_t find_key(const struct heft_objects *o, uint32_t dict, const char *key)
{
    const struct heft_object x = object_at(o, dict);
    uint32_t items[64];

    assert_int_equal(x.kind == HEFT_OBJECT_DICT || x.has_pairs, 1);
    assert_true(x.n_items <= 64);
    assert_true(heft_object_items(o, dict, items, x.n_items));
    for (size_t i = 0; i + 1 < x.n_items; i += 2) {
        const struct heft_object name = object_at(o, items[i]);

        if (name.kind == HEFT_OBJECT_TEXT && name.n_bytes == strlen(key) &&
            memcmp(name.bytes, key, name.n_bytes) == 0)
            return items[i + 1];
    }
    fail_msg("no key %s", key);
    return HEFT_NO_OBJECT;
}

/* A tensor is a call whose first argument is its storage; it names its row. */
static void a_tensor_and_its_storage(void **state)
{
    struct heft_objects *const o = open_training();
    struct heft_checkpoint *const c = heft_objects_checkpoint(o);
    const uint32_t node = find_key(o, find_key(o, heft_objects_root(o), "model"), "weight");
    const struct heft_object call = object_at(o, node);
    struct heft_object_storage s = HEFT_INIT(struct heft_object_storage);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    const struct heft_object callee = object_at(o, call.callee);
    uint32_t items[2];
    uint8_t copy[24], wanted[24];
    void *view;

    (void)state;
    assert_int_equal(call.kind, HEFT_OBJECT_CALL);
    assert_int_equal(callee.kind, HEFT_OBJECT_GLOBAL);
    assert_memory_equal(callee.module, "torch._utils", callee.n_module);
    assert_true(heft_tensor_at(c, call.tensor, &t));
    assert_string_equal(t.name, "model.weight");
    assert_true(heft_object_items(o, call.arguments, items, 2));
    assert_int_equal(object_at(o, items[0]).kind, HEFT_OBJECT_STORAGE);
    assert_int_equal(object_at(o, items[1]).integer, 0);
    assert_true(heft_object_storage_at(o, object_at(o, items[0]).storage, &s));
    assert_string_equal(s.class_name, "FloatStorage");
    assert_int_equal(s.bytes, sizeof copy);
    assert_true(s.has_data);
    assert_true(heft_tensor_read(c, call.tensor, wanted, sizeof wanted, &err));
    assert_true(
        heft_object_storage_read(o, object_at(o, items[0]).storage, copy, sizeof copy, &err));
    assert_memory_equal(copy, wanted, sizeof copy);
    assert_true(heft_object_storage_view(o, object_at(o, items[0]).storage, &view, &err));
    assert_memory_equal(view, wanted, sizeof copy);
    heft_objects_free(o);
}

static void files_without_objects(void **state)
{
    struct heft_objects *o =
        heft_objects_new(HEFT_TESTS "/golden/safetensors/tied.safetensors", NULL, &err);

    (void)state;
    assert_non_null(o);
    assert_int_equal(heft_objects_root(o), HEFT_NO_OBJECT);
    assert_int_equal(heft_objects_count(o), 0);
    assert_int_not_equal(heft_tensor_count(heft_objects_checkpoint(o)), 0);
    heft_objects_free(o);
    assert_null(heft_objects_new("no/such/file", NULL, &err));
    assert_int_equal(err.code, HEFT_IO);
}

static void wrong_arguments(void **state)
{
    struct heft_objects *const o = open_training();
    struct heft_object x = HEFT_INIT(struct heft_object);
    struct heft_object_storage s = HEFT_INIT(struct heft_object_storage);
    uint32_t items[1];
    uint8_t copy[24];
    void *view;

    (void)state;
    assert_null(heft_objects_new(NULL, NULL, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_objects_free(NULL);
    assert_null(heft_objects_checkpoint(NULL));
    assert_int_equal(heft_objects_root(NULL), HEFT_NO_OBJECT);
    assert_int_equal(heft_objects_count(NULL), 0);
    assert_false(heft_object_at(o, HEFT_NO_OBJECT, &x));
    assert_false(heft_object_at(NULL, 0, &x));
    assert_false(heft_object_items(o, heft_objects_root(o), items, 1000));
    assert_false(heft_object_storage_at(o, 1000, &s));
    assert_false(heft_object_storage_read(o, 1000, copy, sizeof copy, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_object_storage_read(o, 0, copy, 1, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_false(heft_object_storage_view(o, 1000, &view, &err));
    assert_false(heft_object_storage_view(o, 0, NULL, &err));
    heft_objects_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_and_its_storage),
        cmocka_unit_test(files_without_objects),
        cmocka_unit_test(wrong_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
