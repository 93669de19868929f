/* element_format.c: numpy's rules for the text of numbers in arrays, with its default options:
 * precision 8, no suppression of small numbers, the fewest digits that identify each number.
 *
 *     [1.5  2.   3.25]               points aligned, digits behind them padded with spaces
 *     [1.00e+10 2.50e-03]            scientific: all numbers have the most digits that any one needs
 *
 * An array is scientific if its largest magnitude reaches 10^8 (F32: 10^6, F16: 10^3), if its
 * smallest but zero is below 10^-4, or if one exceeds 1000 times the other. Comparisons and the
 * quotient are computed in the precision of the array's dtype. */
#include "output/element_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 8 };

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* ---- single numbers ---------------------------------------------------------------------- */

static char sign_of(double number, bool is_signed)
{
    return signbit(number) ? '-' : is_signed ? '+' : '\0';
}

static size_t put_sign(char *to, double number, bool is_signed)
{
    *to = sign_of(number, is_signed);
    return *to != '\0';
}

/* Writes nan, inf or -inf; a NaN has no minus. */
static size_t put_not_finite(char *to, double number, bool is_signed)
{
    const size_t n = put_sign(to, isnan(number) ? 1 : number, is_signed);

    memcpy(to + n, isnan(number) ? "nan" : "inf", 4);
    return n + 3;
}

/* Digits in positional notation, at most PRECISION of them behind the point unless all are wanted.
 */
static struct decimal positional_digits(double number, enum float_kind kind, bool all)
{
    struct decimal d = shortest_digits(number, kind);
    char text[64];
    size_t n;

    if (all || d.n - 1 - d.exponent <= PRECISION)
        return d;
    snprintf(text, sizeof text, "%.*f", PRECISION, number); /* below 10^8: it fits */
    n = strcspn(text, ".");
    memmove(text + n, text + n + 1, PRECISION + 1);
    d.exponent = (int)n - 1;
    n = strspn(text, "0");
    n -= text[n] == '\0';
    d.exponent -= (int)n;
    d.n = (int)strlen(text + n);
    memcpy(d.digits, text + n, (size_t)d.n + 1);
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.digits[--d.n] = '\0';
    return d;
}

/* Digits before the point, and behind it without trailing zeros. */
static int whole_digits(const struct decimal *d)
{
    return max_int(d->exponent + 1, 1);
}

static int fraction_digits(const struct decimal *d)
{
    return d->digits[0] == '0' ? 0 : max_int(d->n - 1 - d->exponent, 0);
}

/* Writes 120. or 0.00125; the digits behind the point end with the last one. */
static size_t put_positional(char *to, const struct decimal *d)
{
    const int whole = whole_digits(d), all = whole + fraction_digits(d);
    size_t n = 0;

    for (int place = 0; place < all; place++) {
        const int at = place + d->exponent + 1 - whole; /* index of the digit */

        if (place == whole)
            to[n++] = '.';
        to[n++] = at >= 0 && at < d->n ? d->digits[at] : '0';
    }
    if (all == whole)
        to[n++] = '.';
    return n;
}

/* Writes 1.25e-05; at least `least` digits in the exponent. The point is left out if no digit
 * follows and `has_point` is false. */
static size_t put_scientific(char *to, const struct decimal *d, int least, bool has_point)
{
    const int behind = d->n - 1;

    return (size_t)snprintf(to, MAX_WORD / 2, "%c%s%se%c%0*d", d->digits[0],
                            behind || has_point ? "." : "", d->digits + 1,
                            d->exponent < 0 ? '-' : '+', least, abs(d->exponent));
}

/* str() of a number that is not in an array. `zero` is written behind a point without digits: "0",
 * or, in complex numbers, nothing, and then no point either. */
