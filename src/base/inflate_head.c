/* inflate_head.c: the heads of blocks.
 *
 *     is last (1), kind (2)
 *     stored:   to the next byte, length (16), its complement (16)
 *     dynamic:  literals - 257 (5), distances - 1 (5), code lengths - 4 (4),
 *               lengths of the code of code lengths (3 each), code lengths of literals and distances */
#include "base/inflate_parts.h"

enum { ORDER = 19, LENGTH_BITS = 7, END_BITS = 7 }; /* END_BITS: of the fixed code 0 */
static const uint8_t order[ORDER] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                     11, 4,  12, 3, 13, 2, 14, 1, 15};

static uint32_t take(struct heft_inflate *z, uint32_t n)
{
    const uint32_t value = (uint32_t)(z->bits & ((UINT64_C(1) << n) - 1));

    heft_inflate_drop(z, n);
    return value;
}

static bool set_codes(struct heft_inflate *z, struct heft_error *err)
{
    if (z->lengths[HEFT_INFLATE_END] == 0)
        return heft_inflate_fail(err, "a block that cannot end");
    if (!heft_inflate_code_init(&z->literals, z->lengths, z->n_literals))
        return heft_inflate_fail(err, "lengths of literals that are no code");
    if (!heft_inflate_code_init(&z->distances, z->lengths + z->n_literals, z->n_distances))
        return heft_inflate_fail(err, "lengths of distances that are no code");
    heft_inflate_table_init(z);
    z->part = HEFT_INFLATE_SYMBOLS;
    return true;
}

static bool set_fixed(struct heft_inflate *z, struct heft_error *err)
{
    z->part = HEFT_INFLATE_SYMBOLS;
    if (z->is_fixed)
        return true;
    z->is_fixed = true;
    memset(z->lengths, 8, 144);
    memset(z->lengths + 144, 9, 112);
    memset(z->lengths + 256, 7, 24);
    memset(z->lengths + 280, 8, 8);
    memset(z->lengths + 288, 5, 32);
    z->n_literals = HEFT_INFLATE_LITERALS;
    z->n_distances = HEFT_INFLATE_DISTANCES;
    return set_codes(z, err);
}

/* A block of fixed codes that ends at once, as streams end that were flushed: no tables for it. */
static bool is_empty(struct heft_inflate *z, struct heft_inflate_io *io)
{
    if (!heft_inflate_need(z, io, END_BITS) || (z->bits & ((1u << END_BITS) - 1)) != 0)
        return false;
    heft_inflate_drop(z, END_BITS);
    heft_inflate_end_block(z);
    return true;
}

static bool begin_block(struct heft_inflate *z, struct heft_inflate_io *io, struct heft_error *err)
{
    z->is_last = take(z, 1);
    switch (take(z, 2)) {
    case 0:
        heft_inflate_drop(z, z->n_bits % 8);
        z->part = HEFT_INFLATE_STORED_HEAD;
        return true;
    case 1:
        return is_empty(z, io) || set_fixed(z, err);
    case 2:
        z->is_fixed = false;
        z->part = HEFT_INFLATE_COUNTS;
        return true;
    default:
        return heft_inflate_fail(err, "a block header that deflate does not have");
    }
}

static bool begin_stored(struct heft_inflate *z, struct heft_error *err)
{
    z->left = take(z, 16);
    if (take(z, 16) != (z->left ^ 0xffff))
        return heft_inflate_fail(err, "a stored block whose length has no equal complement");
    z->part = HEFT_INFLATE_STORED;
    return true;
}

static bool take_counts(struct heft_inflate *z, struct heft_error *err)
{
    z->n_literals = 257 + take(z, 5);
    z->n_distances = 1 + take(z, 5);
    z->n_code_lengths = 4 + take(z, 4);
    z->n_lengths = 0;
    if (z->n_literals > 286 || z->n_distances > 30)
        return heft_inflate_fail(err, "more codes than deflate has");
    memset(z->lengths, 0, ORDER);
    z->part = HEFT_INFLATE_CODE_LENGTHS;
    return true;
}

