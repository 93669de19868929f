/* pages.c: arenas on large pages, which begin at a multiple of their size: what is before the first
 * stays unused. */
#include "io/pages.h"

bool heft_pages_reserve(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    const size_t large = (n + HEFT_PAGE_LARGE / 2) & ~(HEFT_PAGE_LARGE - 1); /* to the next one */
    uint8_t *p;
    size_t before;

    if (large == 0)
        return true;
    p = heft_arena_reserve(arena, (size_t)heft_max_u64(n, large) + HEFT_PAGE_LARGE, err);
    if (!p)
        return false;
    before = (size_t)(-(uintptr_t)p & (HEFT_PAGE_LARGE - 1));
    if (before > 0 && !heft_arena_alloc(arena, before, err))
        return false;
    heft_pages_large(p + before, large);
    return true;
}
