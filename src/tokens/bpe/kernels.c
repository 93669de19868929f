/* kernels.c: portable kernels: masks of 64 bytes from a class for each byte. */
#include "tokens/bpe/kernels.h"

enum { LETTER = 1, NUMBER = 2, SPACE = 4, BLANK = 8, QUOTE = 16, WIDE = 32 };

static uint8_t kind_of(uint8_t c)
{
    const uint8_t lower = c | 0x20;

    if (c >= 0x80)
        return WIDE;
    if (lower >= 'a' && lower <= 'z')
        return LETTER;
    if (c >= '0' && c <= '9')
        return NUMBER;
    if (c == ' ')
        return SPACE | BLANK;
    return c >= 9 && c <= 13 ? SPACE : c == '\'' ? QUOTE : 0;
}

static void masks_plain(const uint8_t *text, struct heft_masks *out)
{
    *out = (struct heft_masks){0};
    for (unsigned i = 0; i < HEFT_SCAN_BLOCK; i++) {
        const uint64_t kind = kind_of(text[i]);

        out->letter |= (kind & 1) << i;
        out->number |= (kind >> 1 & 1) << i;
        out->space |= (kind >> 2 & 1) << i;
        out->blank |= (kind >> 3 & 1) << i;
        out->quote |= (kind >> 4 & 1) << i;
        out->wide |= (kind >> 5 & 1) << i;
    }
}

size_t heft_places_plain(uint64_t begin, uint32_t base, uint32_t *out)
{
    size_t n = 0;

    for (; begin; begin &= begin - 1)
        out[n++] = base + heft_lowest_bit(begin);
    return n;
}

uint32_t heft_least_plain(const uint32_t numbers[HEFT_LEAST_OF])
{
    uint32_t least = numbers[0];

    for (unsigned i = 1; i < HEFT_LEAST_OF; i++)
        least = numbers[i] < least ? numbers[i] : least;
    return least;
}

const struct heft_kernel heft_kernel_plain = {masks_plain, heft_places_plain, heft_least_plain,
                                              false};
