/* pages.h: advice to the system about memory. */
#ifndef HEFT_PAGES_H
#define HEFT_PAGES_H

#include "base/base.h"

/* [p, p+n) will be filled soon and walked often: large pages pay there. No more than advice; small
 * blocks and systems that know no such thing pass it over. */
void heft_pages_large(void *p, size_t n);

#endif
