/* transpose_kernels_none.c: for processors without SIMD kernels here. */
#include "core/transpose_kernels.h"

const struct heft_transpose_kernel *heft_transpose_kernel_at(size_t index)
{
    return index == 0 ? &heft_transpose_kernel_plain : NULL;
}
