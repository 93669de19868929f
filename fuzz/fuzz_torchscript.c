/* fuzz_torchscript.c: opening TorchScript archives. An input that begins as a zip is a file; any
 * other is a pickle, and stands in a sound archive as data.pkl, constants.pkl, bytecode.pkl and
 * traced_inputs.pkl at once, each with a storage "0" of its own.
 *
 * What must hold: an error or an answer; a map of the file can be drawn without overlaps; every row
 * can be read or fails with an error. */
#include <stdint.h>
#include <stdlib.h>

#include "../tests/unit/torch_zip.h"
#include "core/reader.h"
#include "core/registry.h"

extern const struct heft_format heft_format_torchscript;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_READ 65536 /* bytes of a row: expanded strides may have terabytes */

static const struct heft_limits limits = {
    .pickle = 1 << 20, .opcodes = 100000, .nodes = 100000, .entries = 1000, .expansion = 10000};

static void expect(bool truth)
{
    if (!truth)
        abort();
}

static void expect_map(const struct heft_model *model)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    const struct heft_segment *segments;
    size_t count;

    expect(heft_model_map(model, &mem, &segments, &count, &err));
    heft_arena_release(&mem);
}

static void expect_rows(const struct heft_model *model)
{
    static uint8_t out[MOST_READ];
    struct heft_error err = {0};
    struct heft_reader reader = {0};

    expect(heft_reader_init(&reader, model, false, &err));
    for (size_t i = 0; i < model->n_rows && i < 64; i++) {
        const struct heft_row *row = &model->rows[i];

        if (row->bytes && row->bytes <= sizeof out &&
            !heft_reader_row(&reader, row, 0, out, (size_t)row->bytes, &err))
            expect(err.code != HEFT_OK);
    }
    heft_reader_release(&reader);
}

static void ignore(void *ctx, enum heft_severity severity, uint32_t source, uint64_t offset,
                   const char *text)
{
    (void)ctx, (void)severity, (void)source, (void)offset;
    expect(text && text[0]);
}

static void open_it(struct heft_bytes file)
{
    const struct heft_listener nobody = {ignore, NULL};
    struct heft_error err = {0};
    struct heft_model model;
    struct heft_source source;
    uint32_t index;

    heft_model_init(&model, &limits);
    heft_source_open_memory(&source, file, "input");
    if (heft_model_add_file(&model, &source, "input", &index, &err) &&
        heft_format_torchscript.open(&model, index, &err) && heft_model_settle(&model, &err)) {
        expect(err.code == HEFT_OK);
        expect_map(&model);
        expect_rows(&model);
        expect(heft_format_torchscript.verify(&model, index, &nobody, &err));
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    heft_model_release(&model);
}

static void script_of(struct heft_buf *out, struct heft_bytes pickle)
{
    static const uint8_t numbers[64];
    const struct heft_bytes storage = {numbers, sizeof numbers}, nothing = {numbers, 0};
    struct torch_zip_record records[] = {
        {.name = "a/data/0", .data = storage},
        {.name = "a/data.pkl", .data = pickle},
        {.name = "a/code/x.py", .data = {(const uint8_t *)"pass\n", 5}},
        {.name = "a/constants/0", .data = storage},
        {.name = "a/constants.pkl", .data = pickle},
        {.name = "a/bytecode/0", .data = storage},
        {.name = "a/bytecode.pkl", .data = pickle},
        {.name = "a/traced_inputs/0", .data = nothing},
        {.name = "a/traced_inputs.pkl", .data = pickle},
        {.name = "a/extra/x", .data = {(const uint8_t *)"text", 4}},
        {.name = "a/version", .data = {(const uint8_t *)"3\n", 2}},
    };

    torch_zip_records(out, records, HEFT_COUNT(records));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_bytes file = {data, size};
    struct heft_buf zip = {0};

    if (size > 1 << 20)
        return 0;
    if (size < 2 || data[0] != 'P' || data[1] != 'K') {
        script_of(&zip, file);
        file = (struct heft_bytes){(const uint8_t *)zip.p, zip.n};
    }
    if (!zip.failed)
        open_it(file);
    heft_buf_release(&zip);
    return 0;
}
