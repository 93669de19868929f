/* test_merge_files.c: merging metadata and values of several files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "core/model.h"
#include "format/formats.h"
#include "core/tree.h"

static void add_file(struct heft_model *model, const char *path, struct heft_error *err)
{
    static const uint8_t byte[1];
    struct heft_source source;
    uint32_t index;

    heft_source_open_memory(&source, (struct heft_bytes){byte, 1}, path);
    assert_true(heft_model_add_file(model, &source, path, &index, err));
}

/* Adds the values {"n": number, "in": {"x": x, "y_NUMBER": 1}, "list": [x]}. */
static bool add_values(struct heft_model *model, uint32_t source, int64_t number, int64_t x,
                       struct heft_error *err)
{
    struct heft_arena *const mem = &model->mem;
    struct heft_node *const root = heft_tree_dict(mem, NULL, HEFT_STR(""), err), *in, *list;
    char own[8] = "y_0";

    own[2] = (char)('0' + number);
    return root && heft_tree_number(mem, root, HEFT_STR("n"), number, err) &&
           (in = heft_tree_dict(mem, root, HEFT_STR("in"), err)) &&
           heft_tree_number(mem, in, HEFT_STR("x"), x, err) &&
           heft_tree_number(mem, in, heft_str_of(own), 1, err) &&
           (list = heft_tree_list(mem, root, HEFT_STR("list"), err)) &&
           heft_tree_number(mem, list, HEFT_STR(""), x, err) &&
           heft_model_add_tree(model, source, &root->value, err);
}

static void assert_differs(const struct heft_model *model, size_t i, uint32_t source,
                           const char *key)
{
    assert_int_equal(model->differing[i].source, source);
    assert_string_equal(model->differing[i].key.p, key);
}

static void values_of_three_files(void **state)
{
    struct heft_error err = {0};
    struct heft_model model;
    const struct heft_value *in;

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    add_file(&model, "a", &err);
    add_file(&model, "b", &err);
    add_file(&model, "c", &err);
    assert_true(add_values(&model, 0, 1, 7, &err) && add_values(&model, 1, 2, 7, &err) &&
                add_values(&model, 2, 1, 8, &err) && heft_model_merge(&model, &err));
    assert_int_equal(heft_value_below(model.values, "n")->as.integer, 1);
    assert_int_equal(heft_value_below(model.values, "list.0")->as.integer, 7);
    in = heft_value_below(model.values, "in")->first_child;
    assert_string_equal(in->key, "x");
    assert_string_equal(in->next_sibling->key, "y_1");
    assert_string_equal(in->next_sibling->next_sibling->key, "y_2");
    assert_null(in->next_sibling->next_sibling->next_sibling);
    assert_int_equal(model.n_differing, 3);
    assert_differs(&model, 0, 1, "n");
    assert_int_equal(model.differing[0].value->as.integer, 2);
    assert_differs(&model, 1, 2, "list");
    assert_differs(&model, 2, 2, "in.x");
    heft_model_release(&model);
}

static bool add_metadata(struct heft_model *model, uint32_t source, struct heft_str key,
                         struct heft_str value, struct heft_error *err)
{
    const struct heft_pair pair = {key, value, source, false};

    return heft_model_add_metadata(model, &pair, err);
}

static void texts_of_two_files(void **state)
{
    struct heft_error err = {0};
    struct heft_model model;

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    add_file(&model, "a", &err);
    add_file(&model, "b", &err);
    assert_true(add_metadata(&model, 0, HEFT_STR("format"), HEFT_STR("pt"), &err) &&
                add_metadata(&model, 0, HEFT_STR("k"), HEFT_STR("1"), &err) &&
                add_metadata(&model, 1, HEFT_STR("k"), HEFT_STR("2"), &err) &&
                add_metadata(&model, 1, HEFT_STR("format"), HEFT_STR("pt"), &err) &&
                heft_model_add_tie(
                    &model, &(struct heft_pair){HEFT_STR("t"), HEFT_STR("w"), 0, false}, &err) &&
                heft_model_add_tie(
                    &model, &(struct heft_pair){HEFT_STR("t"), HEFT_STR("v"), 1, false}, &err) &&
                heft_model_merge(&model, &err));
    assert_int_equal(model.n_metadata, 2);
    assert_string_equal(model.metadata[1].value.p, "1");
    assert_int_equal(model.n_ties, 1);
    assert_int_equal(model.n_differing, 2);
    assert_differs(&model, 0, 1, "k");
    assert_string_equal(model.differing[0].value->text, "2");
    assert_differs(&model, 1, 1, "t");
    assert_int_equal(model.differing[1].kind, HEFT_DIFFERING_TIE);
    heft_model_release(&model);
}

/* Adds dictionaries nested `depth` deep, with a number in the innermost one. */
static bool add_deep(struct heft_model *model, uint32_t source, unsigned depth, int64_t number,
                     struct heft_error *err)
{
    struct heft_node *const root = heft_tree_dict(&model->mem, NULL, HEFT_STR(""), err);
    struct heft_node *at = root;

    for (unsigned i = 0; at && i < depth; i++)
        at = heft_tree_dict(&model->mem, at, HEFT_STR("deeper"), err);
    return at && heft_tree_number(&model->mem, at, HEFT_STR("n"), number, err) &&
           heft_model_add_tree(model, source, &root->value, err);
}

static void a_deep_path_is_truncated_at_its_front(void **state)
{
    struct heft_error err = {0};
    struct heft_model model;

    (void)state;
    heft_model_init(&model, NULL, &heft_formats);
    add_file(&model, "a", &err);
    add_file(&model, "b", &err);
    assert_true(add_deep(&model, 0, 10000, 1, &err) && add_deep(&model, 1, 10000, 2, &err) &&
                heft_model_merge(&model, &err));
    assert_int_equal(model.n_differing, 1);
    assert_true(model.differing[0].key.n <= 1024);
    assert_memory_equal(model.differing[0].key.p, "….deeper.", strlen("….deeper."));
    assert_true(heft_str_ends(model.differing[0].key, ".deeper.n"));
    heft_model_release(&model);
}

static void any_failing_allocation(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct heft_error err = {0};
        struct heft_model model;

        heft_model_init(&model, NULL, &heft_formats);
        add_file(&model, "a", &err);
        add_file(&model, "b", &err);
        FAIL_ALLOCATION(&fail,
                        add_values(&model, 0, 1, 7, &err) && add_values(&model, 1, 2, 8, &err) &&
                            add_metadata(&model, 0, HEFT_STR("k"), HEFT_STR("1"), &err) &&
                            add_metadata(&model, 1, HEFT_STR("k"), HEFT_STR("2"), &err) &&
                            heft_model_merge(&model, &err),
                        &err);
        heft_model_release(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_three_files),
        cmocka_unit_test(texts_of_two_files),
        cmocka_unit_test(a_deep_path_is_truncated_at_its_front),
        cmocka_unit_test(any_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
