/* blocks.c: see blocks.h. */
#include "core/blocks_parts.h"

const int8_t heft_block_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

heft_cast_loop *heft_blocks_to_f32(enum heft_dtype dtype)
{
    heft_cast_loop *const *const tables[] = {heft_blocks_simple, heft_blocks_k, heft_blocks_iq};

    for (size_t i = 0; i < HEFT_COUNT(tables); i++)
        if (tables[i][dtype])
            return tables[i][dtype];
    return NULL;
}

heft_cast_loop *heft_blocks_from_f32(enum heft_dtype dtype)
{
    return heft_blocks_quantize[dtype];
}
