/* word_chars.c: binary search in ranges. */
#include "tokens/prepare/word_chars.h"

bool heft_is_word_char(uint32_t c)
{
    size_t low = 0, high = HEFT_WORD_RANGES;

    while (high - low > 1) {
        const size_t mid = (low + high) / 2;

        if (heft_word_ranges[mid].first <= c)
            low = mid;
        else
            high = mid;
    }
    return heft_word_ranges[low].first <= c && c <= heft_word_ranges[low].last;
}

bool heft_is_white_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
