/* diff_elements.c: compares elements of two tensors, in steps of 1024 that stay in the first-level
 * cache:
 *
 *     bytes equal ─► next step
 *     widen    both sides to F64, or pairs of F64            core/cast.h
 *     measure  |a - b|, and whether both are finite          a loop for each kind of dtype
 *     mark     the elements that differ                      by bytes, or numpy.isclose
 *     reduce   counts, sum, maximum
 *
 * Products and sums are separate statements, so that no compiler contracts them to a fused
 * multiply-add: the results have the same bits on every machine. */
#include "measure/diff_elements.h"

#include <float.h>
#include <math.h>

#include "base/endian.h"
#include "core/cast.h"

enum { STEP = 1024, LANES = 8 }; /* elements: STEP is a multiple of the block of any dtype */

struct step {
    size_t n;
    size_t parts;                      /* numbers in an element: 2 if it is complex */
    double a[2 * STEP], b[2 * STEP];   /* widened elements */
    double gap[STEP];                  /* |a - b|; any value if not finite */
    uint8_t finite[STEP], marks[STEP]; /* 0 or 1 */
};

/* ---- widening ---------------------------------------------------------------------------- */

static bool is_complex(enum heft_dtype dtype)
{
    return heft_dtype_info(dtype)->kind == HEFT_KIND_COMPLEX;
}

static bool is_real(enum heft_dtype dtype)
{
    return heft_cast_known(dtype, HEFT_F64);
}

static bool is_wide_integer(enum heft_dtype dtype)
{
    return dtype == HEFT_I64 || dtype == HEFT_U64;
}

bool heft_diff_has_figures(enum heft_dtype dtype)
{
    return is_real(dtype) || is_complex(dtype);
}

bool heft_diff_is_comparable(enum heft_dtype a, enum heft_dtype b)
{
    return heft_diff_has_figures(a) && heft_diff_has_figures(b);
}

static double load_f64(const uint8_t *p)
{
    const uint64_t bits = heft_le64(p);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Widens n elements. If `parts` is 2, a real number gets the imaginary part 0. */
static void widen(enum heft_dtype dtype, const uint8_t *p, size_t n, size_t parts, double *out)
{
    const bool complex = is_complex(dtype);
    const size_t numbers = complex ? 2 * n : n;
    uint8_t wide[2 * STEP * sizeof(double)];
    uint64_t ignored = 0;

    heft_cast(dtype, complex ? HEFT_C128 : HEFT_F64, p, wide, n, &ignored);
    if (complex || parts == 1) {
        for (size_t i = 0; i < numbers; i++)
            out[i] = load_f64(wide + i * sizeof(double));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = load_f64(wide + i * sizeof(double));
        out[2 * i + 1] = 0;
    }
}

/* ---- measuring --------------------------------------------------------------------------- */

static bool is_finite(double x)
{
    return fabs(x) <= DBL_MAX;
}

static void measure_real(struct step *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->gap[i] = fabs(s->a[i] - s->b[i]);
        s->finite[i] = (uint8_t)(is_finite(s->a[i]) & is_finite(s->b[i]));
    }
}

static void measure_complex(struct step *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double *const a = s->a + 2 * i, *const b = s->b + 2 * i;

        s->gap[i] = hypot(a[0] - b[0], a[1] - b[1]);
        s->finite[i] =
            (uint8_t)(is_finite(a[0]) & is_finite(a[1]) & is_finite(b[0]) & is_finite(b[1]));
    }
}

/* A number as an integer of up to 64 bits with a sign, and a fraction of the same sign. A float of
 * 2^64 or more, an infinity and NaN are all fraction. */
struct exact {
    bool negative;
    uint64_t whole;
    double fraction;
};

static struct exact exact_integer(enum heft_dtype dtype, const uint8_t *p)
{
    const uint64_t bits = heft_le64(p);
    const bool negative = dtype == HEFT_I64 && bits >> 63;

    return (struct exact){negative, negative ? 0 - bits : bits, 0};
}

static struct exact exact_float(double x)
{
    const double magnitude = fabs(x);
    struct exact e = {signbit(x) != 0, 0, x};

    if (magnitude < 0x1p64) { /* false for NaN */
        e.whole = (uint64_t)magnitude;
        e.fraction = magnitude - (double)e.whole; /* exact: below 2^53, or 0 */
        e.fraction = e.negative ? -e.fraction : e.fraction;
    }
    return e;
}

/* Sum of two magnitudes as F64, rounded once. A sum of 65 bits is halved; its lowest bit stays as a
 * sticky bit, far below the 53 bits that count. */
