/* decimal.h: decimal numbers of texts, whatever the program's locale is. */
#ifndef HEFT_DECIMAL_H
#define HEFT_DECIMAL_H

#include "base/base.h"

#define HEFT_DECIMAL_MOST 4096 /* bytes of a number that can be read */

/* The number that strtod reads from n <= HEFT_DECIMAL_MOST bytes ("-1.5e-3", "inf", "nan"), the
 * point being '.'; is_single: rounded once, to a float. The caller has looked at the text. */
double heft_decimal(struct heft_bytes text, bool is_single);

#endif
