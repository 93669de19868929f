/* fuzz_torch_dcp.c: any bytes as the .metadata of a distributed checkpoint. The chunks of each
 * tensor become the parts of a row over one storage of zeros, and the row is validated.
 *
 * Invariants: storage positions refer to existing entries and chunks; a valid row can be read,
 * whole and in a slice, and each of its elements is written once: none keeps its previous value. */
#include <stdint.h>

#include "expect.h"
#include "core/reader.h"
#include "format/formats.h"
#include "format/torch/dcp/torch_dcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_READ 4096

static const struct heft_limits limits = {.size = sizeof limits,
                                          .pickle = 1 << 20,
                                          .opcodes = 100000,
                                          .nodes = 100000,
                                          .view = 1 << 20,
                                          .tensors = 1000};

static void check_items(const struct heft_dcp *dcp)
{
    for (uint32_t i = 0; i < dcp->n_items; i++) {
        const struct heft_dcp_item *item = &dcp->items[i];

        expect(item->entry < dcp->n_entries && item->file.n > 0);
        expect(!memchr(item->file.p, '/', item->file.n));
        if (dcp->entries[item->entry].is_tensor)
            expect(item->part < dcp->entries[item->entry].n_parts);
    }
}

/* Adds a row with all chunks in the one storage, if that is large enough. */
static bool add_row(struct heft_model *model, const struct heft_dcp_entry *e,
                    struct heft_error *err)
{
    struct heft_parts *parts = heft_arena_zero(&model->mem, 1, sizeof *parts, err);
    struct heft_row row = {
        .name = e->name, .shape = e->shape, .rank = e->rank, .dtype = e->dtype, .parts = parts};

    if (!parts)
        return false;
    for (uint32_t k = 0; k < e->n_parts; k++)
        e->parts[k].storage = 0;
    *parts = (struct heft_parts){.list = e->parts, .n = e->n_parts};
    return heft_model_add_row(model, &row, err);
}

static void read_row(struct heft_reader *reader, const struct heft_row *row, struct heft_error *err)
{
    uint8_t out[MOST_READ];

    if (row->bytes > sizeof out)
        return;
    memset(out, 0xA5, sizeof out);
    expect(heft_reader_row(reader, row, 0, out, (size_t)row->bytes, err));
    for (size_t i = 0; i < row->bytes; i++)
        expect(out[i] == 0);
}

static void read_rows(struct heft_model *model)
{
    struct heft_error err = {0};
    struct heft_reader reader = {0};
    struct heft_range half = {0, 0, false};

    expect(heft_reader_init(&reader, model, false, &err));
    for (size_t i = 0; i < model->n_rows; i++) {
        const struct heft_row *row = &model->rows[i];
        struct heft_row slice;

        read_row(&reader, row, &err);
        half.stop = row->rank ? row->shape[0] / 2 : 0;
        if (row->rank && heft_row_slice(row, &half, 1, &model->mem, &slice, &err))
            read_row(&reader, &slice, &err);
    }
    heft_reader_release(&reader);
}

static void settle(struct heft_model *model, const struct heft_dcp *dcp)
{
    struct heft_error err = {0};

    for (uint32_t i = 0; i < dcp->n_entries; i++)
        if (dcp->entries[i].is_tensor && dcp->entries[i].dtype < HEFT_DTYPE_COUNT)
            expect(add_row(model, &dcp->entries[i], &err));
    if (heft_model_validate(model, &err))
        read_rows(model);
    else
        expect(err.code != HEFT_OK && err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t zeros[1 << 16];
    const struct heft_storage storage = {.len = sizeof zeros, .packed = sizeof zeros};
    struct heft_error err = {0};
    struct heft_arena graph = {0}, scratch = {0};
    struct heft_source source;
    struct heft_model model;
    const struct heft_dcp_input in = {
        .data = {data, size}, .bytes = size, .model = &model, .graph = &graph, .scratch = &scratch};
    struct heft_dcp dcp;
    uint32_t index;

    if (size > 1 << 20)
        return 0;
    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){zeros, sizeof zeros}, "zeros");
    expect(heft_model_add_file(&model, &source, "zeros", &index, &err) &&
           heft_model_add_storage(&model, &storage, &index, &err));
    if (heft_dcp_read(&dcp, &in, &err)) {
        heft_arena_release(&graph);
        check_items(&dcp);
        settle(&model, &dcp);
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    heft_arena_release(&graph);
    heft_arena_release(&scratch);
    heft_model_release(&model);
    return 0;
}
