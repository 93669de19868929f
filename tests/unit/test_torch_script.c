/* test_torch_script.c: rows and values of TorchScript archives in memory. Files written by torch
 * are in tests/golden/torchscript, files that must be refused in tests/reject/torchscript. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "fixture.h"
#include "torch_zip.h"

extern const struct heft_format heft_format_torch;
extern const struct heft_format heft_format_torchscript;

/* A tensor of two floats on the storage with this key, which has sixteen floats. */
#define TENSOR(key)                                                                                \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" key     \
    "X\3\0\0\0cpuK\20tQK\2K\2\x85K\1\x85\x89"                                                      \
    "ccollections\nOrderedDict\n)RtR"
#define MODULE "c__torch__\nM\n)\x81}("
#define END    "ub"
#define KEY(c) "X\1\0\0\0" c
#define NONE   "\x80\2)."

static const uint8_t sixty_four[64];

/* Pickles of an archive; NULL if absent. */
struct pickles {
    const char *data, *constants, *bytecode, *traced, *extra;
    size_t n_data, n_constants, n_bytecode, n_traced;
};
#define SET(p, name, literal)                                                                      \
    do {                                                                                           \
        (p)->name = "\x80\2" literal ".";                                                          \
        (p)->n_##name = sizeof("\x80\2" literal ".") - 1;                                          \
    } while (0)

static void add(struct torch_zip_record *records, size_t *n, const char *name, const void *p,
                size_t bytes)
{
    if (p)
        records[(*n)++] = (struct torch_zip_record){.name = name, .data = {p, bytes}};
}

static void make_zip(struct heft_buf *out, const struct pickles *p)
{
    struct torch_zip_record records[12];
    size_t n = 0;

    add(records, &n, "a/data/0", sixty_four, 64);
    add(records, &n, "a/constants/1", sixty_four, 64);
    add(records, &n, "a/bytecode/2", sixty_four, 64);
    add(records, &n, "a/traced_inputs/3", "", 0);
    add(records, &n, "a/data.pkl", p->data, p->n_data);
    add(records, &n, "a/constants.pkl", p->constants ? p->constants : NONE,
        p->constants ? p->n_constants : sizeof NONE - 1);
    add(records, &n, "a/bytecode.pkl", p->bytecode, p->n_bytecode);
    add(records, &n, "a/traced_inputs.pkl", p->traced, p->n_traced);
    add(records, &n, "a/extra/x", p->extra, p->extra ? strlen(p->extra) : 0);
    add(records, &n, "a/code/m.py", "pass\n", 5);
    add(records, &n, "a/version", "3\n", 2);
    torch_zip_records(out, records, n);
}

static void open_with(struct fixture *f, const struct heft_format *format, const struct pickles *p)
{
    *f = (struct fixture){0};
    make_zip(&f->zip, p);
    open_bytes(f, format, zip_bytes(f), NULL);
}

static void open_it(struct fixture *f, const struct pickles *p)
{
    open_with(f, &heft_format_torchscript, p);
    if (!f->opened)
        fail_msg("%s", f->err.text);
}

