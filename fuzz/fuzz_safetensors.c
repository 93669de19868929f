/* fuzz_safetensors.c: any bytes as a safetensors file; and the same bytes after the right header
 * length, so that mutations get past it. A file that opens is planned and written again; the result
 * must open and contain the same tensors. */
#include <stdint.h>
#include <string.h>

#include "base/endian.h"
#include "core/plan.h"
#include "open_format.h"

extern const struct heft_format heft_format_safetensors;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Opens with the default limits. */
static bool open_it(struct heft_model *model, struct heft_bytes bytes, struct heft_error *err)
{
    heft_model_init(model, NULL, &heft_formats);
    return open_bytes(model, "safetensors", bytes, err);
}

static struct heft_bytes run_plan(const struct heft_plan *plan, const struct heft_model *model)
{
    const uint64_t size = plan->files[0].size;
    uint8_t *out = malloc((size_t)size);
    struct heft_error err = {0};

    expect(out);
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct heft_op *op = &plan->ops[i];

        expect(op->kind == HEFT_OP_PUT || op->kind == HEFT_OP_COPY);
        if (op->kind == HEFT_OP_PUT) {
            memcpy(out + op->off, op->u.bytes, (size_t)op->len);
        } else {
            const struct heft_storage *storage = &model->storages[op->u.copy.storage];
            const bool ok = heft_source_read(&model->sources[storage->source].source,
                                             storage->off + op->u.copy.from, out + op->off,
                                             (size_t)op->len, &err);

            expect(ok);
        }
    }
    return (struct heft_bytes){out, (size_t)size};
}

static void check_same(const struct heft_model *a, const struct heft_model *b)
{
    expect(a->n_rows == b->n_rows);
    for (size_t i = 0; i < a->n_rows; i++) {
        const struct heft_row *row = &a->rows[i];
        const uint32_t at = heft_model_find(b, row->name);
        const struct heft_row *other = &b->rows[at];

        expect(at != HEFT_NONE);
        expect(row->dtype == other->dtype && row->rank == other->rank &&
               row->bytes == other->bytes);
        expect(row->rank == 0 ||
               memcmp(row->shape, other->shape, row->rank * sizeof *row->shape) == 0);
    }
}

static void write_again(const struct heft_model *model)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_plan plan = {.model = model, .mem = &mem};
    struct heft_export_list exports = {.model = model, .mem = &mem, .n_items = model->n_rows};
    struct heft_model again;
    struct heft_bytes bytes;
    uint32_t file;
    bool ok;

    exports.items = heft_arena_zero(&mem, model->n_rows, sizeof *exports.items, &err);
    for (size_t i = 0; i < model->n_rows; i++) {
        const struct heft_row *row = &model->rows[i];

        exports.items[i] = (struct heft_export_item){
            .row = row, .name = row->name, .as = row->dtype, .bytes = row->bytes};
    }
    ok = heft_plan_file_begin(&plan, "out", &file, &err) &&
         heft_format_safetensors.plan(&plan, file, &exports, &err) && heft_plan_check(&plan, &err);
    expect(ok);
    bytes = run_plan(&plan, model);
    ok = open_it(&again, bytes, &err);
    expect(ok);
    check_same(model, &again);
    heft_model_release(&again);
    free((uint8_t *)(uintptr_t)bytes.p);
    heft_plan_release(&plan);
    heft_arena_release(&mem);
}

static void try_file(struct heft_bytes bytes)
{
    struct heft_error err = {0};
    struct heft_model model;

    if (open_it(&model, bytes, &err)) {
        write_again(&model);
        expect_map(&model);
        read_rows(&model);
    } else {
        expect(err.offset == HEFT_NO_OFFSET || err.offset <= bytes.n);
    }
    heft_model_release(&model);
}

/* The header extends to the last closing brace. */
static void try_with_length(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 8);
    size_t n = size;

    expect(file);
    while (n > 0 && data[n - 1] != '}')
        n--;
    heft_put_le64(file, n);
    if (size)
        memcpy(file + 8, data, size);
    try_file((struct heft_bytes){file, size + 8});
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_file((struct heft_bytes){data, size});
    try_with_length(data, size);
    return 0;
}
