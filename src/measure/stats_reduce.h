/* stats_reduce.h: statistics of the elements of a dtype.
 *
 *     elements ─► blocks of HEFT_STATS_BLOCK ─► F32 or F64, exactly ─► sums of elements and squares,
 *                 minimum, maximum, zeros ─► blocks are added in order
 *
 * If the mean of a block is large compared with its deviation, the difference of these sums is
 * inaccurate; then a second pass adds the squared differences from the mean. A block is small
 * enough for the first-level cache, so that this costs little. Means and squares of blocks are
 * combined by the formula of Chan, Golub and LeVeque (Updating Formulae and a Pairwise Algorithm
 * for Computing Sample Variances, 1979). It subtracts means that may be almost equal, so a mean is
 * an unevaluated sum of two doubles; the sum of the differences from the rounded mean gives the
 * second. The result depends on where a tensor is cut into ranges, and on nothing else: a caller
 * that always cuts it at the same elements, and adds the ranges in order, gets the same bits on
 * every machine. */
#ifndef HEFT_STATS_REDUCE_H
#define HEFT_STATS_REDUCE_H

#include "base/dtype.h"
#include "heft/stats.h"
#include "measure/stats_kernels.h"

enum { HEFT_STATS_BLOCK = 4096 }; /* elements */

/* Statistics of a range of elements. A zeroed struct is that of no elements. */
struct heft_stats_range {
    uint64_t finite, zeros, nan, inf;
    /* of the finite elements, if there are any; of complex numbers the magnitudes */
    double min, max;
    double mean, mean_rest; /* the mean is their sum */
    double squares;         /* sum of the squared differences from the mean */
    /* integers of 8 bytes: exact minimum and maximum */
    union heft_stats_integer least, most;
};

union heft_stats_numbers {
    float f32[2 * HEFT_STATS_BLOCK];
    double f64[HEFT_STATS_BLOCK];
};
/* Memory for one block, one a thread; zeroed before the first use. */
struct heft_stats_scratch {
    union heft_stats_numbers wide; /* widened elements; both parts of C32 */
    double magnitudes[HEFT_STATS_BLOCK];
    union heft_stats_numbers kept; /* finite elements */
    bool has_others;               /* the last block had elements that are not finite */
    /* Elements of each byte of a float dtype of at most one byte. */
    float table[512];
    bool has_table;
    enum heft_dtype table_of;
};

/* Whether the elements are numbers: false for strings, packed numbers, and Q8_1. */
bool heft_stats_is_numeric(enum heft_dtype dtype);
/* Adds n bytes of a numeric dtype that follow `range`: little-endian elements, whole blocks of the
 * dtype, aligned to 8 bytes. Only the last call of a range may have a number of elements that is
 * not a multiple of HEFT_STATS_BLOCK. */
void heft_stats_reduce(const struct heft_stats_kernel *kernel, enum heft_dtype dtype,
                       const uint8_t *bytes, size_t n, struct heft_stats_scratch *scratch,
                       struct heft_stats_range *range);
/* Adds a range that follows `range`. dtype: that of both. */
void heft_stats_add(enum heft_dtype dtype, struct heft_stats_range *range,
                    const struct heft_stats_range *next);
/* Fills the figures of a tensor: all members of `out` from `zeros` on. */
void heft_stats_finish(enum heft_dtype dtype, const struct heft_stats_range *range,
                       struct heft_tensor_stats *out);

#endif
