/* quant_words.h: what GPTQ and AWQ share: weights of 32-bit words, [in, out], that become X.weight
 * [out, in]. */
#ifndef HEFT_QUANT_WORDS_H
#define HEFT_QUANT_WORDS_H

#include "quant/int_weight.h"

/* The rows of a weight: X.qweight, X.qzeros, X.scales, and X.g_idx or NULL. */
struct heft_quant_words {
    const struct heft_row *weight, *zeros, *scales, *index;
    struct heft_str prefix; /* X */
};

/* Describes a weight, or refuses it. */
typedef bool heft_quant_words_fn(struct heft_quant *q, struct heft_quant_words *rows,
                                 struct heft_int_weight *weight);

/* Finds the rows zeros and scales, and checks their dtypes. */
HEFT_CHECKED bool heft_quant_words_find(struct heft_quant *q, struct heft_quant_words *rows);
/* The function take of struct heft_quant_scheme. */
HEFT_CHECKED bool heft_quant_words_take(struct heft_quant *q, uint32_t row, const char *scheme,
                                        heft_quant_words_fn *describe, bool *taken);

extern const char *const heft_quant_words_companions[];

#endif
