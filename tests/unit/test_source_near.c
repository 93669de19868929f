/* test_source_near.c: neighbouring ranges share a read, and bytes and errors are those of the
 * source below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/source.h"

enum { SIZE = 300000, RANGE = 20 };

/* Source whose byte at i is i mod 251; it counts reads, and fails all of them if told so. */
struct counted {
    size_t reads;
    bool fails;
};

static bool read_counted(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                         struct heft_error *err)
{
    struct counted *const c = src->self;
    uint8_t *const bytes = dst;

    c->reads++;
    if (c->fails)
        return heft_fail(err, HEFT_IO, off, "a broken disk");
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)((off + i) % 251);
    return true;
}

static struct heft_source open_counted(struct counted *c)
{
    static const struct heft_source_ops ops = {.read = read_counted};

    *c = (struct counted){.reads = 0};
    return (struct heft_source){.ops = &ops, .self = c, .size = SIZE, .fd = -1, .label = "sample"};
}

/* Ranges of RANGE bytes every `step` bytes. */
static bool range_at(const void *ctx, size_t index, uint64_t *begin, uint64_t *end)
{
    const uint64_t *const step = ctx;

    *begin = *step * index;
    *end = *begin + RANGE;
    return true;
}

static size_t reads_for(uint64_t step, size_t count)
{
    struct heft_error err = {0};
    struct heft_near near;
    struct counted c;
    const struct heft_source below = open_counted(&c);

    assert_true(heft_near_open(&near, &below, &err));
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[RANGE];

        heft_near_look(&near, range_at, &step, i, count);
        assert_true(heft_source_read(&near.source, step * i, bytes, sizeof bytes, &err));
        for (size_t k = 0; k < RANGE; k++)
            assert_int_equal(bytes[k], (step * i + k) % 251);
    }
    heft_near_close(&near);
    return c.reads;
}

static void close_ranges_share_a_read(void **state)
{
    (void)state;
    assert_int_equal(reads_for(100, 1), 1);
    assert_int_equal(reads_for(100, 600), 1);  /* 60 KB */
    assert_int_equal(reads_for(100, 2000), 4); /* 200 KB through 64 KiB */
    assert_int_equal(reads_for(4096, 60), 4);  /* 16 in each window */
    assert_int_equal(reads_for(5000, 60), 60); /* too far apart */
    assert_int_equal(reads_for(10, 1000), 1);  /* overlapping */
}

static bool descending(const void *ctx, size_t index, uint64_t *begin, uint64_t *end)
{
    (void)ctx;
    *begin = 10000 - 100 * index;
    *end = *begin + RANGE;
    return index < 90;
}

static void ranges_in_another_order_are_read_alone(void **state)
{
    struct heft_error err = {0};
    struct heft_near near;
    struct counted c;
    const struct heft_source below = open_counted(&c);
    uint8_t byte;

    (void)state;
    assert_true(heft_near_open(&near, &below, &err));
    for (size_t i = 0; i < 100; i++) {
        const uint64_t at = 10000 - 100 * i;

        heft_near_look(&near, descending, NULL, i, 100);
        assert_true(heft_source_read(&near.source, at, &byte, 1, &err));
        assert_int_equal(byte, at % 251);
    }
    assert_int_equal(c.reads, 100);
    heft_near_close(&near);
}

static void failures_are_those_of_the_source_below(void **state)
{
    const uint64_t step = 100;
    struct heft_error err = {0}, direct = {0};
    struct heft_near near;
    struct counted c;
    const struct heft_source below = open_counted(&c);
    uint8_t bytes[RANGE];

    (void)state;
    assert_true(heft_near_open(&near, &below, &err));
    c.fails = true;
    heft_near_look(&near, range_at, &step, 3, 10);
    assert_false(heft_source_read(&near.source, 300, bytes, RANGE, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_int_equal(err.offset, 300);
    c.fails = false;
    assert_false(heft_source_read(&below, SIZE - 1, bytes, 2, &direct));
    err = (struct heft_error){0};
    heft_near_look(&near, range_at, &step, SIZE / 100 - 1, SIZE / 100 + 1);
    assert_false(heft_source_read(&near.source, SIZE - 1, bytes, 2, &err));
    assert_int_equal(err.code, direct.code);
    assert_int_equal(err.offset, direct.offset);
    assert_string_equal(err.text, direct.text);
    heft_near_close(&near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ranges_share_a_read),
        cmocka_unit_test(ranges_in_another_order_are_read_alone),
        cmocka_unit_test(failures_are_those_of_the_source_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
