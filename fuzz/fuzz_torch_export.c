/* fuzz_torch_export.c: opening torch.export archives. An input that begins as a zip is a file; any
 * other is the config of the weights, and of the constants, of a sound archive.
 *
 * What must hold: an error or an answer; a map of the file can be drawn without overlaps; every row
 * can be read or fails with an error. */
#include <stdint.h>

#include "../tests/unit/torch_zip.h"
#include "open_format.h"

extern const struct heft_format heft_format_torch_export;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        open_format(&heft_format_torch_export, file);
    heft_buf_release(&zip);
    return 0;
}
