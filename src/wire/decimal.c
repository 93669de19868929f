/* decimal.c: strtod independent of the locale. */
#include "wire/decimal.h"

#include <stdio.h>
#include <stdlib.h>

/* strtod expects the decimal point of the current locale; the text has '.'. */
double heft_decimal(struct heft_bytes text, bool is_single)
{
    char copy[HEFT_DECIMAL_MOST + 16], point[16];
    const uint8_t *const dot = text.n ? memchr(text.p, '.', text.n) : NULL;
    const size_t before = dot ? (size_t)(dot - text.p) : text.n;
    size_t n = before;

    if (before)
        memcpy(copy, text.p, before);
    if (dot) {
        /* "0", the locale's decimal point, "5" */
        n = (size_t)snprintf(point, sizeof point, "%.1f", 0.5);
        n = n > 2 && n < sizeof point ? n - 2 : 1;
        memcpy(copy + before, point + 1, n);
        memcpy(copy + before + n, dot + 1, text.n - before - 1);
        n = text.n - 1 + n;
    }
    copy[n] = 0;
    return is_single ? (double)strtof(copy, NULL) : strtod(copy, NULL);
}