static size_t put_scalar(char *to, double number, enum float_kind kind, bool is_signed,
                         const char *zero)
{
    static const double too_large[] = {1e3, 1e6, 1e16};
    const double magnitude = fabs(number);
    struct decimal d;
    size_t n;

    if (!isfinite(number))
        return put_not_finite(to, number, is_signed);
    n = put_sign(to, number, is_signed);
    d = shortest_digits(magnitude, kind);
    if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= too_large[kind]))
        return n + put_scientific(to + n, &d, 2, false);
    n += put_positional(to + n, &d);
    if (fraction_digits(&d) > 0)
        return n;
    n -= *zero == '\0';
    memcpy(to + n, zero, strlen(zero));
    return n + strlen(zero);
}

/* (1+2j), or 2j if the real part is zero without a sign. */
static size_t put_complex_scalar(char *to, enum float_kind kind, const struct element *e)
{
    const bool is_pure = e->as.f == 0 && !signbit(e->as.f);
    size_t n = 0;

    if (!is_pure) {
        to[n++] = '(';
        n += put_scalar(to + n, e->as.f, kind, false, "");
    }
    n += put_scalar(to + n, e->imaginary, kind, !is_pure, "");
    to[n++] = 'j';
    if (!is_pure)
        to[n++] = ')';
    return n;
}

size_t scalar_word(char word[MAX_WORD], struct element_type type, const struct element *e)
{
    switch (type.class) {
    case ELEMENT_FLOAT:
        return put_scalar(word, e->as.f, type.kind, false, "0");
    case ELEMENT_COMPLEX:
        return put_complex_scalar(word, type.kind, e);
    case ELEMENT_BOOL:
        return (size_t)snprintf(word, MAX_WORD, "%s", e->as.u ? "True" : "False");
    case ELEMENT_SIGNED:
        return (size_t)snprintf(word, MAX_WORD, "%" PRId64, e->as.i);
    default:
        return (size_t)snprintf(word, MAX_WORD, "%" PRIu64, e->as.u);
    }
}

/* ---- floats of an array ------------------------------------------------------------------ */

/* The numbers that a format is chosen for: the real or the imaginary parts of elements. */
struct floats {
    const struct element *elements;
    size_t n;
    bool is_imaginary;
};

static double float_at(const struct floats *floats, size_t i)
{
    const struct element *const e = &floats->elements[i];
    return floats->is_imaginary ? e->imaginary : e->as.f;
}

/* Whether largest / smallest exceeds 1000, where the quotient is rounded to the dtype. */
static bool is_wide(double smallest, double largest, enum float_kind kind)
{
    const double quotient = largest / smallest;

    if (kind == FLOAT_64)
        return quotient > 1000;
    /* Halves are divided as F32; 1000.5 follows 1000, and the tie goes to 1000. */
    return (double)(float)quotient > (kind == FLOAT_16 ? 1000.25 : 1000);
}

