/* test_torch_export.c: rows of torch.export archives in memory. Files written by torch are in
 * tests/golden/torch-export, files that must be refused in tests/reject/torch-export. */
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
extern const struct heft_format heft_format_torch_export;

#define META(offset)                                                                               \
    "{\"dtype\":7,\"sizes\":[{\"as_int\":2}],\"strides\":[{\"as_int\":1}],"                        \
    "\"storage_offset\":{\"as_int\":" offset "},\"layout\":7}"
#define TENSOR(offset)                                                                             \
    "{\"path_name\":\"p\",\"is_param\":true,\"use_pickle\":false,\"tensor_meta\":" META(offset) "}"
#define ONE "{\"config\":{\"w\":" TENSOR("1") "}}"

static struct heft_bytes text(const char *s)
{
    return (struct heft_bytes){(const uint8_t *)s, strlen(s)};
}

/* `other`: the config of a second model, or NULL. */
static void make_zip(struct fixture *f, const char *weights, const char *other)
{
    static const uint8_t numbers[16];
    const struct heft_bytes storage = {numbers, sizeof numbers};
    struct torch_zip_record records[] = {
        {.name = "a/data/weights/p", .data = storage},
        {.name = "a/data/weights/m_weights_config.json", .data = text(weights)},
        {.name = "a/data/constants/p", .data = storage},
        {.name = "a/data/constants/m_constants_config.json", .data = text(ONE)},
        {.name = "a/models/m.json", .data = text("{}")},
        {.name = "a/archive_format", .data = text("pt2")},
        {.name = "a/.data/version", .data = text("6\n")},
        {.name = "a/data/weights/n_weights_config.json", .data = text(other ? other : "")},
    };

    *f = (struct fixture){0};
    torch_zip_records(&f->zip, records, HEFT_COUNT(records) - (other ? 0 : 1));
}

static void open_with(struct fixture *f, const char *weights, const char *other)
{
    make_zip(f, weights, other);
    open_bytes(f, &heft_format_torch_export, zip_bytes(f), NULL);
}

static void weights_come_before_constants(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, "{\"config\":{\"b\":" TENSOR("0") ",\"a\":" TENSOR("2") "}}", NULL);
    assert_true(f.opened);
    assert_int_equal(f.model.n_rows, 3);
    assert_string_equal(f.model.rows[0].name.p, "b");
    assert_string_equal(f.model.rows[1].name.p, "a");
    assert_string_equal(f.model.rows[2].name.p, "constants.w");
    assert_int_equal(f.model.rows[1].offset, 8);
    assert_int_equal(f.model.rows[0].storage, f.model.rows[1].storage);
    close_fixture(&f);
}

static void several_models_name_their_rows(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, ONE, ONE);
    assert_true(f.opened);
    assert_int_equal(f.model.n_rows, 3);
    assert_string_equal(f.model.rows[0].name.p, "m.w");
    assert_string_equal(f.model.rows[1].name.p, "n.w");
    assert_string_equal(f.model.rows[2].name.p, "m.constants.w");
    close_fixture(&f);
}

static void the_probe_scores_higher_than_torch(void **state)
{
    struct fixture f;
    struct heft_probe probe = {0};

    (void)state;
    open_with(&f, ONE, NULL);
    probe.head = probe.tail = (struct heft_bytes){(const uint8_t *)f.zip.p, f.zip.n};
    probe.size = f.zip.n;
    assert_true(heft_format_torch_export.probe(&probe) > heft_format_torch.probe(&probe));
    f.zip.p[0] = 'X';
    assert_int_equal(heft_format_torch_export.probe(&probe), 0);
    close_fixture(&f);
}

/* The n-th allocation fails, for every n until all succeed: HEFT_NOMEM, no crash, no leak. */
static void lack_of_memory_is_an_error(void **state)
{
    struct failures fail = {.most = 1001};

    (void)state;
    while (!fail.done) {
        struct fixture f;

        make_zip(&f, "{\"config\":{\"\\u0061b\":" TENSOR("0") ",\"c\":{\"path_name\":\"p\"}}}",
                 ONE);
        FAIL_ALLOCATION(&fail, open_bytes(&f, &heft_format_torch_export, zip_bytes(&f), NULL),
                        &f.err);
        close_fixture(&f);
    }
    assert_true(fail.n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_before_constants),
        cmocka_unit_test(several_models_name_their_rows),
        cmocka_unit_test(the_probe_scores_higher_than_torch),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
