/* stats_reduce.c: see stats_reduce.h. Blocks with NaN or infinities are rare, so sums_f32 does not
 * test for them: if the sum of a block is not finite, these elements are replaced by 0, and the
 * block is summed again; the next block is then tested first. */
#include "measure/stats_reduce.h"

#include <math.h>

#include "base/endian.h"
#include "core/cast.h"
#include "core/small_floats.h"

/* ---- widening ---------------------------------------------------------------------------- */

/* Turns n little-endian numbers of `width` bytes into host order, in place. */
static void to_host(void *numbers, size_t n, size_t width)
{
    uint8_t *p = numbers;

    if (heft_host_is_little())
        return;
    for (; n > 0; n--, p += width)
        for (size_t i = 0; i < width / 2; i++) {
            const uint8_t low = p[i];

            p[i] = p[width - 1 - i];
            p[width - 1 - i] = low;
        }
}

static void cast_to_f32(enum heft_dtype dtype, const uint8_t *bytes, size_t n, float *wide)
{
    uint64_t none = 0;

    heft_cast_elements(dtype, HEFT_F32, bytes, (uint8_t *)wide, n, &none);
    to_host(wide, n, sizeof *wide);
}

/* Looks up F8 and F4, n bytes. */
static void look_up(enum heft_dtype dtype, const uint8_t *bytes, size_t n,
                    struct heft_stats_scratch *scratch)
{
    const size_t each = heft_dtype_info(dtype)->block_elements;
    float *const wide = scratch->wide.f32;
    uint8_t codes[256];

    if (!scratch->has_table || scratch->table_of != dtype) {
        for (unsigned i = 0; i < sizeof codes; i++)
            codes[i] = (uint8_t)i;
        cast_to_f32(dtype, codes, sizeof codes * each, scratch->table);
        scratch->table_of = dtype;
        scratch->has_table = true;
    }
    if (each == 1)
        for (size_t i = 0; i < n; i++)
            wide[i] = scratch->table[bytes[i]];
    else
        for (size_t i = 0; i < n; i++)
            memcpy(wide + 2 * i, scratch->table + 2 * bytes[i], 2 * sizeof *wide);
}

/* Elements of an integer of at most 16 bits, or of a float of at most 32. */
static const float *widen_to_f32(const struct heft_stats_kernel *kernel, enum heft_dtype dtype,
                                 const uint8_t *bytes, size_t n, struct heft_stats_scratch *scratch)
{
    const struct heft_dtype_info *const info = heft_dtype_info(dtype);
    float *const wide = scratch->wide.f32;

    if (heft_host_is_little() && dtype == HEFT_F32)
        return (const float *)(const void *)bytes;
    if (heft_host_is_little() && dtype == HEFT_BF16)
        kernel->widen_bf16((const uint16_t *)(const void *)bytes, wide, n);
    else if (heft_host_is_little() && dtype == HEFT_F16)
        kernel->widen_f16((const uint16_t *)(const void *)bytes, wide, n);
    else if (info->kind == HEFT_KIND_FLOAT && info->block_bytes == 1)
        look_up(dtype, bytes, n / info->block_elements, scratch);
    else
        cast_to_f32(dtype, bytes, n, wide);
    return wide;
}

/* Elements of a larger integer, or of F64. */
static const double *widen_to_f64(enum heft_dtype dtype, const uint8_t *bytes, size_t n,
                                  double *wide)
{
    uint64_t none = 0;

    if (heft_host_is_little() && dtype == HEFT_F64)
        return (const double *)(const void *)bytes;
    heft_cast_elements(dtype, HEFT_F64, bytes, (uint8_t *)wide, n, &none);
    to_host(wide, n, sizeof *wide);
    return wide;
}

/* Magnitude of a complex number whose squares exceed the range of F64: both parts are scaled by the
 * same power of 2. hypot is not used, because its last bit depends on the C library. */
static double scaled_magnitude(double a, double b)
{
    const double most = a > b ? a : b;
    int exponent;

    if (most == 0)
        return 0;
    (void)frexp(most, &exponent);
    a = ldexp(a, -exponent);
    b = ldexp(b, -exponent);
    return ldexp(sqrt(a * a + b * b), exponent);
}

/* NaN if a part is NaN, else infinite if a part is. */
static double magnitude(double re, double im)
{
    const double a = fabs(re), b = fabs(im), squares = a * a + b * b;

    if ((squares > 0x1p-900 && squares < 0x1p1000) || isnan(squares) || isinf(a) || isinf(b))
        return sqrt(squares);
    return scaled_magnitude(a, b);
}

