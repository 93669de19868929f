/* test_sha256.c: the examples of FIPS 180-4, and hashing in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/sha256.h"

static void digest_of(const char *text, size_t n, size_t piece, char hex[65])
{
    struct heft_sha256 sha;
    uint8_t digest[HEFT_SHA256_BYTES];

    heft_sha256_init(&sha);
    for (size_t at = 0; at < n; at += piece)
        heft_sha256_put(&sha, text + at, n - at < piece ? n - at : piece);
    heft_sha256_end(&sha, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void test_examples(void **unused)
{
    static const char *const rows[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[65];

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        digest_of(rows[i][0], strlen(rows[i][0]), 64, hex);
        assert_string_equal(hex, rows[i][1]);
    }
}

/* All lengths around the end of a block, in pieces of any size. */
static void test_pieces(void **unused)
{
    char text[300], whole[65], hex[65];

    (void)unused;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    for (size_t n = 0; n <= sizeof text; n++) {
        digest_of(text, n, sizeof text, whole);
        for (size_t piece = 1; piece < 140; piece += 23) {
            digest_of(text, n, piece, hex);
            assert_string_equal(hex, whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
