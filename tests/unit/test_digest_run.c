/* test_digest_run.c: digests arrive in order for any number of threads; failures are those of the
 * first item; a stop ends the run. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "measure/digest_run.h"

#define ITEMS 2000

/* Item i has i * 5 bytes (every 50th from 64 KiB to 1 MiB), all of them i. Item `twin` is equal to
 * item 5. */
struct items {
    size_t taken, failures;
    size_t fail_at, stop_at; /* ITEMS: never */
    bool fatal;              /* take() passes a failure on */
    enum heft_code code;
    size_t twin;
    uint64_t done, total, cancel_at;
    atomic_bool wrong; /* set by threads, in which cmocka cannot fail */
    struct heft_hasher hasher;
};

static void note(struct items *items, bool wrong)
{
    if (wrong)
        items->wrong = true;
}

static uint64_t bytes_of(void *ctx, size_t item)
{
    (void)ctx;
    if (item % 500 == 499)
        return (1 << 20) + item % 3;
    return item % 50 == 49 ? (64 << 10) + item * 20 : item * 5;
}

static size_t same_as(void *ctx, size_t item)
{
    return item == ((struct items *)ctx)->twin ? 5 : item;
}

static void put_all(const struct heft_hasher *hasher, size_t item, uint8_t *digest)
{
    struct heft_hash hash;
    uint8_t piece[1000];
    uint64_t left = bytes_of(NULL, item);

    memset(piece, (int)(item & 255), sizeof piece);
    heft_hash_begin(&hash, hasher->sha256);
    for (; left > 0; left -= heft_min_u64(left, sizeof piece))
        heft_hash_put(&hash, piece, (size_t)heft_min_u64(left, sizeof piece));
    heft_hash_end(&hash, digest);
}

static bool read_item(void *ctx, size_t item, struct heft_digest_worker *worker,
                      struct heft_error *err)
{
    struct items *items = ctx;
    uint64_t left = bytes_of(ctx, item);

    if (item >= items->fail_at && item < items->fail_at + 2)
        return heft_fail(err, items->code, item, "item %zu is bad", item);
    memset(worker->piece, (int)(item & 255), HEFT_DIGEST_PIECE);
    while (left > 0) {
        const size_t n = (size_t)heft_min_u64(left, HEFT_DIGEST_PIECE - 7);

        if (!heft_digest_put(worker, worker->piece, n, err))
            return false;
        left -= n;
    }
    return true;
}

static bool is_pulled(void *ctx, size_t item)
{
    (void)ctx;
    return item % 100 != 49; /* some large items are for read() */
}

static bool pull(void *ctx, size_t item, uint64_t off, uint8_t *dst, size_t n,
                 struct heft_error *err)
{
    struct items *items = ctx;

    note(items, off + n > bytes_of(ctx, item) || n == 0);
    if (item >= items->fail_at && item < items->fail_at + 2)
        return heft_fail(err, items->code, item, "item %zu is bad", item);
    memset(dst, (int)(item & 255), n);
    return true;
}

static uint8_t expected[ITEMS][HEFT_SHA256_BYTES]; /* digests of the items; set by main */

static bool take(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                 struct heft_error *err)
{
    struct items *items = ctx;

    note(items, item != items->taken++ || (digest == NULL) == (why == NULL));
    if (why) {
        items->failures++;
        note(items, why->code != items->code);
        if (items->fatal)
            *err = *why;
        return !items->fatal;
    }
    note(items, memcmp(digest, expected[same_as(ctx, item)], HEFT_SHA256_BYTES) != 0);
    return item < items->stop_at || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "stop");
}

static bool tell(void *ctx, uint64_t done, uint64_t total)
{
    struct items *items = ctx;

    note(items, done < items->done || done > total);
    items->done = done;
    items->total = total;
    return done < items->cancel_at;
}

static bool with_lanes; /* set by main */

static struct items all(void)
{
    struct items items = {.fail_at = ITEMS,
                          .stop_at = ITEMS,
                          .twin = ITEMS,
                          .code = HEFT_MALFORMED,
                          .cancel_at = UINT64_MAX};

