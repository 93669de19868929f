/* test_usage.c: bytes of storages that tensors refer to, compared with a count byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/usage.h"
#include "format/formats.h"

#define STORAGES 4
#define LENGTH   64

struct fixture {
    struct heft_model model;
    struct heft_error err;
    uint8_t bytes[STORAGES * LENGTH];
    bool seen[STORAGES * LENGTH];
};

static void begin(struct fixture *f, size_t storages)
{
    struct heft_source source;
    uint32_t index;

    *f = (struct fixture){0};
    heft_model_init(&f->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){f->bytes, sizeof f->bytes}, "bytes");
    assert_true(heft_model_add_file(&f->model, &source, "bytes", &index, &f->err));
    for (size_t i = 0; i < storages; i++) {
        const struct heft_storage s = {.off = i * LENGTH, .packed = LENGTH, .len = LENGTH};

        assert_true(heft_model_add_storage(&f->model, &s, &index, &f->err));
    }
}

/* Adds a row of two dimensions of 2-byte elements; marks the bytes from its first to its last
 * element. */
static void add(struct fixture *f, uint32_t storage, uint64_t offset, const uint64_t dims[4])
{
    const bool strided = dims[2] || dims[3];
    const uint64_t last =
        strided ? (dims[0] - 1) * dims[2] + (dims[1] - 1) * dims[3] : dims[0] * dims[1] - 1;
    uint64_t *copy = heft_arena_u64(&f->model.mem, 4, &f->err);
    char *name = heft_arena_printf(&f->model.mem, &f->err, "row%zu", f->model.n_rows);
    struct heft_row row = {.name = heft_str_of(name),
                           .shape = copy,
                           .stride = strided ? copy + 2 : NULL,
                           .offset = 2 * offset,
                           .storage = storage,
                           .dtype = HEFT_I16,
                           .rank = 2};

    memcpy(copy, dims, 4 * sizeof *dims);
    for (uint64_t i = 2 * offset; dims[0] && dims[1] && i < 2 * (offset + last + 1); i++)
        f->seen[storage * LENGTH + i] = true;
    assert_true(heft_model_add_row(&f->model, &row, &f->err));
}

static void expect_count(struct fixture *f)
{
    uint64_t stored, used, count = 0;

    assert_true(heft_model_validate(&f->model, &f->err));
    assert_true(heft_model_usage(&f->model, &stored, &used, &f->err));
    for (size_t i = 0; i < sizeof f->seen; i++)
        count += f->seen[i];
    assert_int_equal(stored, f->model.n_storages * LENGTH);
    assert_int_equal(used, count);
    heft_model_release(&f->model);
}

static void nothing_and_everything(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0);
    expect_count(&f);
    begin(&f, 2); /* storages without tensors */
    expect_count(&f);
    begin(&f, 2);
    add(&f, 0, 0, (const uint64_t[]){4, 8, 0, 0});
    add(&f, 1, 0, (const uint64_t[]){4, 8, 0, 0});
    expect_count(&f);
}

static void overlaps_count_once(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2);
    add(&f, 1, 4, (const uint64_t[]){2, 3, 0, 0});
    add(&f, 1, 6, (const uint64_t[]){1, 8, 0, 0});
    add(&f, 1, 5, (const uint64_t[]){1, 2, 0, 0}); /* inside the row before */
    /* strided: counted from the first element to the last */
    add(&f, 0, 0, (const uint64_t[]){3, 2, 10, 1});
    add(&f, 0, 1, (const uint64_t[]){0, 7, 0, 0});  /* empty */
    add(&f, 0, 30, (const uint64_t[]){5, 2, 0, 1}); /* expanded */
    expect_count(&f);
}

static void any_views(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 300; round++) {
        struct fixture f;

        begin(&f, STORAGES);
        for (int i = rand() % 12; i > 0; i--) {
            const uint64_t dims[] = {1 + (uint64_t)rand() % 3, 1 + (uint64_t)rand() % 3,
                                     (uint64_t)rand() % 8, (uint64_t)rand() % 3};

            add(&f, (uint32_t)rand() % STORAGES, (uint64_t)rand() % 12, dims);
        }
        expect_count(&f);
    }
}

static void a_failing_allocation_is_reported(void **state)
{
    struct fixture f;
    uint64_t stored, used;

    (void)state;
    begin(&f, 1);
    add(&f, 0, 0, (const uint64_t[]){1, 1, 0, 0});
    assert_true(heft_model_validate(&f.model, &f.err));
    heft_alloc_fail_at(1);
    assert_false(heft_model_usage(&f.model, &stored, &used, &f.err));
    heft_alloc_fail_at(0);
    assert_int_equal(f.err.code, HEFT_NOMEM);
    heft_model_release(&f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_and_everything),
        cmocka_unit_test(overlaps_count_once),
        cmocka_unit_test(any_views),
        cmocka_unit_test(a_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
