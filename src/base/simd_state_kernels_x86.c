/* simd_state_kernels_x86.c: VZEROUPPER, if the processor has AVX. */
#include "base/simd_state.h"

#include "base/base.h"
#include "base/processor.h"

__attribute__((target("avx"))) static HEFT_NOINLINE void clear_upper_halves(void)
{
    __builtin_ia32_vzeroupper();
}

void heft_simd_clear(void)
{
    if (heft_processor_has(HEFT_HAS_AVX))
        clear_upper_halves();
}
