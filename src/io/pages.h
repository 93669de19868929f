/* pages.h: huge pages. */
#ifndef HEFT_PAGES_H
#define HEFT_PAGES_H

#include "base/mem.h"

#define HEFT_PAGE_LARGE ((size_t)2 << 20)
#define HEFT_PAGE_LEAST ((size_t)64) /* alignment of smaller blocks: a cache line */

/* Advises the system that [p, p+n) will be filled soon and accessed often, so that huge pages pay
 * off. Ignored for small blocks and on systems without the advice. */
void heft_pages_large(void *p, size_t n);
/* Reserves n bytes in the arena, from which its next pieces are cut, on huge pages as far as they
 * fill them: mapping a huge page takes as long as mapping a few dozen small ones. Does nothing for
 * less than a quarter of a huge page. */
HEFT_CHECKED bool heft_pages_reserve(struct heft_arena *arena, size_t n, struct heft_error *err);
/* n zeroed bytes on huge pages; the caller frees *block. */
HEFT_CHECKED void *heft_pages_zero(size_t n, void **block, struct heft_error *err);

#endif
