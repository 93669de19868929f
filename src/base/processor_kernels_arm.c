/* processor_kernels_arm.c: what the Linux kernel reports about an aarch64 processor. */
#include "base/processor.h"

#include <sys/auxv.h>

bool heft_processor_has(unsigned sets)
{
    const unsigned found = getauxval(AT_HWCAP) & HWCAP_SHA2 ? HEFT_HAS_SHA : 0;

    return (found & sets) == sets;
}
