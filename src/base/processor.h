/* processor.h: instructions of a processor that not all of its kind have, and that kernels need. */
#ifndef HEFT_PROCESSOR_H
#define HEFT_PROCESSOR_H

#include <stdbool.h>

/* Instruction sets. The operating system must save their registers, too. */
enum {
    HEFT_HAS_POPCNT = 1,
    HEFT_HAS_AVX = 2,
    HEFT_HAS_AVX2 = 4,
    HEFT_HAS_AVX512 = 8, /* F, BW, DQ and VL, with BMI1 and BMI2: all since Skylake */
    HEFT_HAS_SHA = 16,   /* SHA-256; on x86 with SSSE3 and SSE4.1, which code for it uses */
    HEFT_HAS_F16C = 32   /* conversions of half precision, in registers of AVX */
};

/* Whether all of these instruction sets can be used: HEFT_HAS_…, joined by |. */
bool heft_processor_has(unsigned sets);

#endif
