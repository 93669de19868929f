/* processor_kernels_none.c: for processors that have no kernels. */
#include "base/processor.h"

bool heft_processor_has(unsigned sets)
{
    return sets == 0;
}
