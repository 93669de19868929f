/* decimal.h: decimal numbers in texts, independent of the locale. */
#ifndef HEFT_DECIMAL_H
#define HEFT_DECIMAL_H

#include "base/base.h"

#define HEFT_DECIMAL_MOST 4096 /* longest number in bytes that can be read */

/* Converts n <= HEFT_DECIMAL_MOST bytes ("-1.5e-3", "inf", "nan") as strtod does, with '.' as the
 * decimal point. is_single: rounded once, to a float. The caller has validated the text. */
double heft_decimal(struct heft_bytes text, bool is_single);

#endif
