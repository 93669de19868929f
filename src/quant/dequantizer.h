/* dequantizer.h: what the table of formats takes from src/quant. */
#ifndef HEFT_DEQUANTIZER_H
#define HEFT_DEQUANTIZER_H

#include "core/derive.h"

extern const struct heft_dequantizer heft_dequantizer;

#endif
