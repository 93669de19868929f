/* fuzz_ptd_program.c: any bytes as a .pte; and the same after the signatures of one. The program
 * gives the offsets of constants in a segment; they may overlap, which the runtime does not check.
 */
#include <string.h>

#include "open_format.h"

extern const struct heft_format heft_format_pte;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = size < 8 ? NULL : malloc(size);

    open_format_with(&heft_format_pte, (struct heft_bytes){data, size}, expect_map_or_overlap);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    memcpy(copy + 4, "ET12", 4);
    open_format_with(&heft_format_pte, (struct heft_bytes){copy, size}, expect_map_or_overlap);
    free(copy);
    return 0;
}
