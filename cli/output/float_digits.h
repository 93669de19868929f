/* float_digits.h: decimal digits of floating-point numbers, as numpy's Dragon4 generates them. */
#ifndef CLI_FLOAT_DIGITS_H
#define CLI_FLOAT_DIGITS_H

enum float_kind { FLOAT_16, FLOAT_32, FLOAT_64 };

enum { MAX_DIGITS = 20 };

/* The number d.ddd… × 10^exponent, without a sign. */
struct decimal {
    char digits[MAX_DIGITS + 1]; /* NUL-terminated; the first is not 0, unless the number is zero */
    int n;                       /* number of digits, at least 1 */
    int exponent;
};

/* Shortest digits that identify a number of its kind; of several the nearest. `number` is finite,
 * not negative, and exactly a number of that kind. */
struct decimal shortest_digits(double number, enum float_kind kind);
/* The number rounded to n significant digits, n ≤ 17. */
struct decimal rounded_digits(double number, enum float_kind kind, int n);
/* Nearest half-precision number of a number that is not negative, ties to even; infinity beyond the
 * largest. */
double nearest_half(double number);

#endif
