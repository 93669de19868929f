/* int_values.h: the arithmetic of integer quantization schemes on pieces of rows. Each step is
 * rounded to F32, in the order of the formulas, and none is contracted to a fused multiply-add.
 * Results are little-endian F32. */
#ifndef HEFT_INT_VALUES_H
#define HEFT_INT_VALUES_H

#include "base/base.h"
#include "base/dtype.h"

/* Parameters of the groups of one row; column c has group c / size. */
struct heft_int_groups {
    const float *scales;
    const float *zeros; /* zero points, integers; of MLX the biases */
    uint64_t size;      /* columns of a group */
};

/* (code - zero)·scale for the columns [first, first + n) of a row. The difference is exact. */
void heft_int_values_affine(const uint8_t *codes, uint64_t first, size_t n,
                            const struct heft_int_groups *groups, uint8_t *out);
/* The same, column i having the group index[i]. */
void heft_int_values_indexed(const uint8_t *codes, const uint32_t *index, size_t n,
                             const struct heft_int_groups *groups, uint8_t *out);
/* MLX: code·scale + bias. The product is rounded to `dtype`, and the caller rounds the result to it
 * as well. With HEFT_F32 the product of a code and a scale of 16 bits is exact. */
void heft_int_values_biased(const uint8_t *codes, uint64_t first, size_t n,
                            const struct heft_int_groups *groups, enum heft_dtype dtype,
                            uint8_t *out);
/* table[code]·scale; a code is less than 16. */
void heft_int_values_table(const uint8_t *codes, size_t n, const float *table, float scale,
                           uint8_t *out);
/* The same for codes of eight bits. */
void heft_int_values_bytes(const uint8_t *codes, size_t n, const float *table, float scale,
                           uint8_t *out);
/* bitsandbytes' LLM.int8(): ((code - 128)·scale)·fl(1/127), rounded twice. */
void heft_int_values_row_max(const uint8_t *codes, size_t n, float scale, uint8_t *out);
/* Makes an unsigned code of a signed one, in place: adds 128. */
void heft_int_values_unsign(uint8_t *codes, size_t n);
/* Whether any of n F32 values is infinite. */
bool heft_int_values_exceed(const uint8_t *values, size_t n);

#endif
