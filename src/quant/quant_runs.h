/* quant_runs.h: inner loops: codes to F32 values, times a scale. */
#ifndef HEFT_QUANT_RUNS_H
#define HEFT_QUANT_RUNS_H

#include "base/dtype.h"

struct heft_quant_table {
    float value[256];   /* of a byte; of an E2M1 code in the first 16 */
    float pair[256][2]; /* E2M1: the values of both nibbles of a byte */
    float most;         /* largest finite magnitude */
    bool has_infinity;
    enum heft_dtype dtype; /* of bytes */
};

/* Changes n F32 values from little-endian order to that of the processor, or back, in place. */
void heft_quant_order(float *values, size_t n);

void heft_quant_table_bytes(struct heft_quant_table *table, enum heft_dtype dtype);
void heft_quant_table_e2m1(struct heft_quant_table *table);
/* out[i] = value[codes[i]] · scale */
void heft_quant_run_bytes(const struct heft_quant_table *table, const uint8_t *codes, size_t n,
                          float scale, float *out);
/* The same with a scale for each element. */
void heft_quant_line_bytes(const struct heft_quant_table *table, const uint8_t *codes, size_t n,
                           const float *scales, float *out);
/* The same for two codes in a byte. `odd`: the run begins with the high nibble of codes[0]. */
void heft_quant_run_e2m1(const struct heft_quant_table *table, const uint8_t *codes, bool odd,
                         size_t n, float scale, float *out);

#endif
