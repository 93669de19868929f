/* heap.h: settings of malloc for the command. The library leaves them alone: they belong to the
 * process. */
#ifndef HEFT_CLI_HEAP_H
#define HEFT_CLI_HEAP_H

/* Gives each large block pages of its own. Call it before the first large allocation. */
void heap_settle(void);

#endif
