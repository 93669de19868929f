/* fuzz_torch.c: the whole way of opening a torch checkpoint: zip, pickle, rows, values, map of the
 * bytes, reading; and scanning the same file. An input that begins as a zip is a file; any other is
 * a pickle, and gets a sound zip around it, so that checksums do not stand in the way.
 *
 * What must hold: a map of the file can be drawn without overlaps, every row can be read or fails
 * with an error, and the tree of values ends. */
#include <stdint.h>
#include <stdlib.h>

#include "../tests/unit/torch_zip.h"
#include "core/reader.h"
#include "core/registry.h"
#include "format/scan.h"

extern const struct heft_format heft_format_torch;

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

/* Links go down and right, and end: as many steps as values, and values are limited. */
static void expect_values(const struct heft_model *model)
{
    const struct heft_value *stack[20000];
    size_t n = 0, seen = 0;

    if (model->values)
        stack[n++] = model->values;
    while (n) {
        const struct heft_value *v = stack[--n];

        expect(v->key && ++seen < 20000);
        if (v->next_sibling)
            stack[n++] = v->next_sibling;
        if (v->first_child)
            stack[n++] = v->first_child;
    }
}

static void read_rows(const struct heft_model *model)
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

static void open_it(struct heft_bytes file)
{
    struct heft_error err = {0};
    struct heft_model model;
    struct heft_source source;
    uint32_t index;

    heft_model_init(&model, &limits);
    heft_source_open_memory(&source, file, "input");
    if (heft_model_add_file(&model, &source, "input", &index, &err) &&
        heft_format_torch.open(&model, index, &err) && heft_model_settle(&model, &err)) {
        expect(err.code == HEFT_OK);
        expect_map(&model);
        expect_values(&model);
        read_rows(&model);
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    heft_model_release(&model);
}

static void take_item(void *ctx, const struct heft_scan_item *item)
{
    (void)ctx;
    expect(item->name && item->what && item->record);
}

static void scan_it(struct heft_bytes file)
{
    struct heft_error err = {0};
    struct heft_model model; /* for the limits it completes */
    struct heft_source source;
    bool complete = false, ok;

    heft_model_init(&model, &limits);
    heft_source_open_memory(&source, file, "input");
    ok = heft_scan_file(&source, "input", &model.limits, take_item, NULL, &complete, &err);
    expect(ok || err.code != HEFT_OK);
    expect(!complete || ok);
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_bytes file = {data, size};
    struct heft_buf zip = {0};

    if (size > 1 << 20)
        return 0;
    if (size < 2 || data[0] != 'P' || data[1] != 'K') {
        scan_it(file);
        torch_zip_of(&zip, file);
        file = (struct heft_bytes){(const uint8_t *)zip.p, zip.n};
    }
    if (!zip.failed) {
        open_it(file);
        scan_it(file);
    }
    heft_buf_release(&zip);
    return 0;
}
