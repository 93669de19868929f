/* test_ordered_pipeline.c: parallel jobs whose results are taken in order; jobs that wait for
 * earlier ones; a job that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/ordered_pipeline.h"

#define JOBS         400
#define SLOTS        5
#define MOST_WORKERS 4

struct counting {
    uint64_t given[SLOTS];  /* number of the job in each slot */
    uint64_t worked[SLOTS]; /* result of the job in each slot */
    atomic_uint_fast64_t done, too_early, together;
    atomic_bool busy[MOST_WORKERS];
    uint64_t taken, fail_at;
};

static bool waits(uint64_t job)
{
    return job % 3 == 1;
}

/* Delays some jobs, so that the next two usually finish first. */
static void tarry(uint64_t job)
{
    for (volatile unsigned i = 0; job % 6 == 2 && i < 100000;)
        i = i + 1;
}

static bool count_work(void *ctx, unsigned worker, unsigned slot, struct heft_error *err)
{
    struct counting *c = ctx;

    if (atomic_exchange(&c->busy[worker], true))
        c->together++;
    if (waits(c->given[slot]) && c->done < c->given[slot])
        c->too_early++;
    tarry(c->given[slot]);
    c->worked[slot] = c->given[slot] * 3;
    c->done++;
    atomic_store(&c->busy[worker], false);
    return c->given[slot] < c->fail_at ||
           heft_fail(err, HEFT_LIMIT, c->given[slot], "job of the test");
}

static bool count_take(void *ctx, unsigned slot, struct heft_error *err)
{
    struct counting *c = ctx;

    return c->worked[slot] == c->taken++ * 3 || heft_fail(err, HEFT_USAGE, 0, "out of order");
}

static void run_line(unsigned threads, uint64_t fail_at)
{
    struct counting c = {.fail_at = fail_at};
    const struct heft_pipeline_work how = {count_work, count_take, &c, threads, SLOTS};
    struct heft_error err = {0};
    struct heft_pipeline *line = heft_pipeline_new(&how, &err);
    bool ok = line != NULL;

    for (uint64_t i = 0; ok && i < JOBS; i++) {
        unsigned slot;

        ok = heft_pipeline_slot(line, &slot, &err);
        if (ok) {
            c.given[slot] = i;
            ok = heft_pipeline_submit(line, waits(i), &err);
        }
    }
    ok = ok && heft_pipeline_finish(line, &err);
    heft_pipeline_free(line);
    assert_int_equal(c.too_early, 0);
    assert_int_equal(c.together, 0);
    assert_int_equal(ok, fail_at > JOBS);
    assert_int_equal(c.taken, fail_at > JOBS ? JOBS : fail_at);
    if (!ok)
        assert_true(err.code == HEFT_LIMIT && err.offset == fail_at);
}

static void test_line(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= MOST_WORKERS; threads++) {
        run_line(threads, UINT64_MAX);
        run_line(threads, 0);
        run_line(threads, 137);
        run_line(threads, JOBS - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
