/* bit_stream.c: unpacks codes of 1 to 8 bits from little-endian 32-bit words.
 *
 * The bytes of such words are a little-endian stream of bits themselves, whatever the size of a
 * word. Eight codes of b bits fill exactly b bytes: they are read as one number and cut by shifts.
 * The loop is compiled for each b. */
#include "quant/bit_stream.h"

#include "base/endian.h"

enum { WORD = 32 };

bool heft_bit_stream_words(unsigned bits, bool in_words, uint64_t n, uint64_t *words)
{
    const unsigned each = WORD / bits;
    uint64_t total;

    if (in_words) {
        *words = n / each + (n % each != 0);
        return true;
    }
    if (!heft_mul(n, bits, &total))
        return false;
    *words = total / WORD + (total % WORD != 0);
    return true;
}

/* One code at any bit. */
static uint8_t code_at(const uint8_t *p, unsigned bits, size_t index)
{
    const size_t bit = index % 8 * bits;
    const uint8_t *const at = p + index / 8 * bits + bit / 8;
    const unsigned shift = bit % 8;
    const unsigned next = shift + bits > 8 ? at[1] : 0;

    return (uint8_t)((at[0] | next << 8) >> shift & ((1u << bits) - 1));
}

/* Unpacks 8·n codes from bits·n bytes. */
HEFT_INLINE void unpack_eights(const uint8_t *p, unsigned bits, size_t n, uint8_t *codes)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;

    for (size_t i = 0; i < n; i++, p += bits, codes += 8) {
        uint64_t eight = 0;

        for (unsigned k = bits; k > 0; k--)
            eight = eight << 8 | p[k - 1];
        for (unsigned k = 0; k < 8; k++)
            codes[k] = (uint8_t)(eight >> k * bits & mask);
    }
}

/* Two codes a byte, 16 bytes at a time: compilers vectorize a loop of a constant count. */
static void unpack_nibbles(const uint8_t *p, size_t n, uint8_t *codes)
{
    for (; n >= 4; n -= 4, p += 16, codes += 32)
        for (unsigned k = 0; k < 16; k++) {
            codes[2 * k] = p[k] & 15;
            codes[2 * k + 1] = p[k] >> 4;
        }
    unpack_eights(p, 4, n, codes);
}

static void unpack_aligned(const uint8_t *p, unsigned bits, size_t n, uint8_t *codes)
{
    switch (bits) {
    case 1:
        unpack_eights(p, 1, n, codes);
        break;
    case 2:
        unpack_eights(p, 2, n, codes);
        break;
    case 3:
        unpack_eights(p, 3, n, codes);
        break;
    case 4:
        unpack_nibbles(p, n, codes);
        break;
    case 5:
        unpack_eights(p, 5, n, codes);
        break;
    case 6:
        unpack_eights(p, 6, n, codes);
        break;
    case 7:
        unpack_eights(p, 7, n, codes);
        break;
    default:
        memcpy(codes, p, n * 8);
    }
}

void heft_bit_stream_codes(const uint8_t *p, unsigned bits, size_t first, size_t n, uint8_t *codes)
{
    size_t eights;

    for (; n > 0 && first % 8 != 0; n--)
        *codes++ = code_at(p, bits, first++);
    eights = n / 8;
    unpack_aligned(p + first / 8 * bits, bits, eights, codes);
    for (size_t i = eights * 8; i < n; i++)
        codes[i] = code_at(p, bits, first + i);
}

void heft_bit_stream_word_codes(const uint8_t *p, unsigned bits, size_t first, size_t n,
                                uint8_t *codes)
{
    const unsigned each = WORD / bits;
    const uint32_t mask = (1u << bits) - 1;

    if (WORD % bits == 0) {
        heft_bit_stream_codes(p, bits, first, n, codes);
        return;
    }
    for (size_t i = 0; i < n;) {
        const uint32_t word = heft_le32(p + (first + i) / each * 4);

        for (unsigned k = (unsigned)((first + i) % each); k < each && i < n; k++)
            codes[i++] = (uint8_t)(word >> k * bits & mask);
    }
}

void heft_bit_stream_high_first(const uint8_t *p, size_t first, size_t n, uint8_t *codes)
{
    size_t i = 0;

    p += first / 2;
    if (first % 2 != 0 && n > 0)
        codes[i++] = *p++ & 15;
    for (; n - i >= 32; i += 32, p += 16)
        for (unsigned k = 0; k < 16; k++) {
            codes[i + 2 * k] = p[k] >> 4;
            codes[i + 2 * k + 1] = p[k] & 15;
        }
    for (; n - i >= 2; i += 2, p++) {
        codes[i] = *p >> 4;
        codes[i + 1] = *p & 15;
    }
    if (i < n)
        codes[i] = *p >> 4;
}
