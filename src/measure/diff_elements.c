/* diff_elements.c: compares elements of two tensors, in steps of 1024 that stay in the first-level
 * cache:
 *
 *     bytes equal ─► next step
 *     widen     both sides to F64, or pairs of F64            core/cast.h
 *     groups of 64 finite real numbers: differences, counts, sums and maximum in loops that compilers
 *               vectorize (a constant trip count, independent lanes)
 *     all other elements, one by one:
 *         measure   |a - b|, and whether both are finite
 *         mark      the elements that differ                  by bytes, or numpy.isclose
 *         reduce    counts, sum, maximum
 *
 * Element i is added to lane i modulo 8 either way. 67 million pairs of F32 take 0.14 s.
 *
 * Products and sums are separate statements, so that no compiler contracts them to a fused
 * multiply-add: the results have the same bits on every machine. */
#include "measure/diff_elements.h"

#include <float.h>
#include <math.h>

#include "base/endian.h"
#include "core/cast.h"

/* Elements. STEP is a multiple of the block of any dtype. */
enum { STEP = 1024, GROUP = 64, LANES = 8 };

struct step {
    size_t n;
    size_t parts;                      /* numbers in an element: 2 if it is complex */
    double a[2 * STEP], b[2 * STEP];   /* widened elements */
    double gap[STEP];                  /* |a - b|; any value if not finite */
    uint8_t finite[STEP], marks[STEP]; /* 0 or 1; marks not of groups */
    double sums[LANES], tops[LANES];   /* sums and maxima of gaps */
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

static bool is_host_little(void)
{
    const uint16_t one = 1;
    uint8_t first;

    memcpy(&first, &one, 1);
    return first == 1;
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
    uint8_t *const wide = (uint8_t *)out;
    uint64_t ignored = 0;

    heft_cast_elements(dtype, complex ? HEFT_C128 : HEFT_F64, p, wide, n, &ignored);
    for (size_t i = 0; !is_host_little() && i < numbers; i++)
        out[i] = load_f64(wide + i * sizeof(double));
    for (size_t i = n; !complex && parts == 2 && i > 0; i--) {
        out[2 * i - 2] = out[i - 1];
        out[2 * i - 1] = 0;
    }
}

/* ---- measuring --------------------------------------------------------------------------- */

/* 1 if x is finite, else 0: a number, so that several are combined without branches. */
static unsigned is_finite(double x)
{
    return fabs(x) <= DBL_MAX;
}

/* Elements [from, to) of a step. */
struct range {
    size_t from, to;
};

static void measure_real(struct step *s, struct range r)
{
    for (size_t i = r.from; i < r.to; i++) {
        s->gap[i] = fabs(s->a[i] - s->b[i]);
        s->finite[i] = (uint8_t)(is_finite(s->a[i]) & is_finite(s->b[i]));
    }
}

static void measure_complex(struct step *s, struct range r)
{
    for (size_t i = r.from; i < r.to; i++) {
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

    return (struct exact){negative, negative ? ~bits + 1 : bits, 0};
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
HEFT_WRAPS static double add_magnitudes(uint64_t x, uint64_t y)
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

/* What is compared. */
struct input {
    const struct heft_diff_rule *rule;
    enum heft_dtype a, b;
    const uint8_t *p, *q; /* of the first element of the step */
};

/* Replaces differences by exact ones, if a side has integers of 64 bits. */
static void measure_exactly(struct step *s, struct range r, const struct input *in)
{
    for (size_t i = r.from; i < r.to; i++) {
        const struct exact x = exact_element(in->a, in->p, i, s->a[i * s->parts]);
        const struct exact y = exact_element(in->b, in->q, i, s->b[i * s->parts]);
        const double gap = exact_difference(&x, &y);

        s->gap[i] = s->parts == 1 ? fabs(gap) : hypot(gap, s->a[2 * i + 1] - s->b[2 * i + 1]);
    }
}

static void measure(struct step *s, struct range r, const struct input *in)
{
    (s->parts == 1 ? measure_real : measure_complex)(s, r);
    if (is_wide_integer(in->a) || is_wide_integer(in->b))
        measure_exactly(s, r, in);
}

/* ---- marking ----------------------------------------------------------------------------- */

static void mark_bytes(struct step *s, struct range r, const uint8_t *p, const uint8_t *q,
                       size_t each)
{
    for (size_t i = r.from; i < r.to; i++)
        s->marks[i] = memcmp(p + i * each, q + i * each, each) != 0;
}

/* Marks elements of different bits. Elements that share bytes (F4, blocks) are compared widened:
 * each code of F4 has bits of its own, and an element of a block has no others. */
static void mark_bits(struct step *s, struct range r, const struct input *in)
{
    if (heft_dtype_is_plain(in->a))
        mark_bytes(s, r, in->p, in->q, heft_dtype_block_bytes(in->a));
    else
        mark_bytes(s, r, (const uint8_t *)s->a, (const uint8_t *)s->b, sizeof *s->a);
}

static bool has_nan(const double *x, size_t parts)
{
    return x[0] != x[0] || (parts == 2 && x[1] != x[1]);
}

static bool are_same(const double *x, const double *y, size_t parts)
{
    return x[0] == y[0] && (parts == 1 || x[1] == y[1]);
}

/* numpy.isclose(a, b, rtol, atol, equal_nan=True) */
static bool is_close(const struct step *s, const struct heft_diff_rule *rule, size_t i)
{
    const double *const a = s->a + i * s->parts, *const b = s->b + i * s->parts;
    const bool finite_b = is_finite(b[0]) && (s->parts == 1 || is_finite(b[1]));
    const double product = rule->rtol * (s->parts == 1 ? fabs(b[0]) : hypot(b[0], b[1]));
    const double limit = rule->atol + product;

    return (finite_b && s->gap[i] <= limit) || (!s->finite[i] && are_same(a, b, s->parts)) ||
           (has_nan(a, s->parts) && has_nan(b, s->parts));
}

/* Marks elements that are not close. */
static void mark_far(struct step *s, struct range r, const struct heft_diff_rule *rule)
{
    for (size_t i = r.from; i < r.to; i++)
        s->marks[i] = !is_close(s, rule, i);
}

/* ---- reducing ---------------------------------------------------------------------------- */

static void count_special(const double *x, size_t parts, uint64_t *nan, uint64_t *inf)
{
    if (has_nan(x, parts))
        *nan += 1;
    else if (!is_finite(x[0]) || (parts == 2 && !is_finite(x[1])))
        *inf += 1;
}

static void count_marks(const struct step *s, struct range r, struct heft_diff_figures *out)
{
    for (size_t i = r.from; i < r.to; i++) {
        out->differing += s->marks[i];
        if (!s->marks[i] || s->finite[i])
            continue;
        out->excluded++;
        count_special(s->a + i * s->parts, s->parts, &out->nan[0], &out->inf[0]);
        count_special(s->b + i * s->parts, s->parts, &out->nan[1], &out->inf[1]);
    }
}

static void add_gaps(struct step *s, struct range r)
{
    for (size_t i = r.from; i < r.to; i++) {
        const double gap = s->finite[i] ? s->gap[i] : 0;

        s->sums[i % LANES] += gap;
        s->tops[i % LANES] = gap > s->tops[i % LANES] ? gap : s->tops[i % LANES];
    }
}

static void reduce_singly(struct step *s, struct range r, const struct input *in,
                          struct heft_diff_figures *out)
{
    measure(s, r, in);
    if (in->rule->has_tolerance)
        mark_far(s, r, in->rule);
    else
        mark_bits(s, r, in);
    count_marks(s, r, out);
    add_gaps(s, r);
}

/* ---- groups of finite real numbers ------------------------------------------------------- */

/* Whether real numbers are widened to different bits exactly if their own bits differ. Not for BOOL,
 * integers in the low bits of a byte, and block types, where several codes have one value. */
static bool keeps_bits(enum heft_dtype dtype)
{
    const struct heft_dtype_info *const info = heft_dtype_info(dtype);

    return info->kind != HEFT_KIND_BOOL && info->kind != HEFT_KIND_SCALED && info->value_bits == 0;
}

/* NaN and infinities have all bits of the exponent set: adding its lowest bit carries to the sign. */
static bool is_group_finite(const double *a, const double *b)
{
    const uint64_t exponent = UINT64_C(0x7FF) << 52, one = UINT64_C(1) << 52;
    uint64_t seen = 0;

    for (size_t i = 0; i < GROUP; i++) {
        uint64_t x, y;

        memcpy(&x, &a[i], sizeof x);
        memcpy(&y, &b[i], sizeof y);
        seen |= ((x & exponent) + one) | ((y & exponent) + one);
    }
    return seen >> 63 == 0;
}

HEFT_WRAPS static uint64_t count_other_bits(const double *a, const double *b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < GROUP; i++) {
        uint64_t x, y;

        memcpy(&x, &a[i], sizeof x);
        memcpy(&y, &b[i], sizeof y);
        x ^= y;
        n += (x | (0 - x)) >> 63;
    }
    return n;
}

static uint64_t count_far(const double *gap, const double *b, const struct heft_diff_rule *rule)
{
    const double atol = rule->atol, rtol = rule->rtol;
    double limits[GROUP];
    uint64_t n = 0;

    for (size_t i = 0; i < GROUP; i++) {
        const double product = rtol * fabs(b[i]);

        limits[i] = atol + product;
    }
    for (size_t i = 0; i < GROUP; i++)
        n += gap[i] > limits[i] ? 1u : 0u;
    return n;
}

static void measure_group(const double *restrict a, const double *restrict b, double *restrict gap)
{
    for (size_t i = 0; i < GROUP; i++)
        gap[i] = fabs(a[i] - b[i]);
}

static void add_group(const double *restrict gap, double *restrict sums, double *restrict tops)
{
    for (size_t i = 0; i < GROUP; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            sums[k] += gap[i + k];
            tops[k] = gap[i + k] > tops[k] ? gap[i + k] : tops[k];
        }
}

/* Reduces elements in groups; those of a group with NaN or an infinity, and the rest, one by one. */
static void reduce_groups(struct step *s, const struct input *in, struct heft_diff_figures *out)
{
    size_t at = 0;

    for (; at + GROUP <= s->n; at += GROUP) {
        const double *const a = s->a + at, *const b = s->b + at;

        if (!is_group_finite(a, b)) {
            reduce_singly(s, (struct range){at, at + GROUP}, in, out);
            continue;
        }
        measure_group(a, b, s->gap + at);
        memset(s->finite + at, 1, GROUP);
        out->differing +=
            in->rule->has_tolerance ? count_far(s->gap + at, b, in->rule) : count_other_bits(a, b);
        add_group(s->gap + at, s->sums, s->tops);
    }
    reduce_singly(s, (struct range){at, s->n}, in, out);
}

/* ---- steps ------------------------------------------------------------------------------- */

/* First element with a finite difference of `max`; if that is 0, the first that differs. n if there is
 * none. */
static size_t find_gap(struct step *s, double max, const struct input *in)
{
    const struct range all = {0, s->n};

    if (max == 0 && !in->rule->has_tolerance)
        mark_bits(s, all, in);
    for (size_t i = 0; i < s->n; i++)
        if (s->finite[i] && s->gap[i] == max && (max > 0 || s->marks[i]))
            return i;
    return s->n;
}

/* Adds the lanes of a step. Without a positive difference there is a maximum, 0, only if elements
 * differ in bits. */
static void add_lanes(struct step *s, const struct input *in, uint64_t first,
                      struct heft_diff_figures *out)
{
    double sum = 0, max = 0;
    size_t i;

    for (size_t k = 0; k < LANES; k++) {
        sum += s->sums[k];
        max = s->tops[k] > max ? s->tops[k] : max;
    }
    out->sum += sum;
    if ((out->has_max && max <= out->max) || (max == 0 && in->rule->has_tolerance))
        return;
    i = find_gap(s, max, in);
    if (i == s->n)
        return;
    out->max = max;
    out->max_at = first + i;
    out->has_max = true;
}

static void compare_step(struct step *s, const struct input *in, uint64_t first,
                         struct heft_diff_figures *out)
{
    const bool is_wide = is_wide_integer(in->a) || is_wide_integer(in->b);
    const struct range all = {0, s->n};

    s->parts = is_complex(in->a) || is_complex(in->b) ? 2 : 1;
    memset(s->sums, 0, sizeof s->sums);
    memset(s->tops, 0, sizeof s->tops);
    widen(in->a, in->p, s->n, s->parts, s->a);
    widen(in->b, in->q, s->n, s->parts, s->b);
    if (s->parts == 1 && !is_wide && (in->rule->has_tolerance || keeps_bits(in->a)))
        reduce_groups(s, in, out);
    else
        reduce_singly(s, all, in, out);
    add_lanes(s, in, first, out);
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
    struct input in = {rule, a, b, p, q};
    struct step s;

    if (!heft_diff_is_comparable(a, b)) {
        compare_blocks(a, p, q, n, out);
        return;
    }
    for (size_t at = 0; at < n; at += STEP) {
        s.n = heft_min_size(STEP, n - at);
        if (a != b || memcmp(in.p, in.q, (size_t)heft_dtype_span(a, s.n)) != 0)
            compare_step(&s, &in, first + at, out);
        in.p += heft_dtype_span(a, STEP);
        in.q += heft_dtype_span(b, STEP);
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
