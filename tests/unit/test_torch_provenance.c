/* test_torch_provenance.c: the provenance of rows, for callers that ask for it: positions of opcodes,
 * storages shared by rows, several files in one model, requests to other formats, failed allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/registry.h"
#include "format/formats.h"
#include "format/torch/pickle/torch_parts.h"
#include "format/torch/pickle/torch_provenance.h"
#include "failures.h"
#include "torch_zip.h"

/* Two views of storage 0 (16 floats): {"w": view, "b": view}. */
#define STORAGE                                                                                    \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                                             \
    "0X\6\0\0\0cuda:0K\20tQ"
#define KEY(c) "X\1\0\0\0" c
#define VIEW                                                                                       \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE "K\0K\2\x85K\1\x85\x89"                         \
    "ccollections\nOrderedDict\n)Rt"
#define BEFORE_W "\x80\2}("
#define BEFORE_B BEFORE_W KEY("w") VIEW "R"
#define PICKLE   BEFORE_B KEY("b") VIEW "Ru."

struct opened {
    struct heft_buf zip;
    struct heft_model model;
    struct heft_error err;
};

static bool add_file(struct opened *o, const char *label)
{
    struct heft_source source;
    uint32_t index;

    heft_source_open_memory(&source, (struct heft_bytes){(const uint8_t *)o->zip.p, o->zip.n},
                            label);
    return heft_model_add_file(&o->model, &source, label, &index, &o->err) &&
           heft_registry_open_source(&o->model, index, "torch", &o->err);
}

static void begin(struct opened *o, struct heft_open_request request)
{
    static const char pickle[] = PICKLE;

    *o = (struct opened){0};
    torch_zip_of(&o->zip, (struct heft_bytes){(const uint8_t *)pickle, sizeof pickle - 1});
    heft_model_init(&o->model, NULL, &heft_formats);
    o->model.request = request;
}

static void end(struct opened *o)
{
    heft_model_release(&o->model);
    heft_buf_release(&o->zip);
}

static void each_row_has_its_opcodes(void **state)
{
    struct heft_provenance p = {0};
    const struct heft_torch_request request = {.provenance = &p};
    struct opened o;

    (void)state;
    begin(&o, heft_torch_ask(&request));
    assert_true(add_file(&o, "a.pt"));
    assert_int_equal(p.n_rows, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(p.rows[i].pickle_at, TORCH_ZIP_PICKLE);
        assert_int_equal(p.rows[i].row, i);
        assert_int_equal(p.rows[i].storage, 0); /* added once, although its id comes twice */
    }
    assert_int_equal(p.rows[0].key_at, sizeof BEFORE_W - 1);
    assert_int_equal(p.rows[0].made_at, sizeof BEFORE_B - 2); /* REDUCE, the last before it */
    assert_int_equal(p.rows[1].key_at, sizeof BEFORE_B - 1);
    assert_int_equal(p.rows[1].made_at, sizeof PICKLE - 4); /* REDUCE before SETITEMS and STOP */
    assert_int_equal(p.n_storages, 1);
    assert_string_equal(p.storages[0].type, "FloatStorage");
    assert_string_equal(p.storages[0].key.p, "0");
    assert_string_equal(p.storages[0].location.p, "cuda:0");
    assert_int_equal(p.storages[0].elements, 16);
    assert_int_equal(p.storages[0].storage, o.model.rows[0].storage);
    end(&o);
    heft_provenance_release(&p);
}

static void files_of_one_model_are_recorded_together(void **state)
{
    struct heft_provenance p = {0};
    const struct heft_torch_request request = {.provenance = &p};
    struct opened o;

    (void)state;
    begin(&o, heft_torch_ask(&request));
    assert_true(add_file(&o, "a.pt") && add_file(&o, "b.pt"));
    assert_int_equal(p.n_rows, 4);
    assert_int_equal(p.n_storages, 2);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t storage = o.model.rows[i].storage;

        assert_int_equal(p.rows[i].row, i);
        assert_int_equal(p.storages[p.rows[i].storage].storage, storage);
        assert_int_equal(o.model.storages[storage].source, i / 2);
    }
    end(&o);
    heft_provenance_release(&p);
}

/* Data of another format must not be read as a torch request. */
static void requests_to_other_formats_are_ignored(void **state)
{
    static const char other_kind = 0;
    struct opened o;

    (void)state;
    begin(&o, (struct heft_open_request){.kind = &other_kind, .data = "text that is no request"});
    assert_true(add_file(&o, "a.pt"));
    assert_int_equal(o.model.n_rows, 2);
    end(&o);
    begin(&o, (struct heft_open_request){0});
    assert_true(add_file(&o, "a.pt"));
    assert_int_equal(o.model.n_rows, 2);
    end(&o);
}

static bool read_once(void *ctx, struct heft_error *err)
{
    struct opened *o = ctx;
    struct heft_provenance p = {0};
    const struct heft_torch_request request = {.provenance = &p};
    bool ok;

    heft_model_init(&o->model, NULL, &heft_formats);
    o->model.request = heft_torch_ask(&request);
    o->err = (struct heft_error){0};
    ok = add_file(o, "a.pt");
    *err = o->err;
    assert_true(!ok || p.n_rows == 2);
    heft_model_release(&o->model);
    heft_provenance_release(&p);
    return ok;
}

static void failed_allocations_leave_nothing(void **state)
{
    struct opened o;

    (void)state;
    begin(&o, (struct heft_open_request){0});
    heft_model_release(&o.model);
    fail_each_allocation(read_once, &o, 1000);
    heft_buf_release(&o.zip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_has_its_opcodes),
        cmocka_unit_test(files_of_one_model_are_recorded_together),
        cmocka_unit_test(requests_to_other_formats_are_ignored),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
