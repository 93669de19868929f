/* fault_os.h: table of system calls for tests, which counts the calls and makes one fail.
 *
 *     heft_fault_os_install(0, 0);            count only
 *     do_work(); n = heft_fault_os_count();   number of calls
 *     heft_fault_os_remove();
 *     for (i = 1; i <= n; i++) {
 *         heft_fault_os_install(i, ENOSPC);   the i-th call from now fails with this errno (0: EIO)
 *         do_work(); check what it left;
 *         heft_fault_os_remove();
 *     }
 *
 * As on Linux, close and unmap release the resource even if they are the call that fails. Calls of
 * any thread are counted; install and remove only while there is a single thread. */
#ifndef HEFT_FAULT_OS_H
#define HEFT_FAULT_OS_H

#include <stdbool.h>
#include <stdint.h>

/* Value of `number` that kills the process just before the call instead of failing it. */
#define HEFT_FAULT_KILL (-1)
void heft_fault_os_install(uint64_t fail_at, int number);
uint64_t heft_fault_os_count(void);
/* Whether the failure has happened, and the name of the call that failed ("pwrite"), or "". */
bool heft_fault_os_hit(void);
const char *heft_fault_os_name(void);
/* Number of descriptors and mappings opened since the installation and not closed yet. */
int64_t heft_fault_os_open(void);
/* Limits each read and write to n bytes (0: no limit), to test loops over short reads and writes.
 */
void heft_fault_os_short(uint64_t n);
void heft_fault_os_remove(void);

#endif
