/* quant_schemes.h: the schemes, one per line. */
#ifndef HEFT_QUANT_SCHEMES_H
#define HEFT_QUANT_SCHEMES_H

#include "quant/quant.h"

extern const struct heft_quant_scheme heft_quant_fp8;

#endif