static const double *magnitudes_of_f32(const float *parts, size_t n, double *wide)
{
    for (size_t i = 0; i < n; i++) {
        const double re = (double)parts[2 * i], im = (double)parts[2 * i + 1];

        wide[i] = sqrt(re * re + im * im);
    }
    return wide;
}

static const double *magnitudes_of_c128(const uint8_t *bytes, size_t n, double *wide)
{
    for (size_t i = 0; i < n; i++) {
        double parts[2];

        memcpy(parts, bytes + i * sizeof parts, sizeof parts);
        to_host(parts, 2, sizeof *parts);
        wide[i] = magnitude(parts[0], parts[1]);
    }
    return wide;
}

static const double *magnitudes(const struct heft_stats_kernel *kernel, enum heft_dtype dtype,
                                const uint8_t *bytes, size_t n, struct heft_stats_scratch *scratch)
{
    const float *parts;

    if (dtype == HEFT_C128)
        return magnitudes_of_c128(bytes, n, scratch->magnitudes);
    parts = widen_to_f32(kernel, dtype == HEFT_C32 ? HEFT_F16 : HEFT_F32, bytes, 2 * n, scratch);
    return magnitudes_of_f32(parts, n, scratch->magnitudes);
}

/* ---- one block --------------------------------------------------------------------------- */

/* Mean of finite numbers whose sum exceeds the range of F64; the others are 0 in x. */
static double mean_of_large(const double *x, size_t n, size_t finite,
                            const struct heft_stats_sums *sums)
{
    double sum = 0, mean;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * 0x1p-64;
    mean = sum / (double)finite * 0x1p64;
    return fmin(fmax(mean, sums->min), sums->max); /* rounded, it may lie beyond both */
}

/* Splits a + b into its rounded value and the rest, without error (Knuth's TwoSum). */
static void add_exactly(double a, double b, double *sum, double *rest)
{
    const double s = a + b, b_part = s - a;

    *rest = (a - (s - b_part)) + (b - b_part);
    *sum = s;
}

/* n > 0 elements; mean: their rounded mean. Returns whether mean and squares are complete: false if
 * the difference of two large sums would lose more than three bits of them. */
static bool set_figures(struct heft_stats_range *out, size_t n, const struct heft_stats_sums *sums,
                        double mean)
{
    const double of_mean = sums->sum * mean; /* n squares of the mean */

    out->finite = n;
    out->zeros = sums->zeros;
    out->min = sums->min + 0.0; /* -0 becomes 0 */
    out->max = sums->max + 0.0;
    out->mean = out->min == out->max ? out->min : mean; /* that of a constant is exact */
    out->squares = out->min == out->max ? 0 : sums->squares - of_mean;
    return out->min == out->max || (isfinite(sums->squares) && of_mean <= 8 * out->squares);
}

/* Sets mean and squares from the differences from the rounded mean. If one of them overflows, the
 * squares are infinite, and the mean is not corrected. */
static void set_spread(struct heft_stats_range *out, size_t n, double mean,
                       const struct heft_stats_spread *spread)
{
    const double off = isfinite(spread->sum) ? spread->sum / (double)n : 0;

    add_exactly(mean, off, &out->mean, &out->mean_rest);
    out->squares = isfinite(spread->squares) ? fmax(spread->squares - off * off * (double)n, 0)
                                             : spread->squares;
}

/* Copies the finite elements of a block to `kept`. */
static void keep_finite_f32(const float *x, size_t n, float *kept)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            *kept++ = x[i];
}

static void keep_finite_f64(const double *x, size_t n, double *kept)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            *kept++ = x[i];
}

/* Corrects the sums of a block whose other elements were replaced by 0. Returns the number of
 * finite elements. */
static size_t take_masked(struct heft_stats_scratch *scratch, size_t n,
                          const struct heft_stats_masked *masked, struct heft_stats_sums *sums,
                          struct heft_stats_range *out)
{
    sums->min = masked->min;
    sums->max = masked->max;
    sums->zeros -= n - masked->finite;
    out->nan = masked->nan;
    out->inf = n - masked->finite - masked->nan;
    scratch->has_others = masked->finite < n;
    return (size_t)masked->finite;
}

/* The sum of an F32 block cannot overflow. */
static void reduce_f32(const struct heft_stats_kernel *kernel, const float *x, size_t n,
                       struct heft_stats_scratch *scratch, struct heft_stats_range *out)
{
    float *const kept = scratch->kept.f32;
    struct heft_stats_spread spread;
    struct heft_stats_masked masked;
    struct heft_stats_sums sums = {.sum = NAN};
    size_t finite = n;
    double mean;