static bool is_scientific(const struct floats *floats, enum float_kind kind)
{
    static const double too_large[] = {1e3, 1e6, 1e8};
    const double too_small[] = {nearest_half(1e-4), (double)1e-4f, 1e-4};
    double smallest = INFINITY, largest = 0;

    for (size_t i = 0; i < floats->n; i++) {
        const double magnitude = fabs(float_at(floats, i));

        if (!isfinite(magnitude) || magnitude == 0)
            continue;
        smallest = magnitude < smallest ? magnitude : smallest;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest != 0 && (largest >= too_large[kind] || smallest < too_small[kind] ||
                            is_wide(smallest, largest, kind));
}

/* Digits for the first pass over the numbers, which measures them. */
static struct decimal measured_digits(double magnitude, const struct float_format *f)
{
    struct decimal d;

    if (!f->is_scientific)
        return positional_digits(magnitude, f->kind, false);
    d = shortest_digits(magnitude, f->kind);
    if (d.n <= PRECISION + 1)
        return d;
    d = rounded_digits(magnitude, f->kind, PRECISION + 1);
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.digits[--d.n] = '\0';
    return d;
}

static void measure_number(struct float_format *f, double number)
{
    const struct decimal d = measured_digits(fabs(number), f);
    const int sign = sign_of(number, f->is_signed) != '\0';

    if (f->is_scientific) {
        f->precision = max_int(f->precision, d.n - 1);
        f->exponent_digits = max_int(f->exponent_digits, abs(d.exponent) < 100 ? 2 : 3);
        f->pad_left = max_int(f->pad_left, 1 + sign);
    } else {
        f->pad_left = max_int(f->pad_left, whole_digits(&d) + sign);
        f->pad_right = max_int(f->pad_right, fraction_digits(&d));
    }
}

static struct float_format choose_floats(const struct floats *floats, enum float_kind kind)
{
    struct float_format f = {.kind = kind, .is_signed = floats->is_imaginary};
    bool is_finite = true, has_sign = f.is_signed;
    int offset;

    f.is_scientific = is_scientific(floats, kind);
    for (size_t i = 0; i < floats->n; i++) {
        const double number = float_at(floats, i);

        if (isfinite(number))
            measure_number(&f, number);
        is_finite &= isfinite(number) != 0;
        has_sign |= isinf(number) && number < 0;
    }
    if (f.is_scientific)
        f.pad_right = f.exponent_digits + 2 + f.precision;
    offset = f.pad_right + 1;
    if (!is_finite)
        f.pad_left = max_int(f.pad_left, 3 + has_sign - offset);
    return f;
}

/* Writes a number in the columns of its format: pad_left, the point, pad_right. */
static size_t put_float(char *to, const struct float_format *f, double number)
{
    const bool is_finite = isfinite(number) != 0;
    char text[MAX_WORD];
    struct decimal d;
    size_t n, before, width = (size_t)f->pad_left + (size_t)f->pad_right + 1;

    if (!is_finite) {
        n = put_not_finite(text, number, f->is_signed);
        before = width - n;
    } else {
        n = put_sign(text, number, f->is_signed);
        d = f->is_scientific ? rounded_digits(fabs(number), f->kind, f->precision + 1)
                             : positional_digits(fabs(number), f->kind, false);
        before = (size_t)f->pad_left - n - (size_t)(f->is_scientific ? 1 : whole_digits(&d));
        n += f->is_scientific ? put_scientific(text + n, &d, f->exponent_digits, true)
                              : put_positional(text + n, &d);
    }
    memset(to, ' ', width);
    memcpy(to + before, text, n);
    return before + n > width ? before + n : width;
}

/* ---- elements of an array ---------------------------------------------------------------- */

static int integer_width(const struct element *elements, size_t n, struct element_type type)
{
    char word[MAX_WORD];
    int width = 0;

    for (size_t i = 0; i < n; i++)
        width = max_int(width, (int)scalar_word(word, type, &elements[i]));
    return width;
}

struct element_format element_format_of(const struct element *elements, size_t n,
                                        struct element_type type)
{
    struct element_format format = {.type = type};

    switch (type.class) {
    case ELEMENT_COMPLEX:
        format.imaginary = choose_floats(&(struct floats){elements, n, true}, type.kind);
        format.real = choose_floats(&(struct floats){elements, n, false}, type.kind);
        break;
    case ELEMENT_FLOAT:
        format.real = choose_floats(&(struct floats){elements, n, false}, type.kind);
        break;
    case ELEMENT_BOOL:
        format.width = (int)strlen("False");
        break;
    default:
        format.width = integer_width(elements, n, type);
    }
    return format;
}

static size_t put_complex(char *to, const struct element_format *format, const struct element *e)
{
    size_t n = put_float(to, &format->real, e->as.f), end;

    n += put_float(to + n, &format->imaginary, e->imaginary);
    for (end = n; to[end - 1] == ' ';) /* the j before the spaces at the end */
        end--;
    memmove(to + end + 1, to + end, n - end);
    to[end] = 'j';
    return n + 1;
}

size_t element_word(char word[MAX_WORD], const struct element_format *format,
                    const struct element *e)
{
    char text[MAX_WORD];
    size_t n;

    if (format->type.class == ELEMENT_FLOAT)
        return put_float(word, &format->real, e->as.f);
    if (format->type.class == ELEMENT_COMPLEX)
        return put_complex(word, format, e);
    n = scalar_word(text, format->type, e);
    return (size_t)snprintf(word, MAX_WORD, "%*.*s", format->width, (int)n, text);
}
