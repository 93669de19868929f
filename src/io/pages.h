/* pages.h: advice to the system about memory. */
#ifndef HEFT_PAGES_H
#define HEFT_PAGES_H

#include "base/mem.h"

#define HEFT_PAGE_LARGE ((size_t)2 << 20)
#define HEFT_PAGE_LEAST ((size_t)64) /* what smaller blocks are aligned to: a line of the cache */

/* [p, p+n) will be filled soon and walked often: large pages pay there. No more than advice; small
 * blocks and systems that know no such thing pass it over. */
void heft_pages_large(void *p, size_t n);
/* n bytes from which the arena's next pieces are cut, on large pages as far as they fill them: to
 * get one takes as long as to get a few dozen small ones. Less than a quarter of one: nothing is done. */
HEFT_CHECKED bool heft_pages_reserve(struct heft_arena *arena, size_t n, struct heft_error *err);
/* n bytes of zeros on large pages; *block is to be freed. */
HEFT_CHECKED void *heft_pages_zero(size_t n, void **block, struct heft_error *err);

#endif
