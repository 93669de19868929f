/* stats_loops.h: the inner loops of statistics, as plain C. The kernels compile them for different
 * instruction sets; compilers turn the lanes into vector registers.
 *
 *     element   0   1   2  …  15   16  17 …        element i is added to lane i modulo 16
 *     lane      0   1   2  …  15    0   1 …
 *     total     lanes j and j+8, then j and j+4, j+2, j+1
 *
 * The order of the additions is part of the result: no instruction set may change it, and no
 * product may be fused with a sum (CMakeLists.txt disables contraction). All elements must be
 * finite; else the sum is not, and the other results are meaningless. */
#ifndef HEFT_STATS_LOOPS_H
#define HEFT_STATS_LOOPS_H

#include <math.h>

#include "core/small_floats.h"
#include "measure/stats_kernels.h"

enum { HEFT_STATS_LANES = 16 };
enum { HEFT_STATS_CHUNK = 256 }; /* elements of an intermediate array; a multiple of the lanes */

HEFT_INLINE double heft_stats_total(double *lanes)
{
    for (unsigned half = HEFT_STATS_LANES / 2; half > 0; half /= 2)
        for (unsigned j = 0; j < half; j++)
            lanes[j] += lanes[j + half];
    return lanes[0];
}

HEFT_INLINE void heft_stats_add_to_lanes(const double *x, size_t n, double *lanes)
{
    size_t i = 0;

    for (; n - i >= HEFT_STATS_LANES; i += HEFT_STATS_LANES)
        for (unsigned j = 0; j < HEFT_STATS_LANES; j++)
            lanes[j] += x[i + j];
    for (unsigned j = 0; i < n; i++, j++)
        lanes[j] += x[i];
}

/* STATS_LOOPS(name, type, count) defines two functions for arrays of `type`:
 *
 *     name_sums      sums of the elements and of their squares, minimum, maximum, number of zeros
 *     name_spread    sums of the differences from the mean, and of their squares
 *
 * count: unsigned type of the same size, so that all lanes have the same width. gcc 12 and clang 14
 * vectorize the loops in this form; joining those of name_spread, or splitting that of name_sums,
 * makes them two to five times slower with gcc. */
#define STATS_LOOPS(name, type, count)                                                             \
    HEFT_INLINE void name##_sums(const type *x, size_t n, struct heft_stats_sums *out)             \
    {                                                                                              \
        double sum[HEFT_STATS_LANES] = {0}, squares[HEFT_STATS_LANES] = {0};                       \
        type min[HEFT_STATS_LANES], max[HEFT_STATS_LANES];                                         \
        count zeros[HEFT_STATS_LANES] = {0};                                                       \
        size_t i = 0;                                                                              \
                                                                                                   \
        for (unsigned j = 0; j < HEFT_STATS_LANES; j++) {                                          \
            min[j] = (type)INFINITY;                                                               \
            max[j] = -(type)INFINITY;                                                              \
        }                                                                                          \
        for (; n - i >= HEFT_STATS_LANES; i += HEFT_STATS_LANES)                                   \
            for (unsigned j = 0; j < HEFT_STATS_LANES; j++) {                                      \
                const type v = x[i + j];                                                           \
                const double d = (double)v;                                                        \
                                                                                                   \
                sum[j] += d;                                                                       \
                squares[j] += d * d;                                                               \
                min[j] = v < min[j] ? v : min[j];                                                  \
                max[j] = v > max[j] ? v : max[j];                                                  \
                zeros[j] += v == 0;                                                                \
            }                                                                                      \
        for (unsigned j = 0; i < n; i++, j++) {                                                    \
            const double d = (double)x[i];                                                         \
                                                                                                   \
            sum[j] += d;                                                                           \
            squares[j] += d * d;                                                                   \
            min[j] = x[i] < min[j] ? x[i] : min[j];                                                \
            max[j] = x[i] > max[j] ? x[i] : max[j];                                                \
            zeros[j] += x[i] == 0;                                                                 \
        }                                                                                          \
        *out = (struct heft_stats_sums){heft_stats_total(sum), heft_stats_total(squares), min[0],  \
                                        max[0], 0};                                                \
        for (unsigned j = 0; j < HEFT_STATS_LANES; j++) {                                          \
            out->min = min[j] < out->min ? min[j] : out->min;                                      \
            out->max = max[j] > out->max ? max[j] : out->max;                                      \
            out->zeros += zeros[j];                                                                \
        }                                                                                          \
    }                                                                                              \
    HEFT_INLINE void name##_spread(const type *x, size_t n, double mean,                           \
                                   struct heft_stats_spread *out)                                  \
    {                                                                                              \
        double sum[HEFT_STATS_LANES] = {0}, squares[HEFT_STATS_LANES] = {0};                       \
        double d[HEFT_STATS_CHUNK];                                                                \
                                                                                                   \
        for (size_t at = 0; at < n; at += HEFT_STATS_CHUNK) {                                      \
            const size_t some = heft_min_size(n - at, HEFT_STATS_CHUNK);                           \
                                                                                                   \
            for (size_t i = 0; i < some; i++)                                                      \
                d[i] = (double)x[at + i] - mean;                                                   \
            heft_stats_add_to_lanes(d, some, sum);                                                 \
            for (size_t i = 0; i < some; i++)                                                      \
                d[i] *= d[i];                                                                      \
            heft_stats_add_to_lanes(d, some, squares);                                             \
        }                                                                                          \
        *out = (struct heft_stats_spread){heft_stats_total(sum), heft_stats_total(squares)};       \
    }

