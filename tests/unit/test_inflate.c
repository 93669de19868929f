/* test_inflate.c: raw deflate streams in pieces of every size, and malformed streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <isa-l/igzip_lib.h>

#include "base/inflate.h"

enum { PLAIN = 300000 };

struct sample {
    uint8_t plain[PLAIN];
    uint8_t packed[2 * PLAIN];
    size_t packed_n;
};

/* Fills p with words, noise and runs, which deflate to literals, stored blocks and matches. */
static void fill_plain(uint8_t *p, size_t n)
{
    uint32_t random = 3;

    for (size_t i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        if (i < n / 3)
            p[i] = (uint8_t) "a model of weights "[i % 19];
        else if (i < 2 * n / 3)
            p[i] = (uint8_t)(random >> 24);
        else
            p[i] = (uint8_t)(random >> 31);
    }
}

static int set_up(void **state)
{
    static struct sample sample;
    struct isal_zstream stream;

    fill_plain(sample.plain, PLAIN);
    isal_deflate_stateless_init(&stream);
    stream.next_in = sample.plain;
    stream.avail_in = PLAIN;
    stream.next_out = sample.packed;
    stream.avail_out = sizeof sample.packed;
    stream.end_of_stream = 1;
    stream.flush = NO_FLUSH;
    if (isal_deflate_stateless(&stream) != COMP_OK)
        return -1;
    sample.packed_n = stream.total_out;
    *state = &sample;
    return 0;
}

/* Inflates with in_step input bytes and out_step output bytes per call. Returns the bytes written,
 * or SIZE_MAX. */
static size_t inflate_in_steps(struct heft_bytes packed, uint8_t *plain, size_t room,
                               size_t in_step, size_t out_step, size_t *left,
                               struct heft_error *err)
{
    struct heft_inflate *z = heft_inflate_new(err);
    struct heft_bytes view = {packed.p, 0};
    size_t fed = 0, made = 0;
    bool done = false, ok = z != NULL;

    while (ok && !done) {
        const size_t before = view.n;
        uint8_t *out = plain + made;
        size_t out_n = out_step < room - made ? out_step : room - made, free_n = out_n;

        if (view.n == 0 && fed < packed.n) {
            view = (struct heft_bytes){packed.p + fed,
                                       in_step < packed.n - fed ? in_step : packed.n - fed};
            fed += view.n;
        }
        ok = heft_inflate_step(z, &view, &out, &free_n, &done, err);
        made += out_n - free_n;
        if (ok && !done && out_n == free_n && view.n == before && fed == packed.n)
            break; /* no progress: the stream is truncated or the output is full */
    }
    *left = view.n + packed.n - fed;
    heft_inflate_free(z);
    return ok && done ? made : SIZE_MAX;
}

static void streams_inflate_in_pieces_of_any_size(void **state)
{
    static const size_t steps[][2] = {{1, 1000},  {3, 7},         {7, 1},       {1000, 1000},
                                      {1, PLAIN}, {65536, 65536}, {PLAIN, 100}, {PLAIN, PLAIN + 1}};
    static uint8_t plain[PLAIN + 1];
    const struct sample *sample = *state;

    for (size_t i = 0; i < HEFT_COUNT(steps); i++) {
        struct heft_error err = {0};
        size_t left;

        memset(plain, 0, sizeof plain);
        assert_int_equal(inflate_in_steps((struct heft_bytes){sample->packed, sample->packed_n},
                                          plain, sizeof plain, steps[i][0], steps[i][1], &left,
                                          &err),
                         PLAIN);
        assert_int_equal(left, 0);
        assert_memory_equal(plain, sample->plain, PLAIN);
    }
}

static void bytes_after_the_stream_are_left_unread(void **state)
{
    static uint8_t packed[2 * PLAIN + 16], plain[PLAIN + 1];
    const struct sample *sample = *state;

    memcpy(packed, sample->packed, sample->packed_n);
    for (size_t extra = 0; extra <= 16; extra++) {
        struct heft_error err = {0};
        size_t left;

        assert_int_equal(inflate_in_steps((struct heft_bytes){packed, sample->packed_n + extra},
                                          plain, sizeof plain, sizeof packed, sizeof plain, &left,
                                          &err),
                         PLAIN);
        assert_int_equal(left, extra);
    }
}

