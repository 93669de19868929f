/* fuzz_into.c: copies of a SavedModel with the weights of another checkpoint (convert --into): a
 * script (script.h) with the files of both.
 *
 * Invariants: those of expect_conversion.h. */
#include "convert_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_script(data, size);
    return 0;
}
