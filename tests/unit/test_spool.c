/* test_spool.c: deflated streams inflated side by side into a temporary file; malformed streams and
 * bombs; failed calls and allocations. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <isa-l/igzip_lib.h>

#include "base/checksum.h"
#include "failures.h"
#include "io/inflate_stream.h"

struct packed {
    uint8_t *plain, *bytes;
    size_t plain_n, n;
    uint32_t crc;
};

static struct packed pack(size_t n)
{
    struct packed out = {malloc(n + 1), malloc(2 * n + 100), n, 0, 0};
    struct isal_zstream stream;

    for (size_t i = 0; i < n; i++)
        out.plain[i] = (uint8_t)(i * i >> 7);
    isal_deflate_stateless_init(&stream);
    stream.next_in = out.plain;
    stream.avail_in = (uint32_t)n;
    stream.next_out = out.bytes;
    stream.avail_out = (uint32_t)(2 * n + 100);
    stream.end_of_stream = 1;
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    out.n = stream.total_out;
    out.crc = heft_crc32(0, out.plain, n);
    return out;
}

static void unpack_free(struct packed *packed)
{
    free(packed->plain);
    free(packed->bytes);
}

static struct heft_stream stream_of(const struct packed *packed, const struct heft_source *parent)
{
    return (struct heft_stream){.parent = parent,
                                .packed = packed->n,
                                .size = packed->plain_n,
                                .crc = packed->crc,
                                .check_crc = true};
}

/* Streams are kept in memory while they fit, then in the file. */
static void inflated_streams_lie_side_by_side(void **state)
{
    static const size_t sizes[] = {0,       1,   1000, 262143,  700000,         262144,
                                   1 << 20, 100, 7,    1048577, 3 * 1048576 + 5};
    enum { N = HEFT_COUNT(sizes) };
    struct packed packed[N];
    struct heft_spool spool;
    struct heft_error err = {0};
    uint64_t at[N];
    uint8_t *got = malloc(4 << 20);

    (void)state;
    assert_true(heft_spool_init(&spool, &err));
    for (size_t i = 0; i < N; i++) {
        struct heft_source memory = {0};
        struct heft_stream stream;

        packed[i] = pack(sizes[i]);
        heft_source_open_memory(&memory, (struct heft_bytes){packed[i].bytes, packed[i].n}, "zip");
        stream = stream_of(&packed[i], &memory);
        if (!heft_stream_check(&stream, &err) || !heft_spool_place(&spool, &stream, &at[i], &err) ||
            !heft_spool_fill(&spool, at[i], &stream, &err))
            fail_msg("%zu bytes: %s", sizes[i], err.text);
    }
    assert_int_equal(spool.in_memory, 1 + 1000 + 262143 + 700000 + 100 + 7);
    for (size_t i = 0; i < N; i++) {
        const size_t half = sizes[i] / 2;

        assert_true(heft_spool_read(&spool, at[i], got, sizes[i], &err));
        assert_memory_equal(got, packed[i].plain, sizes[i]);
        assert_true(heft_spool_read(&spool, at[i] + half, got, sizes[i] - half, &err));
        assert_memory_equal(got, packed[i].plain + half, sizes[i] - half);
        unpack_free(&packed[i]);
    }
    heft_spool_release(&spool);
    heft_spool_release(&spool); /* release of a released (zeroed) spool does nothing */
    free(got);
}

/* Neither a small stream nor a check needs a directory for temporary files. */
static void a_temporary_file_is_opened_when_it_is_needed(void **state)
{
    struct packed small = pack(500000), large = pack(3 << 20);
    struct heft_source small_zip = {0}, large_zip = {0};
    struct heft_stream stream;
    struct heft_spool spool;
    struct heft_error err = {0};
    uint64_t at;

    (void)state;
    heft_source_open_memory(&small_zip, (struct heft_bytes){small.bytes, small.n}, "small");
    heft_source_open_memory(&large_zip, (struct heft_bytes){large.bytes, large.n}, "large");
    heft_fault_os_install(1, EACCES);
    assert_true(heft_spool_init(&spool, &err));
    stream = stream_of(&small, &small_zip);
    assert_true(heft_spool_place(&spool, &stream, &at, &err));
    assert_true(heft_spool_fill(&spool, at, &stream, &err));
    stream = stream_of(&large, &large_zip);
    assert_true(heft_stream_check(&stream, &err));
    assert_false(heft_fault_os_hit());
    assert_false(heft_spool_place(&spool, &stream, &at, &err));
    assert_string_equal(heft_fault_os_name(), "temp");
    assert_int_equal(err.code, HEFT_IO);
    assert_string_equal(err.file, "large");
    assert_true(heft_spool_place(&spool, &stream, &at, &err));
    heft_spool_release(&spool);
    assert_int_equal(heft_fault_os_open(), 0);
    heft_fault_os_remove();
    unpack_free(&small);
    unpack_free(&large);
}

