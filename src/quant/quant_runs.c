/* quant_runs.c: see quant_runs.h. Tables of all codes make the portable loops fast: one load, one
 * multiplication and one store for each element. */
#include "quant/quant_runs.h"

#include <math.h>

#include "core/cast.h"
#include "core/small_floats.h"

void heft_quant_order(float *values, size_t n)
{
    for (size_t i = 0; !heft_host_is_little() && i < n; i++) {
        uint8_t bytes[sizeof *values];

        memcpy(bytes, &values[i], sizeof bytes);
        heft_copy_le(&values[i], bytes, sizeof bytes);
    }
}

void heft_quant_table_bytes(struct heft_quant_table *table, enum heft_dtype dtype)
{
    uint8_t codes[256];
    uint64_t ignored = 0;

    for (unsigned i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    heft_cast_elements(dtype, HEFT_F32, codes, (uint8_t *)table->value, 256, &ignored);
    heft_quant_order(table->value, 256);
    table->dtype = dtype;
    table->most = 0;
    table->has_infinity = false;
    for (unsigned i = 0; i < 256; i++) {
        if (isfinite(table->value[i]))
            table->most = fmaxf(table->most, fabsf(table->value[i]));
        table->has_infinity |= isinf(table->value[i]) != 0;
    }
}

void heft_quant_table_e2m1(struct heft_quant_table *table)
{
    static const float values[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

    table->most = 6;
    table->has_infinity = false;
    for (unsigned i = 0; i < 16; i++)
        table->value[i] = i < 8 ? values[i] : -values[i - 8];
    for (unsigned i = 0; i < 256; i++) {
        table->pair[i][0] = table->value[i & 15];
        table->pair[i][1] = table->value[i >> 4];
    }
}

void heft_quant_run_bytes(const struct heft_quant_table *table, const uint8_t *codes, size_t n,
                          float scale, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = table->value[codes[i]] * scale;
}

void heft_quant_line_bytes(const struct heft_quant_table *table, const uint8_t *codes, size_t n,
                           const float *scales, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = table->value[codes[i]] * scales[i];
}

void heft_quant_run_e2m1(const struct heft_quant_table *table, const uint8_t *codes, bool odd,
                         size_t n, float scale, float *out)
{
    if (odd && n) {
        *out++ = table->value[*codes++ >> 4] * scale;
        n--;
    }
    for (size_t i = 0; i < n / 2; i++) {
        const float *const pair = table->pair[codes[i]];

        out[2 * i] = pair[0] * scale;
        out[2 * i + 1] = pair[1] * scale;
    }
    if (n % 2)
        out[n - 1] = table->value[codes[n / 2] & 15] * scale;
}
