/* fuzz_salvage.c: truncated or damaged files, opened for salvage and planned to be converted. An
 * input with the signature of a zip or of a safetensors file is opened as such; any other is opened
 * by detection, and as a pickle in a zip that is truncated in the records after the pickle, at a
 * position given by the first byte.
 *
 * Invariants: opening fails with an error, or every tensor that is kept can be read, and every
 * other has a name and a reason. */
#include <stdint.h>

#include "torch_zip.h"
#include "core/convert.h"
#include "format/formats.h"
#include "open_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_kept(const struct heft_conversion *c)
{
    static uint8_t out[MOST_READ];
    struct heft_error err = {0};
    struct heft_reader reader = {0};

    expect(heft_reader_init(&reader, c->model, false, &err));
    for (size_t i = 0; i < c->exports.n_items && i < 64; i++) {
        const struct heft_row *row = c->exports.items[i].row;

        if (row->bytes <= sizeof out)
            expect(heft_reader_row(&reader, row, 0, out, (size_t)row->bytes, &err));
    }
    heft_reader_release(&reader);
}

static void convert_it(const struct heft_model *model)
{
    const struct heft_convert_options how = {
        .size = sizeof how, .output = "never-written.safetensors", .threads = 1, .salvage = true};
    struct heft_error err = {0};
    struct heft_conversion c;

    if (heft_conversion_plan(&c, model, &how, &err)) {
        expect(err.code == HEFT_OK);
        read_kept(&c);
        for (size_t i = 0; i < c.n_lost; i++)
            expect(c.lost[i].name && c.lost[i].reason && c.lost[i].reason[0]);
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    heft_conversion_release(&c);
}

/* format: NULL for the detected one */
static void salvage_it(const char *format, struct heft_bytes file)
{
    struct heft_error err = {0};
    struct heft_model model;

    heft_model_init(&model, open_limits(), &heft_formats);
    model.salvage = true;
    if (open_bytes(&model, format, file, &err)) {
        expect(model.sources[0].expected == 0 || model.sources[0].expected > file.n);
        convert_it(&model);
    }
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes file = {data, size};
    struct heft_buf zip = {0};

    if (size > 1 << 20 || size < 9)
        return 0;
    if (data[0] == 'P' && data[1] == 'K') {
        salvage_it("torch", file);
        return 0;
    }
    if (data[8] == '{') {
        salvage_it("safetensors", file);
        return 0;
    }
    salvage_it(NULL, file);
    torch_zip_of(&zip, (struct heft_bytes){data + 1, size - 1});
    if (!zip.failed)
        salvage_it("torch",
                   (struct heft_bytes){(const uint8_t *)zip.p, zip.n - zip.n % (data[0] + 1U)});
    heft_buf_release(&zip);
    return 0;
}