/* Inflates into a spool, and only checks the stream: both report the same. */
static enum heft_code inflate_code(const struct packed *packed, size_t packed_n, uint64_t size,
                                   uint32_t crc, const char *text)
{
    struct heft_error err = {0}, other = {0};
    struct heft_source memory = {0};
    const struct heft_stream stream = {
        .parent = &memory, .packed = packed_n, .size = size, .crc = crc, .check_crc = true};
    struct heft_spool spool;
    uint64_t at;
    bool ok;

    heft_source_open_memory(&memory, (struct heft_bytes){packed->bytes, packed_n}, "zip");
    assert_true(heft_spool_init(&spool, &err));
    ok = heft_spool_place(&spool, &stream, &at, &err) && heft_spool_fill(&spool, at, &stream, &err);
    heft_spool_release(&spool);
    assert_int_equal(heft_stream_check(&stream, &other), ok);
    assert_int_equal(other.code, err.code);
    assert_string_equal(other.text, err.text);
    if (ok)
        return HEFT_OK;
    assert_string_equal(err.file, "zip");
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    return err.code;
}

static void streams_that_differ_from_their_declaration_are_malformed(void **state)
{
    static const size_t sizes[] = {5000, 3 << 20};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(sizes); i++) {
        struct packed packed = pack(sizes[i]);
        const size_t n = packed.n, size = sizes[i];

        memset(packed.bytes + n, 0, 20);
        assert_int_equal(inflate_code(&packed, n, size, packed.crc, ""), HEFT_OK);
        assert_int_equal(inflate_code(&packed, n, size, packed.crc ^ 1, "CRC-32 is"),
                         HEFT_MISMATCH);
        assert_int_equal(inflate_code(&packed, n, size - 1, packed.crc, "gives more than the"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, n, 0, packed.crc, "gives more than the 0"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, n, size + 1, packed.crc, "are declared"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, n, UINT64_MAX, packed.crc, "declared"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, n - 1, size, packed.crc, "ends early, after"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, 0, 1000, packed.crc, "ends early, after 0"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, n + 1, size, packed.crc, "follow the end"),
                         HEFT_MALFORMED);
        assert_int_equal(inflate_code(&packed, n + 20, size, packed.crc, "20 bytes follow"),
                         HEFT_MALFORMED);
        packed.bytes[0] = 7;
        assert_int_equal(inflate_code(&packed, n, size, packed.crc, "block header"),
                         HEFT_MALFORMED);
        unpack_free(&packed);
    }
}

/* 64 MiB of zeros with a declared size of 1000: inflating stops at the declared size. */
static void bombs_stop_at_the_declared_size(void **state)
{
    const size_t n = (size_t)64 << 20;
    struct packed packed = {calloc(n, 1), malloc(n), n, 0, 0};
    struct isal_zstream stream;

    (void)state;
    isal_deflate_stateless_init(&stream);
    stream.next_in = packed.plain;
    stream.avail_in = (uint32_t)n;
    stream.next_out = packed.bytes;
    stream.avail_out = (uint32_t)n;
    stream.end_of_stream = 1;
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    assert_int_equal(inflate_code(&packed, stream.total_out, 1000, 0, "gives more than the 1000"),
                     HEFT_MALFORMED);
    unpack_free(&packed);
}

static void the_range_of_a_stream_is_checked(void **state)
{
    struct packed packed = pack(100);
    struct heft_error err = {0};
    struct heft_source memory = {0};
    struct heft_stream stream;

    (void)state;
    heft_source_open_memory(&memory, (struct heft_bytes){packed.bytes, packed.n}, "zip");
    stream = stream_of(&packed, &memory);
    stream.off = 1;
    assert_false(heft_stream_check(&stream, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_string_equal(err.file, "zip");
    unpack_free(&packed);
}

/* ---- failures ---- */

/* Inflates one stream into a spool, checks it, and reads it back. */
static bool use_spool(void *ctx, struct heft_error *err)
{
    const struct packed *packed = ctx;
    struct heft_source memory = {0};
    const struct heft_stream stream = stream_of(packed, &memory);
    struct heft_spool spool = {0};
    uint8_t *const plain = malloc(packed->plain_n);
    uint64_t at;
    bool ok;

    heft_source_open_memory(&memory, (struct heft_bytes){packed->bytes, packed->n}, "zip");
    ok = heft_spool_init(&spool, err) && heft_spool_place(&spool, &stream, &at, err) &&
         heft_spool_fill(&spool, at, &stream, err) && heft_stream_check(&stream, err) &&
         heft_spool_read(&spool, at, plain, packed->plain_n, err) &&
         memcmp(plain, packed->plain, packed->plain_n) == 0;
    free(plain);
    heft_spool_release(&spool);
    return ok;
}

static void every_failed_call_is_reported_and_leaks_nothing(void **state)
{
    struct packed packed = pack(2 << 20);

    (void)state;
    fail_each_read(use_spool, &packed, 10);
    unpack_free(&packed);
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    struct packed large = pack(2 << 20), small = pack(1000);

    (void)state;
    fail_each_allocation(use_spool, &large, 200);
    fail_each_allocation(use_spool, &small, 200);
    unpack_free(&large);
    unpack_free(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflated_streams_lie_side_by_side),
        cmocka_unit_test(a_temporary_file_is_opened_when_it_is_needed),
        cmocka_unit_test(streams_that_differ_from_their_declaration_are_malformed),
        cmocka_unit_test(bombs_stop_at_the_declared_size),
        cmocka_unit_test(the_range_of_a_stream_is_checked),
        cmocka_unit_test(every_failed_call_is_reported_and_leaks_nothing),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
