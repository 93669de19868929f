/* transpose.c: the portable transposition, and the choice of a kernel. */
#include "core/transpose_kernels.h"

/* Rows in groups of a cache line, so that each line of a column is read once. */
static inline void transpose(uint8_t *dst, uint64_t pitch, const uint8_t *src,
                             const uint64_t *column, size_t columns, size_t rows, size_t each)
{
    const size_t group = 64 / each;

    for (size_t i = 0; i < rows; i += group)
        for (size_t j = 0; j < columns; j++)
            for (size_t k = i; k < i + group && k < rows; k++)
                memcpy(dst + k * pitch + j * each, src + column[j] + k * each, each);
}

#define PLAIN(each)                                                                                \
    static void transpose_##each(uint8_t *dst, uint64_t pitch, const uint8_t *src,                 \
                                 const uint64_t *column, size_t columns, size_t rows)              \
    {                                                                                              \
        transpose(dst, pitch, src, column, columns, rows, each);                                   \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)

const struct heft_transpose_kernel heft_transpose_kernel_plain = {
    "plain", {transpose_1, transpose_2, transpose_4, transpose_8}};

heft_transpose_fn *heft_transpose_for(uint32_t each)
{
    const struct heft_transpose_kernel *const kernel = heft_transpose_kernel_at(0);

    for (unsigned i = 0; i < HEFT_COUNT(kernel->by_size); i++)
        if (each == 1u << i)
            return kernel->by_size[i];
    return NULL;
}
