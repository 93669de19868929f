/* fuzz_torch.c: the whole way of opening a torch checkpoint: zip, pickle, rows, values, map of the
 * bytes, reading; and scanning the same file. An input that begins as a zip is a file; any other is
 * a pickle, and gets a sound zip around it, so that checksums do not stand in the way.
 *
 * What must hold: a map of the file can be drawn without overlaps, every row can be read or fails
 * with an error, and the tree of values ends. */
#include <stdint.h>

#include "format/formats.h"
#include "torch_zip.h"
#include "scan/scan.h"
#include "open_format.h"

extern const struct heft_format heft_format_torch;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

    heft_model_init(&model, &(struct heft_limits){.pickle = 1 << 20, .opcodes = 100000},
                    &heft_formats);
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
        open_format(&heft_format_torch, file);
        scan_it(file);
    }
    heft_buf_release(&zip);
    return 0;
}
