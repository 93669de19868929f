/* test_block_walk.c: blocks cover all items once and are delivered in order, for any number of
 * threads. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/block_walk.h"
#include "failures.h"

#define MIB ((uint64_t)1 << 20)

struct sums {
    const uint64_t *bytes;
    size_t n, block;
    /* where take() is */
    size_t item;
    uint64_t off;
    size_t blocks;
    double sum; /* depends on the order of the additions */
    size_t fail_at, stop_at;
};

static uint64_t bytes_of(void *ctx, size_t item)
{
    return ((struct sums *)ctx)->bytes[item];
}

static size_t block_of(void *ctx, size_t item)
{
    (void)item;
    return ((struct sums *)ctx)->block;
}

static bool reduce(void *ctx, unsigned worker, const struct heft_block *block, void *result,
                   struct heft_error *err)
{
    const struct sums *sums = ctx;
    double value = 1.0 / (1.0 + (double)(block->item * 7919 + block->off));

    assert_true(worker < 4);
    assert_int_equal(((uint8_t *)result)[0], 0);
    memcpy(result, &value, sizeof value);
    return block->item < sums->fail_at ||
           heft_fail(err, HEFT_MALFORMED, block->item, "item is bad");
}

static bool add(void *ctx, const struct heft_block *block, const void *result,
                struct heft_error *err)
{
    struct sums *sums = ctx;
    double value;

    assert_int_equal(block->item, sums->item);
    assert_int_equal(block->off, sums->off);
    assert_true(block->n > 0 || sums->bytes[block->item] == 0);
    assert_int_equal(block->is_last, block->off + block->n == sums->bytes[block->item]);
    memcpy(&value, result, sizeof value);
    sums->sum += value;
    sums->blocks++;
    sums->off = block->is_last ? 0 : block->off + block->n;
    sums->item += block->is_last;
    return sums->item <= sums->stop_at || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "stop");
}

static bool walk(struct sums *sums, unsigned threads, struct heft_error *err)
{
    const struct heft_block_walk of = {.items = sums->n,
                                       .bytes = bytes_of,
                                       .block_bytes = block_of,
                                       .work = reduce,
                                       .take = add,
                                       .ctx = sums,
                                       .result_size = sizeof(double),
                                       .threads = threads};

    return heft_block_walk(&of, err);
}

static const uint64_t sizes[] = {0, 1, 3 * MIB, 0, 0, 17, 64, 65, 5 * MIB + 1, 2, MIB, 0};

static struct sums sums_of(size_t block)
{
    return (struct sums){.bytes = sizes,
                         .n = HEFT_COUNT(sizes),
                         .block = block,
                         .fail_at = SIZE_MAX,
                         .stop_at = SIZE_MAX};
}

static void blocks_cover_all_items_in_order(void **state)
{
    static const size_t blocks[] = {64, 4096, 100003, 1 << 20, SIZE_MAX};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(blocks); i++) {
        double first = 0;

        for (unsigned threads = 1; threads <= 4; threads++) {
            struct sums sums = sums_of(blocks[i]);
            struct heft_error err = {0};

            assert_true(walk(&sums, threads, &err));
            assert_int_equal(sums.item, HEFT_COUNT(sizes));
            if (threads == 1)
                first = sums.sum;
            assert_memory_equal(&sums.sum, &first, sizeof first); /* the same bits */
        }
    }
}

static void many_small_items_are_walked(void **state)
{
    enum { MANY = 100000 };
    uint64_t *bytes = calloc(MANY, sizeof *bytes);
    struct sums sums = sums_of(4096);
    struct heft_error err = {0};

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < MANY; i++)
        bytes[i] = i % 40;
    sums.bytes = bytes;
    sums.n = MANY;
    assert_true(walk(&sums, 3, &err));
    assert_int_equal(sums.blocks, MANY);
    free(bytes);
}

static void no_items_are_no_work(void **state)
{
    struct sums sums = sums_of(64);
    struct heft_error err = {0};

    (void)state;
    sums.n = 0;
    assert_true(walk(&sums, 2, &err));
    assert_int_equal(sums.blocks, 0);
}

static void the_first_failure_in_order_is_reported(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct sums sums = sums_of(1 << 18);
        struct heft_error err = {0};

        sums.fail_at = 8;
        assert_false(walk(&sums, threads, &err));
        assert_int_equal(err.code, HEFT_MALFORMED);
        assert_int_equal(err.offset, 8);
    }
}

static void the_consumer_can_stop(void **state)
{
    struct sums sums = sums_of(1 << 18);
    struct heft_error err = {0};

    (void)state;
    sums.stop_at = 2;
    assert_false(walk(&sums, 2, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    assert_int_equal(sums.item, 3);
}

static bool walk_attempt(void *ctx, struct heft_error *err)
{
    struct sums sums = sums_of(1 << 18);

    (void)ctx;
    return walk(&sums, 3, err);
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(walk_attempt, NULL, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_cover_all_items_in_order),
        cmocka_unit_test(many_small_items_are_walked),
        cmocka_unit_test(no_items_are_no_work),
        cmocka_unit_test(the_first_failure_in_order_is_reported),
        cmocka_unit_test(the_consumer_can_stop),
        cmocka_unit_test(lack_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
