/* bit_stream.h: unsigned codes of 1 to 8 bits that are packed into little-endian 32-bit words.
 *
 *     stream   code c is at bit c·bits of the words' bytes; a code may cross words:
 *              compressed-tensors, GPTQ, MLX
 *     words    ⌊32/bits⌋ codes a word from the lowest bit on, the highest bits unused: older
 *              releases of compressed-tensors. The same as a stream if bits divides 32
 *
 * All functions unpack a code to a byte. */
#ifndef HEFT_BIT_STREAM_H
#define HEFT_BIT_STREAM_H

#include "base/base.h"

enum { HEFT_BIT_STREAM_MOST = 8 }; /* bits of a code */

/* Number of 32-bit words that contain n codes. False if it is 2^64 or more. */
HEFT_CHECKED bool heft_bit_stream_words(unsigned bits, bool in_words, uint64_t n, uint64_t *words);
/* Number of codes of which the next one begins a word again. */
static inline unsigned heft_bit_stream_period(unsigned bits, bool in_words)
{
    return in_words ? 32 / bits : 32;
}
/* Unpacks the codes [first, first + n) of the stream that begins with p[0]; reads no byte after
 * the last of them. */
void heft_bit_stream_codes(const uint8_t *p, unsigned bits, size_t first, size_t n, uint8_t *codes);
/* The same for codes that are packed into words. */
void heft_bit_stream_word_codes(const uint8_t *p, unsigned bits, size_t first, size_t n,
                                uint8_t *codes);
/* Codes of four bits of which the first of a byte is in the high bits: bitsandbytes. */
void heft_bit_stream_high_first(const uint8_t *p, size_t first, size_t n, uint8_t *codes);

#endif
