/* cast_kernels.h: loops of casts that have versions for SIMD instructions. All versions return the same
 * bits and counts; of a NaN another payload. */
#ifndef HEFT_CAST_KERNELS_H
#define HEFT_CAST_KERNELS_H

#include "base/dtype.h"
#include "core/cast_loops.h"

struct heft_cast_kernel {
    const char *name;
    /* By dtype; NULL: the portable loop is used. */
    heft_cast_loop *to_f32[HEFT_DTYPE_COUNT], *from_f32[HEFT_DTYPE_COUNT];
};

/* Kernels that this processor can run, the fastest first; NULL past the last. There may be none. */
const struct heft_cast_kernel *heft_cast_kernel_at(size_t index);

/* cast.c: the portable loops; NULL if there is none. */
heft_cast_loop *heft_cast_plain_to_f32(enum heft_dtype dtype);
heft_cast_loop *heft_cast_plain_from_f32(enum heft_dtype dtype);

#endif
