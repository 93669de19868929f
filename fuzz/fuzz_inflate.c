/* fuzz_inflate.c: raw deflate. The first byte selects the sizes of input and output pieces.
 *
 * Invariant: pieces of any size give the same output, and that of a truncated stream is its beginning. */
#include <stdint.h>
#include <stdlib.h>

#include "expect.h"
#include "base/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 16 };

struct result {
    uint8_t bytes[ROOM];
    size_t n, left;
    bool is_done, is_bad;
};

/* A buffer of exactly that size, so that a sanitizer detects access beyond it. */
static void *exactly(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);

    expect(copy != NULL);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

static void inflate_in(struct result *r, struct heft_bytes packed, size_t in_step, size_t out_step)

{
    struct heft_error err = {0};
    struct heft_inflate *z = heft_inflate_new(&err);
    bool is_stuck = false;

    expect(z != NULL);
    r->left = packed.n;
    r->n = 0;
    r->is_done = r->is_bad = false;
    while (!r->is_done && !r->is_bad && !is_stuck) {
        const size_t in_n = in_step < r->left ? in_step : r->left;
        const size_t room = out_step < ROOM - r->n ? out_step : ROOM - r->n;
        uint8_t *in = exactly(packed.p + packed.n - r->left, in_n), *to = exactly(r->bytes, room);
        struct heft_bytes view = {in, in_n};
        uint8_t *out = to;
        size_t out_n = room;

        r->is_bad = !heft_inflate_step(z, &view, &out, &out_n, &r->is_done, &err);
        expect(view.n <= in_n && out_n <= room && (!r->is_bad || err.code == HEFT_MALFORMED));
        is_stuck = view.n == in_n && out_n == room;
        r->left -= in_n - view.n;
        if (!r->is_bad && room > out_n) {
            memcpy(r->bytes + r->n, to, room - out_n);
            r->n += room - out_n;
        }
        free(in);
        free(to);
    }
    heft_inflate_free(z);
}

/* Of a truncated stream ISA-L may keep the last symbols, for which it has the bits already: then one
 * output is the beginning of the other. */
static void expect_same(const struct result *a, const struct result *b)
{
    const size_t n = a->n < b->n ? a->n : b->n;

    expect(!a->is_done || a->n == b->n);
    expect(n == 0 || memcmp(a->bytes, b->bytes, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 2, 7, 40, 100, 700, 5000, ROOM};
    static struct result whole, other;

    if (size < 1)
        return 0;
    const struct heft_bytes packed = {data + 1, size - 1};
    const size_t in_step = steps[data[0] & 7],
                 out_step = steps[data[0] >> 3 & (data[0] & 4 ? 7 : 3)];

    inflate_in(&whole, packed, ROOM, ROOM);
    inflate_in(&other, packed, in_step, out_step);
    expect(other.is_bad == whole.is_bad && other.is_done == whole.is_done);
    if (!whole.is_bad)
        expect_same(&whole, &other);
    if (whole.is_done)
        expect(other.left == whole.left);
    return 0;
}