static double add_magnitudes(uint64_t x, uint64_t y)
{
    const uint64_t sum = x + y;

    if (sum >= x)
        return (double)sum;
    return 2 * (double)(sum >> 1 | (sum & 1) | UINT64_C(1) << 63);
}

static double exact_difference(const struct exact *a, const struct exact *b)
{
    double whole;

    if (a->negative != b->negative)
        whole = add_magnitudes(a->whole, b->whole);
    else
        whole = (double)(a->whole > b->whole ? a->whole - b->whole : b->whole - a->whole);
    if (a->negative != b->negative ? a->negative : (a->whole < b->whole) != a->negative)
        whole = -whole;
    return whole + (a->fraction - b->fraction);
}

static struct exact exact_element(enum heft_dtype dtype, const uint8_t *p, size_t i, double widened)
{
    return is_wide_integer(dtype) ? exact_integer(dtype, p + 8 * i) : exact_float(widened);
}

/* The same with exact differences, if a side has integers of 64 bits. */
static void measure_exactly(struct step *s, enum heft_dtype a, enum heft_dtype b, const uint8_t *p,
                            const uint8_t *q)
{
    (s->parts == 1 ? measure_real : measure_complex)(s);
    for (size_t i = 0; i < s->n; i++) {
        const struct exact x = exact_element(a, p, i, s->a[i * s->parts]);
        const struct exact y = exact_element(b, q, i, s->b[i * s->parts]);
        const double gap = exact_difference(&x, &y);

        s->gap[i] = s->parts == 1 ? fabs(gap) : hypot(gap, s->a[2 * i + 1] - s->b[2 * i + 1]);
    }
}

/* ---- marking ----------------------------------------------------------------------------- */

static void mark_bytes(const uint8_t *p, const uint8_t *q, size_t n, size_t each, uint8_t *marks)
{
    for (size_t i = 0; i < n; i++)
        marks[i] = memcmp(p + i * each, q + i * each, each) != 0;
}

/* Marks elements of different bits. Elements that share bytes (F4, F6) are compared widened: each
 * of their codes has bits of its own. */
static void mark_bits(struct step *s, enum heft_dtype dtype, const uint8_t *p, const uint8_t *q)
{
    switch (heft_dtype_is_plain(dtype) ? heft_dtype_block_bytes(dtype) : 0) {
    case 1: /* constant sizes: the compiler replaces memcmp */
        mark_bytes(p, q, s->n, 1, s->marks);
        break;
    case 2:
        mark_bytes(p, q, s->n, 2, s->marks);
        break;
    case 4:
        mark_bytes(p, q, s->n, 4, s->marks);
        break;
    case 8:
        mark_bytes(p, q, s->n, 8, s->marks);
        break;
    case 16:
        mark_bytes(p, q, s->n, 16, s->marks);
        break;
    default:
        mark_bytes((const uint8_t *)s->a, (const uint8_t *)s->b, s->n, sizeof *s->a, s->marks);
    }
}

static bool has_nan(const double *x, size_t parts)
{
    return x[0] != x[0] || (parts == 2 && x[1] != x[1]);
}

static bool are_same(const double *x, const double *y, size_t parts)
{
    return x[0] == y[0] && (parts == 1 || x[1] == y[1]);
}

/* numpy.isclose(a, b, rtol, atol, equal_nan=True) of an element that is not finite on a side. */
static bool is_close_anyway(const struct step *s, const struct heft_diff_rule *rule, size_t i)
{
    const double *const a = s->a + i * s->parts, *const b = s->b + i * s->parts;
    const bool finite_b = is_finite(b[0]) && (s->parts == 1 || is_finite(b[1]));
    const double product = rule->rtol * (s->parts == 1 ? fabs(b[0]) : hypot(b[0], b[1]));
    const double limit = rule->atol + product;

    return (finite_b && s->gap[i] <= limit) || are_same(a, b, s->parts) ||
           (has_nan(a, s->parts) && has_nan(b, s->parts));
}

/* Marks elements that are not close. */
static void mark_far(struct step *s, const struct heft_diff_rule *rule)
{
    for (size_t i = 0; s->parts == 1 && i < s->n; i++) {
        const double product = rule->rtol * fabs(s->b[i]);
        const double limit = rule->atol + product;

        s->marks[i] = !(s->gap[i] <= limit);
    }
    for (size_t i = 0; s->parts == 2 && i < s->n; i++) {
        const double product = rule->rtol * hypot(s->b[2 * i], s->b[2 * i + 1]);
        const double limit = rule->atol + product;

        s->marks[i] = !(s->gap[i] <= limit);
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->finite[i])
            s->marks[i] = !is_close_anyway(s, rule, i);
}

/* ---- reducing ---------------------------------------------------------------------------- */

