/* token_deflate.c: DEFLATE for ids as little-endian int64, below 2^16 (or 2^32): 2 (4) bytes and
 * zeros.
 *
 *     first id   8 literals
 *     others     2 (4) literals, then the 6 (4) zeros of the previous id: length 6 (4), distance 8
 *
 * One fixed Huffman code for all blocks: 1 bit for the match length, 9 bits for 254 literals and
 * the end of block, 10 bits for two literals, which is a complete code; one of two distance codes
 * of 1 bit. An id takes 21 bits (39), about as zlib compresses it. */
#include "tokens/output/token_deflate.h"

#include "base/checksum.h"
#include "base/endian.h"

#define END_OF_BLOCK 256
#define LENGTH_4     258
#define LENGTH_6     260
#define SYMBOLS      261
#define RARE         254 /* literals RARE and RARE + 1 have codes of 10 bits */
#define DISTANCES    6   /* code 5 means 7 and 8 */
#define HEADER_BYTES 128 /* upper bound of a block's header */
#define WIDENED      1024

struct code {
    uint32_t bits;
    uint32_t n;
};

struct codes {
    struct code symbols[SYMBOLS];
    struct code match; /* a match: length and distance */
    unsigned length;   /* symbol */
};

struct bits {
    uint8_t *to;
    uint64_t waiting;
    unsigned n;
};

static void put_bits(struct bits *b, uint32_t value, unsigned n)
{
    b->waiting |= (uint64_t)value << b->n;
    b->n += n;
    while (b->n >= 8) {
        *b->to++ = (uint8_t)b->waiting;
        b->waiting >>= 8;
        b->n -= 8;
    }
}

/* ---- the Huffman code ------------------------------------------------------------------------ */

static unsigned length_of(const struct codes *codes, unsigned symbol)
{
    if (symbol == codes->length)
        return 1;
    if (symbol > END_OF_BLOCK)
        return 0;
    return symbol == RARE || symbol == RARE + 1 ? 10 : 9;
}

static uint32_t reversed_bits(uint32_t code, unsigned n)
{
    uint32_t out = 0;

    for (unsigned i = 0; i < n; i++)
        out |= (code >> i & 1) << (n - 1 - i);
    return out;
}

static void make_codes(struct codes *codes, unsigned width)
{
    uint32_t next[11] = {0};

    codes->length = width == 2 ? LENGTH_6 : LENGTH_4;
    next[9] = 1U << 8; /* after the code of 1 bit */
    next[10] = (next[9] + 255) << 1;
    for (unsigned s = 0; s < SYMBOLS; s++) {
        const unsigned n = length_of(codes, s);

        codes->symbols[s] = (struct code){n ? reversed_bits(next[n]++, n) : 0, n};
    }
    codes->match =
        (struct code){0 | 1U << 1 | 1U << 2, 3}; /* length, distance code 5, the 8 of 7–8 */
}

/* Writes the header of a dynamic block: code lengths, coded with 2 bits each for 0, 1, 9 and 10. */
static void put_header(struct bits *b, const struct codes *codes)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1};
    static const uint8_t code_of[11] = {[0] = 0, [1] = 1, [9] = 2, [10] = 3};

    put_bits(b, 0 | 2 << 1, 3);
    put_bits(b, SYMBOLS - 257, 5);
    put_bits(b, DISTANCES - 1, 5);
    put_bits(b, sizeof order - 4, 4);
    for (size_t i = 0; i < sizeof order; i++) {
        const uint8_t s = order[i];

        put_bits(b, s == 0 || s == 1 || s == 9 || s == 10 ? 2 : 0, 3);
    }
    for (unsigned s = 0; s < SYMBOLS; s++)
        put_bits(b, reversed_bits(code_of[length_of(codes, s)], 2), 2);
    for (unsigned d = 0; d < DISTANCES; d++)
        put_bits(b, reversed_bits(code_of[d >= DISTANCES - 2], 2), 2);
}

/* ---- compressing ids ------------------------------------------------------------------------- */

static void put_first(struct bits *b, const struct codes *codes, const uint8_t *id, unsigned width)
{
    for (unsigned i = 0; i < 8; i++) {
        const struct code c = codes->symbols[i < width ? id[i] : 0];

        put_bits(b, c.bits, c.n);
    }
}

static void put_narrow(struct bits *b, const struct codes *codes, const uint8_t *ids, size_t n)
{
    struct bits now = *b;

    for (size_t i = 0; i < n; i++, ids += 2) {
        const struct code low = codes->symbols[ids[0]], high = codes->symbols[ids[1]];
        const uint64_t bits = low.bits | (uint64_t)high.bits << low.n |
                              (uint64_t)codes->match.bits << (low.n + high.n);

        now.waiting |= bits << now.n; /* no overflow: at most 7 + 23 bits */
        now.n += low.n + high.n + codes->match.n;
        heft_put_le32(now.to, (uint32_t)now.waiting);
        now.to += now.n >> 3;
        now.waiting >>= now.n & ~7U;
        now.n &= 7;
    }
    *b = now;
}

static void put_wide(struct bits *b, const struct codes *codes, const uint8_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++, ids += 4) {
        for (unsigned k = 0; k < 4; k++)
            put_bits(b, codes->symbols[ids[k]].bits, codes->symbols[ids[k]].n);
        put_bits(b, codes->match.bits, codes->match.n);
    }
}

static uint32_t sum_ids(const uint8_t *ids, size_t n, unsigned width)
{
    uint8_t wide[WIDENED * 8];
    uint32_t crc = 0;

    while (n > 0) {
        const size_t some = (size_t)heft_min_u64(n, WIDENED);

        for (size_t i = 0; i < some; i++, ids += width)
            heft_put_le64(wide + 8 * i, width == 2 ? heft_le16(ids) : heft_le32(ids));
        crc = heft_crc32(crc, wide, some * 8);
        n -= some;
    }
    return crc;
}

bool heft_deflate_ids(struct heft_buf *out, const uint8_t *ids, size_t n, unsigned width,
                      uint32_t *crc, struct heft_error *err)
{
    struct codes codes;
    struct bits b = {0};

    *crc = sum_ids(ids, n, width);
    if (n == 0)
        return true;
    if (!heft_buf_room(out, HEADER_BYTES + n * (width == 2 ? 3 : 6)))
        return heft_buf_ok(out, err);
    make_codes(&codes, width);
    b.to = (uint8_t *)out->p + out->n;
    put_header(&b, &codes);
    put_first(&b, &codes, ids, width);
    if (width == 2)
        put_narrow(&b, &codes, ids + width, n - 1);
    else
        put_wide(&b, &codes, ids + width, n - 1);
    put_bits(&b, codes.symbols[END_OF_BLOCK].bits, codes.symbols[END_OF_BLOCK].n);
    put_bits(&b, 0, 3); /* an empty stored block ends at a byte boundary */
    put_bits(&b, 0, (8 - b.n) & 7);
    put_bits(&b, 0, 16);
    put_bits(&b, 0xFFFF, 16);
    out->n = (size_t)((char *)b.to - out->p);
    return true;
}
