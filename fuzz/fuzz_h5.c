/* fuzz_h5.c: any bytes as an HDF5 file, or after "PK" as a .keras archive. libhdf5 runs in a child
 * process; the target tests heft's side: a crash of the child is an error, and the child's answers
 * about a hostile file are validated.
 *
 * Invariants: those of open_format.h. */
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
