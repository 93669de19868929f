/* test_pool.c: every job runs once, the first failure is reported, one worker uses the calling
 * thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"
#include "io/pool.h"

enum { JOBS = 300000 };

struct ledger {
    atomic_int done[JOBS];
    atomic_uint total;
    unsigned threads;
    uint64_t fail_from; /* first job that fails; so do all after it */
    uint64_t last;      /* last job, to check the order with one thread */
    bool in_order;
    pthread_t caller;
    bool elsewhere; /* a job ran on a thread other than the caller's */
};

static bool work(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct ledger *ledger = ctx;

    if (worker >= ledger->threads || index >= JOBS)
        return heft_fail(err, HEFT_USAGE, 0, "worker %u, job %" PRIu64, worker, index);
    atomic_fetch_add(&ledger->done[index], 1);
    atomic_fetch_add(&ledger->total, 1);
    if (ledger->threads == 1) {
        ledger->in_order = ledger->in_order && index == ledger->last;
        ledger->last = index + 1;
        ledger->elsewhere |= !pthread_equal(pthread_self(), ledger->caller);
    }
    if (index >= ledger->fail_from)
        return heft_fail(err, HEFT_MISMATCH, index, "job fails");
    return true;
}

static struct ledger new_ledger(unsigned threads)
{
    return (struct ledger){
        .threads = threads, .fail_from = UINT64_MAX, .in_order = true, .caller = pthread_self()};
}

static void every_job_is_done_once(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 8, 64};
    static const uint64_t jobs[] = {0, 1, 2, 63, JOBS};

    (void)state;
    for (size_t t = 0; t < HEFT_COUNT(threads); t++) {
        for (size_t j = 0; j < HEFT_COUNT(jobs); j++) {
            static struct ledger ledger;
            struct heft_error err = {0};

            ledger = new_ledger(threads[t]);
            assert_true(
                heft_pool_run(&(struct heft_pool_work){work, &ledger, jobs[j], threads[t]}, &err));
            for (uint64_t i = 0; i < JOBS; i++)
                if (ledger.done[i] != (i < jobs[j]))
                    fail_msg("job %" PRIu64 " was done %d times", i, ledger.done[i]);
            assert_int_equal(err.code, HEFT_OK);
        }
    }
}

static void one_thread_is_the_calling_one_in_order(void **state)
{
    static struct ledger ledger;
    struct heft_error err = {0};

    (void)state;
    ledger = new_ledger(1);
    assert_true(heft_pool_run(&(struct heft_pool_work){work, &ledger, JOBS, 1}, &err));
    assert_true(ledger.in_order);
    assert_false(ledger.elsewhere);
}

static void a_failure_stops_the_rest_and_is_reported(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        static struct ledger ledger;
        struct heft_error err = {0};

        ledger = new_ledger(threads);
        ledger.fail_from = 100;
        assert_false(heft_pool_run(&(struct heft_pool_work){work, &ledger, JOBS, threads}, &err));
        assert_int_equal(err.code, HEFT_MISMATCH);
        assert_true(err.offset >= 100 && err.offset < 100 + threads);
        assert_string_equal(err.text, "job fails");
        assert_true(ledger.total <= 100 + threads);
        for (uint64_t i = 0; i < 100; i++)
            assert_int_equal(ledger.done[i], 1);
    }
}

static void lack_of_memory_is_reported_before_any_job(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        static struct ledger ledger;
        struct heft_error err = {0};

        ledger = new_ledger(4);
        FAIL_ALLOCATION(&fail, heft_pool_run(&(struct heft_pool_work){work, &ledger, 50, 4}, &err),
                        &err);
        assert_int_equal(ledger.total, fail.done ? 50 : 0);
    }
}

struct account {
    struct heft_lock *lock;
    uint64_t sum; /* not atomic: protected by the lock under test */
};

static bool deposit(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct account *account = ctx;

    (void)worker;
    (void)err;
    heft_lock_take(account->lock);
    account->sum += index;
    heft_lock_drop(account->lock);
    return true;
}

static void locks_exclude_other_threads(void **state)
{
    struct heft_error err = {0};
    struct account account = {heft_lock_new(&err), 0};

    (void)state;
    assert_non_null(account.lock);
    assert_true(heft_pool_run(&(struct heft_pool_work){deposit, &account, 100000, 4}, &err));
    assert_int_equal(account.sum, (uint64_t)100000 * 99999 / 2);
    heft_lock_free(account.lock);
    heft_lock_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_done_once),
        cmocka_unit_test(one_thread_is_the_calling_one_in_order),
        cmocka_unit_test(a_failure_stops_the_rest_and_is_reported),
        cmocka_unit_test(lack_of_memory_is_reported_before_any_job),
        cmocka_unit_test(locks_exclude_other_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
