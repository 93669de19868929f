/* classes.c: ranges → a two-stage table: index of the block of 128 characters, then 2 bits a
 * character. Equal blocks are shared; the table has about 15 KB. */
#include "tokens/unicode/classes.h"

static const struct {
    const char *name;
    uint8_t number;
} VERSIONS[] = {
    {"9.0", 90},   {"10.0", 100}, {"11.0", 110}, {"12.0", 120}, {"12.1", 121}, {"13.0", 130},
    {"14.0", 140}, {"15.0", 150}, {"15.1", 151}, {"16.0", 160}, {"17.0", 170},
};

/* "16" means "16.0". */
static bool is_version(const char *name, const char *said)
{
    const size_t n = strlen(said);

    return strncmp(name, said, n) == 0 &&
           (name[n] == 0 || (n > 0 && said[n - 1] != '.' && strcmp(name + n, ".0") == 0));
}

static bool find_version(const char *unicode, uint8_t *number, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(VERSIONS); i++)
        if (is_version(VERSIONS[i].name, unicode)) {
            *number = VERSIONS[i].number;
            return true;
        }
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "unknown Unicode version \"%.20s\"; expected 9.0 to 17.0", unicode);
}

/* Enters the part of a range that lies in the block that begins at `base`. */
static void paint_range(uint8_t *block, uint32_t base, const struct heft_class_range *range)
{
    const uint32_t end = base + HEFT_CLASS_BLOCK - 1;
    const uint32_t last = range->last < end ? range->last : end;

    if (range->first <= base && last == end) {
        memset(block, range->class * 0x55, HEFT_CLASS_BLOCK / 4);
        return;
    }
    for (uint32_t c = range->first > base ? range->first : base; c <= last; c++)
        block[(c - base) / 4] |= (uint8_t)(range->class << 2 * (c % 4));
}

/* Returns the index of an equal block, or adds it. */
static uint8_t intern_block(struct heft_classes *classes, const uint8_t *block)
{
    for (unsigned i = classes->n_blocks; i > 0; i--)
        if (memcmp(classes->blocks[i - 1], block, sizeof classes->blocks[0]) == 0)
            return (uint8_t)(i - 1);
    memcpy(classes->blocks[classes->n_blocks], block, sizeof classes->blocks[0]);
    return (uint8_t)classes->n_blocks++; /* the ranges make fewer than HEFT_CLASS_MOST blocks */
}

/* First block after a run of blocks that one range fills: these are equal, and there are hundreds.
 */
static uint32_t alike_from(const struct heft_class_range *range, uint32_t top)
{
    const uint32_t base = top * HEFT_CLASS_BLOCK;

    return range->first > base || range->last < base + HEFT_CLASS_BLOCK - 1
               ? top + 1
               : (range->last + 1) / HEFT_CLASS_BLOCK;
}

/* Builds block number `top`, whose ranges begin at `range`. */
static uint8_t block_of(struct heft_classes *classes, uint32_t top, uint8_t version,
                        const struct heft_class_range *range)
{
    const struct heft_class_range *const end = heft_class_ranges + HEFT_CLASS_RANGES;
    const uint32_t base = top * HEFT_CLASS_BLOCK;
    uint8_t block[HEFT_CLASS_BLOCK / 4] = {0};
    bool is_empty = true;

    for (; range < end && range->first < base + HEFT_CLASS_BLOCK; range++) {
        if (range->since > version)
            continue;
        paint_range(block, base, range);
        is_empty = false;
    }
    return is_empty ? 0 : intern_block(classes, block); /* block number 0 is empty */
}

bool heft_classes_init(struct heft_classes *classes, const char *unicode, struct heft_error *err)
{
    const struct heft_class_range *range = heft_class_ranges;
    const struct heft_class_range *const end = range + HEFT_CLASS_RANGES;
    uint8_t version = 0;

    if (!find_version(unicode ? unicode : "17.0", &version, err))
        return false;
    *classes = (struct heft_classes){.n_blocks = 1};
    for (uint32_t top = 0; range < end;) {
        uint32_t next;

        if (range->last < top * HEFT_CLASS_BLOCK) {
            range++;
            continue;
        }
        if (range->first / HEFT_CLASS_BLOCK > top)
            top = range->first / HEFT_CLASS_BLOCK;
        classes->block_of[top] = block_of(classes, top, version, range);
        next = alike_from(range, top);
        memset(classes->block_of + top + 1, classes->block_of[top], next - top - 1);
        top = next;
    }
    return true;
}
