/* heap.h: how the C library's malloc is to behave in this process. A library does not decide that. */
#ifndef HEFT_CLI_HEAP_H
#define HEFT_CLI_HEAP_H

/* Large blocks are pages of their own, always. Before any large one. */
void heap_settle(void);

#endif
