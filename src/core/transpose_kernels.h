/* transpose_kernels.h: transposition of blocks of elements, with versions for SIMD instructions. */
#ifndef HEFT_TRANSPOSE_KERNELS_H
#define HEFT_TRANSPOSE_KERNELS_H

#include "base/base.h"

/* Moves element i of each of the columns to row i of the destination:
 *     dst[i * pitch + j * each] = src[column[j] + i * each]     i below rows, j below columns
 * Rows and columns are multiples of HEFT_TRANSPOSE_SIDE(each). */
typedef void heft_transpose_fn(uint8_t *dst, uint64_t pitch, const uint8_t *src,
                               const uint64_t *column, size_t columns, size_t rows);

#define HEFT_TRANSPOSE_SIDE(each) (32u / (each))

struct heft_transpose_kernel {
    const char *name;
    heft_transpose_fn *by_size[4]; /* of elements of 1, 2, 4, 8 bytes */
};

/* Kernels that this processor can run, the fastest first; NULL past the last, which is portable. */
const struct heft_transpose_kernel *heft_transpose_kernel_at(size_t index);
extern const struct heft_transpose_kernel heft_transpose_kernel_plain; /* transpose.c */
/* The fastest one for elements of that size; NULL if there is none. */
heft_transpose_fn *heft_transpose_for(uint32_t each);

#endif
