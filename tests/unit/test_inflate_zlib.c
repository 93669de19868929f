/* test_inflate_zlib.c: the streams of tests/inflate, and each of them with one bit turned, give what
 * zlib made of them: expect.tsv has that. Whole, byte by byte, and cut in two anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/inflate.h"

enum { MOST = 1 << 13, ROOM = 1 << 23 };

struct expected {
    char name[64], size[16];
    size_t left;
    uint32_t crc, flips;
    char taken[2 * MOST + 1]; /* hex: the bits that zlib takes turned */
};

struct test {
    struct expected expected;
    uint8_t packed[MOST];
    size_t n;
};

static uint8_t plain[ROOM];

/* The first piece of input has `first` bytes, the others `step`; the same with room, of which there is
 * as much as the sum of both. SIZE_MAX: not taken to its end. */
static size_t inflate(const struct test *test, size_t first, size_t step, size_t room, size_t *left)
{
    struct heft_error err = {0};
    struct heft_inflate *z = heft_inflate_new(&err);
    size_t at = 0, made = 0, piece = first;
    bool done = false, ok = z != NULL, is_stuck = false;

    assert_non_null(z);
    while (ok && !done && !is_stuck) {
        const size_t given = piece < test->n - at ? piece : test->n - at;
        const size_t most = room < ROOM - made ? room : ROOM - made;
        struct heft_bytes in = {test->packed + at, given};
        uint8_t *out = plain + made;
        size_t free_n = most;

        ok = heft_inflate_step(z, &in, &out, &free_n, &done, &err);
        if (!ok)
            break;
        is_stuck = in.n == given && free_n == most && at + given == test->n;
        at += given - in.n;
        made += most - free_n;
        piece = step;
    }
    assert_true(ok || err.code == HEFT_MALFORMED);
    heft_inflate_free(z);
    *left = test->n - at;
    return done ? made : SIZE_MAX;
}

static void expect_whole(const struct test *test, size_t first, size_t step, size_t room)
{
    size_t left;
    const size_t made = inflate(test, first, step, room, &left);

    if (test->expected.size[0] == '?')
        return;
    if (test->expected.size[0] == '-') {
        assert_true(made == SIZE_MAX);
        return;
    }
    assert_int_equal(made, strtoul(test->expected.size, NULL, 10));
    assert_int_equal(left, test->expected.left);
    assert_int_equal(heft_crc32(0, plain, made), test->expected.crc);
}

static void expect_in_pieces(struct test *test)
{
    static const size_t steps[] = {1, 2, 3, 7, 39, 40, 41, 700, MOST};

    for (size_t i = 0; i < HEFT_COUNT(steps); i++)
        for (size_t k = 0; k < HEFT_COUNT(steps); k++)
            expect_whole(test, steps[i], steps[i], steps[k]);
    for (size_t first = 0; first <= test->n; first++) {
        expect_whole(test, first, MOST, ROOM);
        expect_whole(test, MOST, MOST, first + 1);
    }
}

static bool zlib_takes(const struct test *test, size_t bit)
{
    const char *const hex = "0123456789abcdef";
    const char digit = test->expected.taken[bit / 8 * 2 + (bit % 8 < 4)];

    return (unsigned)(strchr(hex, digit) - hex) >> bit % 4 & 1;
}

/* What zlib takes gives the same; of what it refuses, ISA-L takes what has a code with room for more
 * words. */
static void expect_flips(struct test *test)
{
    uint32_t crc = 0;

    for (size_t bit = 0; bit < 8 * test->n; bit++) {
        size_t left, made;

        test->packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        made = inflate(test, MOST, MOST, ROOM, &left);
        test->packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (!zlib_takes(test, bit))
            continue;
        assert_true(made != SIZE_MAX);
        crc = heft_crc32(crc, plain, made);
    }
    assert_int_equal(crc, test->expected.flips);
}

/* Cut off anywhere it is never done, and what it gives until then is never wrong. */
static void expect_short(struct test *test)
{
    const size_t n = test->n;
    size_t left;

    if (test->expected.size[0] == '?')
        return;
    for (test->n = 0; test->n + test->expected.left < n; test->n++)
        assert_true(inflate(test, MOST, MOST, ROOM, &left) == SIZE_MAX);
    test->n = n;
}

static void for_each_stream(void (*expect)(struct test *test))
{
    static struct test test;
    FILE *const lines = fopen(HEFT_TESTS "/inflate/expect.tsv", "r");
    unsigned count = 0;

    assert_non_null(lines);
    while (fscanf(lines, "%63s %zu %15s %" SCNx32 " %" SCNx32 " %16384s", test.expected.name,
                  &test.expected.left, test.expected.size, &test.expected.crc, &test.expected.flips,
                  test.expected.taken) == 6) {
        char path[512];
        FILE *file;

        (void)snprintf(path, sizeof path, HEFT_TESTS "/inflate/%s.deflate", test.expected.name);
        file = fopen(path, "rb");
        assert_non_null(file);
        test.n = fread(test.packed, 1, sizeof test.packed, file);
        assert_true(test.n < sizeof test.packed);
        (void)fclose(file);
        expect(&test);
        count++;
    }
    (void)fclose(lines);
    assert_true(count > 20);
}

static void streams_give_what_zlib_makes_of_them(void **state)
{
    (void)state;
    for_each_stream(expect_in_pieces);
}

static void streams_with_a_bit_turned_do_so_where_zlib_takes_them(void **state)
{
    (void)state;
    for_each_stream(expect_flips);
}

static void streams_cut_short_are_never_done(void **state)
{
    (void)state;
    for_each_stream(expect_short);
}

static void what_is_broken_stays_broken(void **state)
{
    static const uint8_t kind_3[] = {0x07, 0, 0, 0};
    struct heft_error err = {0};
    struct heft_inflate *z = heft_inflate_new(&err);
    struct heft_bytes in = {kind_3, sizeof kind_3};
    uint8_t *out = plain;
    size_t n = 10;
    bool done = false;

    (void)state;
    assert_non_null(z);
    assert_false(heft_inflate_step(z, &in, &out, &n, &done, &err));
    assert_false(heft_inflate_step(z, &in, &out, &n, &done, &err));
    assert_false(done);
    heft_inflate_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_give_what_zlib_makes_of_them),
        cmocka_unit_test(streams_with_a_bit_turned_do_so_where_zlib_takes_them),
        cmocka_unit_test(streams_cut_short_are_never_done),
        cmocka_unit_test(what_is_broken_stays_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
