/* quantized.h: what info prints about the quantization of a model. */
#ifndef HEFT_CLI_QUANTIZED_H
#define HEFT_CLI_QUANTIZED_H

#include <heft/heft.h>

#include "output/output.h"

/* Prints nothing if the model is not quantized. */
void quantized_json(struct out *out, const struct heft_quantized *q);
void quantized_text(struct out *out, const struct heft_quantized *q);

#endif
