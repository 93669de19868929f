/* stats_kernels_none.c: for processors without SIMD kernels here. */
#include "measure/stats_kernels.h"

const struct heft_stats_kernel *heft_stats_kernel_at(size_t index)
{
    return index == 0 ? &heft_stats_kernel_plain : NULL;
}
