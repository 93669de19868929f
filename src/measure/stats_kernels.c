/* stats_kernels.c: the portable kernel of statistics. */
#include "measure/stats_kernels.h"

#include "measure/stats_loops.h"

static void sums_f32(const float *x, size_t n, struct heft_stats_sums *out)
{
    heft_stats_f32_sums(x, n, out);
}

static void sums_f64(const double *x, size_t n, struct heft_stats_sums *out)
{
    heft_stats_f64_sums(x, n, out);
}

static void mask_f32(const float *x, size_t n, float *kept, struct heft_stats_masked *out)
{
    heft_stats_f32_mask(x, n, kept, out);
}

static void mask_f64(const double *x, size_t n, double *kept, struct heft_stats_masked *out)
{
    heft_stats_f64_mask(x, n, kept, out);
}

static void spread_f32(const float *x, size_t n, double mean, struct heft_stats_spread *out)
{
    heft_stats_f32_spread(x, n, mean, out);
}

static void spread_f64(const double *x, size_t n, double mean, struct heft_stats_spread *out)
{
    heft_stats_f64_spread(x, n, mean, out);
}

static void widen_bf16(const uint16_t *src, float *dst, size_t n)
{
    heft_stats_widen_bf16(src, dst, n);
}

static void widen_f16(const uint16_t *src, float *dst, size_t n)
{
    heft_stats_widen_f16(src, dst, n);
}

const struct heft_stats_kernel heft_stats_kernel_plain = {
    "plain", sums_f32, sums_f64, mask_f32, mask_f64, spread_f32, spread_f64, widen_bf16, widen_f16,
};

const struct heft_stats_kernel *heft_stats_kernel(void)
{
    return heft_stats_kernel_at(0);
}