    heft_hasher_open_portable(&items.hasher);
    items.hasher.kernels = with_lanes ? heft_sha256_kernels() : NULL;
    return items;
}

static bool run(struct items *items, size_t n, unsigned threads, struct heft_error *err)
{
    const struct heft_digest_run of = {.items = n,
                                       .bytes = bytes_of,
                                       .same = same_as,
                                       .read = read_item,
                                       .pull = pull,
                                       .is_pulled = is_pulled,
                                       .take = take,
                                       .ctx = items,
                                       .hasher = &items->hasher,
                                       .threads = threads,
                                       .progress = tell,
                                       .progress_ctx = items};

    return heft_digest_run(&of, err);
}

static void test_order(void **unused)
{
    (void)unused;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct items items = all();
        struct heft_error err = {0};

        items.twin = 1777;
        assert_true(run(&items, ITEMS, threads, &err));
        assert_int_equal(items.taken, ITEMS);
        assert_false(items.wrong);
        assert_int_equal(items.done, items.total);
        assert_true(items.total > 0);
    }
}

static void test_nothing(void **unused)
{
    struct items items = all();
    struct heft_error err = {0};

    (void)unused;
    assert_true(run(&items, 0, 3, &err));
    assert_int_equal(items.taken, 0);
}

static void test_failures(void **unused)
{
    (void)unused;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct items items = all();
        struct heft_error err = {0};

        items.fail_at = 999;
        assert_true(run(&items, ITEMS, threads, &err)); /* take() forgives them */
        assert_int_equal(items.failures, 2);
        assert_int_equal(items.taken, ITEMS);

        items = all();
        items.fail_at = 999;
        items.fatal = true;
        err = (struct heft_error){0};
        assert_false(run(&items, ITEMS, threads, &err));
        assert_int_equal(err.code, HEFT_MALFORMED);
        assert_string_equal(err.text, "item 999 is bad"); /* never that of item 1000 */
        assert_int_equal(items.taken, 1000);
        assert_false(items.wrong);
    }
}

/* An item with the bytes of one that failed. */
static void test_twin_of_failure(void **unused)
{
    struct items items = all();
    struct heft_error err = {0};

    (void)unused;
    items.fail_at = 5;
    items.twin = 1000;
    assert_true(run(&items, ITEMS, 2, &err));
    assert_int_equal(items.failures, 3);
    assert_false(items.wrong);
}

static void test_stops(void **unused)
{
    (void)unused;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct items items = all();
        struct heft_error err = {0};

        items.stop_at = 700;
        assert_false(run(&items, ITEMS, threads, &err));
        assert_int_equal(err.code, HEFT_CANCELLED);
        assert_string_equal(err.text, "stop");
        assert_int_equal(items.taken, 701);

        items = all();
        items.cancel_at = 1 << 20;
        err = (struct heft_error){0};
        assert_false(run(&items, ITEMS, threads, &err));
        assert_int_equal(err.code, HEFT_CANCELLED);
        assert_string_equal(err.text, "interrupted");
        assert_true(items.taken < ITEMS);

        items = all();
        items.fail_at = 10;
        items.code = HEFT_NOMEM; /* ends the run in any item */
        err = (struct heft_error){0};
        assert_false(run(&items, ITEMS, threads, &err));
        assert_int_equal(err.code, HEFT_NOMEM);
    }
}

static bool attempt(void *ctx, struct heft_error *err)
{
    struct items items = all();

    items.fail_at = 20;
    return run(&items, 40, *(unsigned *)ctx, err);
}

static void test_out_of_memory(void **unused)
{
    (void)unused;
    for (unsigned threads = 1; threads <= 2; threads++)
        fail_each_allocation(attempt, &threads, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),    cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_twin_of_failure),
        cmocka_unit_test(test_stops),    cmocka_unit_test(test_out_of_memory),
    };
    struct items items = all();
    int failed = 0;

    for (size_t i = 0; i < ITEMS; i++)
        put_all(&items.hasher, i, expected[i]);
    for (unsigned lanes = 0; lanes < 2; lanes++) {
        with_lanes = lanes == 1;
        failed += cmocka_run_group_tests_name(lanes ? "in lanes" : "one by one", tests, NULL, NULL);
    }
    return failed;
}
