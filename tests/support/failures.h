/* failures.h: runs an attempt once for each allocation, or for each system call, with that one
 * failing. Include it after cmocka.h. */
#ifndef FAILURES_H
#define FAILURES_H

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "fault_os.h"

/* A loop over attempts, the N-th of which has its N-th allocation fail, until one succeeds:
 *
 *     for (struct failures fail = {.most = 100}; !fail.done;) {
 *         FAIL_ALLOCATION(&fail, open_it(&it, &err), &err);
 *         close_it(&it);
 *     }
 *
 * Each attempt but the last must fail with HEFT_NOMEM; the last must leave the error untouched. */
struct failures {
    uint64_t n;    /* attempts so far; after the loop: the allocations of a success, plus 1 */
    uint64_t most; /* upper bound of it, so that an attempt that never succeeds ends the test */
    bool done;
};

static inline void begin_failure(struct failures *fail, struct heft_error *err)
{
    fail->n++;
    assert_true(fail->n < fail->most);
    *err = (struct heft_error){0};
    heft_alloc_fail_at(fail->n);
}

static inline void end_failure(struct failures *fail, bool done, const struct heft_error *err)
{
    heft_alloc_fail_at(0);
    fail->done = done;
    if (err->code != (done ? HEFT_OK : HEFT_NOMEM))
        fail_msg("allocation %d: %s: %s", (int)fail->n, err->file, err->text);
}

/* Resets the error, then evaluates `attempt`, which is true if every step succeeded. */
#define FAIL_ALLOCATION(fail, attempt, err)                                                        \
    (begin_failure(fail, err), end_failure(fail, attempt, err))

/* An attempt runs the code under test from beginning to end, releases all resources, and returns
 * whether every step succeeded. */
typedef bool attempt_fn(void *ctx, struct heft_error *err);

/* The same for an attempt that also must leave no file open. */
static inline void fail_each_allocation(attempt_fn *attempt, void *ctx, uint64_t most)
{
    for (struct failures fail = {.most = most}; !fail.done;) {
        struct heft_error err;

        heft_fault_os_install(0, 0);
        FAIL_ALLOCATION(&fail, attempt(ctx, &err), &err);
        heft_fault_os_remove();
        assert_int_equal(heft_fault_os_open(), 0);
    }
}

/* For attempts that only read: a failed close or unmap is no error, as it cannot lose data. Any
 * other failing call must give HEFT_IO, its errno, and the name of the file. Reads return fewer bytes than
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
        assert_int_equal(err.system_error, ok ? 0 : EIO);
    }
}

#endif
