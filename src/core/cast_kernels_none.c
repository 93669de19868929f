/* cast_kernels_none.c: for processors without SIMD kernels here. */
#include "core/cast_kernels.h"

const struct heft_cast_kernel *heft_cast_kernel_at(size_t index)
{
    (void)index;
    return NULL;
}
