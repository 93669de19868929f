/* processor_kernels_x86.c: CPUID, asked when a kernel is chosen for the first time.
 * __builtin_cpu_supports asks when the program starts, with about nine CPUID instructions. In a
 * virtual machine each of them leaves to the host and takes 13 µs, a tenth of the time of a command
 * that needs no kernel. */
#include "base/processor.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ASKED 0x80000000u

#define STATE_AVX    0x06u /* XCR0: registers that the operating system saves */
#define STATE_AVX512 0xe6u

__attribute__((target("xsave"))) static uint32_t saved_states(void)
{
    return (uint32_t)__builtin_ia32_xgetbv(0);
}

static unsigned find_sets(void)
{
    const unsigned avx512 =
        bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_BMI | bit_BMI2;
    const unsigned sse = bit_SSSE3 | bit_SSE4_1;
    const unsigned most = (unsigned)__get_cpuid_max(0, NULL);
    unsigned a, b = 0, c = 0, d, leaf_7 = 0, sets = 0;
    uint32_t saved = 0;

    if (most >= 1)
        __cpuid(1, a, b, c, d);
    if (most >= 7)
        __cpuid_count(7, 0, a, leaf_7, b, d);
    if (c & bit_OSXSAVE)
        saved = saved_states();
    if (c & bit_POPCNT)
        sets |= HEFT_HAS_POPCNT;
    if ((c & sse) == sse && (leaf_7 & bit_SHA))
        sets |= HEFT_HAS_SHA;
    if ((c & bit_AVX) && (saved & STATE_AVX) == STATE_AVX)
        sets |= HEFT_HAS_AVX;
    if ((sets & HEFT_HAS_AVX) && (c & bit_F16C))
        sets |= HEFT_HAS_F16C;
    if ((sets & HEFT_HAS_AVX) && (leaf_7 & bit_AVX2))
        sets |= HEFT_HAS_AVX2;
    if ((sets & HEFT_HAS_AVX2) && (leaf_7 & avx512) == avx512 &&
        (saved & STATE_AVX512) == STATE_AVX512)
        sets |= HEFT_HAS_AVX512;
    return sets;
}

bool heft_processor_has(unsigned sets)
{
    static atomic_uint known; /* threads that ask at the same time find the same */
    unsigned found = atomic_load_explicit(&known, memory_order_relaxed);

    if (found == 0) {
        found = find_sets() | ASKED;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return (found & sets) == sets;
}