    if (!scratch->has_others)
        kernel->sums_f32(x, n, &sums);
    if (!isfinite(sums.sum)) {
        kernel->mask_f32(x, n, kept, &masked);
        kernel->sums_f32(kept, n, &sums);
        finite = take_masked(scratch, n, &masked, &sums, out);
    }
    if (finite == 0)
        return;
    mean = sums.sum / (double)finite;
    if (set_figures(out, finite, &sums, mean))
        return;
    if (finite < n)
        keep_finite_f32(x, n, kept);
    kernel->spread_f32(finite < n ? kept : x, finite, mean, &spread);
    set_spread(out, finite, mean, &spread);
}

static void reduce_f64(const struct heft_stats_kernel *kernel, const double *x, size_t n,
                       struct heft_stats_scratch *scratch, struct heft_stats_range *out)
{
    double *const kept = scratch->kept.f64;
    struct heft_stats_spread spread;
    struct heft_stats_masked masked;
    struct heft_stats_sums sums = {.sum = NAN};
    size_t finite = n;
    double mean;

    if (!scratch->has_others)
        kernel->sums_f64(x, n, &sums);
    if (!isfinite(sums.sum)) {
        kernel->mask_f64(x, n, kept, &masked);
        kernel->sums_f64(kept, n, &sums);
        finite = take_masked(scratch, n, &masked, &sums, out);
    }
    if (finite == 0)
        return;
    mean = isfinite(sums.sum) ? sums.sum / (double)finite : mean_of_large(kept, n, finite, &sums);
    if (set_figures(out, finite, &sums, mean))
        return;
    if (finite < n)
        keep_finite_f64(x, n, kept);
    kernel->spread_f64(finite < n ? kept : x, finite, mean, &spread);
    set_spread(out, finite, mean, &spread);
}

static bool is_signed(enum heft_dtype dtype)
{
    return heft_dtype_info(dtype)->kind == HEFT_KIND_INT;
}

static bool is_integer(enum heft_dtype dtype)
{
    return is_signed(dtype) || heft_dtype_info(dtype)->kind == HEFT_KIND_UINT;
}

/* Whether F64 may round the dtype's integers. */
static bool is_rounded(enum heft_dtype dtype)
{
    return is_integer(dtype) && heft_dtype_info(dtype)->block_bytes == 8;
}

static void find_exact_signed(const uint8_t *bytes, size_t n, struct heft_stats_range *out)
{
    int64_t least = INT64_MAX, most = INT64_MIN;

    for (size_t i = 0; i < n; i++) {
        const int64_t x = (int64_t)heft_le64(bytes + 8 * i);

        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    out->least.i = least;
    out->most.i = most;
}

static void find_exact_unsigned(const uint8_t *bytes, size_t n, struct heft_stats_range *out)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t x = heft_le64(bytes + 8 * i);

        least = heft_min_u64(least, x);
        most = heft_max_u64(most, x);
    }
    out->least.u = least;
    out->most.u = most;
}

/* n > 0 elements */
static void reduce_block(const struct heft_stats_kernel *kernel, enum heft_dtype dtype,
                         const uint8_t *bytes, size_t n, struct heft_stats_scratch *scratch,
                         struct heft_stats_range *out)
{
    const struct heft_dtype_info *const info = heft_dtype_info(dtype);
    double *const wide = scratch->wide.f64;

    *out = (struct heft_stats_range){0};
    if (info->kind == HEFT_KIND_COMPLEX)
        reduce_f64(kernel, magnitudes(kernel, dtype, bytes, n, scratch), n, scratch, out);
    else if (info->block_bytes == 8 || (is_integer(dtype) && info->block_bytes == 4))
        reduce_f64(kernel, widen_to_f64(dtype, bytes, n, wide), n, scratch, out);
    else
        reduce_f32(kernel, widen_to_f32(kernel, dtype, bytes, n, scratch), n, scratch, out);
    if (is_rounded(dtype))
        (is_signed(dtype) ? find_exact_signed : find_exact_unsigned)(bytes, n, out);
}

/* ---- ranges ------------------------------------------------------------------------------ */

bool heft_stats_is_numeric(enum heft_dtype dtype)
{
    return heft_dtype_info(dtype)->kind == HEFT_KIND_COMPLEX || heft_cast_known(dtype, HEFT_F64);
}

