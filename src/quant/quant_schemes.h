/* quant_schemes.h: the schemes, one per line. */
#ifndef HEFT_QUANT_SCHEMES_H
#define HEFT_QUANT_SCHEMES_H

#include "quant/quant.h"

extern const struct heft_quant_scheme heft_quant_fp8;
extern const struct heft_quant_scheme heft_quant_ct_int;
extern const struct heft_quant_scheme heft_quant_gptq;
extern const struct heft_quant_scheme heft_quant_awq;
extern const struct heft_quant_scheme heft_quant_bnb4;
extern const struct heft_quant_scheme heft_quant_bnb8;
extern const struct heft_quant_scheme heft_quant_mlx;
extern const struct heft_quant_scheme heft_quant_mxfp6;
extern const struct heft_quant_scheme heft_quant_mxfp4;
extern const struct heft_quant_scheme heft_quant_nvfp4;
extern const struct heft_quant_scheme heft_quant_ggml;

#endif
