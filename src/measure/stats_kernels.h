/* stats_kernels.h: the inner loops of statistics that have versions for SIMD instructions. All
 * versions return the same bits (stats_loops.h). */
#ifndef HEFT_STATS_KERNELS_H
#define HEFT_STATS_KERNELS_H

#include "base/base.h"

struct heft_stats_sums {
    double sum, squares;
    double min, max; /* without elements: infinity and -infinity */
    uint64_t zeros;
};

struct heft_stats_spread {
    double sum, squares; /* of the differences from a mean */
};

struct heft_stats_masked {
    uint64_t finite, nan; /* number of elements; the others are infinite */
    double min, max;      /* of the finite elements; without any: infinity and -infinity */
};

struct heft_stats_kernel {
    const char *name;
    /* All arrays are in host byte order. The sum is not finite if an element is not, or if the sum
     * overflows: then the other results are meaningless. The squares may overflow. */
    void (*sums_f32)(const float *x, size_t n, struct heft_stats_sums *out);
    void (*sums_f64)(const double *x, size_t n, struct heft_stats_sums *out);
    /* Copies the elements, with 0 for each that is not finite. */
    void (*mask_f32)(const float *x, size_t n, float *kept, struct heft_stats_masked *out);
    void (*mask_f64)(const double *x, size_t n, double *kept, struct heft_stats_masked *out);
    /* For finite elements only. */
    void (*spread_f32)(const float *x, size_t n, double mean, struct heft_stats_spread *out);
    void (*spread_f64)(const double *x, size_t n, double mean, struct heft_stats_spread *out);
    void (*widen_bf16)(const uint16_t *src, float *dst, size_t n);
    void (*widen_f16)(const uint16_t *src, float *dst, size_t n);
};

/* Returns the fastest kernel of this processor; or by index, for tests (NULL past the last). The
 * last one is portable. */
const struct heft_stats_kernel *heft_stats_kernel(void);
const struct heft_stats_kernel *heft_stats_kernel_at(size_t index);
extern const struct heft_stats_kernel heft_stats_kernel_plain;

#endif
