/* fuzz_bit_stream.c: codes of any width from any code on. Four bytes of parameters, then the words. Invariant: each
 * code is that of its bits, taken one at a time; no byte after the last code is read. */
#include <stdint.h>

#include "expect.h"
#include "quant/bit_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4, MOST = 4096 };

static uint8_t slow_code(const uint8_t *p, unsigned bits, bool in_words, size_t index)
{
    const unsigned each = 32 / bits;
    const size_t at = in_words ? index / each * 32 + index % each * bits : index * bits;
    uint8_t code = 0;

    for (size_t k = bits; k > 0; k--)
        code = (uint8_t)(code << 1 | (p[(at + k - 1) / 8] >> (at + k - 1) % 8 & 1));
    return code;
}

static void check_range(const uint8_t *p, unsigned bits, bool in_words, size_t first, size_t n)
{
    static uint8_t codes[MOST + 1];

    codes[n] = 0xA5;
    if (in_words)
        heft_bit_stream_word_codes(p, bits, first, n, codes);
    else
        heft_bit_stream_codes(p, bits, first, n, codes);
    for (size_t i = 0; i < n; i++)
        expect(codes[i] == slow_code(p, bits, in_words, first + i));
    expect(codes[n] == 0xA5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned bits = size ? data[0] % HEFT_BIT_STREAM_MOST + 1 : 1;
    const bool in_words = size && data[0] & 0x80;
    const size_t bytes = size > HEAD ? (size - HEAD) / 4 * 4 : 0;
    const size_t all = in_words ? bytes / 4 * (32 / bits) : bytes * 8 / bits;
    size_t first, n;
    uint8_t *copy;

    if (bytes == 0)
        return 0;
    first = (data[1] | (size_t)data[2] << 8) % (all + 1);
    n = heft_min_size(MOST, all - first);
    copy = malloc(bytes);
    expect(copy != NULL);
    memcpy(copy, data + HEAD, bytes);
    check_range(copy, bits, in_words, first, n < data[3] ? n : n - data[3]);
    free(copy);
    return 0;
}
