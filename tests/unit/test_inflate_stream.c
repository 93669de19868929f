/* test_inflate_stream.c: members of archives read in pieces of every size, stored and deflated, and
 * members of the wrong length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <isa-l/igzip_lib.h>

#include "base/checksum.h"
#include "base/mem.h"
#include "io/inflate_stream.h"

enum { PLAIN = 20000, BEFORE = 7, ROOM = 2 * PLAIN };

/* The stream "\x03\x00" is an empty final block. A stored block that is not final: 00, length, its
 * complement, bytes. */
static const uint8_t not_final[] = {0, 3, 0, 0xFC, 0xFF, 'a', 'b', 'c'};

struct member {
    uint8_t plain[PLAIN], file[BEFORE + ROOM];
    struct heft_source source;
    struct heft_stream stream;
};

static void set_packed(struct member *m, size_t packed, size_t size)
{
    heft_source_open_memory(&m->source, (struct heft_bytes){m->file, BEFORE + packed}, "zip");
    m->stream = (struct heft_stream){.parent = &m->source,
                                     .off = BEFORE,
                                     .packed = packed,
                                     .size = size,
                                     .crc = heft_crc32(0, m->plain, size),
                                     .check_crc = true};
}

static void make_member(struct member *m, bool is_stored)
{
    struct isal_zstream z;

    *m = (struct member){0};
    for (size_t i = 0; i < PLAIN; i++)
        m->plain[i] = (uint8_t)(i * i >> 5);
    if (is_stored) {
        memcpy(m->file + BEFORE, m->plain, PLAIN);
        set_packed(m, PLAIN, PLAIN);
        m->stream.is_stored = true;
        return;
    }
    isal_deflate_stateless_init(&z);
    z.next_in = m->plain;
    z.avail_in = PLAIN;
    z.next_out = m->file + BEFORE;
    z.avail_out = ROOM - 100;
    z.end_of_stream = 1;
    assert_int_equal(isal_deflate_stateless(&z), COMP_OK);
    set_packed(m, z.total_out, PLAIN);
}

/* Reads the whole member, `each` bytes at a time. */
static bool take_all(struct member *m, size_t each, size_t piece, struct heft_error *err)
{
    static uint8_t got[PLAIN];
    struct heft_stream_reader r;
    bool ok = heft_stream_open(&r, &m->stream, piece, err);

    while (ok && heft_stream_left(&r) > 0) {
        const uint64_t at = r.made;
        const size_t n = (size_t)heft_min_u64(each, heft_stream_left(&r));

        assert_true(heft_stream_offset(&r) == (m->stream.is_stored ? BEFORE + at : HEFT_NO_OFFSET));
        ok = heft_stream_take(&r, got + at, n, err);
    }
    ok = ok && heft_stream_end(&r, err);
    heft_stream_close(&r);
    assert_true(!ok || memcmp(got, m->plain, (size_t)m->stream.size) == 0);
    return ok;
}

static void members_are_read_in_pieces_of_any_size(void **state)
{
    static const size_t sizes[] = {1, 7, 100, 4096, PLAIN};
    static struct member m;
    struct heft_error err = {0};

    (void)state;
    for (unsigned stored = 0; stored < 2; stored++) {
        make_member(&m, stored);
        for (size_t i = 0; i < HEFT_COUNT(sizes); i++)
            for (size_t k = 0; k < HEFT_COUNT(sizes); k++)
                if (!take_all(&m, sizes[i], sizes[k], &err))
                    fail_msg("%zu bytes from pieces of %zu: %s", sizes[i], sizes[k], err.text);
    }
}

