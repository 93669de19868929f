/* test_module_tree.c: the tree of modules of models that are built in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"
#include "format/formats.h"
#include "core/registry.h"
#include "measure/module_tree.h"

struct fixture {
    struct heft_model model;
    struct heft_module_tree tree;
    struct heft_error err;
};

static const struct heft_format paths = {.name = "paths", .has_path_names = true};

static void begin(struct fixture *f)
{
    static const uint8_t bytes[64];
    struct heft_source source;
    uint32_t index;

    *f = (struct fixture){0};
    heft_model_init(&f->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){bytes, sizeof bytes}, "bytes");
    assert_true(heft_model_add_file(&f->model, &source, "bytes", &index, &f->err));
}

/* Adds a row of I16 of one dimension on a storage of its own, or on one that exists. */
static void add_row(struct fixture *f, const char *name, uint64_t n, const uint32_t *storage,
                    uint64_t offset)
{
    const struct heft_storage own = {.off = 0, .packed = 64, .len = 64};
    uint64_t *shape = heft_arena_u64(&f->model.mem, 1, &f->err);
    uint32_t index;
    struct heft_row row = {.name = heft_str_of(name),
                           .shape = shape,
                           .offset = offset,
                           .bytes = 2 * n,
                           .dtype = HEFT_I16,
                           .rank = 1};

    *shape = n;
    assert_true(storage || heft_model_add_storage(&f->model, &own, &index, &f->err));
    row.storage = storage ? *storage : index;
    assert_true(heft_model_add_row(&f->model, &row, &f->err));
}

static void add(struct fixture *f, const char *name, uint64_t n)
{
    add_row(f, name, n, NULL, 0);
}

static void append(struct heft_buf *buf, const struct fixture *f, uint32_t at, unsigned level)
{
    const struct heft_module_node *n = &f->tree.nodes[at];
    const struct heft_str text = heft_module_text(&f->tree, &f->model, at);
    const struct heft_str last = heft_module_text(&f->tree, &f->model, n->last);

    heft_buf_printf(buf, "%*s%.*s", 2 * (int)level, "", (int)text.n, text.p);
    if (n->count > 1)
        heft_buf_printf(buf, " to %.*s, %" PRIu32 " times", (int)last.n, last.p, n->count);
    heft_buf_printf(buf, ": %" PRIu64 "%s%s\n", n->parameters, n->is_tensor ? "" : " below",
                    n->is_tied ? " tied" : "");
    assert_int_equal(n->bytes, 2 * n->parameters);
}

/* Builds the tree and compares it with lines like "  0 to 3, 4 times: 2". */
static void expect_selected(struct fixture *f, const bool *selected, const char *root,
                            const char *expected)
{
    struct heft_buf buf = {0};
    unsigned level = 0;
    uint32_t at;

    assert_true(heft_module_tree_build(&f->tree, &f->model, selected, root, &f->err));
    for (at = f->tree.nodes[0].first_child; at != HEFT_NONE;) {
        const struct heft_module_node *n = &f->tree.nodes[at];

        append(&buf, f, at, level);
        if (n->first_child != HEFT_NONE) {
            at = n->first_child;
            level++;
            continue;
        }
        while (f->tree.nodes[at].next == HEFT_NONE && at != 0) {
            at = f->tree.nodes[at].parent;
            level--;
        }
        at = at ? f->tree.nodes[at].next : HEFT_NONE;
    }
    heft_buf_char(&buf, '\0');
    assert_string_equal(buf.p, expected);
    heft_buf_release(&buf);
    heft_module_tree_release(&f->tree);
}

static void expect(struct fixture *f, const char *expected)
{
    expect_selected(f, NULL, NULL, expected);
    heft_model_release(&f->model);
}

/* ---- tests ------------------------------------------------------------------------------- */

static void nothing(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    expect(&f, "");
}

static void texts_are_joined_and_split(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    add(&f, "a.b.c.d", 1);
    add(&f, "a.b.c.e", 2);
    add(&f, "a.b.c", 3); /* a tensor beside the module of the same name */
    add(&f, "a.bb", 4);
    add(&f, "a", 5);
    add(&f, "x.y", 6);
    expect(&f, "a: 10 below\n"
               "  b: 6 below\n"
               "    c: 3 below\n"
               "      d: 1\n"
               "      e: 2\n"
               "    c: 3\n"
               "  bb: 4\n"
               "a: 5\n"
               "x.y: 6\n");
}

static void repeated_modules_are_folded(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    add(&f, "l.10.a", 1);
    add(&f, "l.10.b", 2);
    add(&f, "l.2.b", 2); /* another order of members */
    add(&f, "l.2.a", 1);
    add(&f, "l.3.a", 1);
    add(&f, "l.3.b", 2);
    add(&f, "l.4.a", 1);
    add(&f, "l.4.b", 3); /* another shape */
    add(&f, "l.5.a", 1);
    add(&f, "l.5.c", 2); /* another name */
    expect(&f, "l: 16 below\n"
               "  2 to 3, 2 times: 3 below\n"
               "    b: 2\n"
               "    a: 1\n"
               "  4: 4 below\n"
               "    a: 1\n"
               "    b: 3\n"
               "  5: 3 below\n"
               "    a: 1\n"
               "    c: 2\n"
               "  10: 3 below\n"
               "    a: 1\n"
               "    b: 2\n");
}

