/* simd_halves.h: whether the upper halves of the vector registers are in use, by XGETBV on x86. */
#ifndef HEFT_SIMD_HALVES_H
#define HEFT_SIMD_HALVES_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum { AVX_STATE = 1 << 2, ZMM_STATE = 1 << 6 };

/* True if the processor reports which states are in use. */
static inline bool can_see_simd_halves(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) &&
           __get_cpuid_count(0xD, 1, &a, &b, &c, &d) && (a >> 2 & 1);
}

__attribute__((target("xsave"))) static inline bool simd_halves_are_used(void)
{
    return (__builtin_ia32_xgetbv(1) & (AVX_STATE | ZMM_STATE)) != 0;
}
#else
static inline bool can_see_simd_halves(void)
{
    return false;
}

static inline bool simd_halves_are_used(void)
{
    return false;
}
#endif

#endif
