/* pages.c: memory on huge pages, which begin at a multiple of their size. The memory before the
 * first one stays unused: small pages there would take as long to map as a huge one, each. */
#include "io/pages.h"

bool heft_pages_reserve(struct heft_arena *arena, size_t n, struct heft_error *err)
{
    const size_t large = (n + HEFT_PAGE_LARGE / 4 * 3) & ~(HEFT_PAGE_LARGE - 1);
    uint8_t *p;
    size_t before;

    if (large == 0)
        return true;
    p = heft_arena_reserve(arena, (size_t)heft_max_u64(n, large) + HEFT_PAGE_LARGE, err);
    if (!p)
        return false;
    before = (HEFT_PAGE_LARGE - (uintptr_t)p % HEFT_PAGE_LARGE) % HEFT_PAGE_LARGE;
    if (before > 0 && !heft_arena_alloc(arena, before, err))
        return false;
    heft_pages_large(p + before, large);
    return true;
}

void *heft_pages_zero(size_t n, void **block, struct heft_error *err)
{
    const size_t align = n < HEFT_PAGE_LARGE ? HEFT_PAGE_LEAST : HEFT_PAGE_LARGE;
    uint8_t *p;

    *block = heft_alloc(n + align, err);
    if (!*block)
        return NULL;
    p = (uint8_t *)*block + (align - (uintptr_t)*block % align) % align;
    heft_pages_large(p, n);
    return memset(p, 0, n); /* not calloc: it may write before the block */
}
