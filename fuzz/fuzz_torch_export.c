/* fuzz_torch_export.c: opening torch.export archives. An input with the signature of a zip is a
 * file; any other is the config of both weights and constants in a valid archive.
 *
 * Invariants: the file opens or fails with an error; the map has no overlaps; every row can be read
 * or fails with an error. */
#include <stdint.h>

#include "open_archive.h"

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
    return open_archive(&heft_format_torch_export, archive_of, (struct heft_bytes){data, size});
}
