/* inflate_parts.h: what the files of the inflater share.
 *
 *   inflate.c         a step: which part of the stream comes next, the window between steps
 *   inflate_head.c    heads of blocks: stored lengths, code lengths
 *   inflate_code.c    a Huffman code from the lengths of its words, symbol by symbol
 *   inflate_table.c   the same as a table, whose entries hold two literals or a whole match
 *   inflate_slow.c    symbols where input or room end
 *   inflate_fast.h    symbols where both are plenty, for inflate_fast.c and inflate_x86.c
 *
 * Bits are taken from the low end of a 64-bit word. A step that lacks bits takes nothing: what it
 * read of the input stays in the word until the next one. */
#ifndef HEFT_INFLATE_PARTS_H
#define HEFT_INFLATE_PARTS_H

#include "base/endian.h"
#include "base/inflate.h"

enum {
    HEFT_INFLATE_WINDOW = 1 << 15,
    HEFT_INFLATE_LITERALS = 288, /* literals, end of block, lengths; two are never used */
    HEFT_INFLATE_DISTANCES = 32, /* again two */
    HEFT_INFLATE_END = 256,      /* the symbol */
    HEFT_INFLATE_MOST = 15,      /* bits of a code word */
    HEFT_INFLATE_BITS = 11,      /* of the table of literals and matches */
    HEFT_INFLATE_FAR_BITS = 9,   /* of the table of distances */
};

/* Words of a length are consecutive numbers. Read from the high end and padded to 15 bits, those of up
 * to n bits are below limit[n]; the number of a word and shift[n] make its place in symbols. */
struct heft_inflate_code {
    uint16_t limit[HEFT_INFLATE_MOST + 1];
    uint16_t shift[HEFT_INFLATE_MOST + 1];
    uint16_t count[HEFT_INFLATE_MOST + 1];
    uint16_t symbols[HEFT_INFLATE_LITERALS]; /* shortest words first */
};

/* Entry of the table of literals and matches, low byte first:
 *
 *     bits taken, all | bits of them before the distance's extra bits | least distance (2)
 *     | length | literal | literal | how many literals
 *
 * A literal's length and distance are 0. Where the length is HEFT_INFLATE_OTHER, the last three
 * bytes are a length (2) and an enum heft_inflate_kind. */
#define HEFT_INFLATE_OTHER UINT64_C(255)
enum heft_inflate_kind {
    HEFT_INFLATE_MATCH = 1,  /* long, or onto itself */
    HEFT_INFLATE_LENGTH = 2, /* without its distance */
    HEFT_INFLATE_SYMBOL = 3, /* look into the code: words that are too long, end of block */
};

enum heft_inflate_part {
    HEFT_INFLATE_HEAD,
    HEFT_INFLATE_STORED_HEAD,
    HEFT_INFLATE_STORED,
    HEFT_INFLATE_COUNTS,
    HEFT_INFLATE_CODE_LENGTHS,
    HEFT_INFLATE_LENGTHS,
    HEFT_INFLATE_SYMBOLS,
    HEFT_INFLATE_DONE,
    HEFT_INFLATE_BROKEN,
};

struct heft_inflate_match {
    uint32_t length, distance;
};

struct heft_inflate_io;
struct heft_inflate {
    bool (*fast)(struct heft_inflate *z, struct heft_inflate_io *io, struct heft_error *err);
    uint64_t bits;
    uint32_t n_bits; /* above them bits is 0 between the parts */
    enum heft_inflate_part part;
    bool is_last;                    /* block */
    bool is_fixed;                   /* the code that the tables are of */
    uint32_t left;                   /* bytes of a stored block */
    struct heft_inflate_match match; /* of which `length` bytes are still to be copied */
    uint32_t n_literals, n_distances, n_code_lengths, n_lengths; /* of the head */
    uint8_t lengths[HEFT_INFLATE_LITERALS + HEFT_INFLATE_DISTANCES];
    uint32_t near; /* bytes that the fast loop always copies: 8 or 16 */
    struct heft_inflate_code literals, distances;
    uint64_t table[1 << HEFT_INFLATE_BITS];
    uint32_t far[1 << HEFT_INFLATE_FAR_BITS]; /* the first four bytes of such entries; 0: none */
    size_t window_n;
    uint8_t window[2 * HEFT_INFLATE_WINDOW];
};

/* What a step has been given. */
struct heft_inflate_io {
    const uint8_t *in, *in_begin, *in_end;
    uint8_t *out, *out_begin, *out_end;
};

/* A length or distance: the least, and how many bits are added to it. */
struct heft_inflate_range {
    uint16_t least;
    uint8_t extra;
};
extern const struct heft_inflate_range heft_inflate_lengths[29];
extern const struct heft_inflate_range heft_inflate_distances[30];

/* Sets up a code of n words. More words than there is room for, and fewer, are no code; but one word
 * of one bit, and none at all, pass. */
HEFT_CHECKED bool heft_inflate_code_init(struct heft_inflate_code *code, const uint8_t *lengths,
                                         uint32_t n);
/* The word at the low end of bits: its length, and its symbol. 0: no such word. */
uint32_t heft_inflate_code_find(const struct heft_inflate_code *code, uint64_t bits,
                                uint32_t *symbol);
/* Number with its n bits in the other order. */
uint32_t heft_inflate_reverse(uint32_t number, uint32_t n);

void heft_inflate_table_init(struct heft_inflate *z);

static inline void heft_inflate_drop(struct heft_inflate *z, uint32_t n)
{
    z->bits >>= n;
    z->n_bits -= n;
}
/* Whether there are n bits, of which n <= 56 are read if need be. */
bool heft_inflate_need(struct heft_inflate *z, struct heft_inflate_io *io, uint32_t n);

static inline void heft_inflate_end_block(struct heft_inflate *z)
{
    z->part = z->is_last ? HEFT_INFLATE_DONE : HEFT_INFLATE_HEAD;
}
/* One part of the head of a block; *more is false when it needs more input. */
HEFT_CHECKED bool heft_inflate_head(struct heft_inflate *z, struct heft_inflate_io *io, bool *more,
                                    struct heft_error *err);
/* One symbol: a literal or the begin of a match goes out, or the part ends. *more is false when it
 * needs more input; there is room for a byte. */
HEFT_CHECKED bool heft_inflate_symbol(struct heft_inflate *z, struct heft_inflate_io *io,
                                      bool *more, struct heft_error *err);
/* As much of the match as there is room for. */
void heft_inflate_copy(struct heft_inflate *z, struct heft_inflate_io *io);
/* Symbols while there are HEFT_INFLATE_FAST_IN bytes of input and HEFT_INFLATE_FAST_OUT of room. */
#define HEFT_INFLATE_FAST_IN  32
#define HEFT_INFLATE_FAST_OUT 640
typedef bool heft_inflate_fast_fn(struct heft_inflate *z, struct heft_inflate_io *io,
                                  struct heft_error *err);
heft_inflate_fast_fn heft_inflate_fast_plain;
/* All that this processor can run, fastest first; NULL behind the last. */
heft_inflate_fast_fn *heft_inflate_fast_at(size_t index);

HEFT_CHECKED bool heft_inflate_fail(struct heft_error *err, const char *what);

#endif
