/* heap_none.c: C libraries without mallopt: nothing to set. */
#include "main/heap.h"

void heap_settle(void)
{
}
