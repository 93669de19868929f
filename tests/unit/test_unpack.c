/* test_unpack.c: gzip with every combination of header fields, in pieces of every size, with valid
 * and invalid bytes after its end; zstd by its status codes. */
#include <zstd.h>

#include "base/checksum.h"
#include "base/simd_state.h"
#include "base/unpack.h"
#include "simd_halves.h"
#include "skip_because.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct text {
    uint8_t bytes[4096];
    size_t n;
};

static void put(struct text *t, const void *bytes, size_t n)
{
    assert_true(t->n + n <= sizeof t->bytes);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

static void put_number(struct text *t, uint32_t number, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(t, &(uint8_t){(uint8_t)(number >> 8 * i)}, 1);
}

/* Appends a gzip member with one stored block. */
static void put_member(struct text *t, uint8_t flags, const char *data)
{
    const size_t begin = t->n;
    const uint32_t n = (uint32_t)strlen(data);

    put(t, "\x1f\x8b\x08", 3);
    put(t, &flags, 1);
    put(t, "time\0\3", 6);
    if (flags & 4)
        put(t, "\5\0extra", 7);
    if (flags & 8)
        put(t, "name", 5);
    if (flags & 16)
        put(t, "", 1);
    if (flags & 2)
        put_number(t, heft_crc32(0, t->bytes + begin, t->n - begin), 2);
    put(t, "\1", 1);
    put_number(t, n, 2);
    put_number(t, ~n, 2);
    put(t, data, n);
    put_number(t, heft_crc32(0, data, n), 4);
    put_number(t, n, 4);
}

/* Unpacks in pieces of `step` bytes into *out; *at is the number of bytes read. */
static bool unpack(enum heft_pack pack, const struct text *t, size_t step, struct text *out,
                   size_t *at, struct heft_error *err)
{
    struct heft_unpack *u = heft_unpack_new(pack, err);
    bool ok = u != NULL;

    out->n = *at = 0;
    while (ok && *at < t->n) {
        const size_t n = step < t->n - *at ? step : t->n - *at;
        struct heft_bytes in = {t->bytes + *at, n};

        while (ok && in.n > 0) {
            uint8_t *to = out->bytes + out->n;
            size_t room = step < sizeof out->bytes - out->n ? step : 0;
            const size_t had = room;

            ok = heft_unpack_step(u, &in, &to, &room, err);
            out->n += had - room;
        }
        *at += n - in.n;
    }
    ok = ok && heft_unpack_end(u, err);
    heft_unpack_free(u);
    return ok;
}

/* Truncated at every length: valid only at the end of the first member, and after each zero of the
 * padding. */
static void test_cuts(const struct text *whole, size_t end, size_t padding)
{
    struct text t = *whole, out;

    for (t.n = end + padding + 10; t.n > 0; t.n--) {
        const bool may_end = t.n >= end && t.n <= end + padding;
        struct heft_error err = {0};
        size_t at;

        assert_int_equal(unpack(HEFT_PACK_GZIP, &t, 7, &out, &at, &err), may_end);
        assert_int_equal(err.code, may_end ? HEFT_OK : HEFT_MALFORMED);
    }
}

static void test_heads(void **unused)
{
    (void)unused;
    for (uint8_t flags = 0; flags < 32; flags++) {
        struct text t = {0}, out;
        size_t end;

        put_member(&t, flags, "Hello, ");
        end = t.n;
        put(&t, "\0\0\0", flags % 4); /* padding between members */
        put_member(&t, 31 - flags, "world");
        put(&t, "\0\0", flags % 3);
        for (size_t step = 1; step <= t.n; step++) {
            struct heft_error err = {0};
            size_t at;

            assert_true(unpack(HEFT_PACK_GZIP, &t, step, &out, &at, &err));
            assert_int_equal(at, t.n);
            assert_int_equal(out.n, 12);
            assert_memory_equal(out.bytes, "Hello, world", 12);
        }
        test_cuts(&t, end, flags % 4);
    }
}

static void test_bytes_after_the_end(void **unused)
{
    static const struct {
        const char *bytes, *text;
        size_t n, at;
        enum heft_code code;
    } cases[] = {
        {"garbage", "byte 67 after a member", 7, 0, HEFT_MALFORMED},
        {"\0\0g", "byte 67 after a member", 3, 2, HEFT_MALFORMED},
        {"\x1f\x8b\x09", "byte 09 after a member", 3, 2, HEFT_MALFORMED},
        {"\x1f\x8b\x08\x20", "flags are 20", 4, 3, HEFT_MALFORMED},
        {"\x1f\x8b\x08\2timexy\0\0", "header checksum", 12, 11, HEFT_MISMATCH},
        {"\x1f\x8b\x08\0timexy\7", "invalid deflate data", 11, 11, HEFT_MALFORMED},
        {"\x1f\x8b\x08\0timexy\1\0\0\xff\xff\1\0\0\0\0\0\0\0", "gzip: checksum mismatch", 23, 23,
         HEFT_MISMATCH},
        {"\x1f", "is truncated", 1, 1, HEFT_MALFORMED},
        {"\x1f\x8b\x08\0timexy\1\0\0\xff\xff\0\0\0\0", "is truncated", 19, 19, HEFT_MALFORMED},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        for (size_t step = 1; step < 60; step++) {
            struct text t = {0}, out;
            struct heft_error err = {0};
            size_t begin, at;

            put_member(&t, 0, "x");
            begin = t.n;
            put(&t, cases[i].bytes, cases[i].n);
            assert_false(unpack(HEFT_PACK_GZIP, &t, step, &out, &at, &err));
            assert_int_equal(err.code, cases[i].code);
            assert_non_null(strstr(err.text, cases[i].text));
            assert_int_equal(at - begin, cases[i].at);
        }
}

static void put_frame(struct text *t, const char *data)
{
    ZSTD_CCtx *const context = ZSTD_createCCtx();

    assert_non_null(context);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    t->n += ZSTD_compress2(context, t->bytes + t->n, sizeof t->bytes - t->n, data, strlen(data));
    ZSTD_freeCCtx(context);
}

static void test_zstd(void **unused)
{
    struct text t = {0}, out;
    struct heft_error err = {0};
    size_t at, end;

    (void)unused;
    put_frame(&t, "Hello, ");
    put(&t, "\x50\x2a\x4d\x18\3\0\0\0abc", 11); /* a skippable frame */
    put_frame(&t, "world");
    end = t.n;
    for (size_t step = 1; step <= t.n; step++) {
        assert_true(unpack(HEFT_PACK_ZSTD, &t, step, &out, &at, &err));
        assert_int_equal(out.n, 12);
        assert_memory_equal(out.bytes, "Hello, world", 12);
    }
    put(&t, "garbage", 7);
    assert_false(unpack(HEFT_PACK_ZSTD, &t, 5, &out, &at, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    t.n = end - 1;
    assert_false(unpack(HEFT_PACK_ZSTD, &t, 5, &out, &at, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    t.n = end;
    t.bytes[end - 1] ^= 1; /* damages the checksum */
    assert_false(unpack(HEFT_PACK_ZSTD, &t, 5, &out, &at, &err));
    assert_int_equal(err.code, HEFT_MISMATCH);
    t.n = 0;
    put(&t, "\x28\xb5\x2f\xfd\0\x88\1\0\0", 9); /* a window of 128 MiB and an empty block */
    assert_true(unpack(HEFT_PACK_ZSTD, &t, 9, &out, &at, &err));
    assert_int_equal(out.n, 0);
    t.bytes[5] = 0x89; /* a window of 144 MiB */
    assert_false(unpack(HEFT_PACK_ZSTD, &t, 9, &out, &at, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
}

static void test_no_memory(void **unused)
{
    struct heft_error err = {0};

    (void)unused;
    heft_alloc_fail_at(1);
    assert_null(heft_unpack_new(HEFT_PACK_GZIP, &err));
    heft_alloc_fail_at(0);
    assert_int_equal(err.code, HEFT_NOMEM);
}

/* ISA-L's CRC of the unpacked bytes leaves numbers in the upper halves, which slows down all code
 * after it. */
static void test_vector_registers(void **unused)
{
    char data[2001];
    struct text t = {0}, out;
    struct heft_error err = {0};
    size_t at;

    (void)unused;
    if (!can_see_simd_halves())
        skip_because("this processor does not report which vector registers are in use");
    memset(data, 'a', sizeof data - 1);
    data[sizeof data - 1] = '\0';
    put_member(&t, 0, data);
    heft_simd_clear();
    assert_true(unpack(HEFT_PACK_GZIP, &t, 2100, &out, &at, &err));
    assert_int_equal(out.n, sizeof data - 1);
    assert_false(simd_halves_are_used());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),     cmocka_unit_test(test_bytes_after_the_end),
        cmocka_unit_test(test_zstd),      cmocka_unit_test(test_vector_registers),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
