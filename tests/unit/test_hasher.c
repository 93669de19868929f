/* test_hasher.c: SHA-256 by libnettle and by heft give the digests of the standards, and the same
 * digest of any bytes in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/hasher.h"
#include "skip_because.h"

static void hash_pieces(const struct heft_nettle_hash *by, const uint8_t *p, size_t n, size_t piece,
                        char hex[2 * HEFT_SHA256_BYTES + 1])
{
    struct heft_hash hash;
    uint8_t digest[HEFT_SHA256_BYTES];

    heft_hash_begin(&hash, by);
    for (size_t at = 0; at < n; at += piece)
        heft_hash_put(&hash, p + at, n - at < piece ? n - at : piece);
    heft_hash_end(&hash, digest);
    for (size_t i = 0; i < by->digest_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

/* The tests need the module: the build has it, as libnettle is needed to build the tests. */
static struct heft_hasher fast(void)
{
    struct heft_hasher hasher;
    struct heft_error err = {0};

    assert_true(heft_hasher_open(&hasher, &err));
    assert_int_equal(hasher.why_slow.code, HEFT_OK);
    assert_non_null(hasher.sha1);
    return hasher;
}

static void test_examples(void **unused)
{
    const struct heft_hasher hasher = fast();
    char hex[2 * HEFT_SHA256_BYTES + 1];

    (void)unused;
    hash_pieces(hasher.sha256, (const uint8_t *)"abc", 3, 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash_pieces(hasher.sha1, (const uint8_t *)"abc", 3, 3, hex);
    assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
}

static void test_both_are_equal(void **unused)
{
    const struct heft_hasher hasher = fast();
    struct heft_hasher portable;
    char a[2 * HEFT_SHA256_BYTES + 1], b[2 * HEFT_SHA256_BYTES + 1];
    uint8_t bytes[1000];
    uint32_t seed = 1;

    (void)unused;
    heft_hasher_open_portable(&portable);
    assert_null(portable.sha1);
    assert_true(portable.sha256 != hasher.sha256);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    for (size_t n = 0; n <= sizeof bytes; n += n < 140 ? 1 : 43)
        for (size_t piece = 1; piece < 200; piece += 37) {
            hash_pieces(hasher.sha256, bytes, n, piece, a);
            hash_pieces(portable.sha256, bytes, n, 1000, b);
            assert_string_equal(a, b);
        }
}

/* The kernels, one message and two at once, against heft's own compression of the same blocks. */
static void test_kernels(void **unused)
{
    const struct heft_sha256_kernels *const by = heft_sha256_kernels();
    uint8_t p[64 * 9], q[64 * 9];
    uint32_t seed = 5;

    (void)unused;
    if (!by)
        skip_because("this processor has no instructions for SHA-256");
    for (size_t i = 0; i < sizeof p; i++) {
        p[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
        q[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    }
    for (size_t blocks = 0; blocks <= 9; blocks++) {
        struct heft_sha256 a, b, c, d;

        heft_sha256_init(&a);
        b = c = d = a;
        heft_sha256_put(&a, p, 64 * blocks);
        heft_sha256_put(&b, q, 64 * blocks);
        by->two(c.state, p, d.state, q, blocks);
        assert_memory_equal(a.state, c.state, sizeof a.state);
        assert_memory_equal(b.state, d.state, sizeof b.state);
        heft_sha256_init(&c);
        by->one(c.state, q, blocks);
        assert_memory_equal(b.state, c.state, sizeof b.state);
    }
}

/* Without the module there is a reason; a location that is wrong is an error. */
static void test_missing_module(void **unused)
{
    struct heft_hasher hasher;
    struct heft_error err = {0};

    (void)unused;
    assert_int_equal(setenv("HEFT_MODULES", "/nonexistent", 1), 0);
    assert_true(heft_hasher_open(&hasher, &err));
    assert_int_equal(hasher.why_slow.code, HEFT_UNSUPPORTED);
    assert_non_null(strstr(hasher.why_slow.text, "libnettle8"));
    assert_non_null(hasher.sha256);
    assert_null(hasher.sha1);
    assert_int_equal(setenv("HEFT_MODULES", "relative", 1), 0);
    assert_false(heft_hasher_open(&hasher, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_int_equal(unsetenv("HEFT_MODULES"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_both_are_equal),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_missing_module),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
