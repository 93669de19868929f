/* fuzz_torch_export.c: opening torch.export archives. An input that begins as a zip is a file; any
 * other is the config of the weights, and of the constants, of a sound archive.
 *
 * What must hold: an error or an answer; a map of the file can be drawn without overlaps; every row
 * can be read or fails with an error. */
#include <stdint.h>
#include <stdlib.h>

#include "../tests/unit/torch_zip.h"
#include "core/reader.h"
#include "core/registry.h"

extern const struct heft_format heft_format_torch_export;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_READ 65536 /* bytes of a row: expanded strides may have terabytes */

static void expect(bool truth)
{
    if (!truth)
        abort();
}

static void expect_opened(const struct heft_model *model)
{
    static uint8_t out[MOST_READ];
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_reader reader = {0};
    const struct heft_segment *segments;
    size_t count;

    expect(heft_model_map(model, &mem, &segments, &count, &err));
    heft_arena_release(&mem);
    expect(heft_reader_init(&reader, model, false, &err));
    for (size_t i = 0; i < model->n_rows && i < 64; i++) {
        const struct heft_row *row = &model->rows[i];

        if (row->bytes && row->bytes <= sizeof out &&
            !heft_reader_row(&reader, row, 0, out, (size_t)row->bytes, &err))
            expect(err.code != HEFT_OK);
    }
    heft_reader_release(&reader);
}

static void open_it(struct heft_bytes file)
{
    const struct heft_limits limits = {.entries = 1000};
    struct heft_error err = {0};
    struct heft_model model;
    struct heft_source source;
    uint32_t index;

    heft_model_init(&model, &limits);
    heft_source_open_memory(&source, file, "input");
    if (heft_model_add_file(&model, &source, "input", &index, &err) &&
        heft_format_torch_export.open(&model, index, &err) && heft_model_settle(&model, &err)) {
        expect(err.code == HEFT_OK);
        expect_opened(&model);
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    heft_model_release(&model);
}

static void archive_of(struct heft_buf *out, struct heft_bytes config)
{
    static const uint8_t numbers[64];
    const struct heft_bytes storage = {numbers, sizeof numbers};
    struct torch_zip_record records[] = {
        {.name = "a/data/weights/weight_0", .data = storage},
        {.name = "a/data/weights/m_weights_config.json", .data = config},
        {.name = "a/data/constants/weight_0", .data = storage},
        {.name = "a/data/constants/m_constants_config.json", .data = config},
        {.name = "a/archive_format", .data = {(const uint8_t *)"pt2", 3}},
        {.name = "a/.data/version", .data = {(const uint8_t *)"6\n", 2}},
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
        archive_of(&zip, file);
        file = (struct heft_bytes){(const uint8_t *)zip.p, zip.n};
    }
    if (!zip.failed)
        open_it(file);
    heft_buf_release(&zip);
    return 0;
}
