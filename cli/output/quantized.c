/* quantized.c: see quantized.h. */
#include "output/quantized.h"

#include <stdio.h>
#include <string.h>

/* Stored bits of a quantized weight. */
static void put_bits(char text[static 32], const struct heft_quantized *q)
{
    const double n = q->quantized ? (double)q->quantized : 1;

    snprintf(text, 32, "%.2f", 8 * (double)q->stored_bytes / n);
}

void quantized_json(struct out *out, const struct heft_quantized *q)
{
    char bits[32];

    if (!q->scheme)
        return;
    put_bits(bits, q);
    json_key(out, "quantization");
    json_open(out, '{');
    json_member_text(out, "scheme", q->scheme);
    if (q->refusal) {
        json_member_text(out, "refused", q->refusal);
    } else {
        json_member_u64(out, "weights", q->weights);
        json_member_u64(out, "of", q->all);
        json_member_u64(out, "parameters", q->parameters);
        json_member_u64(out, "quantized_parameters", q->quantized);
        json_key(out, "bits_per_weight");
        json_number(out, bits);
        json_member_text(out, "dequantized_dtype", heft_dtype_name(q->dtype));
    }
    json_close(out, '}');
}

void quantized_text(struct out *out, const struct heft_quantized *q)
{
    char bits[32];

    if (!q->scheme)
        return;
    put_bits(bits, q);
    out_text(out, "quantization  ");
    (void)out_name(out, q->scheme, strlen(q->scheme));
    if (q->refusal) {
        out_text(out, ", which is not dequantized: ");
        (void)out_name(out, q->refusal, strlen(q->refusal));
        out_char(out, '\n');
        return;
    }
    out_text(out, ", ");
    out_u64(out, q->weights);
    out_text(out, " of ");
    out_u64(out, q->all);
    out_text(out, " weights, ");
    out_text(out, bits);
    out_text(out, " bits each; ");
    out_u64(out, q->parameters);
    out_text(out, " parameters; convert --dequantize gives ");
    out_text(out, heft_dtype_name(q->dtype));
    out_char(out, '\n');
}
