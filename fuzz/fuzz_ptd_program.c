/* fuzz_ptd_program.c: any bytes as a .pte; and the same with the marks of one in front. */
#include <string.h>

#include "open_format.h"

extern const struct heft_format heft_format_pte;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = size < 8 ? NULL : malloc(size);

    open_format(&heft_format_pte, (struct heft_bytes){data, size});
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    memcpy(copy + 4, "ET12", 4);
    open_format(&heft_format_pte, (struct heft_bytes){copy, size});
    free(copy);
    return 0;
}
