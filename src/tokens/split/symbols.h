/* symbols.h: the alphabet of the automaton: classes of characters that no set of the pattern tells
 * apart. */
#ifndef HEFT_SYMBOLS_H
#define HEFT_SYMBOLS_H

#include "tokens/split/code_ranges.h"
#include "tokens/unicode/utf8.h"

#define HEFT_SYMBOLS_MAX  255
#define HEFT_SYMBOL_BLOCK 128
#define HEFT_SYMBOL_TOP   (0x110000 / HEFT_SYMBOL_BLOCK)

/* Partition of the code points: the ranges begin at first[i] and end where the next one begins. */
struct heft_symbol_partition {
    struct heft_symbol_range {
        uint32_t first;
        uint8_t symbol;
    } * ranges;
    size_t n, cap;
    unsigned n_symbols;
};

/* Refines the partition by each set. Release it also after a failure. */
HEFT_CHECKED bool heft_symbols_divide(struct heft_symbol_partition *partition,
                                      const struct heft_code_ranges *sets, size_t n_sets,
                                      struct heft_error *err);
void heft_symbols_release(struct heft_symbol_partition *partition);

/* Symbol of a character: a two-stage table, whose equal blocks are shared. */
struct heft_symbol_table {
    uint16_t block_of[HEFT_SYMBOL_TOP];
    uint8_t (*blocks)[HEFT_SYMBOL_BLOCK]; /* the first one is that of ASCII */
    size_t n_blocks, cap;
    uint32_t example[HEFT_SYMBOLS_MAX + 1]; /* the first character of each symbol */
    unsigned n_symbols;
};

HEFT_CHECKED bool heft_symbol_table_init(struct heft_symbol_table *table,
                                         const struct heft_symbol_partition *partition,
                                         struct heft_error *err);
void heft_symbol_table_release(struct heft_symbol_table *table);

static inline unsigned heft_symbol_of(const struct heft_symbol_table *table, uint32_t c)
{
    return table->blocks[table->block_of[c / HEFT_SYMBOL_BLOCK]][c % HEFT_SYMBOL_BLOCK];
}

/* Symbol of the character at p; *width is its length in bytes. */
static inline unsigned heft_symbol_at(const struct heft_symbol_table *table, const uint8_t *p,
                                      unsigned *width)
{
    if (HEFT_LIKELY(p[0] < 0x80)) {
        *width = 1;
        return table->blocks[0][p[0]];
    }
    return heft_symbol_of(table, heft_utf8_at(p, width));
}

#endif
