/* fuzz_legacy.c: legacy torch streams and plain pickles, with the streams nested in them. An input
 * is opened as both: one that is not a stream fails at its first pickle. */
#include <stdint.h>

#include "open_format.h"

extern const struct heft_format heft_format_torch_legacy;
extern const struct heft_format heft_format_pickle;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes file = {data, size};

    if (size > 1 << 20)
        return 0;
    open_format(&heft_format_torch_legacy, file);
    open_format(&heft_format_pickle, file);
    return 0;
}
