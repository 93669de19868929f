/* kernels_none.c: for CPUs without SIMD kernels here. */
#include "tokens/bpe/kernels.h"

const struct heft_kernel *heft_scan_kernel_at(size_t index)
{
    return index == 0 ? &heft_kernel_plain : NULL;
}

const struct heft_kernel *heft_scan_kernel(void)
{
    return &heft_kernel_plain;
}
