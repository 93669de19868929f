/* simd_state_kernels_x86.c: VZEROUPPER, if the processor has AVX. */
#include "base/simd_state.h"

#include "base/base.h"

__attribute__((target("avx"))) static HEFT_NOINLINE void clear_upper_halves(void)
{
    __builtin_ia32_vzeroupper();
}

void heft_simd_clear(void)
{
    if (__builtin_cpu_supports("avx"))
        clear_upper_halves();
}
