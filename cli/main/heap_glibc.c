/* heap_glibc.c: settings of glibc's malloc. By default glibc raises M_MMAP_THRESHOLD, the size from
 * which a block is mapped, to the size of each mapped block that is freed. A growing array then
 * leaves its former sizes as holes in the heap: a tenth of peak memory, more with huge pages,
 * depending on the order of frees. A fixed M_MMAP_THRESHOLD avoids that, but it also fixes
 * M_TRIM_THRESHOLD at 128 KiB: a block that is allocated and freed again and again at the end of
 * the heap would cost two system calls and its page faults each time. So both are set. */
#include "main/heap.h"

#include <malloc.h>

#define OWN_PAGES (4 << 20)       /* smaller holes are soon reused */
#define KEPT_END  (2 * OWN_PAGES) /* the ratio that glibc itself uses */

void heap_settle(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, OWN_PAGES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_END);
}
