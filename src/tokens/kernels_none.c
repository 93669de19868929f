/* kernels_none.c: for processors without a kernel of their own. */
#include "tokens/word_scan.h"

heft_masks_fn *heft_scan_kernel_at(size_t index)
{
    return index == 0 ? heft_masks_plain : NULL;
}

heft_masks_fn *heft_scan_kernel(void)
{
    return heft_masks_plain;
}
