/* heap_none.c: for C libraries whose malloc has nothing to settle. */
#include "main/heap.h"

void heap_settle(void)
{
}
