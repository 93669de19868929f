/* fuzz_shards.c: checkpoints of several files: shards with their index, the directory of a model,
 * distributed checkpoints, bundles with data files. The input is a script (script.h) with files.
 *
 * Invariants: those of expect_conversion.h. */
#include "convert_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_script(data, size);
    return 0;
}
