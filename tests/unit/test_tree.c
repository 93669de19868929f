/* test_tree.c: trees of values built node by node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "core/tree.h"

/* Builds {"n": -3, "list": ["x", true, null, 0.5], "raw": bytes}. */
static struct heft_node *build(struct heft_arena *mem, struct heft_error *err)
{
    struct heft_node *root = heft_tree_dict(mem, NULL, HEFT_STR(""), err);
    struct heft_node *list;

    if (!root || !heft_tree_number(mem, root, HEFT_STR("n"), -3, err))
        return NULL;
    list = heft_tree_list(mem, root, HEFT_STR("list"), err);
    return list && heft_tree_text(mem, list, HEFT_STR(""), HEFT_STR("x"), err) &&
                   heft_tree_bool(mem, list, HEFT_STR(""), true, err) &&
                   heft_tree_null(mem, list, HEFT_STR(""), err) &&
                   heft_tree_real(mem, list, HEFT_STR(""), 0.5, err) &&
                   heft_tree_text(mem, root, HEFT_STR("raw"), HEFT_STR("\xff\0z"), err)
               ? root
               : NULL;
}

static void children_are_in_order(void **state)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    const struct heft_node *root = build(&mem, &err);
    const struct heft_value *v;

    (void)state;
    assert_non_null(root);
    assert_int_equal(root->value.kind, HEFT_VALUE_DICT);
    assert_int_equal(root->n, 3);
    v = root->value.first_child;
    assert_string_equal(v->key, "n");
    assert_int_equal(v->as.integer, -3);
    v = v->next_sibling;
    assert_int_equal(v->kind, HEFT_VALUE_LIST);
    assert_string_equal(v->first_child->key, "0");
    assert_string_equal(v->first_child->text, "x");
    assert_string_equal(v->first_child->next_sibling->key, "1");
    assert_true(v->first_child->next_sibling->as.boolean);
    assert_int_equal(v->first_child->next_sibling->next_sibling->kind, HEFT_VALUE_NULL);
    assert_true(v->first_child->next_sibling->next_sibling->next_sibling->as.number == 0.5);
    v = v->next_sibling;
    assert_int_equal(v->kind, HEFT_VALUE_BYTES);
    assert_int_equal(v->text_len, 3);
    assert_memory_equal(v->text, "\xff\0z", 4);
    assert_null(v->next_sibling);
    heft_arena_release(&mem);
}

static void a_shared_member_is_made_once(void **state)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_node *const root = build(&mem, &err);
    struct heft_node *list, *other;

    (void)state;
    assert_non_null(root);
    list = heft_tree_shared(&mem, root, HEFT_STR("list"), HEFT_VALUE_LIST, &err);
    assert_ptr_equal(&list->value, root->value.first_child->next_sibling);
    assert_true(heft_tree_bool(&mem, list, HEFT_STR(""), false, &err));
    assert_string_equal(list->last->value.key, "4");
    other = heft_tree_shared(&mem, root, HEFT_STR("other"), HEFT_VALUE_LIST, &err);
    assert_non_null(other);
    assert_ptr_equal(heft_tree_shared(&mem, root, HEFT_STR("other"), HEFT_VALUE_LIST, &err), other);
    assert_int_equal(root->n, 4);
    heft_arena_release(&mem);
}

static void any_failing_allocation(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 100}; !fail.done;) {
        struct heft_arena mem = {0};
        struct heft_error err = {0};

        FAIL_ALLOCATION(&fail, build(&mem, &err) != NULL, &err);
        heft_arena_release(&mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_in_order),
        cmocka_unit_test(a_shared_member_is_made_once),
        cmocka_unit_test(any_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
