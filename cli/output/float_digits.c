/* float_digits.c: shortest digits by rounding to more and more digits until they read back as the
 * same number (printf and strtod round exactly).
 *
 * At a power of two the interval of decimals that read back as the number is twice as long above it
 * as below: its nearest decimal of n digits may be outside, while the next one above is inside.
 * Dragon4 (Steele and White 1990, Burger and Dybvig 1996) then takes that one. */
#include "output/float_digits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decimals of `sure` digits survive the way into the kind and back (FLT_DIG); `most` digits always
 * identify a number. */
static const struct {
    int sure, most;
    double least_normal;
} kinds[] = {
    [FLOAT_16] = {3, 5, 0x1p-14},
    [FLOAT_32] = {6, 9, 0x1p-126},
    [FLOAT_64] = {15, 17, 0x1p-1022},
};

double nearest_half(double number)
{
    int exponent;
    double unit;

    (void)frexp(number, &exponent); /* number < 2^exponent; a half has 11 bits */
    unit = ldexp(1, (exponent > -13 ? exponent : -13) - 11);
    number = rint(number / unit) * unit;
    return number < 65520 ? number : INFINITY;
}

static bool reads_back(const struct decimal *d, double number, enum float_kind kind)
{
    char text[MAX_DIGITS + 16];

    snprintf(text, sizeof text, "%se%d", d->digits, d->exponent - d->n + 1);
    if (kind == FLOAT_32)
        return strtof(text, NULL) == (float)number;
    return (kind == FLOAT_64 ? strtod(text, NULL) : nearest_half(strtod(text, NULL))) == number;
}

static struct decimal nearest_digits(double number, int n)
{
    char text[MAX_DIGITS + 16];
    struct decimal d = {.n = n};

    snprintf(text, sizeof text, "%.*e", n - 1, number);
    d.digits[0] = text[0];
    memcpy(d.digits + 1, text + 2, (size_t)n - 1); /* behind the point, if there is one */
    d.exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    return d;
}

/* Adds one to the last digit. */
static void next_decimal(struct decimal *d)
{
    int at = d->n - 1;

    while (at >= 0 && d->digits[at] == '9')
        d->digits[at--] = '0';
    if (at >= 0) {
        d->digits[at]++;
    } else {
        d->digits[0] = '1';
        d->exponent++;
    }
}

static bool is_power_of_two(double number, enum float_kind kind)
{
    int exponent;

    return number > kinds[kind].least_normal && frexp(number, &exponent) == 0.5;
}

/* Sets *found if the digits read back. */
static struct decimal dragon_digits(double number, enum float_kind kind, int n, bool *found)
{
    struct decimal d = nearest_digits(number, n), above = d;

    *found = reads_back(&d, number, kind);
    if (*found || !is_power_of_two(number, kind))
        return d;
    next_decimal(&above);
    *found = reads_back(&above, number, kind);
    return *found ? above : d;
}

struct decimal rounded_digits(double number, enum float_kind kind, int n)
{
    bool ignored;

    if (number == 0)
        return nearest_digits(0, n);
    return dragon_digits(number, kind, n, &ignored);
}

static void trim_zeros(struct decimal *d)
{
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->n--;
    d->digits[d->n] = '\0';
}

struct decimal shortest_digits(double number, enum float_kind kind)
{
    /* If a number has digits that are sure to survive, it is enough to trim zeros from these. */
    const bool is_usual = number >= kinds[kind].least_normal && !is_power_of_two(number, kind);
    struct decimal d = nearest_digits(0, 1);
    bool found = number == 0;

    for (int n = is_usual ? kinds[kind].sure : 1; !found && n <= kinds[kind].most; n++)
        d = dragon_digits(number, kind, n, &found);
    trim_zeros(&d);
    return d;
}