static void expect_refusal(struct member *m, enum heft_code code, const char *text)
{
    static const size_t sizes[] = {1, 4096};

    for (size_t i = 0; i < HEFT_COUNT(sizes); i++) {
        struct heft_error err = {0}, other = {0};

        assert_false(take_all(m, sizes[i], sizes[i], &err));
        assert_int_equal(err.code, code);
        assert_true(err.offset == HEFT_NO_OFFSET);
        if (!strstr(err.text, text))
            fail_msg("'%s' is not in '%s'", text, err.text);
        assert_false(heft_stream_check(&m->stream, &other));
        assert_string_equal(other.text, err.text);
        assert_string_equal(other.file, "zip");
    }
}

static void members_of_the_wrong_length_are_refused(void **state)
{
    static struct member m;
    size_t packed;

    (void)state;
    make_member(&m, false);
    packed = (size_t)m.stream.packed;
    m.stream.crc ^= 1;
    expect_refusal(&m, HEFT_MISMATCH, "CRC-32 is ");
    set_packed(&m, packed + 3, PLAIN);
    expect_refusal(&m, HEFT_MALFORMED, "3 bytes follow the end of the deflate stream");
    set_packed(&m, packed - 1, PLAIN);
    expect_refusal(&m, HEFT_MALFORMED, "the deflate stream ends early, after ");
    set_packed(&m, packed, PLAIN - 1);
    expect_refusal(&m, HEFT_MALFORMED, "gives more than the 19999 bytes declared");
    m.stream.size = PLAIN + 1;
    expect_refusal(&m, HEFT_MALFORMED, "gives 20000 bytes, 20001 are declared");
    make_member(&m, true);
    m.stream.crc ^= 1;
    expect_refusal(&m, HEFT_MISMATCH, "CRC-32 is ");
}

/* A stream with all of its bytes but without a final block is refused. */
static void a_stream_needs_a_final_block(void **state)
{
    static struct member m;

    (void)state;
    m = (struct member){.plain = "abc"};
    memcpy(m.file + BEFORE, not_final, sizeof not_final);
    set_packed(&m, sizeof not_final, 3);
    expect_refusal(&m, HEFT_MALFORMED, "the deflate stream ends early, after 3 of 3 bytes");
    memcpy(m.file + BEFORE + sizeof not_final, "\3\0", 2);
    set_packed(&m, sizeof not_final + 2, 3);
    assert_true(take_all(&m, 3, 100, &(struct heft_error){0}));
}

/* heft_stream_take_some may return fewer bytes; a missing final block is an error only when more is
 * read. */
static void take_some_may_return_fewer_bytes(void **state)
{
    static struct member m;
    struct heft_error err = {0};
    struct heft_stream_reader r;
    uint8_t got[100];
    size_t n = sizeof got;

    (void)state;
    m = (struct member){.plain = "abc"};
    memcpy(m.file + BEFORE, not_final, sizeof not_final);
    memcpy(m.file + BEFORE + sizeof not_final, "\3\0\3\0", 4);
    set_packed(&m, sizeof not_final, 100);
    assert_true(heft_stream_open(&r, &m.stream, 4, &err));
    assert_true(heft_stream_take_some(&r, got, &n, &err));
    assert_int_equal(n, 3);
    assert_false(r.is_done);
    heft_stream_close(&r);

    set_packed(&m, sizeof not_final + 4, 100);
    assert_true(heft_stream_open(&r, &m.stream, 4, &err));
    n = sizeof got;
    assert_true(heft_stream_take_some(&r, got, &n, &err));
    assert_int_equal(n, 3);
    assert_true(r.is_done);
    heft_stream_restart(&r); /* the second stream is empty */
    n = sizeof got;
    assert_true(heft_stream_take_some(&r, got, &n, &err));
    assert_int_equal(n, 0);
    assert_true(r.is_done);
    assert_true(heft_stream_refill(&r, &err));
    assert_int_equal(r.waiting.n, 0);
    assert_false(heft_stream_take(&r, got, 98, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    heft_stream_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read_in_pieces_of_any_size),
        cmocka_unit_test(members_of_the_wrong_length_are_refused),
        cmocka_unit_test(a_stream_needs_a_final_block),
        cmocka_unit_test(take_some_may_return_fewer_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
