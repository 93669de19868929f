/* failures.h: runs an attempt once for each allocation, or for each system call, with that one
 * failing. Include it after cmocka.h.
 *
 * An attempt runs the code under test from beginning to end, releases all resources, and returns
 * whether every step succeeded. */
#ifndef FAILURES_H
#define FAILURES_H

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "fault_os.h"

typedef bool attempt_fn(void *ctx, struct heft_error *err);

/* Each attempt but the last must fail with HEFT_NOMEM. `most` is an upper bound of the allocations,
 * so that an attempt that never succeeds ends the test. */
static inline void fail_each_allocation(attempt_fn *attempt, void *ctx, uint64_t most)
{
    bool done = false;

    for (uint64_t n = 1; !done; n++) {
        struct heft_error err = {0};

        heft_fault_os_install(0, 0);
        heft_alloc_fail_at(n);
        done = attempt(ctx, &err);
        heft_alloc_fail_at(0);
        heft_fault_os_remove();
        assert_int_equal(heft_fault_os_open(), 0);
        assert_int_equal(err.code, done ? HEFT_OK : HEFT_NOMEM);
        assert_true(n < most);
    }
}

/* For attempts that only read: a failed close or unmap is no error, as it cannot lose data. Any
 * other failing call must give HEFT_IO and the name of the file. Reads return fewer bytes than
 * requested. */
static inline void fail_each_read(attempt_fn *attempt, void *ctx, uint64_t least)
{
    struct heft_error err = {0};
    uint64_t calls;

    heft_fault_os_install(0, 0);
    heft_fault_os_short(30000);
    assert_true(attempt(ctx, &err));
    calls = heft_fault_os_count();
    heft_fault_os_remove();
    assert_true(calls > least);
    for (uint64_t i = 1; i <= calls; i++) {
        bool ok, is_harmless;

        err = (struct heft_error){0};
        heft_fault_os_install(i, EIO);
        heft_fault_os_short(30000);
        ok = attempt(ctx, &err);
        heft_fault_os_remove();
        assert_true(heft_fault_os_hit());
        assert_int_equal(heft_fault_os_open(), 0);
        is_harmless = strcmp(heft_fault_os_name(), "close") == 0 ||
                      strcmp(heft_fault_os_name(), "unmap") == 0;
        assert_int_equal(ok, is_harmless);
        assert_true(ok || (err.code == HEFT_IO && err.file[0] != '\0'));
    }
}

#endif