static void steps(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    for (const char *const *name =
             (const char *const[]){"0.w", "2.w", "4.w", "5.w", "8.w", "008.w", "c9d", "c7d", "c8d",
                                   "9.v", "1234567890123456789.w", "1234567890123456790.w", NULL};
         *name; name++)
        add(&f, *name, 1);
    expect(&f, "0.w to 4.w, 3 times: 1\n"
               "5.w: 1\n"
               "8.w: 1\n"
               "9.v: 1\n"
               "008.w: 1\n"
               "c7d to c9d, 3 times: 1\n"
               "1234567890123456789.w: 1\n"
               "1234567890123456790.w: 1\n");
}

/* Zeros in front of a number make it as wide as others, which then belong to it. */
static void padded_numbers(void **state)
{
    static const char *const names[] = {"x.10", "x.9", "x.08",  "x.09",
                                        "x.11", "x.8", "x.100", NULL};
    struct fixture f;

    (void)state;
    begin(&f);
    for (const char *const *name = names; *name; name++)
        add(&f, *name, 1);
    expect(&f, "x: 7 below\n"
               "  08 to 11, 4 times: 1\n"
               "  8 to 9, 2 times: 1\n"
               "  100: 1\n");
}

static void nested_repetition(void **state)
{
    static const char *const names[] = {"l.0.e.0.w", "l.0.e.1.w", "l.0.n", "l.1.e.0.w",
                                        "l.1.e.1.w", "l.1.n",     NULL};
    struct fixture f;

    (void)state;
    begin(&f);
    for (const char *const *name = names; *name; name++)
        add(&f, *name, 3);
    expect(&f, "l: 18 below\n"
               "  0 to 1, 2 times: 9 below\n"
               "    e: 6 below\n"
               "      0.w to 1.w, 2 times: 3\n"
               "    n: 3\n");
}

static void ties_count_once(void **state)
{
    static const uint32_t first = 0;
    struct fixture f;

    (void)state;
    begin(&f);
    add(&f, "embed", 4);
    add_row(&f, "head", 4, &first, 0);
    add_row(&f, "view", 4, &first, 2); /* another part of the storage */
    add_row(&f, "part", 3, &first, 0);
    assert_true(heft_module_tree_build(&f.tree, &f.model, NULL, NULL, &f.err));
    assert_int_equal(f.tree.tied, 1);
    assert_int_equal(f.tree.tied_parameters, 4);
    assert_int_equal(f.tree.tied_bytes, 8);
    assert_int_equal(f.tree.nodes[0].parameters, 11);
    assert_int_equal(f.tree.nodes[0].tensors, 4);
    heft_module_tree_release(&f.tree);
    expect(&f, "embed: 4\n"
               "head: 0 tied\n"
               "view: 4\n"
               "part: 3\n");
}

static void separators(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.model.sources[0].format = &paths;
    add(&f, "d/k/.A/V", 1);
    add(&f, "d/b/.A/V", 1);
    add(&f, "d.c", 1); /* no slash: split at dots */
    add(&f, "d/c", 1); /* then equal to this one */
    expect(&f, "d: 4 below\n"
               "  k/.A/V: 1\n"
               "  b/.A/V: 1\n"
               "  c: 1\n"
               "  c: 1\n");
}

static void below_a_root(void **state)
{
    static const bool selected[] = {false, true, true, false};
    struct fixture f;

    (void)state;
    begin(&f);
    add(&f, "x.a", 1);
    add(&f, "s.a.b", 2);
    add(&f, "s.a.", 3);
    add(&f, "s.c", 4);
    expect_selected(&f, selected, "s",
                    "a: 5 below\n"
                    "  b: 2\n"
                    "  : 3\n");
    heft_model_release(&f.model);
}

/* A name that consists of dots has tens of thousands of components. */
static void deep_names(void **state)
{
    enum { LONG = 60000 };
    struct fixture f;
    char *dots = malloc(LONG + 1), *longer = malloc(LONG + 2);

    (void)state;
    begin(&f);
    memset(dots, '.', LONG);
    memset(longer, '.', LONG + 1);
    dots[LONG] = longer[LONG + 1] = '\0';
    add(&f, dots, 1);
    add(&f, longer, 2);
    assert_true(heft_module_tree_build(&f.tree, &f.model, NULL, NULL, &f.err));
    assert_int_equal(f.tree.n, 4);
    assert_int_equal(f.tree.nodes[0].parameters, 3);
    heft_module_tree_release(&f.tree);
    heft_model_release(&f.model);
    free(dots);
    free(longer);
}

static bool build_again(void *ctx, struct heft_error *err)
{
    struct fixture *f = ctx;
    const bool ok = heft_module_tree_build(&f->tree, &f->model, NULL, NULL, err);

    heft_module_tree_release(&f->tree);
    return ok;
}

static void failing_allocations(void **state)
{
    static const uint32_t first = 0;
    char names[600][32];
    struct fixture f;

    (void)state;
    begin(&f);
    for (int i = 0; i < 600; i++) {
        snprintf(names[i], sizeof names[i], "%c.%d.w%d", "ba"[i % 2], i % 7, i);
        if (i % 5)
            add(&f, names[i], 1);
        else
            add_row(&f, names[i], 1, &first, 0);
    }
    fail_each_allocation(build_again, &f, 1000);
    heft_model_release(&f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(texts_are_joined_and_split),
        cmocka_unit_test(repeated_modules_are_folded),
        cmocka_unit_test(steps),
        cmocka_unit_test(padded_numbers),
        cmocka_unit_test(nested_repetition),
        cmocka_unit_test(ties_count_once),
        cmocka_unit_test(separators),
        cmocka_unit_test(below_a_root),
        cmocka_unit_test(deep_names),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