void heft_stats_reduce(const struct heft_stats_kernel *kernel, enum heft_dtype dtype,
                       const uint8_t *bytes, size_t n, struct heft_stats_scratch *scratch,
                       struct heft_stats_range *range)
{
    const size_t most = (size_t)heft_dtype_span(dtype, HEFT_STATS_BLOCK);

    for (size_t at = 0; at < n; at += most) {
        const size_t some = heft_min_size(n - at, most);
        struct heft_stats_range block;

        reduce_block(kernel, dtype, bytes + at, (size_t)heft_dtype_elements(dtype, some), scratch,
                     &block);
        heft_stats_add(dtype, range, &block);
    }
}

/* Combines means and squares; both ranges have finite elements. */
static void add_moments(struct heft_stats_range *range, const struct heft_stats_range *next)
{
    const double n = (double)range->finite, more = (double)next->finite;
    const double share = more / (n + more);
    const double delta = (next->mean - range->mean) + (next->mean_rest - range->mean_rest);
    double rest;

    range->squares += next->squares + delta * delta * (n * share);
    if (!isfinite(delta)) {
        range->mean = range->mean * (n / (n + more)) + next->mean * share;
        range->mean_rest = 0;
        return;
    }
    add_exactly(range->mean, delta * share, &range->mean, &rest);
    add_exactly(range->mean, rest + range->mean_rest, &range->mean, &range->mean_rest);
}

static void add_exact(enum heft_dtype dtype, struct heft_stats_range *range,
                      const struct heft_stats_range *next)
{
    if (is_signed(dtype)) {
        range->least.i = next->least.i < range->least.i ? next->least.i : range->least.i;
        range->most.i = next->most.i > range->most.i ? next->most.i : range->most.i;
    } else {
        range->least.u = heft_min_u64(range->least.u, next->least.u);
        range->most.u = heft_max_u64(range->most.u, next->most.u);
    }
}

void heft_stats_add(enum heft_dtype dtype, struct heft_stats_range *range,
                    const struct heft_stats_range *next)
{
    const uint64_t nan = range->nan + next->nan, inf = range->inf + next->inf;

    if (range->finite == 0) {
        *range = *next;
    } else if (next->finite > 0) {
        range->min = next->min < range->min ? next->min : range->min;
        range->max = next->max > range->max ? next->max : range->max;
        add_moments(range, next);
        add_exact(dtype, range, next);
        range->finite += next->finite;
        range->zeros += next->zeros;
    }
    range->nan = nan;
    range->inf = inf;
}

/* ---- figures of a tensor ----------------------------------------------------------------- */

static uint64_t magnitude_of(int64_t x)
{
    return x < 0 ? ~(uint64_t)x + 1 : (uint64_t)x;
}

static void set_exact(enum heft_dtype dtype, const struct heft_stats_range *range,
                      struct heft_tensor_stats *out)
{
    if (is_signed(dtype)) {
        out->exact_min.i = is_rounded(dtype) ? range->least.i : (int64_t)range->min;
        out->exact_max.i = is_rounded(dtype) ? range->most.i : (int64_t)range->max;
        out->exact_abs_max =
            heft_max_u64(magnitude_of(out->exact_min.i), magnitude_of(out->exact_max.i));
    } else {
        out->exact_min.u = is_rounded(dtype) ? range->least.u : (uint64_t)range->min;
        out->exact_max.u = is_rounded(dtype) ? range->most.u : (uint64_t)range->max;
        out->exact_abs_max = out->exact_max.u;
    }
}

static enum heft_stats_kind kind_of(enum heft_dtype dtype)
{
    if (!heft_stats_is_numeric(dtype))
        return HEFT_STATS_NONE;
    if (is_signed(dtype))
        return HEFT_STATS_SIGNED;
    return is_integer(dtype) || dtype == HEFT_BOOL ? HEFT_STATS_UNSIGNED : HEFT_STATS_FLOAT;
}

void heft_stats_finish(enum heft_dtype dtype, const struct heft_stats_range *range,
                       struct heft_tensor_stats *out)
{
    const struct heft_stats_range *const r = range;

    out->kind = kind_of(dtype);
    out->zeros = r->zeros;
    out->nan = r->nan;
    out->inf = r->inf;
    out->finite = r->finite;
    if (r->finite == 0)
        return;
    out->min = r->min;
    out->max = r->max;
    out->mean = r->mean;
    out->std = sqrt(r->squares / (double)r->finite);
    out->abs_max = fmax(fabs(r->min), fabs(r->max));
    if (out->kind != HEFT_STATS_FLOAT)
        set_exact(dtype, r, out);
}