/* Bytes after a stream fed in small pieces are either left unread or refused, never consumed
 * silently. */
static void bytes_after_the_stream_are_never_consumed_silently(void **state)
{
    static uint8_t packed[2 * PLAIN + 16], plain[PLAIN + 1];
    const struct sample *sample = *state;

    memcpy(packed, sample->packed, sample->packed_n);
    for (size_t extra = 1; extra <= 16; extra++) {
        for (size_t step = 1; step < 12; step++) {
            struct heft_error err = {0};
            size_t left;
            const size_t made =
                inflate_in_steps((struct heft_bytes){packed, sample->packed_n + extra}, plain,
                                 sizeof plain, step, sizeof plain, &left, &err);

            assert_true(made == SIZE_MAX ? err.code == HEFT_MALFORMED : left == extra);
        }
    }
}

static void a_stream_cut_short_is_never_done(void **state)
{
    static uint8_t plain[PLAIN + 1];
    const struct sample *sample = *state;

    for (size_t n = 0; n < sample->packed_n; n += n < 50 || sample->packed_n - n < 50 ? 1 : 997) {
        struct heft_error err = {0};
        size_t left;

        assert_true(inflate_in_steps((struct heft_bytes){sample->packed, n}, plain, sizeof plain,
                                     65536, 65536, &left, &err) == SIZE_MAX);
    }
}

static void broken_streams_are_malformed(void **state)
{
    static const struct {
        uint8_t bytes[8];
        size_t n;
    } bad[] = {
        {{0x07}, 1},                               /* block type 3 */
        {{0x01, 0x05, 0x00, 0x00, 0x00}, 5},       /* stored: length and complement differ */
        {{0x03 | 0x00, 0x02, 0x00}, 3},            /* a match before the first byte */
        {{0xff, 0xff, 0xff, 0xff, 0xff}, 5},       /* block type 3 */
        {{0x05, 0xe0, 0xff, 0xff, 0xff, 0xff}, 6}, /* code lengths that form no prefix code */
    };
    uint8_t plain[100];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(bad); i++) {
        struct heft_error err = {0};
        size_t left;

        assert_true(inflate_in_steps((struct heft_bytes){bad[i].bytes, bad[i].n}, plain,
                                     sizeof plain, 8, sizeof plain, &left, &err) == SIZE_MAX);
        assert_true(err.code == HEFT_OK || err.code == HEFT_MALFORMED);
        assert_true(err.code == HEFT_OK || err.offset == HEFT_NO_OFFSET);
        if (i < 2)
            assert_int_equal(err.code, HEFT_MALFORMED);
    }
}

static void the_empty_stream_has_no_output(void **state)
{
    static const uint8_t empty[] = {0x03, 0x00}, stored[] = {0x01, 0x00, 0x00, 0xff, 0xff};
    struct heft_error err = {0};
    uint8_t plain[4];
    size_t left;

    (void)state;
    assert_int_equal(inflate_in_steps((struct heft_bytes){empty, 2}, plain, 4, 9, 4, &left, &err),
                     0);
    assert_int_equal(inflate_in_steps((struct heft_bytes){stored, 5}, plain, 4, 9, 4, &left, &err),
                     0);
    assert_int_equal(left, 0);
}

static void no_memory_is_reported(void **state)
{
    struct heft_error err = {0};

    (void)state;
    heft_alloc_fail_at(1);
    assert_null(heft_inflate_new(&err));
    heft_alloc_fail_at(0);
    assert_int_equal(err.code, HEFT_NOMEM);
    heft_inflate_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_inflate_in_pieces_of_any_size),
        cmocka_unit_test(bytes_after_the_stream_are_left_unread),
        cmocka_unit_test(bytes_after_the_stream_are_never_consumed_silently),
        cmocka_unit_test(a_stream_cut_short_is_never_done),
        cmocka_unit_test(broken_streams_are_malformed),
        cmocka_unit_test(the_empty_stream_has_no_output),
        cmocka_unit_test(no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