static void expect_names(const struct fixture *f, const char *const *names, size_t n)
{
    assert_int_equal(f->model.n_rows, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(f->model.rows[i].name.p, names[i]);
}
#define EXPECT_NAMES(f, ...)                                                                       \
    do {                                                                                           \
        const char *const names[] = {__VA_ARGS__};                                                 \
        expect_names(f, names, HEFT_COUNT(names));                                                 \
    } while (0)

static const struct heft_value *value_at(const struct fixture *f, const char *path)
{
    const struct heft_value *value =
        f->model.values ? heft_value_below(f->model.values, path) : NULL;

    if (!value)
        fail_msg("no value %s", path);
    return value;
}

/* ---- cases ------------------------------------------------------------------------------- */

static void attributes_are_named_by_their_path(void **state)
{
    struct pickles p = {0};
    struct fixture f;

    (void)state;
    SET(&p, data,
        MODULE KEY("b") MODULE KEY("w") TENSOR("0") KEY("n") "K\5" END KEY("a") TENSOR("0") END);
    open_it(&f, &p);
    EXPECT_NAMES(&f, "b.w", "a");
    assert_int_equal(f.model.rows[0].storage, f.model.rows[1].storage);
    assert_int_equal(value_at(&f, "b.n")->as.integer, 5);
    assert_string_equal(value_at(&f, "b")->type_name, "__torch__.M");
    assert_string_equal(f.model.format, "torchscript");
    close_fixture(&f);
}

static void constants_come_after_the_module(void **state)
{
    struct pickles p = {0};
    struct fixture f;

    (void)state;
    SET(&p, data, MODULE KEY("a") TENSOR("0") END);
    SET(&p, constants, TENSOR("1") "K\7\x86");
    open_it(&f, &p);
    EXPECT_NAMES(&f, "a", "constants.0");
    assert_int_equal(value_at(&f, "constants.1")->as.integer, 7);
    close_fixture(&f);
}

static void bytecode_adds_tensors_that_no_other_pickle_has(void **state)
{
    struct pickles p = {0};
    struct fixture f;

    (void)state;
    SET(&p, data, MODULE KEY("a") TENSOR("0") END);
    SET(&p, constants, TENSOR("1") "\x85");
    SET(&p, bytecode, "K\6" TENSOR("1") TENSOR("2") "\x87");
    open_it(&f, &p);
    EXPECT_NAMES(&f, "a", "constants.0", "bytecode.0");
    assert_non_null(strstr(f.model.version, "mobile bytecode 6"));
    close_fixture(&f);
}

static void traced_inputs_need_no_bytes(void **state)
{
    struct pickles p = {0};
    struct fixture f;

    (void)state;
    SET(&p, data, MODULE KEY("a") TENSOR("0") END);
    SET(&p, traced, "}" KEY("f") "](" TENSOR("3") "es");
    open_it(&f, &p);
    EXPECT_NAMES(&f, "a");
    assert_int_equal(f.model.n_unreadable, 0);
    close_fixture(&f);
    SET(&p, data, MODULE KEY("a") TENSOR("3") END); /* storage 3 is used only here, and absent */
    open_with(&f, &heft_format_torchscript, &p);
    assert_false(f.opened);
    assert_int_equal(f.err.code, HEFT_MALFORMED);
    close_fixture(&f);
}

static void a_list_of_known_parameters_refers_to_them(void **state)
{
    struct pickles p = {0};
    struct fixture f;

    (void)state;
    SET(&p, data,
        MODULE KEY("a") TENSOR("0") "q\1" KEY("b") "h\1" KEY("c") "](h\1" TENSOR("0") "e" END);
    open_it(&f, &p);
    EXPECT_NAMES(&f, "a", "b", "c.1"); /* a tie and a tensor outside the module are rows */
    assert_int_equal(value_at(&f, "c.0")->kind, HEFT_VALUE_TENSOR);
    assert_string_equal(value_at(&f, "c.0")->text, "a");
    assert_string_equal(value_at(&f, "c.1")->text, "c.1");
    close_fixture(&f);
}

static void tags_and_enumerations_are_unwrapped(void **state)
{
    struct pickles p = {0};
    struct fixture f;

    (void)state;
    SET(&p, data,
        MODULE KEY("a") "ctorch.jit._pickle\nrestore_type_tag\n](" TENSOR(
            "0") "eX\4\0\0\0List\x86R" KEY("e") "c__torch__\nColor\nK\2R" KEY("i") "ctorch.jit._"
                                                                                   "pickle\nbuild_"
                                                                                   "intlist\n]("
                                                                                   "K\1K\2e\x85"
                                                                                   "R" END);
    open_it(&f, &p);
    EXPECT_NAMES(&f, "a.0");
    assert_string_equal(value_at(&f, "e")->type_name, "__torch__.Color");
    assert_int_equal(value_at(&f, "e.args.0")->as.integer, 2);
    assert_int_equal(value_at(&f, "i.1")->as.integer, 2);
    close_fixture(&f);
}

static void extra_files_are_values(void **state)
{
    struct pickles p = {.extra = "text"};
    struct fixture f;

    (void)state;
    SET(&p, data, MODULE KEY("a") TENSOR("0") END);
    open_it(&f, &p);
    assert_string_equal(value_at(&f, "extra.x")->text, "text");
    close_fixture(&f);
    p.extra = "\xff";
    open_it(&f, &p);
    assert_int_equal(value_at(&f, "extra.x")->kind, HEFT_VALUE_BYTES);
    close_fixture(&f);
}

/* An archive whose constants.pkl the probe did not see is opened as torch, whose reader hands it
 * over. */
static void the_torch_reader_hands_over(void **state)
{
    struct pickles p = {0};
    struct fixture f;
    struct heft_probe probe = {0};

    (void)state;
    SET(&p, data, MODULE KEY("a") TENSOR("0") END);
    open_with(&f, &heft_format_torch, &p);
    assert_true(f.opened);
    assert_string_equal(f.model.format, "torchscript");
    probe.head = probe.tail = (struct heft_bytes){(const uint8_t *)f.zip.p, f.zip.n};
    probe.size = f.zip.n;
    assert_true(heft_format_torchscript.probe(&probe) > heft_format_torch.probe(&probe));
    probe.head.n = probe.tail.n = 40;
    assert_int_equal(heft_format_torchscript.probe(&probe), 0);
    close_fixture(&f);
}

static void another_zip_is_not_torchscript(void **state)
{
    struct fixture f = {0};
    struct heft_source source;
    uint32_t index;

    (void)state;
    torch_zip_of(&f.zip, (struct heft_bytes){(const uint8_t *)NONE, sizeof NONE - 1});
    heft_model_init(&f.model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){(const uint8_t *)f.zip.p, f.zip.n}, "zip");
    assert_true(heft_model_add_file(&f.model, &source, "zip", &index, &f.err));
    assert_false(heft_format_torchscript.open(&f.model, index, &f.err));
    assert_int_equal(f.err.code, HEFT_MALFORMED);
    assert_non_null(strstr(f.err.text, "constants.pkl"));
    close_fixture(&f);
}

