/* test_tf_graph.c: index of a graph, and its nodes read again, on TensorFlow's own files; failed
 * allocations while they are opened. */
#include "format/tensorflow/saved_model/tf_saved.h"
#include "format/tensorflow/graph/tf_tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"

#define GOLDEN HEFT_TESTS "/golden/saved-model/"

static const struct heft_option constants = {"constants", NULL};
static const struct heft_open_options with_constants = {
    .size = sizeof with_constants, .options = &constants, .n_options = 1};

/* ---- the parts of a model of TensorFlow 2 ---- */

struct fixture {
    struct heft_source source;
    struct heft_tf_saved saved;
    struct heft_arena mem;
    struct heft_error err;
    struct heft_tf_graph *graph;
};

static void open_model(struct fixture *f, const char *path)
{
    *f = (struct fixture){0};
    assert_true(heft_source_open_file(&f->source, path, &f->err));
    if (!heft_tf_saved_read(&f->saved, &f->source, &f->mem, &f->err))
        fail_msg("%s", f->err.text);
    f->graph = f->saved.graphs;
    assert_true(heft_tf_graph_index(f->graph, &f->err));
}

static void close_model(struct fixture *f)
{
    heft_tf_saved_release(&f->saved);
    heft_arena_release(&f->mem);
    heft_source_close(&f->source);
}

static struct heft_tf_node node_of(struct fixture *f, const struct heft_tf_node_entry *entry)
{
    struct heft_tf_node node;

    assert_true(heft_tf_node_read(&f->saved.doc, entry->at, &f->mem, &node, &f->err));
    assert_true(heft_str_eq(node.name, entry->name));
    assert_true(heft_str_eq(node.op, f->graph->words[entry->op]));
    return node;
}

/* From restore_op_name to the names of the restored tensors. */
static void restoring(void **state)
{
    struct fixture f;
    struct heft_tf_function_def def;
    struct heft_tf_tensor tensor;
    struct heft_tf_node call, names = {0};
    struct heft_str keys[2];
    uint32_t number;

    (void)state;
    open_model(&f, GOLDEN "tf2/saved_model.pb");
    number = heft_tf_graph_node(f.graph, f.graph->saver.restore_op);
    assert_true(number != HEFT_MAP_NONE);
    call = node_of(&f, &f.graph->nodes[number]);
    assert_true(call.n_inputs == 2 && heft_str_is(call.inputs[0], "saver_filename"));
    number = heft_tf_graph_function(f.graph, call.func);
    assert_true(number != HEFT_MAP_NONE);
    assert_true(
        heft_tf_function_read(&f.saved.doc, f.graph->functions[number].at, &f.mem, &def, &f.err));
    assert_true(heft_str_eq(def.name, call.func) && def.n_inputs == 2 && def.n_returns == 1);
    for (uint32_t i = 0; i < f.graph->functions[number].n; i++) {
        const struct heft_tf_node_entry *entry =
            &f.graph->inner[f.graph->functions[number].first + i];

        if (heft_str_is(entry->name, "RestoreV2/tensor_names"))
            names = node_of(&f, entry);
        if (heft_str_is(entry->name, "RestoreV2"))
            assert_int_equal(node_of(&f, entry).n_dtypes, 2);
    }
    assert_true(names.has_value && names.dtype == 7);
    assert_true(heft_tf_tensor_read(&f.saved.doc, names.value, &f.mem, &tensor, &f.err));
    assert_true(heft_tf_tensor_strings(&f.saved.doc, &tensor, 2, &f.mem, keys, &f.err));
    assert_true(heft_str_is(keys[0], "w/.ATTRIBUTES/VARIABLE_VALUE"));
    assert_true(heft_str_is(keys[1], "_CHECKPOINTABLE_OBJECT_GRAPH"));
    close_model(&f);
}

static void variables(void **state)
{
    struct fixture f;
    struct heft_tf_variable variable = {0};

    (void)state;
    open_model(&f, GOLDEN "tf2/saved_model.pb");
    for (size_t i = 0; i < f.graph->n_objects; i++)
        if (f.graph->objects[i].kind == HEFT_TF_VARIABLE)
            assert_true(heft_tf_variable_read(&f.saved.doc, f.graph->objects[i].at, &f.mem,
                                              &variable, &f.err));
    assert_true(heft_str_is(variable.name, "w") && variable.dtype == 1);
    assert_true(variable.shape.rank == 2 && variable.shape.dims[0] == 2);
    close_model(&f);
}

static bool count_bytes(void *ctx, struct heft_str text, struct heft_error *err)
{
    (void)err;
    *(size_t *)ctx += text.n;
    return true;
}

/* Binary and text form have the same collections. */
static void collections(void **state)
{
    static const char *const files[] = {GOLDEN "v1/saved_model.pb",
                                        GOLDEN "v1-text/saved_model.pbtxt"};
    size_t bytes[2] = {0};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(files); i++) {
        struct fixture f;

        open_model(&f, files[i]);
        assert_int_equal(f.saved.n_graphs, 2);
        assert_int_equal(f.graph->n_assets, 1);
        for (size_t k = 0; k < f.graph->n_collections; k++)
            if (f.graph->collections[k].kind != HEFT_TF_ANY_LIST)
                assert_true(heft_tf_collection_each(f.graph, &f.graph->collections[k], count_bytes,
                                                    &bytes[i], &f.err));
        close_model(&f);
    }
    assert_true(bytes[0] > 50);
    assert_int_equal(bytes[0], bytes[1]);
}

/* ---- lack of memory ---- */

static void opening_without_memory(void **state)
{
    static const char *const files[] = {GOLDEN "tf2", GOLDEN "v1-text", GOLDEN "frozen.pb",
                                        GOLDEN "frozen.pbtxt"};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(files); i++) {
        struct heft_checkpoint *c = NULL;
        struct heft_error err;

        for (struct failures fail = {.most = 20000}; !fail.done;)
            FAIL_ALLOCATION(&fail, (c = heft_open(files[i], &with_constants, &err)) != NULL, &err);
        heft_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restoring),
        cmocka_unit_test(variables),
        cmocka_unit_test(collections),
        cmocka_unit_test(opening_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
