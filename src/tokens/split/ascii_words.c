/* ascii_words.c: the portable kernel, with which the others are compared: it is slower than the
 * rows of word_rows.h. */
#include "tokens/split/ascii_words_loops.h"

HEFT_WRAPS static void add_byte(struct heft_ascii_masks *m, uint8_t c, uint64_t bit)
{
    const uint8_t lower = c | 0x20;

    m->letter |= lower >= 'a' && lower <= 'z' ? bit : 0;
    m->upper |= c >= 'A' && c <= 'Z' ? bit : 0;
    m->number |= c >= '0' && c <= '9' ? bit : 0;
    m->space |= c == ' ' || (c >= 9 && c <= 13) ? bit : 0;
    m->blank |= c == ' ' ? bit : 0;
    m->line |= c == '\n' || c == '\r' ? bit : 0;
    m->quote |= c == '\'' ? bit : 0;
    m->slash |= c == '/' ? bit : 0;
    m->wide |= c >= 0x80 ? bit : 0;
}

static void masks_plain(const uint8_t *text, struct heft_ascii_masks *m)
{
    *m = (struct heft_ascii_masks){0};
    for (unsigned i = 0; i < HEFT_ASCII_BLOCK; i++)
        add_byte(m, text[i], UINT64_C(1) << i);
}

static size_t places_plain(uint64_t begin, uint32_t base, uint32_t *out)
{
    size_t n = 0;

    for (; begin; begin &= begin - 1)
        out[n++] = base + heft_lowest_bit(begin);
    return n;
}

static size_t scan_plain(const struct heft_ascii_rules *rules, const uint8_t *text, size_t n,
                         size_t at, uint32_t *starts, size_t room)
{
    HEFT_ASCII_SCAN(masks_plain, places_plain);
}

const struct heft_ascii_kernel heft_ascii_kernel_plain = {scan_plain};
