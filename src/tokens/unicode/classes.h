/* classes.h: character classes of GPT-2's pattern: letter (\p{L}), number (\p{N}), white space
 * (\s), or other.
 *
 * From Unicode 9.0 to 17.0 characters became letters or numbers, and none stopped being one. So one
 * list of ranges, with the version that added each, serves all versions. */
#ifndef HEFT_CLASSES_H
#define HEFT_CLASSES_H

#include "base/mem.h"

enum heft_class { HEFT_CLASS_OTHER, HEFT_CLASS_LETTER, HEFT_CLASS_NUMBER, HEFT_CLASS_SPACE };

#define HEFT_CLASS_RANGES 938
struct heft_class_range {
    uint32_t first, last;
    uint8_t class, since; /* enum heft_class; version times ten */
};
extern const struct heft_class_range heft_class_ranges[HEFT_CLASS_RANGES];

#define HEFT_CLASS_BLOCK 128 /* characters of a block; 2 bits for each */
#define HEFT_CLASS_TOP   (0x110000 / HEFT_CLASS_BLOCK)
#define HEFT_CLASS_MOST  256 /* limit of different blocks */

struct heft_classes {
    uint8_t block_of[HEFT_CLASS_TOP];
    uint8_t blocks[HEFT_CLASS_MOST][HEFT_CLASS_BLOCK / 4];
    unsigned n_blocks;
};

/* unicode: "9.0" … "17.0"; NULL: the newest. HEFT_USAGE for others. */
HEFT_CHECKED bool heft_classes_init(struct heft_classes *classes, const char *unicode,
                                    struct heft_error *err);

static inline unsigned heft_class_of(const struct heft_classes *classes, uint32_t c)
{
    const uint8_t *block = classes->blocks[classes->block_of[c / HEFT_CLASS_BLOCK]];

    return block[c % HEFT_CLASS_BLOCK / 4] >> 2 * (c % 4) & 3;
}

#endif
