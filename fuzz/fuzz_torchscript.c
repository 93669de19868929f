/* fuzz_torchscript.c: opening TorchScript archives. An input with the signature of a zip is a file;
 * any other is a pickle, used as data.pkl, constants.pkl, bytecode.pkl and traced_inputs.pkl of a
 * valid archive, each with a storage "0" of its own.
 *
 * Invariants: the file opens or fails with an error; the map has no overlaps; every row can be read
 * or fails with an error. */
#include <stdint.h>

#include "open_archive.h"

extern const struct heft_format heft_format_torchscript;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    return open_archive(&heft_format_torchscript, script_of, (struct heft_bytes){data, size});
}
