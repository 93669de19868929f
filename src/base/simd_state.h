/* simd_state.h: leaves the vector registers as code compiled for SSE expects them. */
#ifndef HEFT_SIMD_STATE_H
#define HEFT_SIMD_STATE_H

/* Zeroes the upper halves of the vector registers (VZEROUPPER on x86), to be called after functions
 * that use AVX and leave numbers there, as those of ISA-L 2.30 do. Until then a
 * change between AVX instructions, which the C library's memcpy consists of, and SSE instructions,
 * which other code consists of, is slow: about 70 ns each on a Xeon of 2023. */
void heft_simd_clear(void);

#endif