/* The code of code lengths as a table, in the place of the distances': bits, symbol (from bit 8). */
static void set_lengths_table(struct heft_inflate *z)
{
    const struct heft_inflate_code *code = &z->literals;
    uint32_t place = 0;

    for (uint32_t n = 1; n <= LENGTH_BITS; n++)
        for (uint32_t k = 0; k < code->count[n]; k++, place++) {
            const uint32_t word = heft_inflate_reverse((uint16_t)(place - code->shift[n]), n);

            for (uint32_t i = word; i < 1u << LENGTH_BITS; i += 1u << n)
                z->far[i] = n | (uint32_t)code->symbols[place] << 8;
        }
}

static bool take_code_length(struct heft_inflate *z, struct heft_error *err)
{
    z->lengths[order[z->n_lengths++]] = (uint8_t)take(z, 3);
    if (z->n_lengths < z->n_code_lengths)
        return true;
    z->n_lengths = 0;
    z->part = HEFT_INFLATE_LENGTHS;
    if (!heft_inflate_code_init(&z->literals, z->lengths, ORDER) ||
        z->literals.limit[HEFT_INFLATE_MOST] != 1u << HEFT_INFLATE_MOST)
        return heft_inflate_fail(err, "lengths of code lengths that are no code");
    set_lengths_table(z);
    return true;
}

/* A length, or a number of times that the last one or 0 are repeated. */
static bool take_length(struct heft_inflate *z, struct heft_inflate_io *io, bool *more,
                        struct heft_error *err)
{
    static const struct {
        uint8_t extra, least;
    } repeats[] = {{2, 3}, {3, 3}, {7, 11}};
    const uint32_t all = z->n_literals + z->n_distances;
    uint32_t symbol, n, times;
    uint8_t length = 0;

    (void)heft_inflate_need(z, io, 14);
    n = z->far[z->bits & ((1u << LENGTH_BITS) - 1)];
    symbol = n >> 8;
    n &= 0xff;
    if (n > z->n_bits || (symbol >= 16 && n + repeats[symbol - 16].extra > z->n_bits)) {
        *more = false;
        return true;
    }
    heft_inflate_drop(z, n);
    if (symbol < 16) {
        z->lengths[z->n_lengths++] = (uint8_t)symbol;
    } else {
        times = repeats[symbol - 16].least + take(z, repeats[symbol - 16].extra);
        if (times > all - z->n_lengths || (symbol == 16 && z->n_lengths == 0))
            return heft_inflate_fail(err, "repeated code lengths where there are none");
        if (symbol == 16)
            length = z->lengths[z->n_lengths - 1];
        memset(z->lengths + z->n_lengths, length, times);
        z->n_lengths += times;
    }
    return z->n_lengths < all || set_codes(z, err);
}

bool heft_inflate_head(struct heft_inflate *z, struct heft_inflate_io *io, bool *more,
                       struct heft_error *err)
{
    static const uint8_t needs[] = {[HEFT_INFLATE_HEAD] = 3,
                                    [HEFT_INFLATE_STORED_HEAD] = 32,
                                    [HEFT_INFLATE_COUNTS] = 14,
                                    [HEFT_INFLATE_CODE_LENGTHS] = 3};

    if (z->part == HEFT_INFLATE_LENGTHS)
        return take_length(z, io, more, err);
    *more = heft_inflate_need(z, io, needs[z->part]);
    if (!*more)
        return true;
    switch (z->part) {
    case HEFT_INFLATE_HEAD:
        return begin_block(z, io, err);
    case HEFT_INFLATE_STORED_HEAD:
        return begin_stored(z, err);
    case HEFT_INFLATE_COUNTS:
        return take_counts(z, err);
    default:
        return take_code_length(z, err);
    }
}
