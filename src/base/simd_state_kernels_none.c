/* simd_state_kernels_none.c: for processors whose vector registers need no clearing. */
#include "base/simd_state.h"

void heft_simd_clear(void)
{
}
