/* Bytes that are read ahead from slow inputs (io/input_window.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/input_window.h"

enum { SIZE = 4 << 20, KIB = 1 << 10 };

static uint8_t bytes[SIZE];

struct counted {
    size_t calls, bytes;
    uint64_t first; /* offset of the last call */
    bool fails;
};

static bool read_counted(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                         struct heft_error *err)
{
    struct counted *const c = src->self;

    assert_true(n > 0 && off + n <= SIZE);
    c->calls++;
    c->bytes += n;
    c->first = off;
    if (c->fails)
        return heft_fail(err, HEFT_IO, off, "struck");
    memcpy(dst, bytes + off, n);
    return true;
}

static struct heft_source source_of(struct counted *c)
{
    static const struct heft_source_ops ops = {.read = read_counted};

    return (struct heft_source){.ops = &ops, .self = c, .size = SIZE, .fd = -1, .label = "input"};
}

static void read_equal(struct heft_windows *w, const struct heft_source *src, uint64_t off,
                       size_t n)
{
    static uint8_t out[SIZE];
    struct heft_error err = {0};

    assert_true(heft_windows_read(w, src, off, out, n, &err));
    assert_memory_equal(out, bytes + off, n);
}

static void begin(struct heft_windows *w)
{
    struct heft_error err = {0};

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    *w = (struct heft_windows){.lock = heft_lock_new(&err)};
    assert_non_null(w->lock);
}

static void small_reads_share_a_call(void **state)
{
    struct heft_windows w;
    struct counted c = {0};
    const struct heft_source src = source_of(&c);

    (void)state;
    begin(&w);
    for (uint64_t off = 1000; off + 8 <= 1000 + 64 * KIB; off += 8)
        read_equal(&w, &src, off, 8);
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.bytes, 64 * KIB);
    read_equal(&w, &src, 1000 + 64 * KIB - 4, 8); /* goes on behind: a longer window */
    assert_int_equal(c.calls, 2);
    assert_int_equal(c.bytes, (64 + 128) * KIB);
    heft_windows_release(&w);
}

static void windows_end_with_the_input(void **state)
{
    struct heft_windows w;
    struct counted c = {0};
    const struct heft_source src = source_of(&c);

    (void)state;
    begin(&w);
    read_equal(&w, &src, SIZE - 100, 100);
    read_equal(&w, &src, SIZE - 1, 1);
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.bytes, 100);
    heft_windows_release(&w);
}

static void large_reads_are_passed_on(void **state)
{
    struct heft_windows w;
    struct counted c = {0};
    const struct heft_source src = source_of(&c);

    (void)state;
    begin(&w);
    read_equal(&w, &src, 5, 128 * KIB + 1);
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.bytes, 128 * KIB + 1);
    read_equal(&w, &src, 5, 128 * KIB); /* nothing was kept */
    assert_int_equal(c.calls, 2);
    heft_windows_release(&w);
}

/* The least recently used window is replaced; windows belong to one input each. */
static void windows_are_replaced(void **state)
{
    struct heft_windows w;
    struct counted a = {0}, b = {0};
    const struct heft_source x = source_of(&a), y = source_of(&b);

    (void)state;
    begin(&w);
    for (uint64_t i = 0; i < HEFT_WINDOWS; i++)
        read_equal(&w, &x, i * 512 * KIB, 8);
    read_equal(&w, &x, 0, 8);
    assert_int_equal(a.calls, HEFT_WINDOWS);
    read_equal(&w, &y, 0, 8); /* replaces that of 512 KiB */
    assert_int_equal(b.calls, 1);
    read_equal(&w, &x, 0, 8);
    assert_int_equal(a.calls, HEFT_WINDOWS);
    read_equal(&w, &x, 512 * KIB, 8);
    assert_int_equal(a.calls, HEFT_WINDOWS + 1);
    heft_windows_release(&w);
}

static void failures_keep_nothing(void **state)
{
    struct heft_windows w;
    struct counted c = {.fails = true};
    const struct heft_source src = source_of(&c);
    struct heft_error err = {0};
    uint8_t out[8];

    (void)state;
    begin(&w);
    assert_false(heft_windows_read(&w, &src, 77, out, sizeof out, &err));
    assert_int_equal(err.offset, 77);
    c.fails = false;
    read_equal(&w, &src, 77, 8);
    heft_alloc_fail_at(1);
    assert_false(heft_windows_read(&w, &src, SIZE / 2, out, sizeof out, &err));
    heft_alloc_fail_at(0);
    assert_int_equal(err.code, HEFT_NOMEM);
    heft_windows_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_reads_share_a_call),  cmocka_unit_test(windows_end_with_the_input),
        cmocka_unit_test(large_reads_are_passed_on), cmocka_unit_test(windows_are_replaced),
        cmocka_unit_test(failures_keep_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