STATS_LOOPS(heft_stats_f32, float, uint32_t)
STATS_LOOPS(heft_stats_f64, double, uint64_t)

/* STATS_MASK(name, type, bits, key, infinity) defines a function that copies an array, with 0 for
 * each element that is not finite, and finds minimum and maximum of the others. bits and key:
 * unsigned and signed type of the same size; infinity: the bits of infinity. Floats compare like
 * integers if the lower bits of the negative ones are inverted; the order of integer operations is
 * free. */
#define STATS_MASK(name, type, bits, key, infinity)                                                \
    HEFT_INLINE bits name##_fold(bits x)                                                           \
    {                                                                                              \
        return x ^ ((bits)((key)x >> (8 * sizeof(x) - 1)) & (bits) ~(bits)0 >> 1);                 \
    }                                                                                              \
    HEFT_INLINE double name##_value(key x)                                                         \
    {                                                                                              \
        const bits u = name##_fold((bits)x);                                                       \
        type value;                                                                                \
                                                                                                   \
        memcpy(&value, &u, sizeof value);                                                          \
        return (double)value;                                                                      \
    }                                                                                              \
    HEFT_WRAPS HEFT_INLINE void name(const type *x, size_t n, type *kept,                          \
                                     struct heft_stats_masked *out)                                \
    {                                                                                              \
        key min = (key)infinity, max = -(key)infinity - 1;                                         \
        bits finite = 0, nan = 0;                                                                  \
                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            bits u, magnitude, is_finite;                                                          \
            key least, most;                                                                       \
                                                                                                   \
            memcpy(&u, &x[i], sizeof u);                                                           \
            magnitude = u & (bits) ~(bits)0 >> 1;                                                  \
            is_finite = magnitude < infinity;                                                      \
            least = is_finite ? (key)name##_fold(u) : (key)infinity;                               \
            most = is_finite ? (key)name##_fold(u) : -(key)infinity - 1;                           \
            min = least < min ? least : min;                                                       \
            max = most > max ? most : max;                                                         \
            finite += is_finite;                                                                   \
            nan += magnitude > infinity;                                                           \
            u &= 0 - is_finite;                                                                    \
            memcpy(&kept[i], &u, sizeof u);                                                        \
        }                                                                                          \
        *out = (struct heft_stats_masked){finite, nan, name##_value(min), name##_value(max)};      \
    }

STATS_MASK(heft_stats_f32_mask, float, uint32_t, int32_t, UINT32_C(0x7F800000))
STATS_MASK(heft_stats_f64_mask, double, uint64_t, int64_t, UINT64_C(0x7FF0000000000000))

HEFT_INLINE void heft_stats_widen_bf16(const uint16_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = heft_float_of_bits(heft_f32_of_bf16(src[i]));
}

HEFT_INLINE void heft_stats_widen_f16(const uint16_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = heft_float_of_bits(heft_f32_of_f16(src[i]));
}

#endif