static void every_byte_is_claimed(void **state)
{
    struct pickles p = {.extra = "text"};
    const struct heft_segment *segments;
    struct fixture f;
    size_t count;

    (void)state;
    SET(&p, data, MODULE KEY("a") TENSOR("0") END);
    SET(&p, bytecode, "K\6" TENSOR("2") "\x86");
    SET(&p, traced, "](" TENSOR("3") "e");
    open_it(&f, &p);
    assert_true(heft_model_map(&f.model, &f.model.mem, &segments, &count, &f.err));
    for (size_t i = 0; i < count; i++)
        assert_true(segments[i].claimed);
    close_fixture(&f);
}

/* The n-th allocation fails, for every n until all succeed: HEFT_NOMEM, no crash, no leak. */
static void lack_of_memory_is_an_error(void **state)
{
    struct pickles p = {.extra = "text"};
    struct failures fail = {.most = 1001};

    (void)state;
    SET(&p, data,
        MODULE KEY("a") TENSOR("0") "q\1" KEY("c") "](h\1e" KEY("e") "c__torch__\nColor\nK\2R" END);
    SET(&p, constants, TENSOR("1") "K\7\x86");
    SET(&p, bytecode, "K\6" TENSOR("2") "\x86");
    SET(&p, traced, "](" TENSOR("3") "e");
    while (!fail.done) {
        struct fixture f = {0};

        make_zip(&f.zip, &p);
        FAIL_ALLOCATION(&fail, open_bytes(&f, &heft_format_torchscript, zip_bytes(&f), NULL),
                        &f.err);
        close_fixture(&f);
    }
    assert_true(fail.n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_are_named_by_their_path),
        cmocka_unit_test(constants_come_after_the_module),
        cmocka_unit_test(bytecode_adds_tensors_that_no_other_pickle_has),
        cmocka_unit_test(traced_inputs_need_no_bytes),
        cmocka_unit_test(a_list_of_known_parameters_refers_to_them),
        cmocka_unit_test(tags_and_enumerations_are_unwrapped),
        cmocka_unit_test(extra_files_are_values),
        cmocka_unit_test(the_torch_reader_hands_over),
        cmocka_unit_test(another_zip_is_not_torchscript),
        cmocka_unit_test(every_byte_is_claimed),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
