/* symbols.c: partition refinement, and the two-stage table of the result. */
#include "tokens/split/symbols.h"

#define NONE 0 /* no number yet: numbers of new classes are stored plus 1 */

/* One step of refinement: the new number of each old class, outside and inside of the set. */
struct refinement {
    struct heft_symbol_partition made;
    uint16_t renamed[HEFT_SYMBOLS_MAX + 1][2];
    struct heft_error *err;
};

static bool append_piece(struct refinement *r, uint32_t first, unsigned old, bool is_inside)
{
    uint16_t *const name = &r->renamed[old][is_inside];
    struct heft_symbol_partition *const made = &r->made;

    if (*name == NONE) {
        if (made->n_symbols == HEFT_SYMBOLS_MAX)
            return heft_fail(r->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                             "split pattern tells more than %d classes of characters apart",
                             HEFT_SYMBOLS_MAX);
        *name = (uint16_t)++made->n_symbols;
    }
    if (made->n && made->ranges[made->n - 1].symbol == *name - 1)
        return true;
    if (!heft_grow(&made->ranges, &made->cap, made->n, 1, sizeof *made->ranges, r->err))
        return false;
    made->ranges[made->n++] = (struct heft_symbol_range){first, (uint8_t)(*name - 1)};
    return true;
}

/* Cuts the range first … last of an old class at the ends of the set's ranges; *at is the first of
 * them that ends at or after `first`. */
static bool cut_range(struct refinement *r, const struct heft_code_ranges *set, size_t *at,
                      uint32_t first, uint32_t last, unsigned old)
{
    while (first <= last) {
        const struct heft_code_range *range;
        uint32_t end;
        bool is_inside;

        while (*at < set->n && set->items[*at].last < first)
            ++*at;
        range = *at < set->n ? &set->items[*at] : NULL;
        is_inside = range && range->first <= first;
        end = is_inside ? range->last : range && range->first <= last ? range->first - 1 : last;
        end = end < last ? end : last;
        if (!append_piece(r, first, old, is_inside))
            return false;
        first = end + 1;
    }
    return true;
}

static bool refine(struct heft_symbol_partition *partition, const struct heft_code_ranges *set,
                   struct heft_error *err)
{
    struct refinement r = {.err = err};
    size_t at = 0;

    for (size_t i = 0; i < partition->n; i++) {
        const uint32_t last =
            i + 1 < partition->n ? partition->ranges[i + 1].first - 1 : HEFT_CODE_LAST;

        if (!cut_range(&r, set, &at, partition->ranges[i].first, last,
                       partition->ranges[i].symbol)) {
            heft_symbols_release(&r.made);
            return false;
        }
    }
    heft_symbols_release(partition);
    *partition = r.made;
    return true;
}

bool heft_symbols_divide(struct heft_symbol_partition *partition,
                         const struct heft_code_ranges *sets, size_t n_sets, struct heft_error *err)
{
    *partition = (struct heft_symbol_partition){.n_symbols = 1};
    if (!heft_grow(&partition->ranges, &partition->cap, 0, 1, sizeof *partition->ranges, err))
        return false;
    partition->ranges[partition->n++] = (struct heft_symbol_range){0, 0};
    for (size_t i = 0; i < n_sets; i++)
        if (!refine(partition, &sets[i], err))
            return false;
    return true;
}

void heft_symbols_release(struct heft_symbol_partition *partition)
{
    heft_free(partition->ranges);
    *partition = (struct heft_symbol_partition){0};
}

/* Index of an equal block, or of a new one. */
static bool intern_block(struct heft_symbol_table *table, const uint8_t *block, uint16_t *index,
                         struct heft_error *err)
{
    size_t i = table->n_blocks;

    while (i && memcmp(table->blocks[i - 1], block, HEFT_SYMBOL_BLOCK) != 0)
        i--;
    if (i) {
        *index = (uint16_t)(i - 1);
        return true;
    }
    if (!heft_grow(&table->blocks, &table->cap, table->n_blocks, 1, sizeof *table->blocks, err))
        return false;
    memcpy(table->blocks[table->n_blocks], block, HEFT_SYMBOL_BLOCK);
    *index = (uint16_t)table->n_blocks++;
    return true;
}

/* Fills a block from the ranges from *at on; *at becomes the last one that begins in it. */
static void fill_block(const struct heft_symbol_partition *partition, size_t *at, uint32_t base,
                       uint8_t *block)
{
    for (uint32_t c = base; c < base + HEFT_SYMBOL_BLOCK; c++) {
        if (*at + 1 < partition->n && partition->ranges[*at + 1].first == c)
            ++*at;
        block[c - base] = partition->ranges[*at].symbol;
    }
}

static bool fill_blocks(struct heft_symbol_table *table,
                        const struct heft_symbol_partition *partition, struct heft_error *err)
{
    uint16_t whole_block[HEFT_SYMBOLS_MAX + 1] = {0}; /* of one symbol: its index plus 1 */
    uint8_t block[HEFT_SYMBOL_BLOCK];
    size_t at = 0;

    for (uint32_t top = 0; top < HEFT_SYMBOL_TOP; top++) {
        const uint32_t base = top * HEFT_SYMBOL_BLOCK;
        const uint32_t next =
            at + 1 < partition->n ? partition->ranges[at + 1].first : HEFT_CODE_LAST + 1;
        uint16_t *const known = &whole_block[partition->ranges[at].symbol];

        if (next >= base + HEFT_SYMBOL_BLOCK && *known) {
            table->block_of[top] = (uint16_t)(*known - 1);
            continue;
        }
        fill_block(partition, &at, base, block);
        if (!intern_block(table, block, &table->block_of[top], err))
            return false;
        if (next >= base + HEFT_SYMBOL_BLOCK)
            *known = (uint16_t)(table->block_of[top] + 1);
    }
    return true;
}

bool heft_symbol_table_init(struct heft_symbol_table *table,
                            const struct heft_symbol_partition *partition, struct heft_error *err)
{
    *table = (struct heft_symbol_table){.n_symbols = partition->n_symbols};
    for (size_t i = partition->n; i > 0; i--)
        table->example[partition->ranges[i - 1].symbol] = partition->ranges[i - 1].first;
    return fill_blocks(table, partition, err);
}

void heft_symbol_table_release(struct heft_symbol_table *table)
{
    heft_free(table->blocks);
    table->blocks = NULL;
}
