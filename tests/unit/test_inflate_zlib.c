/* test_inflate_zlib.c: the streams of tests/inflate, and each of them with one bit flipped, inflate
 * to the output of zlib, which expect.tsv records: in one piece, byte by byte, and in two pieces.
 */
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
    char taken[2 * MOST + 1]; /* hex bit set: bits whose flip leaves a stream that zlib accepts */
};

struct test {
    struct expected expected;
    uint8_t packed[MOST];
    size_t n;
};

static uint8_t plain[ROOM];

/* Inflates a stream; the first piece of input has `first` bytes, the others `step`; each piece of
 * output has at most `room`. Returns the bytes written, or SIZE_MAX if the stream does not reach
 * its end. */
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

/* For each flipped bit: if zlib accepts the stream, the output is the same. Where zlib refuses it,
 * ISA-L may accept it: it also allows incomplete Huffman codes. */
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

/* A stream truncated at any length is never reported as complete. */
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

static void streams_inflate_as_with_zlib(void **state)
{
    (void)state;
    for_each_stream(expect_in_pieces);
}

static void streams_with_a_flipped_bit_inflate_as_with_zlib(void **state)
{
    (void)state;
    for_each_stream(expect_flips);
}

static void truncated_streams_are_never_complete(void **state)
{
    (void)state;
    for_each_stream(expect_short);
}

static void a_failed_stream_stays_failed(void **state)
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
        cmocka_unit_test(streams_inflate_as_with_zlib),
        cmocka_unit_test(streams_with_a_flipped_bit_inflate_as_with_zlib),
        cmocka_unit_test(truncated_streams_are_never_complete),
        cmocka_unit_test(a_failed_stream_stays_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
