/* fault_os.h: a table of system calls that counts them and makes one fail, for the tests.
 *
 *     heft_fault_os_install(0, 0);            count only
 *     do_work(); n = heft_fault_os_count();   how many calls there were
 *     heft_fault_os_remove();
 *     for (i = 1; i <= n; i++) {
 *         heft_fault_os_install(i, ENOSPC);   the i-th from now fails with that errno (0: EIO)
 *         do_work(); look at what is left;
 *         heft_fault_os_remove();
 *     }
 *
 * close and unmap really happen even when they are the one that fails, as on Linux. Counted from
 * any thread; installed and removed while there is only one. */
#ifndef HEFT_FAULT_OS_H
#define HEFT_FAULT_OS_H

#include <stdbool.h>
#include <stdint.h>

/* In place of an errno: the process is killed just before that call. */
#define HEFT_FAULT_KILL (-1)
void heft_fault_os_install(uint64_t fail_at, int number);
uint64_t heft_fault_os_count(void);
/* Whether the failure has happened, and the name of the call that it hit ("pwrite"), or "". */
bool heft_fault_os_hit(void);
const char *heft_fault_os_name(void);
/* Descriptors opened and not closed, mappings made and not released, since the installation. */
int64_t heft_fault_os_open(void);
/* Reads and writes move at most n bytes a call (0: as they are): for loops that must go on. */
void heft_fault_os_short(uint64_t n);
void heft_fault_os_remove(void);

#endif
