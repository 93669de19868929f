/* quant_state.h: what bitsandbytes records beside a weight of four bits, as JSON in a tensor of bytes. */
#ifndef HEFT_QUANT_STATE_H
#define HEFT_QUANT_STATE_H

#include "base/dtype.h"
#include "base/mem.h"

enum { HEFT_QUANT_STATE_DIMS = 16, HEFT_QUANT_STATE_MOST = 64 << 10 /* bytes */ };

struct heft_quant_state {
    uint64_t blocksize; /* elements; a power of two */
    uint64_t shape[HEFT_QUANT_STATE_DIMS];
    uint64_t elements;
    unsigned rank;
    enum heft_dtype dtype;     /* F16, BF16 or F32 */
    uint64_t nested_blocksize; /* blocks; 0: the scales are not quantized themselves */
    float nested_offset;
};

/* Parses the JSON text. `type` is nf4 or fp4, as the name of the tensor says. HEFT_MALFORMED with the offset in
 * the text. */
HEFT_CHECKED bool heft_quant_state_parse(struct heft_bytes text, const char *type,
                                         struct heft_arena *mem, struct heft_quant_state *out,
                                         struct heft_error *err);

#endif
