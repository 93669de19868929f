/* int_values.c: values of integer codes.
 *
 * A group has a scale and a zero point, so a piece of a row is cut at its groups. The inner loops
 * have a constant trip count, because compilers vectorize only such loops at -O2. */
#include "quant/int_values.h"

#include "core/cast.h"
#include "core/small_floats.h"

enum { STEP = 16 };    /* elements of an inner loop */
enum { PIECE = 1024 }; /* elements between two loops: buffers stay in the first-level cache */
enum { TABLE = 16 };

static inline void put_float(uint8_t *out, size_t i, float x)
{
    heft_copy_le(out + 4 * i, &x, 4);
}

/* ---- one group --------------------------------------------------------------------------- */

static inline void affine_some(const uint8_t *restrict codes, size_t n, float zero, float scale,
                               uint8_t *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const float exact = (float)codes[i] - zero;

        put_float(out, i, exact * scale);
    }
}

static void affine_group(const uint8_t *restrict codes, size_t n, float zero, float scale,
                         uint8_t *restrict out)
{
    for (; n >= STEP; n -= STEP, codes += STEP, out += 4 * STEP)
        affine_some(codes, STEP, zero, scale, out);
    affine_some(codes, n, zero, scale, out);
}

static inline void add_some(uint8_t *values, size_t n, float bias)
{
    for (size_t i = 0; i < n; i++) {
        float x;

        heft_copy_le(&x, values + 4 * i, 4);
        put_float(values, i, x + bias);
    }
}

static void add_bias(uint8_t *values, size_t n, float bias)
{
    for (; n >= STEP; n -= STEP, values += 4 * STEP)
        add_some(values, STEP, bias);
    add_some(values, n, bias);
}

/* ---- groups of a row --------------------------------------------------------------------- */

/* Columns from `at` on that have the group of `at`, at most n. */
static size_t columns_of_group(const struct heft_int_groups *groups, uint64_t at, size_t n)
{
    return heft_min_size(n, groups->size - at % groups->size);
}

void heft_int_values_affine(const uint8_t *codes, uint64_t first, size_t n,
                            const struct heft_int_groups *groups, uint8_t *out)
{
    for (size_t i = 0, some; i < n; i += some) {
        const uint64_t g = (first + i) / groups->size;

        some = columns_of_group(groups, first + i, n - i);
        affine_group(codes + i, some, groups->zeros[g], groups->scales[g], out + 4 * i);
    }
}

void heft_int_values_indexed(const uint8_t *codes, const uint32_t *index, size_t n,
                             const struct heft_int_groups *groups, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const float exact = (float)codes[i] - groups->zeros[index[i]];

        put_float(out, i, exact * groups->scales[index[i]]);
    }
}

static void add_biases(uint8_t *values, uint64_t first, size_t n,
                       const struct heft_int_groups *groups)
{
    for (size_t i = 0, some; i < n; i += some) {
        some = columns_of_group(groups, first + i, n - i);
        add_bias(values + 4 * i, some, groups->zeros[(first + i) / groups->size]);
    }
}

static void products(const uint8_t *codes, uint64_t first, size_t n,
                     const struct heft_int_groups *groups, uint8_t *out)
{
    for (size_t i = 0, some; i < n; i += some) {
        some = columns_of_group(groups, first + i, n - i);
        affine_group(codes + i, some, 0.0f, groups->scales[(first + i) / groups->size],
                     out + 4 * i);
    }
}

void heft_int_values_biased(const uint8_t *codes, uint64_t first, size_t n,
                            const struct heft_int_groups *groups, enum heft_dtype dtype,
                            uint8_t *out)
{
    uint8_t rounded[2 * PIECE];
    uint64_t overflowed = 0;

    for (size_t i = 0, some; i < n; i += some) {
        some = heft_min_size(PIECE, n - i);
        products(codes + i, first + i, some, groups, out + 4 * i);
        if (dtype != HEFT_F32) {
            heft_cast_elements(HEFT_F32, dtype, out + 4 * i, rounded, some, &overflowed);
            heft_cast_elements(dtype, HEFT_F32, rounded, out + 4 * i, some, &overflowed);
        }
        add_biases(out + 4 * i, first + i, some, groups);
    }
}

/* ---- bitsandbytes, tables ---------------------------------------------------------------- */

void heft_int_values_table(const uint8_t *codes, size_t n, const float *table, float scale,
                           uint8_t *out)
{
    float scaled[TABLE];

    for (unsigned i = 0; i < TABLE; i++)
        scaled[i] = table[i] * scale;
    for (size_t i = 0; i < n; i++)
        put_float(out, i, scaled[codes[i] & (TABLE - 1)]);
}

void heft_int_values_bytes(const uint8_t *codes, size_t n, const float *table, float scale,
                           uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        put_float(out, i, table[codes[i]] * scale);
}

static inline void row_max_some(const uint8_t *restrict codes, size_t n, float scale,
                                uint8_t *restrict out)
{
    const float inverse = heft_float_of_bits(0x3C010204); /* 1/127, rounded */

    for (size_t i = 0; i < n; i++) {
        const float exact = (float)codes[i] - 128.0f;
        const float product = exact * scale;

        put_float(out, i, product * inverse);
    }
}

void heft_int_values_row_max(const uint8_t *codes, size_t n, float scale, uint8_t *out)
{
    for (; n >= STEP; n -= STEP, codes += STEP, out += 4 * STEP)
        row_max_some(codes, STEP, scale, out);
    row_max_some(codes, n, scale, out);
}

void heft_int_values_unsign(uint8_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        codes[i] ^= 0x80;
}

static inline uint32_t infinite_some(const uint8_t *values, size_t n)
{
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        heft_copy_le(&bits, values + 4 * i, 4);
        found |= (uint32_t)((bits & HEFT_F32_ABS) == HEFT_F32_INF);
    }
    return found;
}

bool heft_int_values_exceed(const uint8_t *values, size_t n)
{
    uint32_t found = 0;

    for (; n >= STEP; n -= STEP, values += 4 * STEP)
        found |= infinite_some(values, STEP);
    return (found | infinite_some(values, n)) != 0;
}
