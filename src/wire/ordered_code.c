/* ordered_code.c: TensorFlow's OrderedCode: encodes numbers and texts as bytes that sort in the
 * same order.
 *
 * A signed number of L bytes begins with L one bits and a zero bit, so that a longer one sorts
 * after a shorter:
 *
 *     L    first bytes           bits left for the number and its sign
 *     1    1xxxxxxx              7
 *     2    110xxxxx x…           14
 *     8    11111111 0xxxxxxx …   56
 *     9    11111111 10xxxxxx …   63
 *     10   11111111 110xxxxx …   70
 *
 * The sign bit and the last bit of the header share a position: the number is written in two's
 * complement, and the header is added without carry (XOR), which inverts the header's bits of a
 * negative number. */
#include "wire/ordered_code.h"

enum { MOST_BYTES = 10 }; /* bytes of a signed number */

static const uint8_t headers[MOST_BYTES + 1][2] = {{0, 0},    {0x80, 0},    {0xc0, 0},   {0xe0, 0},
                                                   {0xf0, 0}, {0xf8, 0},    {0xfc, 0},   {0xfe, 0},
                                                   {0xff, 0}, {0xff, 0x80}, {0xff, 0xc0}};

/* ---- writing ----------------------------------------------------------------------------- */

void heft_ordered_put_number(struct heft_buf *out, uint64_t v)
{
    unsigned n = 0;

    while (n < 8 && v >> (8 * n) != 0)
        n++;
    heft_buf_char(out, (char)n);
    for (; n > 0; n--)
        heft_buf_char(out, (char)(v >> (8 * (n - 1)) & 0xff));
}

void heft_ordered_put_text(struct heft_buf *out, struct heft_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const uint8_t byte = (uint8_t)text.p[i];

        heft_buf_char(out, text.p[i]);
        if (byte == 0x00 || byte == 0xff)
            heft_buf_char(out, (char)(byte ^ 0xff));
    }
    heft_buf_put(out, "\0\1", 2);
}

/* Length of a number that is not negative, or of the complement of a negative one. */
static unsigned length_of(uint64_t magnitude)
{
    unsigned bits = 0;

    while (bits < 63 && magnitude >> bits != 0)
        bits++;
    return bits / 7 + 1; /* L bytes hold 7·L - 1 bits and the sign */
}

static uint64_t magnitude_of(int64_t v)
{
    return v < 0 ? ~(uint64_t)v : (uint64_t)v;
}

void heft_ordered_put_signed(struct heft_buf *out, int64_t v)
{
    const unsigned n = length_of(magnitude_of(v));
    const uint64_t sign = v < 0 ? UINT64_MAX : 0;
    uint8_t bytes[MOST_BYTES];

    for (unsigned i = 0; i < n; i++) {
        const unsigned shift = 8 * (n - 1 - i);

        bytes[i] = (uint8_t)(shift < 64 ? (uint64_t)v >> shift : sign);
    }
    bytes[0] ^= headers[n][0];
    if (n > 1)
        bytes[1] ^= headers[n][1];
    heft_buf_put(out, bytes, n);
}

/* ---- reading ----------------------------------------------------------------------------- */

uint64_t heft_ordered_number(struct heft_cur *cur)
{
    const uint8_t n = heft_cur_u8(cur);
    const struct heft_bytes bytes = heft_cur_take(cur, n);
    uint64_t v = 0;

    if (n > 8 || (bytes.n > 0 && bytes.p[0] == 0)) {
        cur->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes.n; i++)
        v = v << 8 | bytes.p[i];
    return v;
}

void heft_ordered_text(struct heft_cur *cur, struct heft_buf *out)
{
    while (heft_cur_ok(cur)) {
        const uint8_t byte = heft_cur_u8(cur);
        const bool is_special = byte == 0x00 || byte == 0xff;
        const uint8_t next = is_special ? heft_cur_u8(cur) : 0;

        if (byte == 0x00 && next == 0x01)
            return;
        if (is_special && (byte ^ next) != 0xff)
            cur->bad = true;
        else if (heft_cur_ok(cur))
            heft_buf_char(out, (char)byte);
    }
}

/* Length of the signed number that begins here, by its header; 0 if the header is invalid. */
static unsigned length_here(const struct heft_cur *cur, uint8_t turned)
{
    const size_t left = heft_cur_left(cur);
    const uint8_t first = left > 0 ? cur->p[cur->at] ^ turned : 0;
    const uint8_t second = left > 1 ? cur->p[cur->at + 1] ^ turned : 0;
    unsigned ones = 0;

    if (left == 0)
        return 0;
    while (ones < 8 && (first << ones & 0x80))
        ones++;
    if (ones < 8)
        return ones;
    if (second < 0xc0)
        return second < 0x80 ? 8 : 9;
    return second == 0xc0 ? 10 : 0;
}

int64_t heft_ordered_signed(struct heft_cur *cur)
{
    const uint8_t turned = heft_cur_left(cur) > 0 && cur->p[cur->at] < 0x80 ? 0xff : 0;
    const unsigned n = length_here(cur, turned);
    const struct heft_bytes bytes = heft_cur_take(cur, n ? n : UINT64_MAX);
    uint64_t v = 0;

    for (size_t i = 0; i < bytes.n; i++) {
        const uint8_t byte = bytes.p[i] ^ turned ^ (i < 2 ? headers[n][i] : 0);

        if (i + 8 < bytes.n && byte != 0)
            cur->bad = true; /* beyond 64 bits */
        v = v << 8 | byte;
    }
    if (v > INT64_MAX || (bytes.n > 0 && length_of(v) != n))
        cur->bad = true;
    if (cur->bad)
        return 0;
    return turned ? (int64_t)~v : (int64_t)v;
}
