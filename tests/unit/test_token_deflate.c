/* test_token_deflate.c: ids as deflated int64, compared after inflating. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/endian.h"
#include "base/inflate.h"
#include "tokens/output/token_deflate.h"

static void check_deflate(const uint8_t *ids, size_t n, unsigned width)
{
    struct heft_error err = {0};
    struct heft_buf packed = {0};
    struct heft_inflate *z = heft_inflate_new(&err);
    uint8_t *wide = malloc(8 * n + 1), *out = wide;
    size_t room = 8 * n + 1;
    struct heft_bytes in;
    bool done = false;
    uint32_t crc;

    assert_true(heft_deflate_ids(&packed, ids, n, width, &crc, &err));
    heft_buf_put(&packed, "\3", 2); /* an empty final block */
    in = (struct heft_bytes){(const uint8_t *)packed.p, packed.n};
    while (!done)
        assert_true(heft_inflate_step(z, &in, &out, &room, &done, &err));
    assert_int_equal(room, 1);
    assert_int_equal(in.n, 0);
    assert_int_equal(crc, heft_crc32(0, wide, 8 * n));
    for (size_t i = 0; i < n; i++)
        assert_true(heft_le64(wide + 8 * i) ==
                    (width == 2 ? heft_le16(ids + 2 * i) : heft_le32(ids + 4 * i)));
    free(wide);
    heft_buf_release(&packed);
    heft_inflate_free(z);
}

static void test_deflate(void **state)
{
    static uint8_t ids[4 * 70000];
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 65536; i++)
        heft_put_le16(ids + 2 * i, (uint16_t)i);
    check_deflate(ids, 65536, 2);
    for (size_t n = 0; n < 20; n++)
        check_deflate(ids + 2 * n, n, 2);
    for (size_t i = 0; i < sizeof ids; i++) {
        seed = seed * 1664525u + 1013904223u;
        ids[i] = (uint8_t)(seed >> 24);
    }
    check_deflate(ids, 70000, 4);
    check_deflate(ids, 1, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deflate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
