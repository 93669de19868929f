/* quant_rewrite.h: the files beside a model that is dequantized: see heft_dequantizer.rewrite. */
#ifndef HEFT_QUANT_REWRITE_H
#define HEFT_QUANT_REWRITE_H

#include "quant/quant.h"

HEFT_CHECKED bool heft_quant_rewrite(const struct heft_model *model, const char *name,
                                     struct heft_bytes text, enum heft_dtype as,
                                     struct heft_arena *mem, struct heft_str *out, bool *skip,
                                     struct heft_error *err);

#endif
