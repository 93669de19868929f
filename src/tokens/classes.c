/* classes.c: ranges → a table of two stages: which block of 128 characters, and their 2 bits each.
 * Most blocks are alike, so the table has about 15 KB. */
#include "tokens/classes.h"

static const struct {
    const char *name;
    uint8_t number;
} VERSIONS[] = {
    {"9.0", 90},   {"10.0", 100}, {"11.0", 110}, {"12.0", 120}, {"12.1", 121}, {"13.0", 130},
    {"14.0", 140}, {"15.0", 150}, {"15.1", 151}, {"16.0", 160}, {"17.0", 170},
};

static bool find_version(const char *unicode, uint8_t *number, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(VERSIONS); i++)
        if (strcmp(VERSIONS[i].name, unicode) == 0) {
            *number = VERSIONS[i].number;
            return true;
        }
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no Unicode version \"%.20s\"; 9.0 to 17.0 are known", unicode);
}

/* The part of a range that lies in the block that begins at `base`. */
static void paint(uint8_t *block, uint32_t base, const struct heft_class_range *range)
{
    const uint32_t end = base + HEFT_CLASS_BLOCK - 1;
    const uint32_t last = range->last < end ? range->last : end;

    for (uint32_t c = range->first > base ? range->first : base; c <= last; c++)
        block[(c - base) / 4] |= (uint8_t)(range->class << 2 * (c % 4));
}

/* The number of a block like this one, which becomes one where there is none. */
static uint8_t intern(struct heft_classes *classes, const uint8_t *block)
{
    unsigned i = classes->n_blocks;

    while (i-- > 0)
        if (memcmp(classes->blocks[i], block, sizeof classes->blocks[i]) == 0)
            return (uint8_t)i;
    memcpy(classes->blocks[classes->n_blocks], block, sizeof classes->blocks[0]);
    return (uint8_t)classes->n_blocks++; /* the ranges make fewer than HEFT_CLASS_MOST */
}

bool heft_classes_init(struct heft_classes *classes, const char *unicode, struct heft_error *err)
{
    const struct heft_class_range *range = heft_class_ranges;
    const struct heft_class_range *const end = range + HEFT_CLASS_RANGES;
    uint8_t version = 0;

    if (!find_version(unicode ? unicode : "17.0", &version, err))
        return false;
    *classes = (struct heft_classes){.n_blocks = 1}; /* the empty block is number 0 */
    for (uint32_t top = 0; top < HEFT_CLASS_TOP; top++) {
        const uint32_t base = top * HEFT_CLASS_BLOCK;
        uint8_t block[HEFT_CLASS_BLOCK / 4] = {0};
        bool is_empty = true;

        while (range < end && range->last < base)
            range++;
        for (const struct heft_class_range *r = range;
             r < end && r->first < base + HEFT_CLASS_BLOCK; r++) {
            if (r->since > version)
                continue;
            paint(block, base, r);
            is_empty = false;
        }
        classes->block_of[top] = is_empty ? 0 : intern(classes, block);
    }
    return true;
}