static void count_special(const double *x, size_t parts, uint64_t *nan, uint64_t *inf)
{
    if (has_nan(x, parts))
        *nan += 1;
    else if (!is_finite(x[0]) || (parts == 2 && !is_finite(x[1])))
        *inf += 1;
}

static void count_marks(const struct step *s, struct heft_diff_figures *out)
{
    for (size_t i = 0; i < s->n; i++) {
        out->differing += s->marks[i];
        if (!s->marks[i] || s->finite[i])
            continue;
        out->excluded++;
        count_special(s->a + i * s->parts, s->parts, &out->nan[0], &out->inf[0]);
        count_special(s->b + i * s->parts, s->parts, &out->nan[1], &out->inf[1]);
    }
}

/* Moves the maximum to the first element of this step that exceeds it. */
static void find_max(const struct step *s, double max, uint64_t first,
                     struct heft_diff_figures *out)
{
    if (out->has_max && max <= out->max)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->finite[i] && s->gap[i] == max && (s->marks[i] || max > 0)) {
            out->max = max;
            out->max_at = first + i;
            out->has_max = true;
            return;
        }
}

/* The lanes are independent, so that compilers vectorize the loop without changing the result. */
static void add_gaps(const struct step *s, uint64_t first, struct heft_diff_figures *out)
{
    double sums[LANES] = {0}, tops[LANES] = {0};
    double sum = 0, top = 0;
    size_t i = 0;

    for (; i + LANES <= s->n; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const double gap = s->finite[i + k] ? s->gap[i + k] : 0;

            sums[k] += gap;
            tops[k] = gap > tops[k] ? gap : tops[k];
        }
    for (; i < s->n; i++) {
        const double gap = s->finite[i] ? s->gap[i] : 0;

        sum += gap;
        top = gap > top ? gap : top;
    }
    for (size_t k = 0; k < LANES; k++) {
        sum += sums[k];
        top = tops[k] > top ? tops[k] : top;
    }
    out->sum += sum;
    find_max(s, top, first, out);
}

static void compare_step(const struct heft_diff_rule *rule, enum heft_dtype a, enum heft_dtype b,
                         const uint8_t *p, const uint8_t *q, struct step *s, uint64_t first,
                         struct heft_diff_figures *out)
{
    s->parts = is_complex(a) || is_complex(b) ? 2 : 1;
    widen(a, p, s->n, s->parts, s->a);
    widen(b, q, s->n, s->parts, s->b);
    if (is_wide_integer(a) || is_wide_integer(b))
        measure_exactly(s, a, b, p, q);
    else
        (s->parts == 1 ? measure_real : measure_complex)(s);
    if (rule->has_tolerance)
        mark_far(s, rule);
    else
        mark_bits(s, a, p, q);
    count_marks(s, out);
    add_gaps(s, first, out);
}

/* Elements without a numeric value: counts those in blocks whose bytes differ. */
static void compare_blocks(enum heft_dtype dtype, const uint8_t *p, const uint8_t *q, size_t n,
                           struct heft_diff_figures *out)
{
    const unsigned each = heft_dtype_block_bytes(dtype),
                   elements = heft_dtype_block_elements(dtype);

    for (size_t i = 0; i < n / elements; i++)
        if (memcmp(p + i * each, q + i * each, each) != 0)
            out->differing += elements;
}

void heft_diff_elements(const struct heft_diff_rule *rule, enum heft_dtype a, enum heft_dtype b,
                        const uint8_t *p, const uint8_t *q, size_t n, uint64_t first,
                        struct heft_diff_figures *out)
{
    const size_t step_p = (size_t)heft_dtype_span(a, STEP),
                 step_q = (size_t)heft_dtype_span(b, STEP);
    struct step s;

    if (!heft_diff_is_comparable(a, b)) {
        compare_blocks(a, p, q, n, out);
        return;
    }
    for (size_t at = 0; at < n; at += STEP, p += step_p, q += step_q) {
        s.n = heft_min_size(STEP, n - at);
        if (a != b || memcmp(p, q, (size_t)heft_dtype_span(a, s.n)) != 0)
            compare_step(rule, a, b, p, q, &s, first + at, out);
    }
}

void heft_diff_figures_add(struct heft_diff_figures *total, const struct heft_diff_figures *next)
{
    total->differing += next->differing;
    total->excluded += next->excluded;
    for (int side = 0; side < 2; side++) {
        total->nan[side] += next->nan[side];
        total->inf[side] += next->inf[side];
    }
    total->sum += next->sum;
    if (next->has_max && (!total->has_max || next->max > total->max)) {
        total->max = next->max;
        total->max_at = next->max_at;
        total->has_max = true;
    }
}
