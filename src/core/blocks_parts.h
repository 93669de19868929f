/* blocks_parts.h: what decoders of blocks share.
 *
 * Every product of a decoder is exact in F32 as long as the scale is finite: 11 bits of the scale, at
 * most 7 of a second one, at most 8 of a code. So only the last addition rounds, and neither the order
 * of the factors nor a fused multiply-add would change a bit. With infinite scales the order matters
 * for NaN: it is that of gguf-py. */
#ifndef HEFT_BLOCKS_PARTS_H
#define HEFT_BLOCKS_PARTS_H

#include "base/endian.h"
#include "core/blocks.h"
#include "core/small_floats.h"

enum { HEFT_BLOCK_MOST = 256 }; /* elements of the largest block */

/* Decodes one block: b are its bytes, x its elements in the byte order of the processor. */
typedef void heft_block_decode(const uint8_t *b, float *x);

HEFT_INLINE uint32_t heft_blocks_decode(heft_block_decode *decode, unsigned elements,
                                        unsigned bytes, const uint8_t *restrict src,
                                        uint8_t *restrict dst, size_t n)
{
    float x[HEFT_BLOCK_MOST];

    for (size_t i = 0; i < n / elements; i++, src += bytes, dst += elements * sizeof *x) {
        decode(src, x);
        if (heft_host_is_little())
            memcpy(dst, x, elements * sizeof *x);
        for (unsigned k = 0; !heft_host_is_little() && k < elements; k++)
            heft_copy_le(dst + k * sizeof *x, &x[k], sizeof *x);
    }
    return 0;
}

/* Defines the loop NAME_loop of the decoder NAME. */
#define HEFT_BLOCK_LOOP(name, elements, bytes)                                                     \
    static uint32_t name##_loop(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)      \
    {                                                                                              \
        return heft_blocks_decode(name, elements, bytes, src, dst, n);                             \
    }

/* The F16 at p. */
static inline float heft_block_f16(const uint8_t *p)
{
    return heft_float_of_bits(heft_f32_of_f16(heft_le16(p)));
}

/* Values of the codes of IQ4_NL and IQ4_XS, spaced as weights are distributed. */
extern const int8_t heft_block_nl[16];

/* Codes of 4 bits: of the first half of 2 n elements in the low bits of n bytes, of the second half in
 * the high bits. */
static inline void heft_block_nibbles(const uint8_t *qs, unsigned n, uint8_t *codes)
{
    for (unsigned i = 0; i < n; i++) {
        codes[i] = qs[i] & 15;
        codes[n + i] = qs[i] >> 4;
    }
}

/* 2^(e - 128), half of an E8M0: below 2^-126 it is subnormal. e = 255 is no NaN here. */
static inline float heft_block_e8m0_half(uint8_t e)
{
    return heft_float_of_bits(e < 2 ? 0x200000u << e : (uint32_t)(e - 1) << 23);
}

/* Half of an E4M3 whose sign is ignored. 0x7F, its NaN, is 0, but 0xFF is 480 here. */
static inline float heft_block_ue4m3_half(uint8_t s)
{
    return s == 0x7F ? 0.0f : heft_float_of_bits(heft_widen_float(s & 0x7Fu, 3, 8));
}

/* The scale of 6 bits of the k-th 16 elements of Q3_K, less 32. */
static inline int heft_block_q3_scale(const uint8_t *sc, unsigned k)
{
    const int low = k < 8 ? sc[k] & 15 : sc[k - 8] >> 4;

    return (low | (sc[8 + k % 4] >> 2 * (k / 4) & 3) << 4) - 32;
}

#endif
