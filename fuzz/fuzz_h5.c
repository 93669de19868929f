/* fuzz_h5.c: any bytes as an HDF5 file, or behind "PK" as a .keras archive. What libhdf5 does with
 * them happens in a process of its own: what is tried here is heft's side, that a child which breaks
 * down is an error, and that what it says of a hostile file is checked.
 *
 * What must hold: what open_format.h says. */
#include <stdint.h>

#include "open_format.h"

extern const struct heft_format heft_format_h5, heft_format_keras;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool is_zip = size >= 2 && data[0] == 'P' && data[1] == 'K';

    open_format(is_zip ? &heft_format_keras : &heft_format_h5, (struct heft_bytes){data, size});
    return 0;
}
