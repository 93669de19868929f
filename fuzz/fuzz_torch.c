/* fuzz_torch.c: all steps of opening a torch checkpoint: zip, pickle, rows, values, map of the
 * bytes, reading; and scanning the same file. An input with the signature of a zip is a file; any
 * other is a pickle in a valid zip, so that mutations get past checksums.
 *
 * Invariants: the map has no overlaps, every row can be read or fails with an error, and the tree
 * of values is finite. */
#include <stdint.h>

#include "open_format.h"
#include "scan_bytes.h"
#include "torch_zip.h"

extern const struct heft_format heft_format_torch;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_bytes file = {data, size};
    struct heft_buf zip = {0};

    if (size > 1 << 20)
        return 0;
    if (size < 2 || data[0] != 'P' || data[1] != 'K') {
        (void)scan_bytes(NULL, file);
        torch_zip_of(&zip, file);
        file = (struct heft_bytes){(const uint8_t *)zip.p, zip.n};
    }
    if (!zip.failed) {
        open_format(&heft_format_torch, file);
        (void)scan_bytes(NULL, file);
    }
    heft_buf_release(&zip);
    return 0;
}
