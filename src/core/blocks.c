/* blocks.c: see blocks.h. */
#include "core/blocks_parts.h"

const int8_t heft_block_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

heft_cast_loop *heft_blocks_to_f32(enum heft_dtype dtype)
{
    return heft_blocks_simple[dtype] ? heft_blocks_simple[dtype] : heft_blocks_k[dtype];
}
