/* train_cells.h: the distinct pre-tokens laid out one after the other and divided into symbols, in
 * 1¼ bytes a byte.
 *
 *     bytes    t  h  e  t  h  e  n  a  c  a  t          one cell each
 *     word     1  0  0  1  0  0  0  1  1  0  0  (1)     a pre-token begins here; the end counts as one
 *     symbol   1  1  1  1  1  1  1  1  1  1  1  (1)     a symbol begins here
 *     th       1  0  1  1  0  1  1  1  1  1  1  (1)     merged: the cells still hold t h
 *     the      ───1──── ───1──── 1  1  1  1  1  (1)     merged: the cells hold the symbol's number
 *
 * A symbol of one or two cells is identified by their bytes, a longer one by its number, which its
 * first three cells hold. Pre-tokens are in the order of their counts, so the count at a position
 * is that of its run. */
#ifndef HEFT_TRAIN_CELLS_H
#define HEFT_TRAIN_CELLS_H

#include "base/endian.h"
#include "base/error.h"

#define HEFT_TRAIN_LEAF UINT32_MAX

struct heft_train_symbol {
    uint64_t prefix; /* first 8 bytes of its text, big-endian, padded with zeros */
    uint32_t left,
        right; /* the symbols it was merged from; HEFT_TRAIN_LEAF and the bytes for a character */
    uint16_t n, cells; /* length of its text in bytes; number of its cells */
    uint8_t first;     /* value of its first cell */
};
struct heft_train_marks {
    uint64_t symbol, word; /* bit i % 64 of element i / 64 belongs to cell i */
};
struct heft_train_run {
    uint32_t at;
    uint64_t count; /* count of the pre-tokens from there on */
};
struct heft_train_cells {
    uint8_t *bytes; /* followed by 64 zeros */
    uint32_t n;
    struct heft_train_marks *marks;
    struct heft_train_run *runs; /* ascending, with a final one at n */
    size_t n_runs;
    struct heft_train_symbol *symbols; /* initial symbols, then merges in order */
    uint32_t n_symbols;
    size_t cap_symbols;
    bool has_ends; /* a character at the end of a pre-token is a symbol of its own (subword-nmt) */
    uint32_t *one,
        *two; /* symbols of one and of two cells; from 1 << 8 and 1 << 16 on at the end of a
                 pre-token */
};

static inline bool heft_train_is_start(const struct heft_train_cells *c, uint32_t place)
{
    return c->marks[place >> 6].symbol >> (place & 63) & 1;
}
static inline bool heft_train_is_word(const struct heft_train_cells *c, uint32_t place)
{
    return c->marks[place >> 6].word >> (place & 63) & 1;
}
static inline uint32_t heft_train_ends(const struct heft_train_cells *c, uint32_t place)
{
    return c->has_ends && heft_train_is_word(c, place);
}
/* Returns the symbol that begins at a cell. */
static inline uint32_t heft_train_symbol_at(const struct heft_train_cells *c, uint32_t place)
{
    const uint8_t *p = c->bytes + place;

    if (heft_train_is_start(c, place + 1))
        return c->one[heft_train_ends(c, place + 1) << 8 | p[0]];
    if (heft_train_is_start(c, place + 2))
        return c->two[heft_train_ends(c, place + 2) << 16 | (uint32_t)p[0] << 8 | p[1]];
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}
/* Stores the number of a symbol of three or more cells. */
static inline void heft_train_put_number(uint8_t *cells, uint32_t symbol)
{
    cells[0] = (uint8_t)symbol;
    cells[1] = (uint8_t)(symbol >> 8);
    cells[2] = (uint8_t)(symbol >> 16);
}
/* Returns the first cell of the symbol before the one at `place`. */
HEFT_WRAPS static inline uint32_t heft_train_before(const struct heft_train_cells *c,
                                                    uint32_t place)
{
    size_t i = (place - 1) >> 6;
    uint64_t marks = c->marks[i].symbol << (63 - ((place - 1) & 63));

    if (marks)
        return place - 1 - (63 - heft_highest_bit(marks));
    do
        marks = c->marks[--i].symbol;
    while (marks == 0);
    return (uint32_t)(i * 64 + heft_highest_bit(marks));
}
/* Writes the n bytes of a symbol's text. */
void heft_train_text(const struct heft_train_cells *cells, uint32_t symbol, char *to);

#endif
