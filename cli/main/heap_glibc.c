/* heap_glibc.c: glibc moves the size from which a block has pages of its own up to that of each such block
 * that is freed. Arrays that grow then leave their former sizes behind as holes in the heap: a tenth of the
 * memory at its peak, more where the kernel gives large pages, and how much depends on the order of frees.
 * Once that size is set, glibc also gives the heap's end back from 128 KiB on: what is asked for and freed
 * again and again then costs two calls of the system and its pages each time. */
#include "main/heap.h"

#include <malloc.h>

#define OWN_PAGES (4 << 20)       /* smaller holes are filled again soon */
#define KEPT_END  (2 * OWN_PAGES) /* as glibc has it where it moves both */

void heap_settle(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, OWN_PAGES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_END);
}
