/* quant_describe.h: see heft_dequantizer.describe. */
#ifndef HEFT_QUANT_DESCRIBE_H
#define HEFT_QUANT_DESCRIBE_H

#include "quant/quant.h"

HEFT_CHECKED bool heft_quant_describe(const struct heft_model *model, struct heft_arena *mem,
                                      struct heft_quantization *out, struct heft_error *err);

#endif
