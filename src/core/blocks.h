/* blocks.h: values of GGML's block types, in which numbers share scales (the fields of each type are
 * drawn in the files of the decoders). The results have the bits of gguf-py 0.19.0, and of ggml
 * for Q1_0, Q2_0 and Q8_K, which gguf-py does not decode; NaN is some NaN. */
#ifndef HEFT_BLOCKS_H
#define HEFT_BLOCKS_H

#include "base/dtype.h"
#include "core/cast_loops.h"

/* Loop from a block type to little-endian F32; NULL for any other dtype, and for Q8_1, which has no
 * values: it exists only inside of ggml's matrix products. */
heft_cast_loop *heft_blocks_to_f32(enum heft_dtype dtype);

/* Loop from little-endian F32 to a block type; NULL for one that heft does not quantize to. It counts
 * scales that overflow as finite, NaN as an infinity. */
heft_cast_loop *heft_blocks_from_f32(enum heft_dtype dtype);

/* The portable loops, by dtype; blocks.c joins them. */
extern heft_cast_loop *const heft_blocks_simple[HEFT_DTYPE_COUNT];
extern heft_cast_loop *const heft_blocks_k[HEFT_DTYPE_COUNT];
extern heft_cast_loop *const heft_blocks_iq[HEFT_DTYPE_COUNT];
extern heft_cast_loop *const heft_blocks_quantize[HEFT_DTYPE_COUNT];

#endif
