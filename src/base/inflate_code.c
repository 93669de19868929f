/* inflate_code.c: Huffman codes, symbol by symbol. */
#include "base/inflate_parts.h"

const struct heft_inflate_range heft_inflate_lengths[29] = {
    {3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
    {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
    {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};

const struct heft_inflate_range heft_inflate_distances[30] = {
    {1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
    {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
    {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
    {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
    {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

uint32_t heft_inflate_reverse(uint32_t number, uint32_t n)
{
    number = (number & 0x5555) << 1 | (number >> 1 & 0x5555);
    number = (number & 0x3333) << 2 | (number >> 2 & 0x3333);
    number = (number & 0x0f0f) << 4 | (number >> 4 & 0x0f0f);
    number = (number & 0x00ff) << 8 | number >> 8;
    return number >> (16 - n);
}

/* Whether so many words of each length are a code: as zlib has it, those that leave words unused are
 * none, but for a single word of one bit, and for none at all. */
static bool is_code(const uint16_t *count)
{
    int32_t left = 1;
    uint32_t words = 0;

    for (uint32_t n = 1; n <= HEFT_INFLATE_MOST; n++) {
        left = 2 * left - count[n];
        words += count[n];
        if (left < 0)
            return false;
    }
    return left == 0 || words == 0 || (words == 1 && count[1] == 1);
}

/* Whether the next eight symbols have no words: most blocks use few of all symbols. */
static bool are_unused(const uint8_t *lengths, uint32_t i, uint32_t n)
{
    return i + 8 <= n && heft_le64(lengths + i) == 0;
}

bool heft_inflate_code_init(struct heft_inflate_code *code, const uint8_t *lengths, uint32_t n)
{
    uint16_t next[HEFT_INFLATE_MOST + 2] = {0};
    uint32_t word = 0;

    memset(code->count, 0, sizeof code->count);
    for (uint32_t i = 0; i < n; i += 8)
        for (uint32_t k = i; k < n && k < i + 8 && !are_unused(lengths, i, n); k++)
            code->count[lengths[k]]++;
    code->count[0] = 0;
    if (!is_code(code->count))
        return false;
    for (uint32_t k = 1; k <= HEFT_INFLATE_MOST; k++) {
        word <<= 1;
        code->shift[k] = (uint16_t)(next[k] - word);
        word += code->count[k];
        code->limit[k] = (uint16_t)(word << (HEFT_INFLATE_MOST - k));
        next[k + 1] = (uint16_t)(next[k] + code->count[k]);
    }
    for (uint32_t i = 0; i < n; i += 8)
        for (uint32_t k = i; k < n && k < i + 8 && !are_unused(lengths, i, n); k++)
            if (lengths[k])
                code->symbols[next[lengths[k]]++] = (uint16_t)k;
    return true;
}

uint32_t heft_inflate_code_find(const struct heft_inflate_code *code, uint64_t bits,
                                uint32_t *symbol)
{
    const uint32_t word = heft_inflate_reverse((uint32_t)bits & 0x7fff, HEFT_INFLATE_MOST);

    for (uint32_t n = 1; n <= HEFT_INFLATE_MOST; n++) {
        if (word >= code->limit[n])
            continue;
        *symbol = code->symbols[(uint16_t)((word >> (HEFT_INFLATE_MOST - n)) + code->shift[n])];
        return n;
    }
    return 0;
}
